// A person in the Tools room: finds a tool, uses it by hand, is asked before what cannot be undone, writes a tool and deletes it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, api, becomes, counted, desktop, enter, enterAs, fits, hob, launch, phone, schemes, shot, shows, sizes, unfold, visit } from './page.mjs';

let browser, context, page, problems;

before(async () => {
  browser = await launch();
  ({ context, page, problems } = await enter(browser, { size: desktop }));
});

after(async () => {
  await browser?.close();
});

/** Opens a place in the Tools room by its address. */
const at = async (place, on = page) => {
  await on.goto(`${hob}/#/tools${place && `/${place}`}`);
  await on.getByRole('heading', { level: 1, name: 'Tools' }).waitFor();
};
const filter = (on = page) => on.getByRole('searchbox', { name: 'Find a tool' });
const row = (name, on = page) => on.locator('a.tool-row').filter({ has: on.getByText(name, { exact: true }) });
const run = (on = page) => on.getByRole('button', { name: 'Run', exact: true });
const result = (on = page) => on.locator('.result');
const call = async (tool, args = {}) => (await api(context, 'POST', `/api/v1/tools/${tool}/execute`, { arguments: args })).result;

test('every tool is in its family, and one field finds among them', async () => {
  const { tools } = await api(context, 'GET', '/api/v1/tools');
  await page.goto(hob);
  await visit(page, 'Tools');
  await unfold(page);
  await row('calculate').waitFor();
  await counted(page.locator('.family a.tool-row'), tools.length);
  const families = await page.locator('.family h2').allInnerTexts();
  assert.deepEqual(families.filter((name) => /^[a-z]|[a-z][A-Z]/.test(name)), [], 'each has a name for people');
  assert.equal(new Set(families.map((name) => name.toLowerCase())).size, families.length, `${families}`);
  for (const name of ['Commands', 'AI services', 'Data extraction', 'PDF', 'Database']) assert.ok(families.includes(name), `${name}: ${families}`);
  await shows(() => row('recall').innerText(), /reads[^]*Also called memory_recall/);
  await shows(() => row('gpio_write').innerText(), /controls devices/);
  for (const [typed, name] of [['remember bat', 'batch_remember'], ['memory_recall', 'recall'], ['MATHEMATICAL', 'calculate']]) {
    await filter().fill(typed);
    await row(name).waitFor();
    await counted(page.locator('a.tool-row'), 1, typed);
  }
  await filter().fill('qwertz');
  await page.getByText('No tools match “qwertz”.').waitFor();
  await filter().press('Escape');
  await becomes(() => filter().inputValue(), '');
  await row('calculate').waitFor();
});

test('bad input is told in words, by the page and by Hob', async () => {
  await row('calculate').click();
  await page.getByRole('heading', { level: 2, name: 'calculate' }).waitFor();
  assert.equal(new URL(page.url()).hash, '#/tools/calculate');
  await page.getByLabel('Precision').fill('eleven');
  await run().click();
  await page.getByText('This is required.').waitFor();
  await page.getByText('Enter a number.').waitFor();
  await page.getByText('Fix 2 fields above.').waitFor();
  await page.getByLabel('Precision').fill('2.5');
  await page.getByText('Enter a whole number.').waitFor();
  await page.getByLabel('Precision').fill('11');
  await page.getByText('Enter 10 or less.').waitFor();
  await page.getByLabel('Precision').fill('');
  await page.getByLabel('Expression').fill('2 +');
  await page.getByLabel('Expression').press('Control+Enter');
  const told = page.getByRole('alert').filter({ hasText: 'cannot be evaluated' });
  await told.waitFor();
  await shows(() => told.innerText(), /write it like/);
  await counted(result(), 0);
});

test('a tool says what it gave, then shows all of it; what was typed stays', async () => {
  await page.getByLabel('Expression').fill('12 * 12');
  await page.getByLabel('Expression').press('Control+Enter');
  await result().getByText('12 × 12 = 144.').waitFor();
  assert.deepEqual(JSON.parse(await result().locator('pre').innerText()), { expression: '12 * 12', formatted: '144', result: 144 });
  await result().getByText(/^took \d+ ms$/).waitFor();
  await result().getByRole('button', { name: 'Copy' }).click();
  await result().getByRole('button', { name: 'Copied' }).waitFor();
  await page.getByRole('link', { name: 'All tools' }).click();
  await row('calculate').waitFor();
  await page.goBack();
  await result().getByText('12 × 12 = 144.').waitFor();
  await becomes(() => page.getByLabel('Expression').inputValue(), '12 * 12');
  await page.getByRole('button', { name: 'Start over' }).click();
  await becomes(() => page.getByLabel('Expression').inputValue(), '');
});

