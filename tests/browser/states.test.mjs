// States a healthy daemon does not show on demand: away, refused, cut off, stopped, hostile text. The page is the daemon's own; only /api and /healthz answer from here.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, becomes, counted, desktop, exchanges, fits, hob, launch, message, phone, schemes, shot, shows, sizes } from './page.mjs';
import { bad, good, owner, staged as stage, stream } from './staged.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
});

const run = ['run', { runId: 'r1', conversationId: 'c1', model: 'custom/test' }];
const done = ['done', { response: '', conversationId: 'c1', runId: 'r1', toolCalls: [], usage: {}, model: 'custom/test' }];
const said = (words) => words.match(/[^]{1,7}/g).map((delta) => ['text', { delta }]);

const staged = (answers, options) => stage(browser, answers, options);

async function say(page, words) {
  await message(page).fill(words);
  await message(page).press('Enter');
}

const MARKDOWN = `## Boiler

Serviced on **3 October**, *fine* since; \`1.4 bar\`, snake_case_stays.

1. Bleed
   - hall
   - **upstairs**
2. Call [the service](https://example.org/a_(b)) soon

> Not the red valve.

\`\`\`python
print("<b>not bold</b>", ${'"long" + '.repeat(30)}"")
\`\`\`

<img src=x onerror="document.title='owned'"> [bad](javascript:document.title='owned') https://example.org/x?y=z.`;

test('markdown is drawn, and nothing in it runs', async () => {
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const { page, context, problems } = await staged({ 'POST /api/v1/chat': stream([run, ...said(MARKDOWN), done]) }, { size, scheme });
      await say(page, 'markdown');
      const words = page.locator('.words').first();
      await page.locator('[data-state="done"]').waitFor();
      await becomes(() => words.locator('strong').first().innerText(), '3 October');
      await becomes(() => words.locator('em').innerText(), 'fine');
      await counted(words.locator('ol > li'), 2);
      await counted(words.locator('ol ul > li'), 2);
      await shows(() => words.locator('pre').innerText(), /<b>not bold<\/b>/);
      await shows(() => words.innerText(), /snake_case_stays/);
      await shows(() => words.innerText(), /<img src=x onerror=/);
      await counted(words.locator('img, script'), 0);
      const links = await words.locator('a').evaluateAll((all) => all.map((a) => [a.getAttribute('href'), a.rel]));
      assert.deepEqual(links, [
        ['https://example.org/a_(b)', 'noopener noreferrer'],
        ['https://example.org/x?y=z', 'noopener noreferrer'],
      ]);
      await becomes(() => page.title(), 'Hob');
      await accessible(page, `markdown, ${name}, ${scheme}`);
      await fits(page, size, 'markdown');
      await shot(page, `markdown-${name}-${scheme}`);
      assert.deepEqual(problems, []);
      await context.close();
    }
  }
});

test('away: the banner shows, the words come back into the box, survive a reload, and the page recovers', async () => {
  let away = true;
  const gone = (answer) => (route) => (away ? route.abort('connectionrefused') : route.fulfill(answer));
  const { page, context, all } = await staged({});
  await message(page).waitFor();
  all['GET /healthz'] = gone(good({}));
  all['POST /api/v1/chat'] = gone(stream([run, ...said('Hello.'), done]));
  await say(page, 'are you there?');
  await page.getByText('Hob is offline; reconnecting…').waitFor();
  await page.waitForFunction(() => document.querySelector('textarea').value === 'are you there?');
  await counted(exchanges(page), 0);
  await accessible(page, 'away');
  await shot(page, 'away');
  await page.reload();
  await page.waitForFunction(() => document.querySelector('textarea')?.value === 'are you there?');
  await message(page).press('Enter');
  await page.getByText('Hob is offline; reconnecting…').waitFor();
  away = false;
  await page.locator('.banner span').waitFor({ state: 'detached' });
  await message(page).press('Enter');
  await page.getByText('Hello.').first().waitFor();
  await page.reload();
  await message(page).waitFor();
  await becomes(() => message(page).inputValue(), '', 'a message that was sent does not come back');
  await context.close();
});

