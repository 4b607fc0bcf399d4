// The doors and the Device room in every state. The page is the daemon's own; a small house (house.mjs) answers /api, so that what a healthy daemon does not show on demand can be looked at.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { button, focused, house, last, part, PRINT, ready, session, state, visitor } from './house.mjs';
import { accessible, becomes, counted, desktop, fits, hob, launch, phone, schemes, shot, sizes } from './page.mjs';
import { bad, good } from './staged.mjs';

let browser, visit;
before(async () => {
  browser = await launch();
  visit = visitor(browser);
});
after(async () => {
  await browser?.close();
});

async function everywhere(what, show) {
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const { page, context, problems } = await show({ size, scheme });
      await accessible(page, `${what}, ${name}, ${scheme}`);
      await fits(page, size, `${what}, ${name}, ${scheme}`);
      await shot(page, `${what.replaceAll(' ', '-')}-${name}-${scheme}`);
      assert.deepEqual(problems, []);
      await context.close();
    }
  }
}

const unclaimed = (it) => ({
  'GET /api/v1/session': () => (it.in ? good(session(it)) : bad(403, 'unclaimed', 'Claim it.')),
  'POST /api/v1/claim': (_, body) => {
    if (body.code !== it.code) return bad(401, 'wrong_code', 'that is not the code');
    it.in = true;
    it.people[0].name = body.person ?? 'owner';
    return good(session(it));
  },
});

test('claiming with the link, then a name and a password', async () => {
  const it = house({ in: false, hasPassword: false });
  it.arrival = { open: true, steps: it.arrival.steps.map(({ step }) => ({ step, state: 'open' })) };
  const { page, context, problems } = await visit(it, { at: '#claim=abcd-efgh-jkmn', answers: unclaimed(it), size: desktop });
  await page.getByText('The code ABCD-EFGH-JKMN came with the link').waitFor();
  await counted(page.getByLabel('Claim code'), 0);
  await button(page, 'Claim this Hob').click();
  assert.deepEqual(it.calls.find(([, path]) => path === '/api/v1/claim')[2], { code: 'ABCD-EFGH-JKMN' });
  it.calls = [];
  const password = page.getByRole('textbox', { name: 'Password' });
  await becomes(() => password.getAttribute('autocomplete'), 'new-password');
  await becomes(() => page.getByLabel('Your name').getAttribute('autocomplete'), 'username');
  await page.getByLabel('Your name').fill('Marta');
  await password.fill('short');
  await page.getByText('5 more characters.').waitFor();
  await button(page, 'Continue').click();
  await page.getByRole('alert').getByText('Use at least 10').waitFor();
  assert.deepEqual(it.calls, [], 'a short password is not sent');
  await password.fill('1234512345');
  await page.getByText('easy to guess').waitFor();
  await password.fill('four words in a row');
  await page.getByText('Good.', { exact: true }).waitFor();
  await becomes(() => password.getAttribute('type'), 'password');
  await button(page, 'Show the password').click();
  await becomes(() => password.getAttribute('type'), 'text');
  await button(page, 'Continue').click();
  await page.getByRole('heading', { name: 'Your home' }).waitFor();
  assert.deepEqual(it.calls[0].slice(0, 3), ['PATCH', '/api/v1/people/p1', { name: 'Marta', password: 'four words in a row' }]);
  assert.equal(new URL(page.url()).hash.includes('claim'), false);
  assert.deepEqual(problems, []);
  await context.close();
});

test('a wrong code opens the field, an expired one says where a fresh one is', async () => {
  const it = house({ in: false });
  const answers = unclaimed(it);
  const { page, context } = await visit(it, { at: '#claim=AAAA-AAAA-AAAA', answers });
  await button(page, 'Claim this Hob').click();
  await page.getByRole('alert').getByText('code is wrong').waitFor();
  const code = page.getByLabel('Claim code');
  await code.fill(`${hob}/#claim=abcd-efgh-jkmn`);
  await becomes(() => code.inputValue(), 'ABCD-EFGH-JKMN', 'a pasted link is understood');
  answers['POST /api/v1/claim'] = bad(401, 'code_expired', 'that code has expired');
  await button(page, 'Claim this Hob').click();
  await page.getByRole('alert').getByText('printed a new one where it was started, and keeps it in the file claim-code').waitFor();
  await accessible(page, 'an expired code');
  await fits(page, phone, 'an expired code');
  await shot(page, 'claim-expired');
  await context.close();
});

