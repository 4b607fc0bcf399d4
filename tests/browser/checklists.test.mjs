// Lists in the Memory room as two members and a viewer use them, at both sizes: ticking, adding, editing in place, renaming, clearing
// and sharing; whose a record is; and the warning before signing out for good.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { execute, lists } from './lists.mjs';
import { accessible, becomes, counted, desktop, enter, enterAs, fits, hob, launch, phone, schemes, shot, shows, sizes } from './page.mjs';

let browser, context, page, problems, ben;

before(async () => {
  browser = await launch();
  ({ context, page, problems } = await enter(browser, { size: desktop }));
  ben = await enterAs(browser, 'member', { size: phone });
});

after(async () => {
  await browser?.close();
});

const call = (tool, args = {}, who = context) => execute(who, tool, args);
const { heard, press } = lists(() => page);
const card = (name, on = page) => on.getByRole('region', { name, exact: true });
const item = (name, words, on = page) => card(name, on).locator('.items > li').filter({ hasText: words });
const box = (words, on = page) => on.getByRole('checkbox', { name: words, exact: true });
const next = (name, on = page) => card(name, on).getByRole('textbox', { name: `Next item on ${name}` });

test('a list begins with its first item; Enter adds the next, and what is there already is not added again', async () => {
  await page.goto(`${hob}/#/memory/lists`);
  await page.getByText('No lists yet.').waitFor();
  await press('New list');
  await press('Begin the list');
  await counted(page.getByText('This is required.'), 2);
  await page.getByLabel('Name of the list').fill('shopping');
  await page.getByLabel('First item').fill('milk');
  await page.getByLabel('First item').press('Enter');
  await item('shopping', 'milk').waitFor();
  await shows(() => card('shopping').innerText(), /1 item · everybody here sees it/);
  for (const words of ['eggs', 'bread']) {
    await next('shopping').fill(words);
    await next('shopping').press('Enter');
    await item('shopping', words).waitFor();
    await becomes(() => next('shopping').inputValue(), '');
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('aria-label')), 'Next item on shopping');
  }
  await next('shopping').fill('Milk');
  await next('shopping').press('Enter');
  await heard('“milk” is on the list already.').waitFor();
  await counted(card('shopping').locator('.items > li'), 3);
});

test('another member sees it at once, and ticks, adds and edits; who added what is shown', async () => {
  await ben.page.goto(`${hob}/#/memory/lists`);
  await item('shopping', 'milk', ben.page).getByText('added by owner').waitFor();
  await next('shopping', ben.page).fill('apples');
  await next('shopping', ben.page).press('Enter');
  await item('shopping', 'apples').getByText('added by member').waitFor();
  await box('Done: milk', ben.page).click();
  await card('shopping').getByText('1 ticked off').waitFor();
  await shows(() => card('shopping').innerText(), /3 items/);
  await ben.page.getByRole('button', { name: 'Edit: eggs', exact: true }).click();
  const field = card('shopping', ben.page).getByRole('textbox', { name: 'Item', exact: true });
  await field.fill('six eggs');
  await field.press('Enter');
  await item('shopping', 'six eggs').waitFor();
  await card('shopping').getByText('1 ticked off').click();
  await box('Reopen: milk').click();
  await card('shopping').getByText('1 ticked off').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Edit: bread', exact: true }).click();
  await card('shopping').getByRole('button', { name: 'Delete: bread' }).click();
  await item('shopping', 'bread', ben.page).waitFor({ state: 'detached' });
});