test('away from the start: the page waits and then opens', async () => {
  let away = true;
  const { page, context } = await staged({
    'GET /api/v1/session': (route) => (away ? route.abort() : route.fulfill(good(owner))),
    'GET /healthz': (route) => (away ? route.abort() : route.fulfill(good({}))),
  });
  await page.getByText('Hob is offline; reconnecting…').waitFor();
  await accessible(page, 'away from the start');
  await shot(page, 'away-start');
  away = false;
  await message(page).waitFor();
  await context.close();
});

test('refused before the stream: the reason stands in place with a way to ask again', async () => {
  let tries = 0;
  const { page, context } = await staged({
    'POST /api/v1/chat': (route) => route.fulfill(tries++
      ? stream([run, ...said('Here it is.'), done])
      : bad(429, 'busy', 'Hob is busy with four runs. Ask again in a moment.')),
  });
  await say(page, 'one more');
  await page.locator('.trouble').getByText('Hob is busy with four runs.').waitFor();
  await accessible(page, 'refused');
  await fits(page, phone, 'refused');
  await shot(page, 'refused');
  await page.getByRole('button', { name: 'Ask again' }).click();
  await page.locator('.words').getByText('Here it is.').waitFor();
  await counted(exchanges(page), 1);
  await context.close();
});

test('an error in the stream keeps what was said and what was done, with the reason', async () => {
  const { page, context } = await staged({
    'POST /api/v1/chat': stream([
      run,
      ...said('Let me look.'),
      ['tool_start', { callId: 'a', name: 'web_search', arguments: { query: 'x' } }],
      ['tool_end', { callId: 'a', name: 'web_search', result: 'No network. Check the cable.', say: null, isError: true, durationMs: 1240 }],
      ['error', { code: 'model_unavailable', message: 'The model did not answer. Check that it runs.' }],
    ]),
  }, { size: desktop, scheme: 'dark' });
  await say(page, 'look it up');
  await page.locator('.trouble').getByText('The model did not answer.').waitFor();
  await page.getByText('Let me look.').first().waitFor();
  const line = page.locator('details.did.failed');
  await shows(() => line.locator('> summary').innerText(), /^searched the web · failed$/);
  await line.locator('> summary').click();
  await line.getByText('Check the cable').waitFor();
  await shows(() => page.locator('[aria-live="polite"]').innerText(), /Check that it runs/);
  await accessible(page, 'a failed answer');
  await shot(page, 'failed');
  await context.close();
});

test('a stream cut off is said so, and made whole from what the device stored', async () => {
  const { page, context, all } = await staged({ 'POST /api/v1/chat': stream([run, ...said('I was about to')]) });
  all['GET /healthz'] = (route) => route.abort();
  await say(page, 'go on');
  await page.getByText('The connection to Hob broke here').first().waitFor();
  await page.getByText('I was about to').first().waitFor();
  await shot(page, 'broken');
  all['GET /api/v1/conversations/c1'] = good({
    id: 'c1', title: 'go on', messages: [
      { role: 'user', content: 'go on', createdAt: '2025-10-03T10:00:00Z' },
      { role: 'assistant', content: 'I was about to say: all is well.', model: 'reflex', createdAt: '2025-10-03T10:00:01Z' },
    ],
  });
  all['GET /healthz'] = good({});
  await page.getByText('all is well').waitFor();
  await counted(exchanges(page), 1);
  await context.close();
});

test('a run that Hob’s restart cut off goes on in the open page', async () => {
  const { page, context, all } = await staged({
    'POST /api/v1/chat': stream([run, ...said('Halfway'), ['error', { code: 'closing', message: 'Hob is shutting down: the run continues by itself' }]]),
    'GET /api/v1/runs': good({ runs: [{ id: run[1].runId, conversationId: 'c1', state: 'running' }] }),
    'GET /api/v1/conversations/c1': good({ id: 'c1', title: 'go on', messages: [{ role: 'user', content: 'go on', createdAt: '2025-10-03T10:00:00Z' }] }),
  });
  await say(page, 'go on');
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  await counted(page.locator('.trouble'), 0);
  all['GET /api/v1/runs'] = good({ runs: [] });
  all['GET /api/v1/conversations/c1'] = good({
    id: 'c1', title: 'go on', messages: [
      { role: 'user', content: 'go on', createdAt: '2025-10-03T10:00:00Z' },
      { role: 'assistant', content: 'Halfway, and the rest.', model: 'reflex', createdAt: '2025-10-03T10:00:01Z' },
    ],
  });
  await page.getByText('Halfway, and the rest.').first().waitFor();
  await counted(exchanges(page), 1);
  await context.close();
});