test('where others could read along, both doors lead to the encrypted address', async () => {
  const it = house({ in: false });
  const answers = { ...unclaimed(it), 'POST /api/v1/claim': bad(403, 'tls_required', 'secrets are not told where others can read along: use https on port 4621') };
  const { page, context } = await visit(it, { at: '#claim=ABCD-EFGH-JKMN', answers });
  await button(page, 'Claim this Hob').click();
  const link = page.getByRole('alert').getByRole('link');
  await becomes(() => link.getAttribute('href'), `https://${new URL(hob).hostname}:4621/#claim=ABCD-EFGH-JKMN`, 'the code is carried along');
  await accessible(page, 'claim over http');
  await fits(page, phone, 'claim over http');
  await shot(page, 'claim-tls');
  answers['GET /api/v1/session'] = bad(401, 'unauthorized', 'who are you?');
  answers['POST /api/v1/session'] = bad(403, 'tls_required', 'open https://192.168.1.20:4621, others can read along here');
  await page.goto('about:blank');
  await page.goto(hob);
  await page.getByLabel('Name').fill('Marta');
  await page.getByRole('textbox', { name: 'Password' }).fill('four words in a row');
  await page.keyboard.press('Enter');
  await becomes(() => link.getAttribute('href'), 'https://192.168.1.20:4621/');
  await accessible(page, 'sign in over http');
  await shot(page, 'sign-in-tls');
  await context.close();
});

test('signing in with a name and a password, or with a token', async () => {
  const it = house({ in: false });
  const { page, context, problems } = await visit(it, { size: desktop });
  const name = page.getByLabel('Name');
  const password = page.getByRole('textbox', { name: 'Password' });
  await name.waitFor();
  await becomes(() => name.getAttribute('autocomplete'), 'username');
  await becomes(() => password.getAttribute('autocomplete'), 'current-password');
  await becomes(() => name.evaluate((field) => field === document.activeElement), true);
  await name.fill('Marta');
  await password.fill('something else');
  await password.press('Enter');
  await page.getByRole('alert').getByText('Wrong name or password').waitFor();
  await accessible(page, 'a wrong password');
  await shot(page, 'sign-in-wrong');
  await password.fill('four words in a row');
  await password.press('Enter');
  await page.getByRole('navigation', { name: 'Rooms' }).waitFor();
  assert.deepEqual(last(it)[2], { person: 'Marta', password: 'four words in a row' });
  it.in = false;
  await page.reload();
  await button(page, 'Use a token instead').click();
  await page.getByText('hob token new owner').waitFor();
  await page.getByLabel('Token').fill('hob_wrong');
  await page.getByLabel('Token').press('Enter');
  await page.getByRole('alert').getByText('That token is not valid').waitFor();
  await page.getByLabel('Token').fill(' hob_right ');
  await page.getByLabel('Token').press('Enter');
  await page.getByRole('navigation', { name: 'Rooms' }).waitFor();
  assert.deepEqual(last(it)[2], { token: 'hob_right' });
  assert.deepEqual(problems, []);
  await context.close();
});

test('after too many tries the button says how long to wait, and then works again', async () => {
  const it = house({ in: false });
  const answers = { 'POST /api/v1/session': { ...bad(429, 'too_many_tries', 'too many'), headers: { 'retry-after': '2' } } };
  const { page, context } = await visit(it, { answers });
  await page.getByLabel('Name').fill('Marta');
  await page.getByRole('textbox', { name: 'Password' }).fill('guess');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('Too many attempts').waitFor();
  await page.getByRole('button', { name: /^Wait [12] s$/ }).waitFor();
  await accessible(page, 'too many tries');
  await shot(page, 'sign-in-wait');
  const before = it.calls.length;
  await page.keyboard.press('Enter');
  assert.equal(it.calls.length, before, 'nothing is sent while one waits');
  delete answers['POST /api/v1/session'];
  await button(page, 'Sign in').waitFor();
  await page.getByRole('textbox', { name: 'Password' }).fill('four words in a row');
  await button(page, 'Sign in').click();
  await page.getByRole('navigation', { name: 'Rooms' }).waitFor();
  await context.close();
});

