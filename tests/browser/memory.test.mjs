// A person in the Memory room: writes something down, finds it by what it means, changes it, forgets it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, api, becomes, counted, desktop, enter, fits, hob, launch, phone, schemes, shot, shows, sizes, visit } from './page.mjs';

let browser, context, page, problems;

before(async () => {
  browser = await launch();
  ({ context, page, problems } = await enter(browser, { size: desktop }));
});

after(async () => {
  await browser?.close();
});

const search = (on = page) => on.getByRole('searchbox', { name: 'Search memory' });
const lines = (on = page) => on.locator('.memories > li');
const line = (words, on = page) => lines(on).filter({ hasText: words });
const call = async (tool, args = {}) => (await api(context, 'POST', `/api/v1/tools/${tool}/execute`, { arguments: args })).result;
const content = (on = page) => on.getByLabel('What to remember');
const heard = (words) => page.getByRole('status').getByText(words, { exact: true });

test('the empty room says how something comes in, and something does', async () => {
  await page.goto(hob);
  await visit(page, 'Memory');
  await page.getByText('No memories yet.').waitFor();
  await page.getByRole('button', { name: 'Remember something' }).click();
  await page.getByRole('button', { name: 'Remember', exact: true }).click();
  await page.getByText('Write what to remember.').waitFor();
  await content().fill('Marta serviced the boiler on 3 October');
  await page.getByRole('combobox', { name: 'Kind' }).selectOption('event');
  await page.getByLabel('Tags').fill('house, #boiler, house');
  await page.getByLabel('Importance').fill('0.9');
  await page.getByRole('button', { name: 'Remember', exact: true }).click();
  await line('Marta serviced the boiler').waitFor();
  await heard('Remembered.').waitFor();
  await shows(() => lines().innerText(), /event[^]*important[^]*#house[^]*#boiler/);
  await page.getByText('1 memory', { exact: true }).waitFor();
  const { memories } = await call('list_memories');
  assert.deepEqual(memories.map((m) => [m.type, m.tags, m.shared]), [['event', ['house', 'boiler'], false]]);
});

test('what comes in by another door appears by itself', async () => {
  for (const [text, type] of [
    ['The guest wifi password is taped under the router', 'fact'],
    ['Anna likes green tea', 'preference'],
    ['The dishwasher shows E24 when the drain hose is blocked', 'skill'],
  ]) await call('remember', { content: text, type, tags: type === 'fact' ? ['house'] : [] });
  await line('Anna likes green tea').waitFor();
  await page.getByText('4 memories', { exact: true }).waitFor();
  await lines().nth(3).waitFor();
  await counted(lines(), 4);
});

test('the words of a question find what means the same, and why is told', async () => {
  await search().fill('who looked after the heating?');
  await page.getByText('similar meaning').first().waitFor();
  await shows(() => lines().first().innerText(), /Marta serviced the boiler/);
  await shows(() => lines().first().getByRole('img').getAttribute('aria-label'), /^\d+ % match$/);
  await search().fill('E24');
  await page.getByText(/same words: e24/).waitFor();
  await search().fill('quantum chromodynamics lecture notes');
  await page.getByText('No memories match.').waitFor();
  await page.getByRole('button', { name: 'Clear' }).click();
  await line('Anna likes green tea').waitFor();
  await counted(lines(), 4);
});

test('an answer that comes too late is dropped', async () => {
  let letGo;
  const held = new Promise((resolve) => (letGo = resolve));
  let slow = 0;
  await page.route('**/tools/recall/execute', async (route) => {
    if (route.request().postDataJSON().arguments.query === 'tea') {
      slow += 1;
      await held;
    }
    await route.continue();
  });
  const asked = page.waitForRequest((request) => request.postData()?.includes('"tea"') ?? false);
  await search().fill('tea');
  await asked;
  await search().fill('wifi');
  await page.getByText(/same words: wifi/).waitFor();
  const late = page.waitForResponse((response) => response.request().postData()?.includes('"tea"') ?? false);
  letGo();
  await late;
  await page.waitForTimeout(100);
  assert.equal(slow, 1);
  await shows(() => lines().first().innerText(), /wifi/);
  await counted(line('green tea'), 0);
  await page.unroute('**/tools/recall/execute');
});

test('without the model for meanings the page says so', async () => {
  await page.route('**/tools/recall/execute', async (route) => {
    const answer = await route.fetch();
    const body = await answer.json();
    body.data.result.byMeaning = false;
    await route.fulfill({ json: body });
  });
  await search().fill('router');
  await page.getByText('only exact words are found').waitFor();
  await page.unroute('**/tools/recall/execute');
  await search().fill('');
  await line('Anna likes green tea').waitFor();
  await counted(page.getByText('only exact words are found'), 0);
});

test('sorts and tags narrow the list', async () => {
  await page.getByRole('button', { name: 'Preferences 1' }).click();
  await line('Marta').waitFor({ state: 'detached' });
  await counted(lines(), 1);
  await page.getByRole('button', { name: 'All 4' }).click();
  await page.getByRole('button', { name: 'Only tagged house' }).first().click();
  await line('Anna likes green tea').waitFor({ state: 'detached' });
  await counted(lines(), 2);
  await search().fill('boiler');
  await line('wifi').waitFor({ state: 'detached' });
  await counted(lines(), 1);
  await search().fill('');
  await page.getByRole('button', { name: 'Remove the filter house' }).click();
  await line('Anna likes green tea').waitFor();
});

test('a memory is changed in its place', async () => {
  const before = (await call('list_memories')).memories.find((m) => m.content === 'Anna likes green tea');
  await page.getByRole('button', { name: 'Edit: Anna likes green tea' }).click();
  await becomes(() => content().inputValue(), 'Anna likes green tea');
  await content().fill(' ');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Write what to remember.').waitFor();
  // What is being changed stays when another is looked for meanwhile.
  await search().fill('who serviced the boiler');
  await line('Marta').waitFor();
  await content().fill('Anna is allergic to peanuts');
  await search().fill('');
  await content().and(page.locator(':visible')).waitFor();
  await page.getByRole('combobox', { name: 'Kind' }).selectOption('fact');
  await page.getByRole('switch', { name: 'Share with the household' }).click();
  await content().press('Control+Enter');
  await heard('Saved.').waitFor();
  await line('Anna is allergic to peanuts').getByText('shared').waitFor();
  await search().fill('food that makes somebody ill');
  await line('Anna is allergic to peanuts').waitFor();
  await search().fill('green tea');
  await page.getByText('No memories match.').waitFor();
  await search().fill('');
  await line('Marta').waitFor();
  const now = (await call('list_memories')).memories.find((m) => m.id === before.id);
  assert.deepEqual([now.content, now.type, now.shared, now.importance], ['Anna is allergic to peanuts', 'fact', true, before.importance]);
});

test('forgetting asks first', async () => {
  await page.getByRole('button', { name: /^Forget: Anna/ }).click();
  const question = page.getByRole('alertdialog', { name: 'Forget this?' });
  await question.getByRole('button', { name: 'No' }).click();
  await question.waitFor({ state: 'detached' });
  assert.equal((await call('memory_stats')).total, 4);
  await page.getByRole('button', { name: /^Forget: Anna/ }).click();
  await question.getByRole('button', { name: 'Yes, forget it' }).click();
  await line('Anna').waitFor({ state: 'detached' });
  await heard('Forgotten.').waitFor();
  await page.getByText('3 memories', { exact: true }).waitFor();
  assert.equal((await call('memory_stats')).total, 3);
});

test('what is half written and what was looked for stay while one is in another room', async () => {
  await page.getByRole('button', { name: 'Remember something' }).click();
  await content().fill('The ladder is behind the');
  await search().fill('boiler');
  await visit(page, 'Tools');
  await visit(page, 'Memory');
  await becomes(() => search().inputValue(), 'boiler');
  await page.getByRole('button', { name: 'Remember something' }).click();
  await becomes(() => content().inputValue(), 'The ladder is behind the');
  await search().fill('');
  assert.deepEqual(problems, []);
});

test('an address names one memory among those its words find', async () => {
  const [{ id }] = (await call('recall', { query: 'wifi' })).memories;
  await page.goto(`${hob}/#/memory/${id}/router`);
  await page.getByText(/same words: router/).waitFor();
  await becomes(() => search().inputValue(), 'router');
  await shows(() => page.locator('.memories > .sought').innerText(), /guest wifi password/);
  await search().fill('');
});

test('what somebody else shared can be read and not changed', async () => {
  await page.route('**/tools/forget/execute', (route) =>
    route.fulfill({ status: 404, json: { success: false, error: { code: 'not_found', message: 'there is no memory with that id' } } }));
  await call('remember', { content: 'The bins go out on Monday', shared: true });
  await page.getByRole('button', { name: /^Forget: The bins/ }).click();
  await page.getByRole('button', { name: 'Yes, forget it' }).click();
  await page.getByRole('alert').getByText('Only they can change it.').waitFor();
  await page.unroute('**/tools/forget/execute');
});

test('while Hob is away nothing typed is lost, and the search carries on when it is back', async () => {
  await page.route('**/api/v1/**', (route) => route.abort());
  await page.route('**/healthz', (route) => route.abort());
  await search().fill('boiler');
  await page.getByText('Hob is offline; reconnecting…').waitFor();
  await becomes(() => search().inputValue(), 'boiler');
  await page.unroute('**/api/v1/**');
  await page.unroute('**/healthz');
  await page.getByText(/same words: boiler/).waitFor();
  await search().fill('');
  await line('The bins go out').waitFor();
});

for (const [name, size] of Object.entries(sizes)) {
  for (const scheme of schemes) {
    test(`it fits and reads well: ${name}, ${scheme}`, async () => {
      const it = await enter(browser, { size, scheme });
      const look = async (what) => {
        await accessible(it.page, `${what}, ${name}, ${scheme}`);
        await fits(it.page, size, what);
        await shot(it.page, `memory-${what}-${name}-${scheme}`);
      };
      await it.page.goto(`${hob}/#/memory`);
      await line('Marta', it.page).waitFor();
      await look('list');
      await search(it.page).fill('who looked after the heating?');
      await it.page.getByText('similar meaning').first().waitFor();
      await look('found');
      await search(it.page).fill('quantum chromodynamics lecture notes');
      await it.page.getByText('No memories match.').waitFor();
      await look('none');
      await search(it.page).fill('');
      await it.page.getByRole('button', { name: /^Edit: Marta/ }).click();
      await look('edit');
      await it.page.getByRole('button', { name: 'Cancel', exact: true }).click();
      await it.page.getByRole('button', { name: /^Forget: Marta/ }).click();
      await look('forget');
      await it.page.getByRole('button', { name: 'No', exact: true }).click();
      assert.deepEqual(it.problems, []);
      await it.context.close();
    });
  }
}

test('every part of the room is in view on a desktop and a tablet, and within reach on a phone', async () => {
  for (const size of [desktop, { width: 1180, height: 820 }, { width: 1024, height: 768 }, { width: 760, height: 1000 }, phone]) {
    const { page, context, problems } = await enter(browser, { size });
    await page.goto(`${hob}/#/memory/bin`);
    const tabs = page.getByRole('navigation', { name: 'Lists' });
    await tabs.getByRole('link', { name: 'Bin', exact: true }).waitFor();
    const hidden = await tabs.evaluate((row) => {
      const box = row.getBoundingClientRect();
      return [...row.querySelectorAll('a')].filter((a) => {
        const { left, right, top, bottom } = a.getBoundingClientRect();
        return left < box.left - 1 || right > box.right + 1 || left < 0 || right > innerWidth || top < 0 || bottom > innerHeight || (innerHeight > 780 && bottom > box.bottom + 1);
      }).map((a) => a.innerText);
    });
    if (size !== phone) assert.deepEqual(hidden, [], `at ${size.width} px`);
    // The row of a phone scrolls to the part that is open.
    else assert.ok(!hidden.includes('Bin'), hidden.join());
    await counted(tabs.getByRole('link'), 13);
    await fits(page, size, `the parts at ${size.width} px`);
    await accessible(page, `the parts at ${size.width} px`);
    await shot(page, `memory-parts-${size.width}`);
    assert.deepEqual(problems, []);
    await context.close();
  }
});