/** Replaces the chat call in the page by one that speaks slowly, frame by frame, and hears cancel. */
function drip() {
  const real = globalThis.fetch;
  const line = (name, data) => `event: ${name}\r\ndata: ${JSON.stringify(data)}\r\n\r\n`;
  let cancelled = false;
  globalThis.fetch = (path, init) => {
    if (String(path).endsWith('/cancel')) cancelled = true;
    if (path !== '/api/v1/chat') return real(path, init);
    const words = JSON.parse(init.body).message.startsWith('short') ? 12 : 700;
    const events = [
      line('run', { runId: 'r1', conversationId: 'c1', model: 'custom/test' }), ': alive\n\n',
      line('tool_start', { callId: 'a', name: 'recall', arguments: { query: 'x' } }),
      line('tool_end', { callId: 'a', name: 'recall', result: { memories: [{}, {}] }, say: null, isError: false, durationMs: 4 }),
      ...Array.from({ length: words }, (_, n) => line('text', { delta: n % 60 === 59 ? '**bold words**.\n\n' : `wörter${n} ` })),
    ];
    // Bytes are cut anywhere: in the middle of a line, of a line ending, of a letter.
    const bytes = new TextEncoder().encode(events.join(''));
    let at = 0;
    const body = new ReadableStream({
      async pull(controller) {
        await new Promise((go) => setTimeout(go, 20));
        if (cancelled || at >= bytes.length) {
          const last = cancelled ? line('error', { code: 'cancelled', message: 'Stopped.' }) : line('done', { response: '', conversationId: 'c1', runId: 'r1', model: 'custom/test' });
          controller.enqueue(new TextEncoder().encode(`${cancelled ? '\r\n\r\n' : ''}${last}`));
          return controller.close();
        }
        controller.enqueue(bytes.slice(at, (at += words < 20 ? 61 : 311)));
      },
    });
    return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
  };
}

/** Waits for the next question and notes, frame by frame until its answer is over, every place it and its first words stood. */
const watch = (page) => page.evaluate(() => new Promise((over) => {
  const places = new Map();
  const before = document.querySelectorAll('article.exchange').length;
  const look = () => {
    const exchange = document.querySelectorAll('article.exchange')[before];
    if (!exchange) return requestAnimationFrame(look);
    for (const part of ['.you', '.words > p']) {
      const top = exchange.querySelector(part)?.getBoundingClientRect().top;
      if (top !== undefined) places.set(part, [...new Set([...(places.get(part) ?? []), Math.round(top)])]);
    }
    if (exchange.dataset.state === 'running') requestAnimationFrame(look);
    else over({ places: Object.fromEntries(places), fold: innerHeight, end: exchange.querySelector('.words').getBoundingClientRect().bottom });
  };
  look();
}));

test('streamed words never jump, on a phone and on a desktop', async () => {
  for (const [name, size] of Object.entries(sizes)) {
    const { page, context, problems } = await staged({}, { size, init: drip });
    for (const words of ['short one', 'short two', 'short three', 'short four', 'a long one']) {
      const watched = watch(page);
      await say(page, words);
      const { places, fold, end } = await watched;
      assert.equal(places['.you'].length, 1, `${words}, ${name}: the question stood at ${places['.you']}`);
      assert.equal(places['.words > p'].length, 1, `${words}, ${name}: the first words stood at ${places['.words > p']}`);
      assert.ok(places['.you'][0] >= 0 && places['.you'][0] < fold * 0.6, `${words}, ${name}: the question stood at ${places['.you']}`);
      if (words.startsWith('a long')) assert.ok(end > fold, 'the long answer is longer than the screen');
    }
    await becomes(() => page.locator('.words strong').first().innerText(), 'bold words');
    await shows(() => page.locator('.words').last().innerText(), /^wörter0 wörter1 /);
    const more = page.getByRole('button', { name: 'More below' });
    await shot(page, `stream-${name}`);
    await more.click();
    await more.waitFor({ state: 'detached' });
    await shot(page, `stream-end-${name}`);
    assert.deepEqual(problems, []);
    await context.close();
  }
});