test('the doors, both sizes, light and dark', async () => {
  await everywhere('claim linked', async (options) => {
    const it = house({ in: false });
    const opened = await visit(it, { ...options, at: '#claim=ABCD-EFGH-JKMN', answers: unclaimed(it) });
    await opened.page.getByText('came with the link').waitFor();
    return opened;
  });
  await everywhere('claim typed', async (options) => {
    const it = house({ in: false });
    const opened = await visit(it, { ...options, answers: unclaimed(it) });
    await opened.page.getByLabel('Claim code').fill('ABCD-EFGH');
    return opened;
  });
  await everywhere('sign in', async (options) => {
    const opened = await visit(house({ in: false }), options);
    await opened.page.getByLabel('Name').fill('Marta');
    return opened;
  });
  await everywhere('sign in by token', async (options) => {
    const opened = await visit(house({ in: false }), options);
    await button(opened.page, 'Use a token instead').click();
    return opened;
  });
});

test('the room says how the device is, in words; what needs looking after stands out', async () => {
  const it = house();
  const { page, context, problems } = await visit(it, { at: '#/device' });
  const health = part(page, 'Health');
  await health.getByText('All is well').waitFor();
  for (const line of ['2.2 GB of 8.3 GB in use, 81 MB of it by Hob', '41.2 GB of 62.0 GB free', '51 °C', '0.4 of 4 cores busy', '3 days, since']) {
    await health.locator('dd').getByText(line).waitFor();
  }
  await counted(health.getByRole('alert'), 0);
  it.state = state({ temperature: 83, load: [9, 8, 7], concerns: ['the disk is nearly full', 'the processor is too hot'] });
  it.say = 'Careful, the disk is nearly full and the processor is too hot: 27% of memory is in use.';
  await page.reload();
  await health.getByRole('alert').getByText('The processor is too hot.').waitFor();
  await health.locator('dd').getByText('all 4 cores busy, 2.3 times overloaded').waitFor();
  await accessible(page, 'a device in trouble');
  await shot(page, 'device-concerns');
  assert.deepEqual(problems, []);
  await context.close();
});

test('an admin renames the device, and compares its certificate', async () => {
  const it = house();
  const { page, context, problems } = await visit(it, { at: '#/device', size: desktop });
  const self = part(page, 'This device');
  await self.getByText('https://kitchen.local:4621').waitFor();
  await becomes(() => self.locator('.print code').textContent(), PRINT);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await button(self, 'Copy fingerprint').click();
  await button(self, 'Copied').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), PRINT);
  await button(self, 'Rename').click();
  await self.getByRole('textbox', { name: 'Name' }).fill('my kitchen');
  await button(self, 'Save').click();
  await self.getByRole('alert').getByText('letters, digits and dashes').waitFor();
  await self.getByRole('textbox', { name: 'Name' }).fill('Pantry');
  await self.getByText('On your network: pantry.local').waitFor();
  await button(self, 'Save').click();
  await self.getByText('pantry.local').waitFor();
  await page.locator('.top .where').getByText('Pantry').waitFor();
  assert.deepEqual(last(it), ['PATCH', '/api/v1/device', { name: 'Pantry' }, 'c']);
  it.device.renameable = false;
  await page.reload();
  await self.getByText('pantry.local').waitFor();
  await counted(button(self, 'Rename'), 0);
  assert.deepEqual(problems, []);
  await context.close();
});

