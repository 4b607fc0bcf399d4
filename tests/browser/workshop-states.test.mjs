// Programs and their terminal, cards of results, questions, and the forms of the workshop, against answers of the test.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, becomes, counted, desktop, fits, hob, launch, phone, schemes, shot, shows, sizes } from './page.mjs';
import { bad, good, owner, staged } from './staged.mjs';
import { answersOf, workspace } from './workshop-house.mjs';

let browser;
const pages = [];
before(async () => {
  browser = await launch();
});
after(async () => {
  for (const { problems } of pages) assert.deepEqual(problems, []);
  await browser?.close();
});

const NOW = Date.now();
const ID = '0197c0de-0000-7000-8000-00000000000';
const program = (n, change = {}) => ({
  id: `${ID}${n}`, kind: 'command', title: 'npm test', command: 'npm test -- --watch', folder: 'website', status: 'running', exitCode: null, startedAt: NOW - 65_000, endedAt: null,
  terminal: true, outside: false, details: {}, ...change,
});
const ESC = '\x1b';

/** Programs whose output the test writes; `sent` is what was typed, stopped or resized. */
function house(all) {
  const it = { all, sent: [], text: Object.fromEntries(all.map(({ id }) => [id, ''])) };
  it.answers = {
    'GET /api/v1/processes': (route) => route.fulfill(good({ processes: it.all })),
    'ANY /api/v1/processes/': async (route) => {
      const request = route.request();
      const url = new URL(request.url());
      const [, id, what] = /processes\/([^/]+)(?:\/(\w+))?$/.exec(url.pathname);
      const one = it.all.find((other) => other.id === id);
      if (!one) return route.fulfill(bad(404, 'not_found', 'there is no such program'));
      if (request.method() === 'POST') {
        it.sent.push([what, request.postDataJSON?.() ?? null]);
        if (what === 'stop') Object.assign(one, { status: 'stopped', endedAt: Date.now() });
        return route.fulfill(good(one));
      }
      const from = Number(url.searchParams.get('from') ?? 0);
      const bytes = Buffer.from(it.text[id]);
      const limit = Number(url.searchParams.get('limit') ?? 262_144);
      return route.fulfill(good({ ...one, output: bytes.subarray(from, from + limit).toString(), from, next: Math.min(bytes.length, from + limit) }));
    },
  };
  it.print = async (page, id, text) => {
    const from = Buffer.byteLength(it.text[id]);
    it.text[id] += text;
    const next = Buffer.byteLength(it.text[id]);
    await page.evaluate((data) => globalThis.tell('process:output', data), { id, from, next, text });
  };
  return it;
}

async function visit(answers, { at = '', role = 'admin', ...options } = {}) {
  const opened = await staged(browser, { 'GET /api/v1/session': good({ ...owner, role }), ...answers }, { live: true, size: desktop, at, ...options });
  pages.push(opened);
  return opened;
}
const press = (place, name) => place.getByRole('button', { name, exact: true }).click();
const terminal = (page) => page.getByRole('log', { name: 'Output' });

test('programs are listed, run above the composer, and are stopped', async () => {
  const it = house([program(1), program(2, { title: 'Fix the footer', kind: 'coding', status: 'exited', exitCode: 0, endedAt: NOW - 5000 }), program(3, { title: 'make', status: 'exited', exitCode: 2, endedAt: NOW - 9000, terminal: false })]);
  const { page, context } = await visit(it.answers);
  const strip = page.locator('.programs-strip a');
  await shows(() => strip.innerText(), /A program runs[^]*npm test[^]*1 min/);
  await strip.click();
  await page.getByRole('heading', { name: 'npm test' }).waitFor();
  await page.getByRole('link', { name: 'All programs' }).click();
  await shows(() => page.getByRole('list', { name: 'Earlier' }).innerText(), /Fix the footer[^]*coding task.· ended well[^]*make[^]*failed with code 2/);
  await press(page, 'Stop: npm test');
  await shows(() => page.getByRole('list', { name: 'Earlier' }).innerText(), /npm test[^]*stopped/);
  assert.deepEqual(it.sent.filter(([what]) => what === 'stop').length, 1);
  await context.close();
});