test('what moves something in the world asks first', async () => {
  const high = async () => (await call('gpio_read', { pin: 22 })).high;
  assert.equal(await high(), false);
  await at('gpio_write');
  await page.getByLabel('Pin').fill('22');
  await page.getByRole('switch', { name: 'High' }).click();
  await run().click();
  const question = page.getByRole('alertdialog', { name: 'Do this now?' });
  await shows(() => question.innerText(), /Controls something in the real world[^]*gpio_write \{\s*"pin": 22,\s*"high": true/);
  await becomes(() => question.getByRole('button', { name: 'No' }).evaluate((button) => button === document.activeElement), true);
  await page.keyboard.press('Escape');
  await question.waitFor({ state: 'detached' });
  assert.equal(await high(), false);
  await run().click();
  await question.getByRole('button', { name: 'Yes, do it' }).click();
  await result().getByText('Pin 22 is on.').waitFor();
  assert.equal(await high(), true);
});

test('a form of rows, lists and choices gives what the tool takes', async () => {
  await at('batch_remember');
  const content = page.getByLabel('Content');
  await counted(content, 1, 'one row is there to begin with');
  await content.first().fill('Ana keeps the spare key');
  await page.getByLabel('Type').selectOption('preference');
  const tag = page.getByLabel('Tags 1', { exact: true });
  await tag.fill('keys');
  await tag.press('Enter');
  await page.keyboard.type('neighbours');
  await page.getByRole('button', { name: 'Add another' }).last().click();
  await run().click();
  await page.getByText('This is required.').waitFor();
  await content.nth(1).fill('The meter is in the cellar');
  await run().click();
  await result().getByText('I will remember 2 things.').waitFor();
  const { memories } = await call('list_memories');
  assert.deepEqual(memories.map((m) => [m.content, m.type, m.tags]), [
    ['The meter is in the cellar', 'fact', []],
    ['Ana keeps the spare key', 'preference', ['keys', 'neighbours']],
  ]);
});

/** A tool with a field of every sort, which only the page knows of. */
const EVERYTHING = {
  name: 'everything', description: 'Takes `all` there is.', category: 'Test', group: 'test', risk: 'observe', requiresConfirmation: false, aliases: [], enabled: true,
  parameters: {
    type: 'object',
    required: ['sort', 'place'],
    properties: {
      sort: { type: 'string', enum: ['warm', 'cold'] },
      place: { type: 'object', required: ['room'], properties: { room: { type: 'string', minLength: 3 }, floor: { type: ['integer', 'null'], minimum: 0 } } },
      shade: { type: 'object', properties: { colour: { type: 'string' }, dim: { type: 'boolean', default: true } } },
      days: { type: 'array', items: { enum: ['mon', 'tue', 'wed'] } },
      limits: { type: 'array', items: { type: 'number' } },
      loud: { type: 'boolean' },
      share: { anyOf: [{ type: 'number', minimum: 0, maximum: 1 }, { type: 'null' }], default: 0.10000000149011612 },
      extra: {},
    },
  },
};

/** The only tool there is: in the list without its parameters, which come with the tool itself. */
const listed = async (tool) => {
  const { parameters: _, ...line } = tool;
  await page.route('**/api/v1/tools', (route) => route.fulfill({ json: { success: true, data: { count: 1, tools: [line] } } }));
  await page.route(`**/api/v1/tools/${tool.name}`, (route) => route.fulfill({ json: { success: true, data: tool } }));
};

test('every sort of field has its form, and the rest is JSON', async () => {
  let sent;
  await listed(EVERYTHING);
  await page.route('**/api/v1/tools/everything/execute', (route) => {
    sent = route.request().postDataJSON().arguments;
    return route.fulfill({ json: { success: true, data: { tool: 'everything', result: 'plain words', say: null, isError: false, duration: 1400 } } });
  });
  await at('everything');
  await page.reload();
  await becomes(() => page.getByLabel('Share').inputValue(), '0.1');
  await run().click();
  await page.getByText('Fix 2 fields above.').waitFor();
  await page.getByLabel('Sort').selectOption('cold');
  await page.getByRole('textbox', { name: 'Room' }).fill('ab');
  await page.getByText('Enter at least 3 characters.').waitFor();
  await page.getByRole('textbox', { name: 'Room' }).fill('attic');
  await page.getByLabel('Extra').fill('{"a": ');
  await page.getByText(/This is not valid JSON/).waitFor();
  await run().click();
  assert.equal(sent, undefined);
  await page.getByLabel('Extra').fill('{"a": [1]}');
  await page.getByLabel('Floor').fill('2');
  await page.getByRole('switch', { name: 'wed' }).click();
  await page.getByLabel('Limits 1', { exact: true }).fill('1,5');
  await page.getByLabel('Loud').selectOption('No');
  await run().click();
  await result().getByText('plain words').waitFor();
  await result().getByText('took 1.4 s').waitFor();
  assert.deepEqual(sent, { sort: 'cold', place: { room: 'attic', floor: 2 }, days: ['wed'], limits: [1.5], loud: false, share: 0.1, extra: { a: [1] } });
  await page.unroute('**/api/v1/tools');
  await page.unroute('**/api/v1/tools/everything');
  await page.unroute('**/api/v1/tools/everything/execute');
});

test('a tool that is off says how it comes on', async () => {
  await listed({ ...EVERYTHING, name: 'get_weather', group: 'weather', enabled: false });
  await at('');
  await page.reload();
  await shows(() => row('get_weather').innerText(), /off: turn on Weather/);
  await row('get_weather').click();
  await page.getByRole('status').getByText('This tool is off: turn on its group, Weather.').waitFor();
  await becomes(() => run().getAttribute('aria-disabled'), 'true');
  await run().press('Enter');
  await counted(page.getByText('This is required.'), 0);
  await page.unroute('**/api/v1/tools');
  await page.unroute('**/api/v1/tools/get_weather');
  await at('');
  await page.reload();
});

test('a tool is written, tried, kept, used, switched off and deleted', async () => {
  await page.getByRole('link', { name: 'New tool' }).click();
  await page.getByRole('heading', { level: 2, name: 'New tool' }).waitFor();
  const name = page.getByLabel('Name');
  const code = page.getByLabel('Code', { exact: false }).and(page.locator('textarea'));
  await name.fill('Bottle Count');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText('Start with a lowercase letter').waitFor();
  await name.fill('bottle_count');
  await page.getByLabel('What it does').fill('Counts bottles in crates.');
  await page.getByLabel('Parameters').fill('{"type": "object", "properties": {"crates": {"type": "integer", "minimum": 1}}, "required": ["crates"]');
  await page.getByText(/This is not valid JSON/).waitFor();
  await page.getByLabel('Parameters').fill('{"type": "object", "properties": {"crates": {"type": "integer", "minimum": 1}}, "required": ["crates"]}');
  await code.fill('console.log("counting"); return args.crates.of.twelve;');

  const test = page.getByRole('button', { name: 'Test' });
  await test.click();
  await page.getByText('This is required.').waitFor();
  await page.getByLabel('Crates').fill('3');
  await test.click();
  await result().getByText('That failed').waitFor();
  await shows(() => result().innerText(), /bottle_count. failed: TypeError/);
  await code.fill('console.log("counting"); return { bottles: args.crates * 12 };');
  await test.click();
  await result().getByText('"bottles": 36').waitFor();
  await result().getByText('counting').waitFor();

  // Half written, it waits while one looks elsewhere.
  await visit(page, 'Home');
  await page.goBack();
  await becomes(() => name.inputValue(), 'bottle_count');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { level: 2, name: 'bottle_count' }).waitFor();
  await shows(() => page.locator('.status-line').innerText(), /active\s*by a person\s*version 1\s*never used/);

  await page.getByRole('link', { name: 'Run' }).click();
  await page.getByLabel('Crates').fill('2');
  await run().click();
  await result().getByText('"bottles": 24').waitFor();
  await page.getByRole('link', { name: 'Its code' }).click();

  await page.getByRole('button', { name: 'Edit' }).click();
  await code.fill('return { bottles: args.crates * 20 };');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('version 2').waitFor();

  await page.getByRole('button', { name: 'Turn off' }).click();
  await page.locator('.status-line').getByText('off').waitFor();
  await at('');
  await shows(() => row('bottle_count').innerText(), /off\s*by a person\s*version 2/);
  await row('bottle_count').click();
  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.locator('.status-line').getByText('active').waitFor();

  await page.getByRole('button', { name: 'Delete' }).click();
  const question = page.getByRole('alertdialog', { name: 'Delete bottle_count for good?' });
  await question.getByRole('button', { name: 'No' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await question.getByRole('button', { name: 'Yes, delete it' }).click();
  await filter().waitFor();
  await counted(row('bottle_count'), 0);
  assert.deepEqual((await api(context, 'GET', '/api/v1/custom-tools')).tools, []);
});

const byHob = (name) => ({
  name, description: 'Restarts the radio.', createdBy: 'llm', permissions: ['shell'],
  parameters: { type: 'object', properties: {} }, code: 'return "restarted";',
});

test('what Hob wrote waits for a decision', async () => {
  for (const name of ['restart_radio', 'restart_router']) await api(context, 'POST', '/api/v1/custom-tools', byHob(name));
  await at('');
  await page.reload();
  await shows(() => row('restart_radio').innerText(), /needs approval\s*by Hob/);
  await page.getByRole('link', { name: /2 tools need approval/ }).waitFor();
  await row('restart_radio').click();
  const card = page.getByRole('region', { name: 'Hob wrote this tool. Approve it?' });
  await card.getByText('It wants to run commands.').waitFor();
  await card.getByRole('button', { name: 'Approve' }).click();
  await card.waitFor({ state: 'detached' });
  await page.locator('.status-line').getByText('active').waitFor();
  await at('');
  await row('restart_router').click();
  await card.getByRole('button', { name: 'Reject' }).click();
  await page.locator('.status-line').getByText('rejected').waitFor();
  // Whoever rejected it may change their mind.
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.locator('.status-line').getByText('active').waitFor();
  await page.getByRole('link', { name: 'Tools', exact: true }).waitFor();
});

test('whoever may only look is told so in words', async () => {
  const guest = await enterAs(browser, 'viewer', { size: phone });
  await at('remember', guest.page);
  await guest.page.getByLabel('Content').fill('I was here');
  await run(guest.page).click();
  const told = guest.page.getByRole('alert');
  await told.waitFor();
  await shows(() => told.innerText(), /viewer|admin|may/i);
  await counted(result(guest.page), 0);
  await guest.context.close();
});

test('a tool that is not there says so', async () => {
  await at('no_such_tool');
  await page.getByText('There is no tool called “no_such_tool”').waitFor();
  await page.getByRole('link', { name: 'All tools' }).click();
  await filter().waitFor();
  assert.deepEqual(problems, []);
});

for (const [name, size] of Object.entries(sizes)) {
  for (const scheme of schemes) {
    test(`it fits and reads well: ${name}, ${scheme}`, async () => {
      const it = await enter(browser, { size, scheme });
      const look = async (what) => {
        await accessible(it.page, `${what}, ${name}, ${scheme}`);
        await fits(it.page, size, what);
        await shot(it.page, `tools-${what}-${name}-${scheme}`);
      };
      await at('', it.page);
      await it.page.locator('details.family').first().waitFor();
      await look('families');
      await unfold(it.page);
      await row('calculate', it.page).waitFor();
      await look('list');
      await filter(it.page).fill('memory');
      await look('found');
      await filter(it.page).fill('');
      await at('calculate', it.page);
      await it.page.getByLabel('Precision').fill('99');
      await run(it.page).click();
      await it.page.getByText('This is required.').waitFor();
      await look('wrong');
      await it.page.getByLabel('Precision').fill('');
      await it.page.getByLabel('Expression').fill('2 * (3 + 4)');
      await run(it.page).click();
      await result(it.page).waitFor();
      await look('result');
      await at('batch_remember', it.page);
      await it.page.getByLabel('Content').waitFor();
      await look('rows');
      await at('forget', it.page);
      await it.page.getByLabel('Memory id').fill('01a1fa02-8cd2-7000-a5d1-c0c62af780ad');
      await run(it.page).click();
      await it.page.getByRole('alertdialog').waitFor();
      await look('confirm');
      await at('', it.page);
      await row('restart_router', it.page).click();
      await it.page.locator('.tool .status-line').getByText('by Hob').waitFor();
      await look('custom');
      await it.page.getByRole('button', { name: 'Edit' }).click();
      await it.page.getByRole('heading', { name: 'Edit restart_router' }).waitFor();
      await look('editor');
      assert.deepEqual(it.problems, []);
      await it.context.close();
    });
  }
}