test('another model is chosen; its key is never shown and never goes to another server', async () => {
  const it = house();
  const { page, context, problems } = await visit(it, { at: '#/device', size: desktop });
  const model = part(page, 'Model');
  await model.getByText('This device answers by itself').waitFor();
  await model.getByText('This is the default').waitFor();
  await button(model, 'Change model').click();
  await model.getByLabel('Provider').selectOption('custom');
  await button(model, 'Save').click();
  await model.getByText('Enter a model.').waitFor();
  await model.getByLabel('Model', { exact: true }).fill('qwen3');
  await model.getByLabel('Address').fill('http://192.168.1.5:8080/v1');
  await model.getByLabel('Key').fill('sk-secret');
  await accessible(page, 'choosing a model');
  await button(model, 'Save').click();
  await model.getByText('qwen3 answers from now on.').waitFor();
  await focused(page, 'Change model');
  assert.deepEqual(last(it)[2], { model: 'custom/qwen3', url: 'http://192.168.1.5:8080/v1', key: 'sk-secret' });
  await model.getByText('A key is set').waitFor();
  await button(model, 'Change model').click();
  await becomes(() => model.getByLabel('Key').inputValue(), '');
  await model.getByLabel('Model', { exact: true }).fill('qwen4');
  await button(model, 'Save').click();
  await model.getByText('qwen4 answers from now on.').waitFor();
  assert.deepEqual(last(it)[2], { model: 'custom/qwen4', url: 'http://192.168.1.5:8080/v1' }, 'the key stays with its server');
  await button(model, 'Change model').click();
  await model.getByLabel('Address').fill('http://192.168.1.6:8080/v1');
  await model.getByText('belongs to the other server').waitFor();
  await button(model, 'Save').click();
  await model.getByText('192.168.1.6').waitFor();
  assert.equal(last(it)[2].key, '', 'the key does not follow to another server');
  await button(model, 'Reset this choice').click();
  await model.getByText('Set in hob.toml.').waitFor();
  assert.deepEqual(problems, []);
  await context.close();
});

test('where the environment decides about the model, it is said and not offered', async () => {
  const model = { model: 'openai/gpt-5-mini', url: '', hasKey: true, from: 'environment', changeable: false };
  const { page, context } = await visit(house({ model }), { at: '#/device' });
  const place = part(page, 'Model');
  await place.getByText('gpt-5-mini answers, at OpenAI').waitFor();
  await place.getByText('HOB_MODEL').waitFor();
  await counted(place.getByRole('button'), 0);
  await context.close();
});

test('people are added, changed and removed', async () => {
  const it = house();
  const { page, context, problems } = await visit(it, { at: '#/device', size: desktop });
  const people = part(page, 'People');
  await people.getByText('Jonas').waitFor();
  await people.getByText('can view').first().waitFor();
  await counted(people.getByRole('button', { name: /Marta/ }), 0, 'oneself is changed under You');
  await button(people, 'Add a person').click();
  await people.getByLabel('Name').fill('jonas');
  await button(people, 'Add a person').click();
  await people.getByRole('alert').getByText('choose another name').waitFor();
  await people.getByLabel('Name').fill('Ida');
  await people.getByLabel('Role').selectOption('viewer');
  await people.getByRole('textbox', { name: 'Password' }).fill('a calm new password');
  await accessible(page, 'adding a person');
  await button(people, 'Add a person').click();
  await people.getByText('Ida can sign in now.').waitFor();
  assert.deepEqual(last(it)[2], { name: 'Ida', role: 'viewer', password: 'a calm new password' });
  await button(people, 'Change Ida').click();
  await people.getByLabel('Role').selectOption('member');
  await button(people, 'Save').click();
  await button(people, 'Change Ida').waitFor();
  assert.deepEqual(last(it)[2], { role: 'member' }, 'only what changed is sent');
  await button(people, 'Change Ida').click();
  await button(people, 'Remove Ida').click();
  await people.getByRole('alertdialog').getByText('Remove Ida from this Hob?').waitFor();
  await accessible(page, 'removing a person');
  await page.keyboard.press('Escape');
  await focused(page, 'Change Ida');
  await button(people, 'Change Ida').click();
  await button(people, 'Remove Ida').click();
  await button(people.getByRole('alertdialog'), 'Remove').click();
  await people.getByText('Ida', { exact: true }).waitFor({ state: 'detached' });
  assert.equal(last(it)[0], 'DELETE');
  await focused(page, 'Change Jonas');
  assert.deepEqual(problems, []);
  await context.close();
});