test('output is drawn as a terminal draws it, whatever it tries, and follows its end', async () => {
  const it = house([program(1)]);
  it.text[`${ID}1`] = `first${ESC}[31m red${ESC}[0m\r\n`;
  const { page, context } = await visit(it.answers, { at: `#/device/programs/${ID}1` });
  await shows(() => terminal(page).innerText(), /first red/);
  await counted(terminal(page).locator('.ink-2'), 1);
  const print = (text) => it.print(page, `${ID}1`, text);
  // A line that is rewritten, a sequence in two parts, movement and erasing.
  await print('10 %\r20 %\r100 %\r\n');
  await print(`${ESC}[3`);
  await print(`2mgreen${ESC}[0m\r\nabc\b\bX\r\nto be erased${ESC}[1K\r${ESC}[2Kkept\r\n`);
  await shows(() => terminal(page).innerText(), /\n100 %\ngreen\naXc\nkept/);
  // Nothing it prints reaches the page: no HTML, no title, no link, no clipboard.
  await print(`<img src=x onerror="document.title='hacked'">${ESC}]0;hacked\x07${ESC}]8;;https://example.org\x07link${ESC}]8;;\x07${ESC}]52;c;aGFja2Vk\x07${ESC}P+q544e${ESC}\\\r\n`);
  await shows(() => terminal(page).innerText(), /<img src=x onerror=[^\n]*link/);
  await counted(terminal(page).locator('img, a'), 0);
  assert.doesNotMatch(await page.title(), /hacked/);
  // The other screen and back.
  await print(`${ESC}[?1049h${ESC}[2J${ESC}[5;10Hfull screen`);
  await shows(() => terminal(page).innerText(), /full screen/);
  await print(`${ESC}[?1049l`);
  await shows(() => terminal(page).innerText(), /100 %/);
  await print(Array.from({ length: 400 }, (_, n) => `line ${n}\r\n`).join(''));
  await shows(() => terminal(page).innerText(), /line 399/);
  const atEnd = () => terminal(page).evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 24);
  await becomes(atEnd, true);
  await terminal(page).evaluate((box) => (box.scrollTop = 0));
  await page.getByRole('button', { name: 'Jump to the end' }).waitFor();
  await print('more\r\n');
  await shows(() => terminal(page).innerText(), /more/);
  assert.equal(await atEnd(), false, 'somebody reads further up');
  await press(page, 'Jump to the end');
  await becomes(atEnd, true);
  // What was missed is read again.
  it.text[`${ID}1`] += 'missed\r\n';
  await print('after\r\n');
  await shows(() => terminal(page).innerText(), /missed\nafter/);
  await shot(page, 'programs-terminal');
  await context.close();
});

test('a program is steered by lines and keys; one that ended takes nothing', async () => {
  const it = house([program(1)]);
  const { page, context } = await visit(it.answers, { at: `#/device/programs/${ID}1` });
  const input = page.getByRole('textbox', { name: 'Input' });
  await input.fill('yes');
  await input.press('Enter');
  await becomes(() => it.sent.filter(([what]) => what === 'input').map(([, body]) => body), [{ text: 'yes\r' }]);
  await becomes(() => input.inputValue(), '');
  await input.press('ArrowUp');
  assert.equal(await input.inputValue(), 'yes');
  await press(page, 'Press Ctrl+C: interrupt it');
  await press(page, 'Press Esc');
  await becomes(() => it.sent.filter(([what]) => what === 'input').map(([, body]) => body.text), ['yes\r', '\x03', '\x1b']);
  const [, size] = it.sent.find(([what]) => what === 'resize');
  assert.ok(size.columns >= 40 && size.rows >= 10, JSON.stringify(size));
  Object.assign(it.all[0], { status: 'exited', exitCode: 1, endedAt: Date.now() });
  await page.evaluate((id) => globalThis.tell('process:ended', { id, status: 'exited', exitCode: 1 }), `${ID}1`);
  await page.getByText('failed with code 1').waitFor();
  await counted(page.getByRole('textbox', { name: 'Input' }), 0);
  await context.close();
  const viewer = await visit(house([program(1)]).answers, { at: `#/device/programs/${ID}1`, role: 'viewer' });
  await terminal(viewer.page).waitFor();
  await counted(viewer.page.getByRole('textbox', { name: 'Input' }), 0);
  await viewer.page.goto(`${hob}/#/device/programs/${ID}9`);
  await viewer.page.getByText('This program is no longer known.').waitFor();
  await viewer.context.close();
});

