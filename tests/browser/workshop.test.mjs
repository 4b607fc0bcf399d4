// Programs in the sandbox, command-line tools, coding agents, programs with a key and command tools against the real daemon.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { api, becomes, counted, desktop, enter, enterAs, hob, launch, shot, shows, visit } from './page.mjs';

let browser, context, page, problems, sandboxed;

before(async () => {
  browser = await launch();
  ({ context, page, problems } = await enter(browser, { size: desktop }));
  const { checks } = await api(context, 'GET', '/api/v1/doctor');
  sandboxed = !checks.some(({ name, outcome }) => /sandbox/.test(name) && outcome === 'bad');
  await page.goto(hob);
});
after(async () => {
  assert.deepEqual(problems, []);
  await browser?.close();
});

const execute = async (tool, args) => (await api(context, 'POST', `/api/v1/tools/${tool}/execute`, { arguments: args })).result;
const press = (name, place = page) => place.getByRole('button', { name, exact: true }).click();
const terminal = () => page.getByRole('log', { name: 'Output' });

test('a program in the background is seen, steered and stopped', async (t) => {
  if (!sandboxed) return t.skip('this kernel gives no sandbox');
  const { id } = await execute('exec', { command: 'echo begin; while read line; do echo "got $line"; done', background: true });
  await page.goto(`${hob}/#/device/programs/${id}`);
  await shows(() => terminal().innerText(), /begin/);
  await page.getByRole('textbox', { name: 'Input' }).fill('hello there');
  await page.getByRole('textbox', { name: 'Input' }).press('Enter');
  await shows(() => terminal().innerText(), /got hello there/);
  await page.getByRole('link', { name: 'All programs' }).click();
  await page.getByRole('list', { name: 'Running' }).getByRole('link').first().waitFor();
  await page.goto(`${hob}/#/talk`);
  await page.locator('.programs-strip a').waitFor();
  await shot(page, 'workshop-strip');
  await page.locator('.programs-strip a').click();
  await page.getByRole('button', { name: /^Stop/ }).click();
  await page.getByText('stopped', { exact: false }).first().waitFor();
  await counted(page.getByRole('textbox', { name: 'Input' }), 0);
  await page.goto(`${hob}/#/talk`);
  await counted(page.locator('.programs-strip'), 0);
});

test('what a program wrote is in the Files room', async (t) => {
  if (!sandboxed) return t.skip('this kernel gives no sandbox');
  const ran = await execute('exec', { command: 'mkdir -p made && printf "by a program\\n" > made/here.txt' });
  assert.equal(ran.exitCode, 0, JSON.stringify(ran));
  await visit(page, 'Files');
  await page.locator('.file').filter({ hasText: 'made' }).getByRole('link').click();
  await page.locator('.file').filter({ hasText: 'here.txt' }).getByRole('link').click();
  await page.locator('.code').getByText('by a program').waitFor();
});

test('a rule of a command-line tool is set, and one is added and removed', async () => {
  await page.goto(`${hob}/#/device/cli-tools`);
  await page.getByRole('button', { name: /^All/ }).click();
  await page.getByRole('combobox', { name: 'May Hob run jq?' }).selectOption('blocked');
  await page.getByText('Rule for jq saved.').waitFor();
  const { tools } = await api(context, 'GET', '/api/v1/cli-tools');
  assert.equal(tools.find(({ name }) => name === 'jq').policy, 'blocked');
  await press('Add a tool');
  const form = page.getByRole('form', { name: 'Add a tool' });
  await form.getByLabel('Name').fill('tokei');
  await form.getByLabel('What it is for').fill('Count lines of code.');
  await press('Add a tool', form);
  await page.getByText('“tokei” saved.').waitFor();
  await press('Remove tokei from the list');
  await press('Remove', page.getByRole('alertdialog'));
  await page.getByText('“tokei” removed.').waitFor();
});

test('a program with a key is set up, and its key is nowhere to be read', async () => {
  await page.goto(`${hob}/#/device/credentials`);
  await press('GitHub CLI');
  await page.getByLabel('GH_TOKEN').fill('ghp_abcdefghijklmnopqrstuvwxyz0123456789');
  await press('Save');
  await page.getByText('“gh” saved.').waitFor();
  const all = await api(context, 'GET', '/api/v1/credentialed-binaries');
  assert.deepEqual(all.binaries.map(({ name, secretsSet }) => [name, secretsSet]), [['gh', ['GH_TOKEN']]]);
  assert.doesNotMatch(JSON.stringify(all) + await page.content(), /ghp_abcdef/);
  await press('Change gh');
  await page.getByText('Members may use it, too').click();
  await press('Save');
  await page.getByText('for members, too').waitFor();
  await press('Remove gh');
  await press('Remove', page.getByRole('alertdialog'));
  await page.getByText('“gh” removed.').waitFor();
});