test('one changes the own password with the one so far', async () => {
  const it = house();
  const { page, context, problems } = await visit(it, { at: '#/device', size: desktop });
  const you = part(page, 'You');
  await you.getByText('You are Marta (admin): you can do everything.').waitFor();
  await button(you, 'Change password').click();
  await you.getByRole('textbox', { name: 'Current password' }).fill('not this one');
  await you.getByRole('textbox', { name: 'New password' }).fill('another calm password');
  await button(you, 'Save').click();
  await you.getByRole('alert').getByText('not your current password').waitFor();
  await accessible(page, 'changing the password');
  await you.getByRole('textbox', { name: 'Current password' }).fill('four words in a row');
  await button(you, 'Save').click();
  await you.getByText('Password changed.').waitFor();
  assert.equal(it.password, 'another calm password');
  await button(you, 'Change name').click();
  await you.getByLabel('Your name').fill('Marta M');
  await button(you, 'Save').click();
  await you.getByText('You are Marta M').waitFor();
  assert.deepEqual(problems, []);
  await context.close();
});

test('a token is made for what it may reach, shown once, and taken back', async () => {
  const it = house();
  const { page, context, problems } = await visit(it, { at: '#/device', size: desktop });
  const tokens = part(page, 'Tokens');
  await tokens.getByText('receive events, remember').waitFor();
  await button(tokens, 'New token').click();
  await tokens.getByLabel('Name').fill('porch-button');
  await tokens.getByLabel('Access').selectOption('some');
  await button(tokens, 'New token').click();
  await tokens.getByRole('alert').getByText('Choose at least one').waitFor();
  await tokens.getByText('Talk with Hob').click();
  await tokens.getByLabel('Only these tools').fill('gpio_write, recall');
  await tokens.getByLabel('Expires').selectOption('30');
  await accessible(page, 'making a token');
  await button(tokens, 'New token').click();
  await tokens.getByText('shown only once').waitFor();
  assert.deepEqual(last(it)[2], { name: 'porch-button', role: 'member', scope: ['chat', 'tool:gpio_write', 'tool:recall'], expiresInDays: 30 });
  await accessible(page, 'a new token');
  await shot(page, 'device-token');
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await button(tokens, 'Copy token').click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^hob_[0-9a-f]{64}$/);
  await button(tokens, 'I have it').click();
  await counted(tokens.getByText(/hob_0123/), 0);
  await button(tokens, 'Revoke porch-button').click();
  await button(tokens.getByRole('alertdialog'), 'Revoke').click();
  await tokens.getByText('porch-button', { exact: true }).waitFor({ state: 'detached' });
  assert.deepEqual(problems, []);
  await context.close();
});

test('one sees where one is signed in, signs out elsewhere, and here', async () => {
  const it = house();
  const { page, context, problems } = await visit(it, { at: '#/device', size: desktop });
  const sessions = part(page, 'Sessions');
  await sessions.getByText('Firefox on Linux').waitFor();
  await button(sessions, 'Sign out Safari on iPhone').click();
  await sessions.getByText('Safari on iPhone').waitFor({ state: 'detached' });
  await counted(button(sessions, 'Sign out Firefox on Linux'), 0);
  await button(sessions, 'Sign out Chrome on Windows').click();
  await sessions.getByText('signed in only here').waitFor();
  await button(sessions, 'Sign out here').click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  assert.deepEqual(problems, []);
  await context.close();
});

test('a backup is a download', async () => {
  const it = house();
  const { page, context } = await visit(it, { at: '#/device', size: desktop });
  const backup = part(page, 'Backup');
  const coming = page.waitForEvent('download');
  await button(backup, 'Download a backup').click();
  const file = await coming;
  assert.match(file.suggestedFilename(), /^kitchen-\d{4}-\d\d-\d\d\.hob$/);
  assert.equal(readFileSync(await file.path(), 'utf8'), 'HOB1 everything');
  await backup.getByText('Backup downloaded').waitFor();
  assert.equal(last(it)[3], 'c', 'the backup is asked for by our page');
  await context.close();
});