const DIFF = '--- a/index.html\n+++ b/index.html\n@@ -1,3 +1,3 @@\n <p>open\n-9 to 17\n+9 to 18\n';
const CALLS = [
  ['exec', { command: 'make test' }, { exitCode: 2, stdout: `ok 1\n${ESC}[31mnot ok 2${ESC}[0m\n`, stderr: 'make: *** [test] Error 2\n', durationMs: 1240, changedFiles: ['website/out.log'] }],
  ['execute_python', { code: 'print(1)' }, { success: true, exitCode: 0, stdout: '1\n', stderr: '', durationMs: 31 }],
  ['edit', { path: 'website/index.html' }, { path: 'website/index.html', count: 1, added: 1, removed: 1, diff: DIFF }],
  ['git_status', { path: 'website' }, { repository: 'website', branch: 'main', clean: false, staged: [{ path: 'index.html', change: 'modified' }], unstaged: [], untracked: ['notes.txt'], conflicted: [] }],
  ['glob', { pattern: '*.md' }, { files: ['plan.md', 'household:/menu.md'], count: 2 }],
  ['exec', { command: 'npm start', background: true }, { id: `${ID}1`, command: 'npm start', status: 'running', startedAt: NOW }],
];
const conversation = (calls, answer = 'Done.') => good({
  id: 'c1', title: 'the website', next: null,
  messages: [
    { role: 'user', content: 'fix the website', id: 'm0', createdAt: NOW },
    ...calls.flatMap(([name, args, result], n) => [
      { role: 'assistant', content: '', toolCalls: [{ id: `k${n}`, name, arguments: args }], runId: 'r1', id: `a${n}` },
      { role: 'tool', content: '', toolResults: [{ toolCallId: `k${n}`, name, content: JSON.stringify(result), isError: false, durationMs: 5 }], id: `t${n}`, runId: 'r1' },
    ]),
    { role: 'assistant', content: answer, id: 'end', runId: 'r1', model: 'custom/test' },
  ],
});

