// The Device room against the real daemon: its owner claims it with a password, looks after it, its people and their keys.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { accessible, counted, desktop, fits, hob, launch, need, open, phone, schemes, shot, sizes } from './page.mjs';

const link = need('HOB_CLAIM');
const code = decodeURIComponent(link.split('#claim=')[1]);
const PASSWORD = 'four words in a row';

let browser, context, page, problems;
before(async () => {
  browser = await launch();
  ({ context, page, problems } = await open(browser, { size: desktop }));
});
after(async () => {
  await browser?.close();
});

const rooms = (at) => at.getByRole('navigation', { name: 'Rooms' });
const part = (at, title) => at.getByRole('region', { name: title, exact: true });
const button = (place, name) => place.getByRole('button', { name, exact: true });

/** A fresh browser in which a person signs in by the door. */
async function signIn(person, password, options) {
  const opened = await open(browser, options);
  await opened.page.goto(`${hob}/#/device`);
  await opened.page.getByLabel('Name').fill(person);
  await opened.page.getByRole('textbox', { name: 'Password' }).fill(password);
  await opened.page.keyboard.press('Enter');
  await rooms(opened.page).waitFor();
  return opened;
}

test('the first person claims it with a name and a password', async () => {
  await page.goto(`${hob}/#claim=${encodeURIComponent(code)}`);
  await button(page, 'Claim this Hob').click();
  await page.getByLabel('Your name').fill('Marta');
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await button(page, 'Continue').click();
  await page.getByRole('heading', { name: 'Your home' }).waitFor();
  await button(page, 'Finish later').click();
  await rooms(page).getByRole('link', { name: 'Device' }).click();
  await part(page, 'Health').getByText(/ in use, .* by Hob/).waitFor();
  await part(page, 'You').getByText('You are Marta (admin)').waitFor();
  await part(page, 'About').getByText(/Hob \d+\.\d+/).waitFor();
});

