// A model repairs a small repository: its calls with the difference, the commit, and the undo that leaves the commit, with the real daemon.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { calls, says, talkWithModel } from './model.mjs';
import { accessible, api, counted, fits, message, phone, shot, shows } from './page.mjs';

let model, context, page, problems, close, sandboxed;
before(async () => {
  ({ model, context, page, problems, close } = await talkWithModel());
  const { checks } = await api(context, 'GET', '/api/v1/doctor');
  sandboxed = !checks.some(({ name, outcome }) => /sandbox/.test(name) && outcome === 'bad');
});
after(() => close?.());

const execute = async (tool, args) => (await api(context, 'POST', `/api/v1/tools/${tool}/execute`, { arguments: args })).result;
const content = async () => (await api(context, 'GET', '/api/v1/workspace/text?path=twice/twice.py')).text;
const toast = () => page.getByRole('complementary', { name: 'Last change' });
const WRONG = 'def twice(n):\n    return n + n + n\n';

test('a repair is seen with its difference and its commit, and the undo brings the file back', async (t) => {
  if (!sandboxed) return t.skip('this kernel gives no sandbox');
  await execute('write_file', { path: 'twice/twice.py', content: WRONG });
  await execute('write_file', { path: 'twice/test.py', content: 'from twice import twice\nassert twice(2) == 4\n' });
  const made = await execute('exec', { command: 'git init -q -b main && git add . && git -c user.name=Setup -c user.email=setup@example.org commit -q -m First', cwd: 'twice' });
  assert.equal(made.exitCode, 0, JSON.stringify(made));
  const run = ['exec', { command: 'python3 test.py', cwd: 'twice' }];
  const edit = ['edit_file', { path: 'twice/twice.py', old_string: 'n + n + n', new_string: 'n + n' }];
  const steps = [run, ['read_file', { path: 'twice/twice.py' }], edit, run, ['git_add', { path: 'twice', files: ['.'] }], ['git_commit', { path: 'twice', message: 'Add only twice' }]];
  model.script = [...steps.map((step) => calls(step)), says('The test passes now.')];
  await message(page).fill('the test in twice fails: please repair it');
  await message(page).press('Enter');
  await page.locator('.words').getByText('The test passes now.').waitFor();
  await toast().getByRole('button', { name: 'Undo' }).click();
  await shows(() => toast().innerText(), /Undone: `twice\/twice\.py` is as it was before\. What was committed stays in git\./);
  assert.equal(await content(), WRONG);
  const { commits } = await execute('git_log', { path: 'twice' });
  assert.deepEqual(commits.map(({ subject }) => subject), ['Add only twice', 'First']);

  await page.locator('details.did > summary').first().click();
  for (const line of await page.locator('details.did details.did > summary').all()) await line.click();
  await counted(page.locator('.program'), 2);
  await shows(() => page.locator('.program').first().innerText(), /failed with code 1[^]*AssertionError/);
  await shows(() => page.locator('.changes').innerText(), /twice\/twice\.py/);
  await shows(() => page.locator('.changes .diff .added').innerText(), /return n \+ n$/);
  await shows(() => page.locator('.changes .diff .removed').innerText(), /return n \+ n \+ n$/);
  await accessible(page, 'a repair');
  await fits(page, phone, 'a repair');
  await shot(page, 'repair', { fullPage: true });
  assert.deepEqual(problems, []);
});