test('a coding agent is opened to members, and one is added, changed and removed', async () => {
  const agents = async () => (await api(context, 'GET', '/api/v1/coding-agents')).agents;
  const agent = async (provider) => (await agents()).find((one) => one.provider === provider);
  await page.goto(`${hob}/#/device/coding-agents`);
  await press('Change Codex');
  const codex = page.getByRole('form', { name: 'Change Codex' });
  await counted(codex.getByRole('textbox', { name: /^Arguments/ }), 0);
  await codex.getByText('Members may use it, too').click();
  await press('Save', codex);
  await page.getByText('“Codex” saved.').waitFor();
  assert.equal((await agent('codex')).members, true);
  await press('Reset Codex');
  await page.getByText('Codex is as Hob came with it.').waitFor();
  assert.equal((await agent('codex')).members, false);

  await press('Add a coding agent');
  const form = page.getByRole('form', { name: 'Add a coding agent' });
  await form.getByRole('textbox', { name: /^Name/ }).fill('helper');
  await form.getByRole('textbox', { name: /^Program/ }).fill('sh');
  await form.getByRole('textbox', { name: /^Arguments/ }).fill('-c\ntrue');
  await press('Save', form);
  await form.getByText('Write the whole path').waitFor();
  await form.getByText('One line must contain {prompt}.').waitFor();
  await form.getByRole('textbox', { name: /^Program/ }).fill('/bin/sh');
  await form.getByRole('textbox', { name: /^Arguments/ }).fill('-c\ntrue {prompt}');
  await form.getByText('More settings').click();
  await form.getByRole('textbox', { name: /^Other variables/ }).fill('REGION=not-shown-again');
  await press('Save', form);
  await page.getByText('“helper” saved.').waitFor();
  // A change keeps the variables, which nobody sees.
  await press('Change helper');
  const change = page.getByRole('form', { name: 'Change helper' });
  await change.getByRole('textbox', { name: /^Title/ }).fill('The helper');
  await press('Save', change);
  await page.getByText('“The helper” saved.').waitFor();
  const { title, custom, settings } = await agent('custom:helper');
  assert.deepEqual([title, custom, settings.args, settings.envSet], ['The helper', true, ['-c', 'true {prompt}'], ['REGION']]);
  assert.doesNotMatch(JSON.stringify(await agents()) + await page.content(), /not-shown-again/);
  await press('Remove The helper');
  await press('Remove', page.getByRole('alertdialog'));
  await page.getByText('“The helper” removed.').waitFor();
  assert.equal(await agent('custom:helper'), undefined);
  // Who is no admin sees them, and changes none.
  const member = await enterAs(browser, 'member', { size: desktop });
  await member.page.goto(`${hob}/#/device/coding-agents`);
  await member.page.getByText('Codex').first().waitFor();
  await counted(member.page.getByRole('button', { name: /^(Change|Reset|Add a coding)/ }), 0);
  await member.context.close();
});

test('a command tool is written, tried, used and deleted', async (t) => {
  if (!sandboxed) return t.skip('this kernel gives no sandbox');
  await page.goto(`${hob}/#/tools/commands`);
  await page.getByRole('link', { name: 'New command tool' }).click();
  await page.getByRole('textbox', { name: /^Name/ }).fill('greet_somebody');
  await page.getByRole('textbox', { name: /^What it does/ }).fill('Greets somebody by name.');
  await page.getByRole('textbox', { name: /^Command/ }).fill('echo hello {{who}}');
  await page.getByRole('textbox', { name: /^Who/ }).fill('Marta; echo gone');
  await press('Try it');
  await page.locator('.result, .notice.problem').first().waitFor();
  assert.equal(await page.locator('.notice.problem').count(), 0, await page.locator('main').innerText());
  await shows(() => page.locator('.result').innerText(), /hello Marta; echo gone/);
  await press('Create');
  await page.getByRole('heading', { name: 'greet_somebody' }).waitFor();
  assert.match(JSON.stringify(await execute('greet_somebody', { who: 'Jonas' })), /hello Jonas/);
  await press('Delete');
  await press('Delete', page.getByRole('alertdialog'));
  await page.getByText('There are none yet.').waitFor();
});
