// Who Hob is, with the real daemon: a document is written, changed by the model, conflicts, is looked back at and rolled back; what the model is told.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { calls, modelServer, says } from './model.mjs';
import { accessible, api, ask, becomes, counted, enter, enterAs, fits, hob, launch, message, phone, schemes, shot, shows, sizes } from './page.mjs';

let browser, model, context, page, problems;
before(async () => {
  browser = await launch();
  model = await modelServer();
  ({ context, page, problems } = await enter(browser, { size: phone }));
  await api(context, 'PUT', '/api/v1/model', { model: 'custom/scripted', url: model.url });
});
after(async () => {
  await browser?.close();
  model?.close();
});

const button = (place, name) => place.getByRole('button', { name, exact: true });
const text = () => page.getByLabel('Text', { exact: true });
const AT = '/api/v1/documents/learned_notes';

test('the documents are listed, and one is written', async () => {
  await page.goto(`${hob}/#/device`);
  await page.getByRole('link', { name: 'View and edit' }).click();
  const list = page.getByRole('list', { name: 'Documents' });
  await list.getByRole('link').nth(5).waitFor();
  await accessible(page, 'the documents');
  await fits(page, phone, 'the documents');
  await shot(page, 'persona-real');
  await page.goto(`${hob}/#/device/persona/learned_notes`);
  await button(page, 'Edit').click();
  await text().fill('Marta likes it warm.');
  await button(page, 'Save').click();
  await page.getByText('Saved as version 1.').waitFor();
  await page.getByText('Version 1 · current').waitFor();
});

test('Hob changes it itself: the page follows, and the history says who', async () => {
  await api(context, 'PUT', '/api/v1/autonomy', { level: 'full' });
  model.script = [calls(['edit_learned_notes', { operation: 'append', content: '\nJonas likes it cool.' }]), says('Noted.')];
  const other = await enter(browser, { size: phone });
  await other.page.goto(hob);
  await message(other.page).waitFor();
  await ask(other.page, 'note that Jonas likes it cool');
  await other.context.close();
  await page.locator('pre.document').getByText('Jonas likes it cool.').waitFor();
  await page.getByText('Version 2 · current').waitFor();
  await shows(() => page.locator('.versions li').first().innerText(), /by Hob, for .+\s· added to/);
  await shows(() => page.locator('.versions li').last().innerText(), /by (?!Hob)\S/);
  await accessible(page, 'a document');
  await shot(page, 'document-real');
});

test('what Hob changed of itself is a notice, and one press undoes it', async () => {
  const card = page.getByRole('complementary', { name: 'Notices' });
  await card.getByText('Hob changed “Learned notes”').waitFor();
  assert.match(await card.getByRole('link', { name: 'See its history' }).getAttribute('href'), /#\/device\/persona\/learned_notes$/);
  await accessible(page, 'a notice with an undo');
  await fits(page, phone, 'a notice with an undo');
  await shot(page, 'notice-undo');
  await button(card, 'Undo').click();
  await page.getByText('Version 3 · current').waitFor();
  await card.waitFor({ state: 'detached' });
  assert.equal((await api(context, 'GET', AT)).text, 'Marta likes it warm.');

  // A second change, on top of which somebody writes: the undo loses nothing of theirs.
  model.script = [calls(['edit_learned_notes', { operation: 'append', content: '\nAnd dark.' }]), says('Noted.')];
  await api(context, 'POST', '/api/v1/chat', { message: 'note that it is to be dark' });
  await button(card, 'Undo').waitFor();
  await api(context, 'PUT', AT, { text: 'Marta likes it warm.\nJonas likes it cool.', version: 4 });
  await button(card, 'Undo').click();
  await card.getByText('It has changed again since').waitFor();
  assert.equal((await api(context, 'GET', AT)).version, 5);
  await card.getByRole('button', { name: /^Dismiss: / }).click();
  await card.waitFor({ state: 'detached' });
});

test('two who change it at once: the second is told, and loses nothing', async () => {
  await button(page, 'Edit').click();
  await text().fill('Mine.');
  await api(context, 'PUT', AT, { text: 'Theirs.', version: 5 });
  await button(page, 'Save').click();
  await page.getByText('Somebody else has changed it').waitFor();
  await becomes(() => text().inputValue(), 'Mine.');
  await button(page, 'See the newer text').click();
  await page.getByText('Theirs.').waitFor();
  await button(page, 'Save mine over it').click();
  await page.getByText('Saved as version 7.').waitFor();
  assert.equal((await api(context, 'GET', AT)).text, 'Mine.');
});

test('an earlier version is looked at and put back', async () => {
  await button(page, 'View version 1').click();
  await page.getByText('Marta likes it warm.').waitFor();
  await button(page, 'Restore this version').click();
  await button(page, 'Yes, restore it').click();
  await page.getByText('Version 8 restores version 1.').waitFor();
  const now = await api(context, 'GET', AT);
  assert.deepEqual([now.text, now.version], ['Marta likes it warm.', 8]);
});

test('what the model is told has it', async () => {
  await page.goto(`${hob}/#/device/prompt`);
  await page.locator('pre.document').getByText('Marta likes it warm.').waitFor();
  await page.getByLabel('For this message').fill('turn the heating up');
  await button(page, 'Show').click();
  await page.getByText(/about [\d,]+ tokens/).waitFor();
  await accessible(page, 'what is told');
  await fits(page, phone, 'what is told');
  assert.deepEqual(problems, []);
});

test('both sizes, light and dark; a viewer reads and changes nothing', async () => {
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const other = await enter(browser, { size, scheme });
      for (const place of ['persona', 'persona/learned_notes', 'prompt']) {
        await other.page.goto(`${hob}/#/device/${place}`);
        await other.page.locator(place === 'persona' ? '.documents a' : 'pre.document').first().waitFor();
        await accessible(other.page, `${place}, ${name}, ${scheme}`);
        await fits(other.page, size, `${place}, ${name}, ${scheme}`);
        await shot(other.page, `real-${place.replace('/', '-')}-${name}-${scheme}`);
      }
      assert.deepEqual(other.problems, []);
      await other.context.close();
    }
  }
  const guest = await enterAs(browser, 'viewer', { size: phone });
  await guest.page.goto(`${hob}/#/device/persona/system_prompt`);
  await guest.page.getByRole('heading', { name: 'History' }).waitFor();
  await counted(button(guest.page, 'Edit'), 0);
  assert.deepEqual(guest.problems, []);
  await guest.context.close();
});
