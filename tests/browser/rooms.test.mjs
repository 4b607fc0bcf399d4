// Between the rooms: the bar, the search over everything, a run that outlives a reload, and a device that goes away and comes back.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, api, ask, becomes, counted, desktop, enter, exchanges, fits, hob, launch, message, phone, schemes, shot, shows, sizes, visit } from './page.mjs';
import { bad, good, owner, staged as stage, stream } from './staged.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
});

const staged = (answers, options) => stage(browser, answers, { live: true, ...options });
const ROOMS = ['Talk', 'Home', 'Tools', 'Memory', 'Device'];
const focused = (page) => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.innerText);
const finder = (page) => page.getByRole('dialog', { name: 'Find anything' });
const field = (page) => page.getByRole('combobox', { name: 'Find anything' });
/** Opens the search by its key, once it is closed and the focus is out of any field. */
async function slash(page) {
  await finder(page).waitFor({ state: 'detached' });
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press('/');
}
const option = (page, name) => finder(page).getByRole('option', { name });

test('the bar leads to every room; heading, title and address follow, and the back button goes back', async () => {
  for (const size of Object.values(sizes)) {
    const { page, context, problems } = await enter(browser, { size });
    await page.goto(hob);
    await message(page).waitFor();
    for (const room of ROOMS.slice(1)) {
      await visit(page, room);
      await page.waitForFunction((name) => document.activeElement?.tagName === 'H1' && document.activeElement.innerText === name, room);
      await becomes(() => page.title(), `${room} · Hob`);
      assert.equal(new URL(page.url()).hash, `#/${room.toLowerCase()}`);
      await becomes(() => page.locator('.bar [aria-current="page"]').innerText(), room);
    }
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Memory' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Memory' }).waitFor();
    await visit(page, 'Talk');
    await message(page).waitFor();
    await becomes(() => page.title(), 'Hob');
    await page.goto(`${hob}/#/no-such-room`);
    await message(page).waitFor();
    await fits(page, size, 'the bar');
    assert.deepEqual(problems, []);
    await context.close();
  }
});

test('the search opens by key and by button, leads to pins, tools, memories and conversations, and closes', async () => {
  const { page, context, problems } = await enter(browser, { size: desktop });
  await page.goto(hob);
  await ask(page, 'remember that Marta serviced the boiler on 3 October');

  await message(page).fill('1/2');
  await message(page).press('End');
  await page.keyboard.type('/');
  await becomes(() => message(page).inputValue(), '1/2/', 'a slash that is typed is a slash');
  await counted(finder(page), 0);
  await page.keyboard.press('Control+k');
  await option(page, 'Home').waitFor();
  await page.keyboard.press('Escape');
  await finder(page).waitFor({ state: 'detached' });
  await becomes(() => focused(page), 'Message', 'the focus is back where it was');
  await message(page).fill('');

  await page.getByRole('button', { name: 'Find' }).click();
  await field(page).fill('pin 17');
  await option(page, 'Pin 17').waitFor();
  await becomes(() => option(page, 'Pin 17').getAttribute('aria-selected'), 'true');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement?.dataset['pin'] === '17');

  await slash(page);
  await field(page).fill('gpio_');
  const first = finder(page).getByRole('group', { name: 'Tools' }).getByRole('option').first();
  await first.waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await becomes(() => first.getAttribute('aria-selected'), 'true');
  await page.keyboard.press('ArrowUp');
  await becomes(() => finder(page).getByRole('option').last().getAttribute('aria-selected'), 'true', 'up from the first is the last');
  await field(page).fill('gpio_read');
  await page.waitForFunction(() => /^gpio_read/.test(document.querySelector('[role="option"][aria-selected="true"]')?.innerText ?? ''));
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => location.hash === '#/tools/gpio_read');

  await slash(page);
  await field(page).fill('who looked after the heating');
  await finder(page).getByRole('group', { name: 'Memories' }).getByText('Marta serviced the boiler').click();
  await page.waitForFunction(() => /^#\/memory\/.+/.test(location.hash));

  await slash(page);
  await field(page).fill('boiler');
  await finder(page).getByRole('group', { name: 'Conversations' }).getByRole('option').first().click();
  await exchanges(page).first().getByText('Marta').first().waitFor();
  assert.deepEqual(problems, []);
  await context.close();
});