test('a backup under a passphrase, backups by themselves, and the support file', async () => {
  const it = house();
  const { page, context, problems } = await visit(it, { at: '#/device', size: phone });
  const backup = part(page, 'Backup');
  await backup.getByText('There is no backup yet.').waitFor();
  await button(backup, 'Download with a passphrase').click();
  const fill = async (first, second) => {
    await backup.getByLabel('Passphrase', { exact: true }).fill(first);
    await backup.getByLabel('Passphrase again').fill(second);
  };
  await fill('short', 'short');
  await button(backup, 'Download').click();
  await backup.getByRole('alert').getByText('at least 8').waitFor();
  await fill('four words in a row', 'four words in a raw');
  await button(backup, 'Download').click();
  await backup.getByRole('alert').getByText('not the same').waitFor();
  assert.deepEqual(it.calls, []);
  await fill('four words in a row', 'four words in a row');
  const coming = page.waitForEvent('download');
  await button(backup, 'Download').click();
  await coming;
  await backup.getByText('Keep the passphrase').waitFor();
  assert.deepEqual(last(it)[2], { files: true, passphrase: 'four words in a row' });
  await button(backup, 'Change').click();
  await backup.getByLabel('How often').selectOption('day');
  await backup.getByLabel('Folder').fill('/media/usb');
  await backup.getByRole('switch', { name: 'Encrypt them' }).click();
  await fill('four words in a row', 'four words in a row');
  await accessible(page, 'the plan of backups');
  await button(backup, 'Save').click();
  await backup.getByText('Every night at 3:00, into /media/usb; the last 7 stay, encrypted.').waitFor();
  assert.deepEqual(last(it)[2], { every: 'day', folder: '/media/usb', keep: 7, hour: 3, files: true, passphrase: 'four words in a row' });
  await button(backup, 'Back up now').click();
  await backup.getByText('Backup made').waitFor();
  const health = part(page, 'Health');
  await health.getByText('There is no backup yet. To do: download one').waitFor();
  const file = page.waitForEvent('download');
  await button(health, 'Download a support file').click();
  assert.equal((await file).suggestedFilename(), 'hob-support.txt');
  assert.deepEqual(problems, []);
  await context.close();
});

test('an encrypted backup asks for its passphrase', async () => {
  const it = house();
  let answer = bad(422, 'wrong_passphrase', 'the passphrase is wrong. Nothing was changed');
  let given;
  const { page, context } = await visit(it, { at: '#/device', size: phone });
  await page.route('**/api/v1/restore', (route) => ((given = route.request().headers()['x-backup-passphrase']), route.fulfill(answer)));
  const backup = part(page, 'Backup');
  await backup.locator('input[type=file]').setInputFiles({ name: 'old.hob.age', mimeType: '', buffer: Buffer.from('age-encryption.org/v1\n…') });
  await backup.getByText('This backup is encrypted.').waitFor();
  await backup.getByLabel('Passphrase').fill('wörds');
  await button(backup, 'Replace everything').click();
  await backup.getByRole('alert').getByText('the passphrase is wrong').waitFor();
  assert.equal(given, 'w%C3%B6rds');
  answer = { status: 202, json: { success: true, data: { restarting: true, size: 8 } } };
  await button(backup, 'Replace everything').click();
  await backup.getByText('Hob is restarting').waitFor();
  await context.close();
});

test('a backup is restored once that is confirmed', async () => {
  const it = house();
  const answers = { 'POST /api/v1/restore': bad(422, 'failed', 'this is not a usable backup: nothing was changed') };
  const { page, context } = await visit(it, { at: '#/device', answers });
  const backup = part(page, 'Backup');
  const sent = () => it.calls.filter((call) => call[1] === '/api/v1/restore');
  const choose = () => backup.locator('input[type=file]').setInputFiles({ name: 'old.hob', mimeType: '', buffer: Buffer.from('HOB1 old') });
  await choose();
  await backup.getByText('Replace everything with old.hob?').waitFor();
  await button(backup, 'No').click();
  assert.equal(sent().length, 0, 'nothing is sent unasked');
  await choose();
  await button(backup, 'Replace everything').click();
  await backup.getByRole('alert').getByText('not a usable backup').waitFor();
  answers['POST /api/v1/restore'] = { status: 202, json: { success: true, data: { restarting: true, size: 8 } } };
  await choose();
  await button(backup, 'Replace everything').click();
  await backup.getByText('Hob is restarting').waitFor();
  assert.equal(sent().at(-1)[3], 'c', 'it is sent by our page');
  await context.close();
});

test('a refusal stands where it happened, and a session that ended leads to the door', async () => {
  const it = house();
  const answers = { 'POST /api/v1/backup': bad(422, 'failed', 'the disk is full: make room and try again') };
  const { page, context } = await visit(it, { at: '#/device', answers });
  await button(part(page, 'Backup'), 'Download a backup').click();
  await part(page, 'Backup').getByRole('alert').getByText('the disk is full').waitFor();
  it.in = false;
  answers['POST /api/v1/people'] = bad(401, 'unauthorized', 'who are you?');
  await button(part(page, 'People'), 'Add a person').click();
  await part(page, 'People').getByLabel('Name').fill('Ida');
  await button(part(page, 'People'), 'Add a person').click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await context.close();
});