/** A picture of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

test('the picture of a page is shown, and its title turns no words around', async () => {
  const title = '\u202etcerid\u200b eht';
  const pictureUrl = '/api/v1/workspace/file?place=own&path=pictures%2Fa.png';
  const result = { path: 'pictures/a.png', width: 320, height: 200, mediaType: 'image/png', size: 90, pictureUrl, url: 'https://evil.example.net/', title };
  const elsewhere = { ...result, pictureUrl: 'https://evil.example.net/a.png' };
  const it = house([program(1)]);
  const { page, context } = await visit({
    ...it.answers, ...answersOf(workspace()), 'GET /api/v1/conversations': good({ conversations: [] }),
    'GET /api/v1/workspace/file': (route) => route.fulfill({ contentType: 'image/png', body: Buffer.from(PIXEL, 'base64') }),
    'GET /api/v1/conversations/c1': conversation([['browser_screenshot', {}, result], ['browser_screenshot', {}, elsewhere]], `“${title}” is open.`),
  }, { at: '#/talk/c1' });
  await page.getByText('“tcerid eht” is open.', { exact: true }).waitFor();
  for (const line of await page.locator('details.did > summary').all()) await line.click();
  const pictures = page.locator('.media img');
  await pictures.first().waitFor();
  await counted(pictures, 1);
  assert.equal(await pictures.getAttribute('src'), pictureUrl);
  await context.close();
});

test('results of programs, differences, repositories and files are cards with links into the Files room', async () => {
  const it = house([program(1)]);
  const { page, context } = await visit({ ...it.answers, ...answersOf(workspace()), 'GET /api/v1/conversations/c1': conversation(CALLS), 'GET /api/v1/conversations': good({ conversations: [] }) }, { at: '#/talk/c1' });
  await page.getByText('Done.').waitFor();
  await page.locator('details.did > summary').first().click();
  for (const line of await page.locator('details.did details.did > summary').all()) await line.click();
  await shows(() => page.locator('.program').first().innerText(), /failed with code 2.· 1\.2 s[^]*not ok 2[^]*Error 2[^]*Changed files[^]*website\/out\.log/);
  await counted(page.locator('.program .ink-2'), 1);
  await shows(() => page.locator('.changes').innerText(), /website\/index.html[^]*\+1 −1[^]*\+9 to 18/);
  await counted(page.locator('.changes .diff .added'), 1);
  await counted(page.locator('.changes .diff .removed'), 1);
  await shows(() => page.getByRole('group', { name: 'Repository' }).innerText(), /main[^]*For the next commit[^]*index.html[^]*New[^]*notes.txt/);
  await becomes(() => page.getByRole('link', { name: 'household:/menu.md' }).getAttribute('href'), '#/files/open/household/menu.md');
  await becomes(() => page.getByRole('link', { name: 'notes.txt' }).getAttribute('href'), '#/files/open/own/website/notes.txt');
  await page.getByRole('link', { name: 'Watch it run' }).waitFor();
  await page.locator('.program').first().scrollIntoViewIfNeeded();
  await accessible(page, 'cards');
  await shot(page, 'workshop-cards', { fullPage: true });
  await context.close();
});

test('what is about to run, be deleted or changed is asked in plain words', async () => {
  const asked = (tool, args, n) => ({
    id: `a${n}`, nonce: `n${n}`, tool, arguments: args, about: 'the device’s own words', risk: 'execute', rule: 'autonomy', reason: 'a model wants to', tainted: false, state: 'pending', userId: 'owner',
    runId: `r${n}`, conversationId: 'c1', toolCallId: `k${n}`, channel: 'chat', version: 1, pattern: args, askedAt: NOW, waitsUntil: NOW + 120_000, expiresAt: NOW + 120_000,
  });
  const questions = [
    ['exec', { command: 'rm -r build', cwd: 'website' }, 'Run “rm -r build” in “website”?'],
    ['delete_file', { path: 'notes/a.txt' }, 'Move “notes/a.txt” to the trash?'],
    ['execute_python', { code: 'print(1)' }, 'Run this Python code?'],
    ['move_file', { source: 'a.txt', destination: 'b.txt' }, 'Move “a.txt” to “b.txt”?'],
    ['credentialed_exec', { binary: 'gh', args: ['issue', 'close', '4'] }, 'Run “gh issue close 4” with its stored credential?'],
    ['run_coding_task', { provider: 'claude-code', cwd: 'website' }, 'Let the coding agent claude-code work in “website”?'],
    ['git_commit', { message: 'Longer hours' }, 'Commit the changes as “Longer hours”?'],
  ];
  for (const [n, [tool, args, question]] of questions.entries()) {
    const { page, context } = await visit({ 'GET /api/v1/approvals': good({ count: 1, approvals: [asked(tool, args, n)] }), 'GET /api/v1/conversations': good({ conversations: [] }) });
    await page.getByText(question).waitFor();
    await context.close();
  }
});

const TOOLS = [
  { name: 'jq', title: 'jq', about: 'Filter and transform JSON.', category: 'data', riskLevel: 'low', policy: 'allowed', installed: true, version: '1.7', source: 'system', npxPackage: null, hosts: [], writes: false, custom: false },
  { name: 'prettier', title: 'Prettier', about: 'Format source code.', category: 'development', riskLevel: 'medium', policy: 'prompt', installed: false, version: null, source: null, npxPackage: 'prettier', hosts: [], writes: true, custom: false },
];

test('command-line tools: found, allowed, installed, added and removed', async () => {
  const tools = structuredClone(TOOLS);
  const sent = [];
  const answers = {
    'GET /api/v1/cli-tools': (route) => route.fulfill(good({ count: tools.length, tools })),
    'POST /api/v1/tools/install_cli_tool/execute': (route) => {
      Object.assign(tools[1], { installed: true, source: 'hob', version: '3.0' });
      return route.fulfill(good({ tool: 'install_cli_tool', result: {}, isError: false }));
    },
    'ANY /api/v1/cli-tools/': (route) => {
      const request = route.request();
      const [, name, more] = /cli-tools\/([^/]+)(\/installation)?/.exec(new URL(request.url()).pathname);
      sent.push([request.method(), name, request.method() === 'PUT' ? request.postDataJSON() : (more ?? '')]);
      const at = tools.findIndex((tool) => tool.name === name);
      if (request.method() === 'PUT' && at >= 0) Object.assign(tools[at], request.postDataJSON());
      else if (request.method() === 'PUT') tools.push({ ...TOOLS[0], name, title: name, custom: true, installed: false, ...request.postDataJSON() });
      else if (more) Object.assign(tools[at], { installed: false, source: null });
      else tools.splice(at, 1);
      return route.fulfill(good({}));
    },
  };
  const { page, context } = await visit(answers, { at: '#/device/cli-tools' });
  await page.getByText('Filter and transform JSON.').waitFor();
  await counted(page.getByText('Format source code.'), 0, 'only what is installed at first');
  await page.getByRole('combobox', { name: 'May Hob run jq?' }).selectOption('blocked');
  await page.getByText('Rule for jq saved.').waitFor();
  await page.getByRole('button', { name: /^All/ }).click();
  await press(page, 'Install Prettier');
  await page.getByText('Hob downloads the package “prettier”').waitFor();
  await press(page, 'Install');
  await page.getByText('Prettier installed.').waitFor();
  await press(page, 'Uninstall Prettier');
  await page.getByText('Prettier uninstalled.').waitFor();
  await press(page, 'Add a tool');
  await page.getByRole('form', { name: 'Add a tool' }).getByLabel('Name').fill('Bad Name');
  await press(page.getByRole('form', { name: 'Add a tool' }), 'Add a tool');
  await page.getByText('Use small letters, digits').waitFor();
  await page.getByRole('form', { name: 'Add a tool' }).getByLabel('Name').fill('tokei');
  await press(page.getByRole('form', { name: 'Add a tool' }), 'Add a tool');
  await page.getByText('“tokei” saved.').waitFor();
  assert.deepEqual(sent.at(-1), ['PUT', 'tokei', { policy: 'prompt', riskLevel: 'high', hosts: [], writes: true }]);
  await press(page, 'Remove tokei from the list');
  await press(page.getByRole('alertdialog'), 'Remove');
  await page.getByText('“tokei” removed.').waitFor();
  await accessible(page, 'command-line tools');
  await context.close();
});

const PRESET = {
  name: 'gh', title: 'GitHub CLI', secrets: ['GH_TOKEN'], settings: ['GH_HOST'], hosts: ['api.github.com'], workspace: 'none', timeoutSeconds: 30, denyArgs: ['^auth'], denyVerbose: ['--debug'], tips: 'Issues.', commands: ['issue list'], flags: '', env: {},
};

test('programs with a key: set up from a preset and by hand, changed without the key, removed', async () => {
  const all = [];
  const sent = [];
  const answers = {
    'GET /api/v1/credentialed-binaries': (route) => route.fulfill(good({ binaries: all, presets: [PRESET] })),
    'ANY /api/v1/credentialed-binaries/': (route) => {
      const request = route.request();
      const name = new URL(request.url()).pathname.split('/').at(-1);
      const at = all.findIndex((one) => one.name === name);
      if (request.method() === 'DELETE') all.splice(at, 1);
      else {
        const { secrets, ...body } = request.postDataJSON();
        sent.push([name, request.postDataJSON()]);
        const fresh = { name, path: null, commands: [], denyArgs: [], denyVerbose: [], hosts: [], files: 'none', tips: '', permitted: ['issue list'], problem: null, ...body, secretsSet: secrets ? Object.keys(secrets) : all[at]?.secretsSet ?? [] };
        if (at >= 0) all[at] = fresh;
        else all.push(fresh);
      }
      return route.fulfill(good({}));
    },
  };
  const { page, context } = await visit(answers, { at: '#/device/credentials' });
  await press(page, 'GitHub CLI');
  await press(page, 'Save');
  await page.getByText('Enter at least one key.').waitFor();
  await page.getByLabel('GH_TOKEN').fill('ghp_0123456789');
  await press(page, 'Save');
  await page.getByText('“gh” saved.').waitFor();
  assert.deepEqual(sent.at(-1)[1].secrets, { GH_TOKEN: 'ghp_0123456789' });
  assert.equal('denyArgs' in sent.at(-1)[1], false, 'what is the preset’s is left to it');
  assert.equal(await page.getByText('ghp_0123456789').count(), 0);
  await press(page, 'Change gh');
  await page.getByText('A key is stored.').waitFor();
  await page.getByText('Members may use it, too').click();
  await press(page, 'Save');
  await page.getByText('“gh” saved.').waitFor();
  assert.equal('secrets' in sent.at(-1)[1], false, 'the key stays');
  assert.equal(sent.at(-1)[1].members, true);
  await press(page, 'Another program');
  const form = page.getByRole('form', { name: 'Another program' });
  await form.getByRole('textbox', { name: /^Program/ }).fill('deploy');
  await form.getByRole('textbox', { name: 'Variables for keys 1' }).fill('DEPLOY_TOKEN');
  await form.getByLabel('DEPLOY_TOKEN').fill('0123456789');
  await form.getByRole('textbox', { name: 'Other variables' }).fill('REGION');
  await press(page, 'Save');
  await page.getByText('Write NAME=value, one a line.').waitFor();
  await page.getByText('List at least one command').waitFor();
  await form.getByRole('textbox', { name: 'Other variables' }).fill('REGION=eu');
  await form.getByRole('textbox', { name: /^Commands that may run/ }).fill('status\n!deploy --stage=test|live');
  await press(page, 'Save');
  await page.getByText('“deploy” saved.').waitFor();
  assert.deepEqual([sent.at(-1)[1].preset, sent.at(-1)[1].commands, sent.at(-1)[1].settings], ['', ['status', '!deploy --stage=test|live'], { REGION: 'eu' }]);
  await press(page, 'Remove deploy');
  await press(page.getByRole('alertdialog'), 'Remove');
  await page.getByText('“deploy” removed.').waitFor();
  await accessible(page, 'programs with a key');
  await context.close();
});

test('command tools: written, tried, saved, approved and deleted', async () => {
  const all = [];
  const sent = [];
  const answers = {
    'GET /api/v1/tools': good({ count: 0, tools: [] }), 'GET /api/v1/custom-tools': good({ count: 0, tools: [] }),
    'GET /api/v1/command-tools': (route) => route.fulfill(good({ count: all.length, tools: all })),
    'POST /api/v1/command-tools/try': (route) => (sent.push(['try', route.request().postDataJSON()]), route.fulfill(good({ tool: 'check_host', result: { stdout: 'it is there', exitCode: 0 }, say: 'It printed: it is there', isError: false, duration: 20 }))),
    'POST /api/v1/command-tools': (route) => {
      const body = route.request().postDataJSON();
      sent.push(['create', body]);
      all.push({ ...body, id: 'cmd_1', envNames: Object.keys(body.env ?? {}), status: 'active', createdBy: 'user', version: 1, usageCount: 0, updatedAt: new Date().toISOString() });
      return route.fulfill(good(all[0], 201));
    },
    'ANY /api/v1/command-tools/': (route) => {
      const request = route.request();
      if (request.method() === 'DELETE') all.length = 0;
      else if (request.method() === 'PATCH') (sent.push(['change', request.postDataJSON()]), Object.assign(all[0], request.postDataJSON()));
      else all[0].status = { approve: 'active', reject: 'rejected', enable: 'active', disable: 'disabled' }[new URL(request.url()).pathname.split('/').at(-1)];
      return route.fulfill(good(all[0] ?? {}));
    },
  };
  const { page, context } = await visit(answers, { at: '#/tools/commands' });
  await page.getByText('There are none yet.').waitFor();
  await page.getByRole('link', { name: 'New command tool' }).click();
  await press(page, 'Create');
  await counted(page.getByText('This is required.'), 3);
  await page.getByRole('textbox', { name: /^Name/ }).fill('check_host');
  await page.getByRole('textbox', { name: /^What it does/ }).fill('Whether a computer answers.');
  await page.getByRole('textbox', { name: /^Command/ }).fill('ping -c 1 {{host}}');
  await page.getByRole('textbox', { name: /^Variables/ }).fill('KEY=secret=1');
  await page.getByRole('textbox', { name: /^Host/ }).fill('router.local');
  await press(page, 'Try it');
  await page.getByText('It printed: it is there').waitFor();
  assert.deepEqual([sent.at(-1)[1].arguments, sent.at(-1)[1].env], [{ host: 'router.local' }, { KEY: 'secret=1' }]);
  await press(page, 'Create');
  await page.getByRole('heading', { name: 'check_host' }).waitFor();
  assert.deepEqual(sent.at(-1)[1].parameters, { type: 'object', properties: { host: { type: 'string' } }, required: ['host'] });
  await press(page, 'Turn off');
  await press(page, 'Turn on');
  await press(page, 'Change');
  await page.getByText('Stored: KEY.').waitFor();
  await page.getByRole('textbox', { name: /^Variables/ }).fill('KEY=');
  await press(page, 'Save');
  await page.getByRole('heading', { name: 'check_host' }).waitFor();
  assert.deepEqual(sent.at(-1)[1].env, { KEY: null });
  all[0].status = 'pending_approval';
  await page.evaluate(() => globalThis.tell('tools:changed', {}));
  await page.getByText('Hob wrote this tool. May it be used?').waitFor();
  await press(page, 'Approve');
  await counted(page.getByText('Hob wrote this tool.'), 0);
  await accessible(page, 'a command tool');
  await press(page, 'Delete');
  await press(page.getByRole('alertdialog'), 'Delete');
  await page.getByText('There are none yet.').waitFor();
  await context.close();
});

const SETTINGS = { path: '/usr/bin/helper', hosts: ['packages.example.org'], args: ['--do', '{prompt}'], modelArgs: [], service: 'helper', keyField: '', keyVariables: ['HELPER_KEY'], addressVariable: '', envSet: ['REGION'] };
const AGENTS = [
  { provider: 'codex', title: 'Codex', installed: false, configured: false, version: null, service: 'openai', hosts: ['api.openai.com'], enabled: true, members: false, available: false, problem: 'Codex is not installed: install_cli_tool installs `codex`, or an admin sets its path', custom: false },
  { provider: 'custom:helper', title: 'The helper', installed: true, configured: true, version: '1.2', service: 'helper', hosts: ['packages.example.org'], enabled: true, members: true, available: true, problem: null, custom: true, settings: SETTINGS },
];

for (const [name, size] of Object.entries(sizes)) {
  for (const scheme of schemes) {
    test(`it fits and is accessible: ${name}, ${scheme}`, async () => {
      const it = house([program(1), program(2, { title: 'Fix the footer of the website, and everything that goes with it', kind: 'coding', status: 'exited', exitCode: 0, endedAt: NOW - 5000 })]);
      it.text[`${ID}1`] = `${ESC}[1mRUN${ESC}[0m website\r\n${[31, 32, 33, 34, 35, 36, 37, 90].map((n) => `${ESC}[${n}mcolour ${n}${ESC}[0m `).join('')}\r\n${ESC}[7mreversed${ESC}[0m ${ESC}[42mgreen paper${ESC}[0m ${ESC}[38;5;208morange${ESC}[0m\r\n`;
      const answers = {
        ...it.answers, 'GET /api/v1/cli-tools': good({ count: 2, tools: TOOLS }), 'GET /api/v1/coding-agents': good({ count: 2, agents: AGENTS }), 'GET /api/v1/credentialed-binaries': good({ binaries: [], presets: [PRESET] }), 'GET /api/v1/tools': good({ count: 0, tools: [] }),
        'GET /api/v1/custom-tools': good({ count: 0, tools: [] }), 'GET /api/v1/command-tools': good({ count: 0, tools: [] }),
      };
      const { page, context } = await visit(answers, { size, scheme, at: '#/device/programs' });
      const look = async (what) => {
        await page.waitForTimeout(200);
        await accessible(page, what);
        await fits(page, size, what);
        await shot(page, `workshop-${what}-${name}-${scheme}`);
      };
      await page.getByText('Fix the footer').waitFor();
      await look('programs');
      await page.goto(`${hob}/#/device/programs/${ID}1`);
      await page.getByText('orange').waitFor();
      await look('terminal');
      await page.goto(`${hob}/#/device/cli-tools`);
      await page.getByText('Filter and transform JSON.').waitFor();
      await look('cli');
      await page.goto(`${hob}/#/device/coding-agents`);
      await press(page, 'Change The helper');
      await page.getByText('More settings').click();
      await look('agents');
      await page.goto(`${hob}/#/device/credentials`);
      await press(page, 'GitHub CLI');
      await page.getByText('More settings').click();
      await look('credentials');
      await page.goto(`${hob}/#/tools/commands/new`);
      await page.getByRole('button', { name: 'Create' }).waitFor();
      await look('command');
      await context.close();
    });
  }
}