test('the search, both sizes, light and dark', async () => {
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const { page, context, problems } = await enter(browser, { size, scheme });
      await page.goto(hob);
      await page.getByRole('button', { name: 'Find' }).click();
      await option(page, 'Device').waitFor();
      await accessible(page, `the search, ${name}, ${scheme}`);
      await field(page).fill('on');
      await finder(page).getByRole('group', { name: 'Tools' }).waitFor();
      await accessible(page, `the search with hits, ${name}, ${scheme}`);
      await fits(page, size, `the search, ${name}, ${scheme}`);
      await shot(page, `find-${name}-${scheme}`);
      await page.getByRole('button', { name: 'Close' }).click();
      await finder(page).waitFor({ state: 'detached' });
      assert.deepEqual(problems, []);
      await context.close();
    }
  }
});

test('what is nowhere is said so, also when parts of Hob do not answer', async () => {
  const { page, context } = await staged({ 'GET /api/v1/conversations': good({ count: 0, conversations: [] }) });
  await message(page).waitFor();
  await page.getByRole('button', { name: 'Find' }).click();
  await field(page).fill('zzqqzz');
  await finder(page).getByText('Nothing found for “zzqqzz”.').waitFor();
  await accessible(page, 'nothing found');
  await shot(page, 'find-nothing');
  await context.close();
});

test('two pages of one person in one conversation: what is said on one appears on the other', async () => {
  const one = await enter(browser);
  await one.page.goto(hob);
  await ask(one.page, 'what is 2 * 21?');
  const two = await enter(browser, { size: desktop });
  const [newest] = (await api(two.context, 'GET', '/api/v1/conversations?limit=1')).conversations;
  await two.page.goto(`${hob}/#/talk/${newest.id}`);
  await exchanges(two.page).first().getByText('42').first().waitFor();
  await message(two.page).fill('half a thought');
  await ask(one.page, 'what is 6 * 7 + 1?');
  await exchanges(two.page).nth(1).getByText('43').first().waitFor();
  await becomes(() => message(two.page).inputValue(), 'half a thought');
  await one.context.close();
  await two.context.close();
});

const QUESTION = { role: 'user', content: 'tell me a long story', createdAt: 1_760_000_000_000 };
const story = (words) => good({ id: 'c1', title: 'a story', messages: words ? [QUESTION, { role: 'assistant', content: words, model: 'custom/test' }] : [QUESTION] });
const underWay = good({ count: 1, runs: [{ id: 'r9', conversationId: 'c1', startedAt: 1_760_000_000_000, state: 'running' }] });
const none = good({ count: 0, runs: [] });

/** A page loaded anew while run r9 answers in conversation c1. */
const midRun = (answers, options) => staged({
  'GET /api/v1/runs': underWay, 'GET /api/v1/conversations/c1': story(''), ...answers,
}, { init: () => localStorage.setItem('hob.conversation', 'c1'), ...options });

test('a run goes on over a reload, and its end is heard', async () => {
  const { page, context, all } = await midRun({});
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  await becomes(() => exchanges(page).getAttribute('data-state'), 'running');
  await message(page).fill('and then');
  await accessible(page, 'a run from before the reload');
  await shot(page, 'run-after-reload');
  all['GET /api/v1/conversations/c1'] = story('Once upon a time there was a hob.');
  await page.evaluate(() => globalThis.tell('run:ended', { runId: 'r9', conversationId: 'c1', outcome: 'ok' }));
  await exchanges(page).getByText('Once upon a time').waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  await shows(() => page.locator('[aria-live="polite"]').innerText(), /Once upon/);
  await becomes(() => message(page).inputValue(), 'and then');
  await context.close();
});

test('Stop stops a run from before the reload', async () => {
  const cancelled = [];
  const { page, context, all } = await midRun({
    'POST /api/v1/runs/r9/cancel': (route) => {
      cancelled.push(route.request().headers()['x-csrf-token']);
      all['GET /api/v1/runs'] = none;
      return route.fulfill(good({ cancelled: true }));
    },
  });
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('stopped').first().waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  assert.deepEqual(cancelled, [owner.csrfToken]);
  await context.close();
});