test('a list is renamed, made private, shared and cleared; one with items of others stays shared', async () => {
  await counted(card('shopping').getByRole('button', { name: /Make private/ }), 0);
  await press('New list');
  await page.getByLabel('Name of the list').fill('presents');
  await page.getByLabel('First item').fill('watch');
  await page.getByText('Only I see it').click();
  await press('Begin the list');
  await card('presents').getByText('only you see it').waitFor();
  await counted(card('presents', ben.page), 0);
  await press('Share: presents');
  await card('presents', ben.page).waitFor();
  await press('Make private: presents');
  await card('presents', ben.page).waitFor({ state: 'detached' });
  await press('Rename: presents');
  await page.getByRole('textbox', { name: 'Name of the list' }).fill('surprises');
  await page.getByRole('textbox', { name: 'Name of the list' }).press('Enter');
  await card('surprises').waitFor();
  await press('Rename: surprises');
  await page.getByRole('textbox', { name: 'Name of the list' }).fill('shopping');
  await press('Save');
  await card('surprises').getByRole('alert').getByText(/There is a list “shopping” already/).waitFor();
  await press('Cancel');
  await press('Clear: surprises');
  await page.getByRole('alertdialog').getByText('Delete all of “surprises”, 1 item?').waitFor();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Yes, delete it' }).click();
  await card('surprises').waitFor({ state: 'detached' });
});

test('a viewer reads, and others’ records offer no edit but say whose they are', async () => {
  const viewer = await enterAs(browser, 'viewer', { size: phone });
  await viewer.page.goto(`${hob}/#/memory/lists`);
  await item('shopping', 'apples', viewer.page).waitFor();
  assert.equal(await box('Done: apples', viewer.page).isDisabled(), true);
  await counted(viewer.page.locator('.checklist button'), 0);
  await accessible(viewer.page, 'lists as a viewer');
  await viewer.context.close();

  await call('add_note', { title: 'Boiler', content: 'Reset it with the red button.', shared: true });
  await call('add_note', { title: 'Mine', content: 'Of the member.', shared: true }, ben.context);
  await page.goto(`${hob}/#/memory/notes`);
  const note = (words, on = page) => on.locator('.records > li').filter({ hasText: words });
  await note('Of the member').getByText('member’s, only they can change it').waitFor();
  await counted(note('Of the member').getByRole('button', { name: /^(Edit|Delete)/ }), 0);
  await counted(note('Reset it').getByRole('button', { name: /^(Edit|Delete)/ }), 2);
  await page.goto(`${hob}/#/memory/tasks`);
  await page.getByRole('button', { name: 'Edit: apples', exact: true }).waitFor();
});

test('signing out without a password or another session asks first', async () => {
  const guest = await enterAs(browser, 'viewer', { size: phone });
  await guest.page.goto(`${hob}/#/device`);
  const here = guest.page.getByRole('button', { name: 'Sign out here' });
  await here.click();
  const asked = guest.page.getByRole('alertdialog');
  await asked.getByText('You have no password. Sign out and lose your way back in?').waitFor();
  await shot(guest.page, 'lists-sign-out');
  await asked.getByRole('button', { name: 'No' }).click();
  await becomes(() => guest.page.evaluate(() => document.activeElement?.textContent), 'Sign out here');
  await here.click();
  await asked.getByRole('button', { name: 'Sign out anyway' }).click();
  await here.waitFor({ state: 'detached' });
  await guest.context.close();
});

test('lists fit at both sizes, in light and dark, and everybody can reach them', async () => {
  await call('batch_add_tasks', {
    tasks: [
      ...['a loaf of bread', '2 milk', 'batteries for the smoke alarm in the upstairs corridor, the square ones'].map((title) => ({ title, category: 'shopping' })),
      ...['tent pegs', 'head torch', 'gas canister'].map((title) => ({ title, category: 'camping' })),
    ],
  });
  await call('complete_task', { taskId: 'head torch' });
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
      await page.goto(`${hob}/#/memory/lists`);
      await item('camping', 'tent pegs').waitFor();
      await accessible(page, `lists on a ${name}, ${scheme}`);
      if (size !== phone) await fits(page, size, 'lists');
      await shot(page, `lists-${name}-${scheme}`, { fullPage: true });
    }
  }
  await fits(ben.page, phone, 'lists on a phone');
  assert.deepEqual(problems, []);
});