test('Stop in the middle keeps what was said', async () => {
  const { page, context } = await staged({ 'POST /api/v1/runs/r1/cancel': good({}) }, { init: drip });
  await say(page, 'a long one');
  await page.getByText('wörter80 ').first().waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.locator('[data-state="stopped"]').waitFor();
  await counted(page.locator('.trouble'), 0);
  await shows(() => page.locator('.words').innerText(), /^wörter0/);
  await context.close();
});

test('Stop stops, at once, and what was typed meanwhile stays', async () => {
  const { page, context } = await staged({ 'POST /api/v1/chat': () => new Promise(() => {}) });
  await say(page, 'something slow');
  const button = page.getByRole('button', { name: 'Stop' });
  await button.waitFor();
  await message(page).fill('and then');
  await accessible(page, 'waiting');
  await shot(page, 'waiting');
  await button.click();
  await page.getByText('stopped').first().waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  await becomes(() => message(page).inputValue(), 'and then');
  await context.close();
});

test('many things done are one line that opens', async () => {
  const calls = ['list_files', 'read_file', 'git_status', 'some_new_thing', 'recall'].flatMap((name, n) => [
    ['tool_start', { callId: `k${n}`, name, arguments: { n } }],
    ['tool_end', { callId: `k${n}`, name, result: { items: [1, 2] }, say: null, isError: false, durationMs: 100 }],
  ]);
  const { page, context } = await staged({ 'POST /api/v1/chat': stream([run, ['thinking', { text: 'hm' }], ...calls, ...said('Done.'), done]) });
  await say(page, 'do it all');
  const group = page.locator('.work > details.did');
  await group.getByText('did 5 things', { exact: true }).waitFor();
  await group.locator('> summary').click();
  await group.getByText('used some new thing').waitFor();
  await group.getByText('looked in memory · 2 found', { exact: true }).waitFor();
  await accessible(page, 'many things');
  await shot(page, 'many');
  await context.close();
});

test('a session that ended leads to the sign-in screen and back, with the draft', async () => {
  let signedIn = true;
  const { page, context } = await staged({
    'GET /api/v1/session': (route) => route.fulfill(signedIn ? good(owner) : bad(401, 'unauthorized', 'Sign in.')),
    'POST /api/v1/session': (route) => ((signedIn = true), route.fulfill(good(owner))),
    'POST /api/v1/chat': bad(401, 'unauthorized', 'Sign in.'),
  });
  await message(page).waitFor();
  signedIn = false;
  await say(page, 'still me');
  await page.getByRole('button', { name: 'Use a token instead' }).click();
  await page.getByLabel('Token').fill('hob_0123456789');
  await page.getByLabel('Token').press('Enter');
  await message(page).waitFor();
  await becomes(() => message(page).inputValue(), 'still me');
  await context.close();
});

test('the doors, both sizes, light and dark', async () => {
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const door = { at: bad(403, 'unclaimed', 'Claim it.') };
      const { page, context } = await staged({
        'GET /api/v1/session': (route) => route.fulfill(door.at),
        'POST /api/v1/claim': bad(429, 'too_many_tries', 'Wait.'),
      }, { size, scheme });
      await page.getByRole('heading', { name: 'Claim this Hob' }).waitFor();
      await page.getByLabel('Claim code').fill(`${hob}/#claim=abcde-fghjk-mnpqr`);
      await becomes(() => page.getByLabel('Claim code').inputValue(), 'ABCDE-FGHJK-MNPQR', 'a pasted link is understood');
      await accessible(page, `claim, ${name}, ${scheme}`);
      await fits(page, size, 'claim');
      await shot(page, `claim-${name}-${scheme}`);
      await page.getByRole('button', { name: 'Claim this Hob' }).click();
      await page.getByText('Too many attempts').waitFor();
      door.at = bad(401, 'unauthorized', 'Sign in.');
      await page.reload();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      await accessible(page, `sign in, ${name}, ${scheme}`);
      await fits(page, size, 'sign in');
      await shot(page, `sign-in-${name}-${scheme}`);
      door.at = good(owner);
      await page.reload();
      await message(page).waitFor();
      await accessible(page, `empty, ${name}, ${scheme}`);
      await shot(page, `empty-${name}-${scheme}`);
      await context.close();
    }
  }
});