test('it says what it is, and how to compare its certificate', async () => {
  const self = part(page, 'This device');
  await self.getByText('kitchen', { exact: true }).waitFor();
  const shown = (await self.locator('.print code').textContent()).replace(/\s/g, '');
  assert.match(shown, /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
  await self.getByRole('link', { name: /^https:/ }).waitFor();
  await self.getByText('Only this device can open the page').waitFor();
});

test('a new name is known in every room', async () => {
  const self = part(page, 'This device');
  const rename = async (name) => {
    await button(self, 'Rename').click();
    const form = page.getByRole('form', { name: 'Rename' });
    await form.getByRole('textbox').fill(name);
    await form.getByText(`On your network: ${name}.local`).waitFor();
    await button(form, 'Save').click();
    await self.getByText(name, { exact: true }).waitFor();
    await page.locator('.top .where').getByText(name).waitFor();
  };
  await rename('pantry');
  await rooms(page).getByRole('link', { name: 'Talk' }).click();
  await page.locator('.top .where').getByText('pantry').waitFor();
  await rooms(page).getByRole('link', { name: 'Device' }).click();
  await rename('kitchen');
});

test('another person is let in, finds no dead buttons, and takes a password of their own', async () => {
  const people = part(page, 'People');
  await button(people, 'Add a person').click();
  await people.getByLabel('Name').fill('Ida');
  await people.getByRole('textbox', { name: 'Password' }).fill('told at breakfast');
  await button(people, 'Add a person').click();
  await people.getByText('Ida can sign in now.').waitFor();
  const ida = await signIn('Ida', 'told at breakfast', { size: phone });
  const you = part(ida.page, 'You');
  await you.getByText('You are Ida (member)').waitFor();
  await part(ida.page, 'Health').getByText(/ in use, .* by Hob/).waitFor();
  for (const title of ['People', 'Tokens', 'Backup']) await counted(part(ida.page, title), 0, title);
  await counted(button(ida.page, 'Rename'), 0);
  await counted(button(ida.page, 'Change model'), 0);
  await button(you, 'Change password').click();
  await you.getByRole('textbox', { name: 'Current password' }).fill('told at lunch');
  await you.getByRole('textbox', { name: 'New password' }).fill('known to nobody else');
  await button(you, 'Save').click();
  await you.getByRole('alert').getByText('not your current password').waitFor();
  await you.getByRole('textbox', { name: 'Current password' }).fill('told at breakfast');
  await button(you, 'Save').click();
  await you.getByText('Password changed.').waitFor();
  await accessible(ida.page, 'a member in the room');
  await fits(ida.page, phone, 'a member in the room');
  assert.deepEqual(ida.problems, []);
  await ida.context.close();
  const again = await signIn('ida', 'known to nobody else');
  await again.context.close();
});

test('who leaves is out at once', async () => {
  const ida = await signIn('Ida', 'known to nobody else');
  const people = part(page, 'People');
  await button(people, 'Change Ida').click();
  await button(people, 'Remove Ida').click();
  await button(people.getByRole('alertdialog'), 'Remove').click();
  await people.getByText('Ida', { exact: true }).waitFor({ state: 'detached' });
  await ida.page.reload();
  await ida.page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await ida.context.close();
});

test('a token opens what it was made for, until it is taken back', async () => {
  const tokens = part(page, 'Tokens');
  await button(tokens, 'New token').click();
  await tokens.getByLabel('Name').fill('thermometer');
  await tokens.getByLabel('Access').selectOption('some');
  await tokens.getByLabel('Only these tools').fill('system_info');
  await tokens.getByLabel('Expires').selectOption('7');
  await button(tokens, 'New token').click();
  const token = (await tokens.locator('.once code').innerText()).trim();
  assert.match(token, /^hob_/);
  const bearer = await browser.newContext({ extraHTTPHeaders: { authorization: `Bearer ${token}` } });
  const use = (tool) => bearer.request.post(`${hob}/api/v1/tools/${tool}/execute`, { data: { arguments: {} } });
  assert.equal((await use('system_info')).status(), 200);
  assert.equal((await use('gpio_list')).status(), 403);
  await button(tokens, 'I have it').click();
  // A token is no person.
  await page.reload();
  await tokens.getByText('thermometer', { exact: true }).waitFor();
  await part(page, 'People').getByText('Marta', { exact: true }).waitFor();
  await counted(part(page, 'People').getByText('thermometer', { exact: true }), 0);
  await button(tokens, 'Revoke thermometer').click();
  await button(tokens.getByRole('alertdialog'), 'Revoke').click();
  await tokens.getByText('thermometer', { exact: true }).waitFor({ state: 'detached' });
  assert.equal((await use('system_info')).status(), 401);
  await bearer.close();
});

test('one signs out elsewhere', async () => {
  const other = await signIn('Marta', PASSWORD);
  await page.reload();
  const sessions = part(page, 'Sessions');
  const out = sessions.getByRole('button', { name: /^Sign out Chrome on/ });
  await out.first().waitFor();
  for (let left = await out.count(); left > 0; left--) {
    await out.first().click();
    await page.waitForFunction((n) => document.querySelectorAll('#device-sessions .row button').length === n, left - 1);
  }
  await sessions.getByText('signed in only here').waitFor();
  await other.page.reload();
  await other.page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await other.context.close();
});

test('another model is chosen, a second page hears of it, and the choice is forgotten', async () => {
  const other = await signIn('marta', PASSWORD);
  await part(other.page, 'Model').getByText('This device answers by itself').waitFor();
  const model = part(page, 'Model');
  await button(model, 'Change model').click();
  await model.getByLabel('Provider').selectOption('custom');
  await model.getByLabel('Model', { exact: true }).fill('qwen3');
  await model.getByLabel('Address').fill('http://127.0.0.1:9/v1');
  await model.getByLabel('Key').fill('a-key-nobody-reads');
  await button(model, 'Save').click();
  await model.getByText('qwen3 answers from now on.').waitFor();
  await model.getByText('A key is set').waitFor();
  await part(other.page, 'Model').getByText('qwen3 answers, on http://127.0.0.1:9/v1').waitFor();
  assert.deepEqual(other.problems, []);
  await other.context.close();
  await page.reload();
  await model.getByText('qwen3 answers, on http://127.0.0.1:9/v1').waitFor();
  assert.equal((await page.content()).includes('a-key-nobody-reads'), false);
  await button(model, 'Remove key').click();
  await model.getByText('A key is set').waitFor({ state: 'detached' });
  await model.getByText('qwen3 answers, on http://127.0.0.1:9/v1').waitFor();
  await button(model, 'Reset this choice').click();
  await model.getByText('This device answers by itself').waitFor();
});

test('a backup is a download', async () => {
  const coming = page.waitForEvent('download');
  await button(part(page, 'Backup'), 'Download a backup').click();
  const file = await coming;
  assert.match(file.suggestedFilename(), /^kitchen-\d{4}-\d\d-\d\d\.hob$/);
  assert.ok(statSync(await file.path()).size > 10_000);
});

test('both sizes, light and dark: nothing sticks out and axe finds nothing', async () => {
  const storageState = await context.storageState();
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const other = await open(browser, { size, scheme, storageState });
      await other.page.goto(`${hob}/#/device`);
      await part(other.page, 'Health').getByText(/ in use, .* by Hob/).waitFor();
      await part(other.page, 'Sessions').getByText('this browser', { exact: true }).waitFor();
      await accessible(other.page, `the room, ${name}, ${scheme}`);
      await fits(other.page, size, `the room, ${name}, ${scheme}`);
      await shot(other.page, `device-${name}-${scheme}`);
      assert.deepEqual(other.problems, []);
      await other.context.close();
    }
  }
});

test('signing out here leads to the door, and the password back in', async () => {
  await button(part(page, 'Sessions'), 'Sign out here').click();
  await page.getByLabel('Name').fill('Marta');
  await page.getByRole('textbox', { name: 'Password' }).fill('not the right one');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('Wrong name or password').waitFor();
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await page.keyboard.press('Enter');
  await rooms(page).waitFor();
  assert.deepEqual(problems, []);
});