test('what could not be read says so in its place, and is read again', async () => {
  const answers = { 'GET /api/v1/people': bad(500, 'failed', 'the data could not be read: look at the log') };
  const { page, context } = await visit(house(), { at: '#/device', answers });
  const people = part(page, 'People');
  await people.getByRole('alert').getByText('look at the log').waitFor();
  await ready(page);
  delete answers['GET /api/v1/people'];
  await button(people, 'Try again').click();
  await people.getByText('Jonas').waitFor();
  await context.close();
});

test('a part has an address of its own', async () => {
  const { page, context } = await visit(house(), { at: '#/device/backup' });
  await part(page, 'Tokens').getByText('garden-sensor').waitFor();
  await page.waitForFunction(() => {
    const { top, height } = document.getElementById('device-backup').getBoundingClientRect();
    return top >= 0 && top + Math.min(height, 200) < innerHeight && document.activeElement?.id === 'device-backup-title';
  });
  await context.close();
});

test('away: what was read stays, and what is asked for says that Hob did not answer', async () => {
  const it = house();
  const { page, context } = await visit(it, { at: '#/device' });
  await ready(page);
  // It comes before the staged answers; were those taken away first, a request in between would reach the real daemon.
  await page.route((url) => /^\/(api\/|healthz$)/.test(url.pathname), (route) => route.abort('connectionrefused'));
  await button(part(page, 'Backup'), 'Download a backup').click();
  await part(page, 'Backup').getByRole('alert').getByText('Hob did not answer').waitFor();
  await page.getByText('Hob is offline; reconnecting…').waitFor();
  await part(page, 'People').getByText('Jonas').waitFor();
  await accessible(page, 'the room, away');
  await shot(page, 'device-away');
  await context.close();
});

test('a viewer sees what a viewer may, and no dead buttons', async () => {
  const it = house({ role: 'viewer', hasPassword: false, model: { model: 'custom/qwen3', url: 'http://192.168.1.5:8080/v1', hasKey: true, from: 'page', changeable: true } });
  await everywhere('device for a viewer', async (options) => {
    const opened = await visit(it, { ...options, at: '#/device' });
    await ready(opened.page);
    await part(opened.page, 'You').getByText('can view').waitFor();
    for (const title of ['People', 'Tokens', 'Backup']) await counted(part(opened.page, title), 0, title);
    for (const title of ['Health', 'Model', 'About']) await counted(part(opened.page, title).getByRole('button'), 0, title);
    await counted(button(part(opened.page, 'This device'), 'Rename'), 0);
    await button(part(opened.page, 'You'), 'Set a password').waitFor();
    return opened;
  });
});

test('the whole room, both sizes, light and dark, calm and at work', async () => {
  await everywhere('device', async (options) => {
    const opened = await visit(house(), { ...options, at: '#/device' });
    await ready(opened.page);
    await part(opened.page, 'Sessions').getByText('Firefox').waitFor();
    return opened;
  });
  await everywhere('device at work', async (options) => {
    const long = 'The room at the very end of the corridor beside the stairs'.replaceAll(' ', '-').slice(0, 63);
    const it = house({ state: state({ concerns: ['the disk is nearly full'] }) });
    it.device = { ...it.device, name: long, hostname: `${long.toLowerCase()}.local` };
    it.people[1].name = 'Maximiliane Wolfeschlegelsteinhausenbergerdorff';
    const opened = await visit(it, { ...options, at: '#/device' });
    const { page } = opened;
    await ready(page);
    await button(part(page, 'Model'), 'Change model').click();
    await part(page, 'Model').getByLabel('Provider').selectOption('custom');
    await button(part(page, 'You'), 'Change password').click();
    await page.getByRole('button', { name: /^Change Maxi/ }).click();
    await button(part(page, 'Tokens'), 'New token').click();
    await part(page, 'Tokens').getByLabel('Access').selectOption('some');
    return opened;
  });
});