test('an answer goes on while one looks into another room, and the bar says so', async () => {
  const { page, context } = await staged({
    'POST /api/v1/tools/gpio_list/execute': bad(409, 'unavailable', 'no pins here'),
  }, {
    init: () => {
      const real = globalThis.fetch;
      globalThis.fetch = (path, init) => {
        if (path !== '/api/v1/chat') return real(path, init);
        const say = (name, data) => new TextEncoder().encode(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
        const body = new ReadableStream({
          start(line) {
            line.enqueue(say('run', { runId: 'r1', conversationId: 'c1', model: 'custom/test' }));
            line.enqueue(say('text', { delta: 'The first half, ' }));
            globalThis.finish = () => {
              line.enqueue(say('text', { delta: 'the second half.' }));
              line.enqueue(say('done', { response: '', conversationId: 'c1', runId: 'r1', model: 'custom/test' }));
              line.close();
            };
          },
        });
        return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
      };
    },
  });
  await message(page).fill('two halves');
  await message(page).press('Enter');
  await page.getByText('The first half').first().waitFor();
  await visit(page, 'Home');
  await page.getByRole('link', { name: /^Talk.*Hob is working$/ }).waitFor();
  await accessible(page, 'Home while Hob is at work');
  await shot(page, 'working-elsewhere');
  await page.evaluate(() => globalThis.finish());
  await page.getByRole('link', { name: 'Talk', exact: true }).waitFor();
  await visit(page, 'Talk');
  await page.getByText('The first half, the second half.').first().waitFor();
  await context.close();
});

test('a device that goes away is noticed without a touch, and the page catches up where it left off', async () => {
  const { page, context, all } = await staged({ 'POST /api/v1/tools/gpio_list/execute': bad(409, 'unavailable', 'no pins here') });
  await message(page).fill('not sent yet');
  await page.waitForFunction(() => globalThis.asked.length === 1);
  await page.evaluate(() => {
    globalThis.tell('pin:changed', { pin: 4, high: true });
    globalThis.tell('pin:changed', { pin: 4, high: false });
  });
  let answers = false;
  all['GET /healthz'] = (route) => (answers ? route.fulfill(good({})) : route.abort('connectionrefused'));
  await page.evaluate(() => globalThis.cutLine());
  await page.getByText('Hob is offline; reconnecting…').waitFor();
  await visit(page, 'Home');
  await page.getByText('Hob is offline; reconnecting…').waitFor();
  await accessible(page, 'Home while away');
  await shot(page, 'away-home');
  answers = true;
  await page.getByText('Hob is offline; reconnecting…').waitFor({ state: 'detached' });
  await page.waitForFunction(() => globalThis.asked.length === 2);
  assert.deepEqual(await page.evaluate(() => globalThis.asked), ['/api/v1/events', '/api/v1/events?after=2']);
  await visit(page, 'Talk');
  await becomes(() => message(page).inputValue(), 'not sent yet');
  await context.close();
});

test('the home’s name is in the header, or the device’s where it has none', async () => {
  const { page, context } = await enter(browser, { size: phone });
  await page.goto(hob);
  const where = page.locator('.top .where');
  await becomes(() => where.innerText(), 'kitchen');
  await api(context, 'PATCH', '/api/v1/home', { name: 'The Old Mill by the river, flat twelve' });
  await page.reload();
  await becomes(() => where.innerText(), 'The Old Mill by the river, flat twelve');
  await fits(page, phone, 'a long name of the home');
  await shot(page, 'home-name');
  await visit(page, 'Home');
  await becomes(() => where.innerText(), 'The Old Mill by the river, flat twelve');
  await visit(page, 'Device');
  await shows(() => where.innerText(), /The Old Mill.*kitchen/);
  await context.close();
});

test('after a resync the pins are read anew', async () => {
  const pins = (high) => good({ tool: 'gpio_list', result: { driver: 'sim', why: 'simulated', pins: [{ pin: 17, high, driven: true }] } });
  const { page, context, all } = await staged({ 'POST /api/v1/tools/gpio_list/execute': pins(false), 'GET /api/v1/discover': good({ count: 0, found: [] }) }, { at: '#/home/pins' });
  await page.getByRole('button', { name: 'Pin 17, place 11 on the header, off' }).waitFor();
  await shows(() => page.locator('[data-pin="18"]').getAttribute('aria-label'), /in use by another program/);
  all['POST /api/v1/tools/gpio_list/execute'] = pins(true);
  await page.evaluate(() => globalThis.tell('resync'));
  await page.getByRole('button', { name: 'Pin 17, place 11 on the header, on' }).waitFor();
  await context.close();
});

test('what changes something carries the token of the session, and a fresh one after a new sign-in elsewhere', async () => {
  let token = 'first';
  const seen = [];
  const { page, context } = await staged({
    'GET /api/v1/session': (route) => route.fulfill(good({ ...owner, csrfToken: token })),
    'POST /api/v1/chat': (route) => {
      const sent = route.request().headers()['x-csrf-token'];
      seen.push(sent);
      if (sent !== token) return route.fulfill(bad(403, 'csrf', 'the token does not fit this session'));
      return route.fulfill(stream([
        ['run', { runId: `r${seen.length}`, conversationId: 'c1', model: 'custom/test' }],
        ['text', { delta: 'Heard.' }],
        ['done', { response: '', conversationId: 'c1', runId: `r${seen.length}`, model: 'custom/test' }],
      ]));
    },
  }, { size: phone });
  await ask(page, 'one');
  token = 'second';
  await ask(page, 'two');
  assert.deepEqual(seen, ['first', 'first', 'second']);
  await context.close();
});
