// What Hob asks and shows, files, queues, and the pages about its mind in every state. The page is the daemon's own; the API is staged.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, becomes, counted, desktop, exchanges, fits, launch, message, phone, schemes, shot, shows, sizes } from './page.mjs';
import { bad, good, owner, staged, stream } from './staged.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
});

const button = (place, name) => place.getByRole('button', { name, exact: true });
const run = ['run', { runId: 'r1', conversationId: 'c1', model: 'custom/test' }];
const done = ['done', { response: 'Done.', conversationId: 'c1', runId: 'r1', model: 'custom/test', media: [], waiting: ['i1'] }];
const BLOCKS = [
  { type: 'markdown', content: 'The **week** so far.' },
  { type: 'table', columns: [{ key: 'room', label: 'Room' }, { key: 'warm', label: '°C' }], data: [{ room: 'Hall', warm: 19.5 }, { room: 'Kitchen', warm: 21 }] },
  ...['line', 'bar', 'area'].map((chartType) => ({ type: 'chart', chartType, data: { labels: ['Mon', 'Tue', 'Wed', 'Thu'], datasets: [{ label: 'Rain', data: [3, 5, 0, 2] }, { label: 'Sun', data: [4, 1, 8, 6] }] } })),
  { type: 'chart', chartType: 'pie', data: { labels: ['Rent', 'Food', 'Rest'], datasets: [{ label: 'EUR', data: [820, 240, 130] }] } },
  { type: 'code', language: 'sh', content: 'echo hello   world' },
  { type: 'image', url: 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==', alt: 'A dot' },
  { type: 'image', url: 'https://example.org/cat.png', alt: 'A cat' },
  ...['info', 'warning', 'danger', 'success'].map((variant) => ({ type: 'alert', variant, content: `This is *${variant}*.` })),
  { type: 'json', data: { a: [1, 2, { b: null }] } },
  { type: 'hologram', content: 'from the future' },
];
const FORM = {
  type: 'form', submitLabel: 'Book it',
  fields: [
    { name: 'who', label: 'Who', type: 'text', required: true },
    { name: 'seats', label: 'Seats', type: 'number', default: 2 },
    { name: 'class', label: 'Class', type: 'select', options: ['first', 'second'], required: true },
    { name: 'quiet', label: 'Quiet car', type: 'checkbox', default: true },
    { name: 'note', label: 'Note', type: 'textarea' },
    { name: 'day', label: 'Day', type: 'date', default: '2026-12-01' },
  ],
};

const interaction = (more) => ({
  id: 'i1', kind: 'ask', state: 'pending', runId: 'r1', conversationId: 'c1', question: '', options: [], title: '', blocks: [], createdAt: Date.now(), expiresAt: Date.now() + 86_400_000, answeredAt: null, answer: null, ...more,
});

/** A page with a conversation in which this waits; `it.sent` is what was answered. */
async function waiting(asked, { refuse, ...options } = {}) {
  const it = { now: interaction(asked), sent: [] };
  const end = (state) => (route) => {
    const body = route.request().postData() ? route.request().postDataJSON() : null;
    it.sent.push(body);
    if (refuse && it.sent.length === 1) return route.fulfill(refuse);
    it.now = { ...it.now, state, answer: it.now.kind === 'ask' && body ? body.answer : body };
    return route.fulfill(good(it.now));
  };
  const opened = await staged(browser, {
    'GET /api/v1/interactions': (route) => route.fulfill(good({ count: 1, interactions: it.now.state === 'pending' ? [it.now] : [] })),
    'GET /api/v1/interactions/i1': (route) => route.fulfill(good(it.now)),
    'POST /api/v1/interactions/i1/respond': end('answered'),
    'POST /api/v1/interactions/i1/dismiss': end('dismissed'),
    'POST /api/v1/chat': stream([run, done]),
    'GET /api/v1/runs': good({ count: 0, runs: [] }),
    'GET /api/v1/conversations/c1': good({ id: 'c1', title: 'x', messages: [{ id: 'm1', runId: 'r1', role: 'user', content: 'go on' }] }),
    ...options.answers,
  }, { live: true, ...options });
  await message(opened.page).fill('go on');
  await message(opened.page).press('Enter');
  return { ...opened, it };
}
const card = (page) => page.locator('.interaction');

async function everywhere(what, show) {
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const { page, context, problems } = await show({ size, scheme });
      await accessible(page, `${what}, ${name}, ${scheme}`);
      await fits(page, size, `${what}, ${name}, ${scheme}`);
      await page.waitForTimeout(150);
      await shot(page, `${what.replaceAll(' ', '-')}-${name}-${scheme}`);
      assert.deepEqual(problems, []);
      await context.close();
    }
  }
}

test('a question with options: a card, a badge, an answer with one press', async () => {
  await everywhere('ask', async (options) => {
    const opened = await waiting({ question: 'Which room is to be warmer?', options: ['Hall', 'Kitchen', 'The room upstairs at the very end of the corridor'] }, options);
    await card(opened.page).getByText('Which room').waitFor();
    return opened;
  });
  const { page, context, it } = await waiting({ question: 'Which room?', options: ['Hall', 'Kitchen'] });
  await page.getByRole('navigation', { name: 'Rooms' }).getByRole('link', { name: /^Talk.*1 question for you$/ }).waitFor();
  await button(card(page), 'Kitchen').click();
  await page.locator('.asked-answered').getByText('Kitchen').waitFor();
  assert.deepEqual(it.sent, [{ answer: 'Kitchen' }]);
  await page.getByRole('navigation', { name: 'Rooms' }).getByRole('link', { name: 'Talk', exact: true }).waitFor();
  await context.close();
});

test('a question in own words: an empty answer is not sent, a refusal is told', async () => {
  const { page, context, it } = await waiting({ question: 'What is it **called**?' }, { refuse: bad(429, 'busy', 'too many answers: wait a little') });
  await button(card(page), 'Answer').click();
  await card(page).getByText('Write an answer.').waitFor();
  assert.deepEqual(it.sent, []);
  await card(page).getByLabel('Your answer').fill('Minna');
  await card(page).getByLabel('Your answer').press('Enter');
  await card(page).getByRole('alert').getByText('Too many answers: wait a little.').waitFor();
  await button(card(page), 'Answer').click();
  await page.locator('.asked-answered').getByText('Minna').waitFor();
  await context.close();
});

test('answered elsewhere, it is settled here by the line of events', async () => {
  const { page, context, it } = await waiting({ question: 'Now?', options: ['Yes', 'No'] });
  await card(page).waitFor();
  it.now = { ...it.now, state: 'answered', answer: 'Yes' };
  await page.evaluate(() => globalThis.tell('interaction:ended', { id: 'i1', state: 'answered' }));
  await page.locator('.asked-answered').getByText('Yes').waitFor();
  await context.close();
});

test('blocks of all kinds are drawn, and put aside with one press', async () => {
  await everywhere('blocks', async (options) => {
    const opened = await waiting({ kind: 'blocks', title: 'The house this week', blocks: BLOCKS }, options);
    await card(opened.page).getByText('This page cannot show “hologram” yet.').waitFor();
    await opened.page.evaluate(() => scrollTo(0, 500));
    return opened;
  });
  const { page, context, it, problems } = await waiting({ kind: 'blocks', title: 'The house this week', blocks: BLOCKS });
  await counted(card(page).locator('.chart'), 4);
  await counted(card(page).locator('.blocks img'), 1, 'no picture is fetched from elsewhere');
  await card(page).locator('.chart').first().getByText('Show the data').click();
  await shows(() => card(page).locator('.chart table').first().innerText(), /Thu\s+2\s+6/);
  await button(card(page), 'Done').click();
  await page.getByText('You dismissed “The house this week”').waitFor();
  assert.deepEqual(it.sent, [{ action: 'dismiss' }]);
  assert.deepEqual(problems, []);
  await context.close();
});

test('a form: defaults, what is needed, what the device says of a field, and what is sent', async () => {
  await everywhere('form', async (options) => {
    const opened = await waiting({ kind: 'blocks', title: 'The train', blocks: [FORM] }, options);
    await button(card(opened.page), 'Book it').click();
    return opened;
  });
  const { page, context, it } = await waiting({ kind: 'blocks', title: 'The train', blocks: [FORM] }, { refuse: bad(422, 'bad_args', '`seats`: there are 4 at most') });
  const form = card(page);
  await becomes(() => form.getByLabel('Seats').inputValue(), '2');
  await becomes(() => form.getByLabel('Quiet car').isChecked(), true);
  await becomes(() => form.getByLabel('Day').inputValue(), '2026-12-01');
  await form.getByLabel('Seats').fill('many');
  await button(form, 'Book it').click();
  await counted(form.getByText('This is required.'), 2);
  await form.getByText('Enter a number.').waitFor();
  assert.deepEqual(it.sent, []);
  await form.getByLabel('Who').fill('Anna');
  await form.getByLabel('Seats').fill('9');
  await form.getByLabel('Class').selectOption('second');
  await button(form, 'Book it').click();
  await form.locator('.field', { hasText: 'Seats' }).getByText('there are 4 at most').waitFor();
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-invalid') === 'true');
  await form.getByLabel('Seats').fill('3');
  await button(form, 'Book it').click();
  await page.getByText('You sent this').waitFor();
  assert.deepEqual(it.sent.at(-1), { action: 'submit', data: { who: 'Anna', seats: 3, class: 'second', quiet: true, day: '2026-12-01' } });
  await context.close();
});

const COMPONENT = `export default function Picker({ colours, callTool }) {
  const [chosen, choose] = useState('');
  useEffect(() => { fetch('/api/v1/session').catch(() => choose((was) => was || 'nothing reached')); }, []);
  return h('div', null, h('p', null, chosen || 'none yet'), ...colours.map((one) => h('button', { onClick: () => choose(one) }, one)), h('button', { onClick: () => callTool('picked', { colour: chosen }) }, 'Take it'));
}`;

test('a component runs in a frame without origin and network, and answers through the bridge', async () => {
  const options = { kind: 'component', title: 'A colour', code: COMPONENT, props: { colours: ['red', 'blue'] } };
  const { page, context, it } = await waiting(options, { init: () => undefined, answers: {} });
  const frame = page.frameLocator('iframe.component');
  await frame.getByText('nothing reached').waitFor();
  await frame.getByRole('button', { name: 'blue' }).click();
  assert.equal(await frame.locator('body').evaluate(() => { try { return String(parent.document); } catch { return 'kept out'; } }), 'kept out');
  await accessible(page, 'a component');
  await shot(page, 'component');
  await frame.getByRole('button', { name: 'Take it' }).click();
  await page.getByText('You chose picked').waitFor();
  assert.deepEqual(it.sent, [{ action: 'picked', colour: 'blue' }]);
  await context.close();
});

test('a component in JSX, a broken one, and one without a frame are told in a sentence', async () => {
  for (const [code, told] of [
    ['export default function App() { return <div>hello</div>; }', /written in JSX/],
    ['function Component() { throw new Error("no such thing"); }', /This failed: no such thing/],
  ]) {
    const { page, context } = await waiting({ kind: 'component', title: 'x', code });
    await card(page).getByText(told).waitFor();
    await context.close();
  }
  const { page, context, it } = await waiting({ kind: 'component', title: 'x', code: COMPONENT }, { size: desktop });
  await page.route('**/frame.html', (route) => route.fulfill({ body: '<p>nothing</p>', contentType: 'text/html' }));
  await page.reload();
  await card(page).getByText('this one cannot be shown').waitFor();
  await button(card(page), 'Dismiss').click();
  await page.getByText('You dismissed “x”').waitFor();
  assert.deepEqual(it.sent, [null]);
  await context.close();
});

test('told words, a summary, pictures and an earlier answer stand quietly in the conversation', async () => {
  const call = (id, name, args, content) => [
    { role: 'assistant', content: '', toolCalls: [{ id, name, arguments: args }], runId: 'r1', id: `a-${id}` },
    { role: 'tool', content: '', toolResults: [{ toolCallId: id, name, content, isError: false, durationMs: 4 }], runId: 'r1', id: `t-${id}` },
  ];
  const messages = [
    { id: 'm1', runId: 'r1', role: 'user', content: 'look at this', media: [{ id: 'f1', name: 'roof.png', mediaType: 'image/png' }, { id: 'f2', name: 'bill.pdf', mediaType: 'application/pdf' }] },
    ...call('k1', 'send_message', { text: 'Still **looking**…' }, { ok: true }),
    ...call('k2', 'ask_user', { question: 'Is it the north side?' }, { answer: 'South' }),
    ...call('k3', 'render_blocks', { title: 'The roof', blocks: BLOCKS.slice(0, 2) }, { action: 'dismiss' }),
    { id: 'm9', runId: 'r1', role: 'assistant', content: 'Two tiles are loose.', model: 'custom/test' },
  ];
  await everywhere('asides', async (options) => {
    const opened = await staged(browser, {
      'GET /api/v1/conversations/c1': good({ id: 'c1', title: 'x', messages }), 'GET /api/v1/runs': good({ count: 0, runs: [] }),
      'GET /api/v1/files/f1': { contentType: 'image/svg+xml', body: '<svg xmlns="http://www.w3.org/2000/svg" width="320" height="200"><rect width="320" height="200" fill="#c9b79c"/></svg>' },
      'POST /api/v1/conversations/c1/fork': good({ id: 'c2' }), 'GET /api/v1/conversations/c2': good({ id: 'c2', messages: messages.slice(0, 1) }),
      'POST /api/v1/chat': stream([run, ['compacted', { messages: 12, summaryLength: 400 }], ['message', { text: 'One moment.' }], ['text', { delta: 'There.' }], ['media', { id: 'f1', mediaType: 'image/svg+xml', name: 'out.svg' }], ['done', { response: 'There.', runId: 'r1', conversationId: 'c1', media: [{ id: 'f1', mediaType: 'image/svg+xml', name: 'out.svg' }] }]]),
    }, { at: '#/talk/c1', ...options });
    const { page } = opened;
    const first = exchanges(page).first();
    await first.locator('.aside-words').getByText('looking').waitFor();
    await first.getByText('Is it the north side?').waitFor();
    await first.getByText('South').waitFor();
    await first.getByRole('link', { name: 'bill.pdf' }).waitFor();
    await first.getByText('showed you something').click();
    await first.getByText('Kitchen').waitFor();
    await message(page).fill('and now?');
    await message(page).press('Enter');
    const last = exchanges(page).last();
    await last.getByText('12 earlier messages were summarized for Hob').waitFor();
    await last.locator('.aside-words').getByText('One moment.').waitFor();
    await last.getByText('There.').waitFor();
    await counted(last.locator('.media img'), 1);
    return opened;
  });
});

test('while Hob works, a message waits for its turn and can be taken back', async () => {
  const sent = [];
  const { page, context } = await staged(browser, {
    'POST /api/v1/chat': (route) => {
      sent.push(route.request().postDataJSON());
      return new Promise(() => {});
    },
    'POST /api/v1/runs/r1/cancel': good({}),
  });
  await message(page).fill('first');
  await message(page).press('Enter');
  await button(page, 'Stop').waitFor();
  await message(page).fill('and then the plants');
  await button(page, 'Send').click();
  await page.getByRole('list', { name: 'queued' }).getByText('and then the plants').waitFor();
  await counted(exchanges(page), 1);
  assert.deepEqual(sent[1], { message: 'and then the plants', stream: true, whileBusy: 'queue' });
  await accessible(page, 'a queue');
  await fits(page, phone, 'a queue');
  await shot(page, 'queued');
  await button(page, 'Remove from the queue: and then the plants').click();
  await page.getByRole('list', { name: 'queued' }).waitFor({ state: 'detached' });
  await button(page, 'Stop').click();
  await page.getByText('stopped').first().waitFor();
  await context.close();
});

test('files: progress, too large, left out, sent with the message', async () => {
  const sent = [];
  let hold;
  const held = new Promise((go) => (hold = go));
  const { page, context, problems } = await staged(browser, {
    'POST /api/v1/files': async (route) => {
      await held;
      return route.fulfill(good({ id: 'f1', name: 'roof.png', mediaType: 'image/png', size: 900, createdAt: 1 }));
    },
    'GET /api/v1/files/f1': { contentType: 'image/png', body: Buffer.from(BLOCKS.find(({ url }) => url)?.url.split(',')[1] ?? '', 'base64') },
    'POST /api/v1/chat': (route) => (sent.push(route.request().postDataJSON()), route.fulfill(stream([run, ['done', { response: 'A roof.', runId: 'r1', conversationId: 'c1' }]]))),
  });
  const picker = page.locator('input[type="file"]');
  // Made in the page: the way there takes a slow machine half a minute.
  await picker.evaluate((input) => {
    const chosen = new DataTransfer();
    chosen.items.add(new File([new ArrayBuffer(21 * 1024 * 1024)], 'film.mkv', { type: 'video/x-matroska' }));
    input.files = chosen.files;
    input.dispatchEvent(new Event('change', { bubbles: true }));
  });
  await page.getByRole('alert').getByText('film.mkv is larger than 20 MB').waitFor();
  await picker.setInputFiles({ name: 'roof.png', mimeType: 'image/png', buffer: Buffer.from(BLOCKS.find(({ url }) => url).url.split(',')[1], 'base64') });
  await page.getByRole('progressbar', { name: 'Sending roof.png' }).waitFor();
  await message(page).fill('what is this?');
  await becomes(() => button(page, 'Send').getAttribute('aria-disabled'), 'true', 'it is not sent before its files');
  await accessible(page, 'a file on its way');
  await fits(page, phone, 'a file on its way');
  await shot(page, 'attached');
  hold();
  await page.getByRole('progressbar').waitFor({ state: 'detached' });
  await button(page, 'Send').click();
  await exchanges(page).first().getByText('A roof.').waitFor();
  assert.deepEqual(sent[0].message, [{ type: 'text', text: 'what is this?' }, { type: 'image', file: 'f1' }]);
  await counted(page.locator('.you img'), 1);
  assert.deepEqual(problems, []);
  await context.close();
});

test('files are pasted and dropped too; one that cannot be kept says why, and is left out', async () => {
  let kept = 0;
  const dropped = [];
  const { page, context, problems } = await staged(browser, {
    'POST /api/v1/files': (route) => route.fulfill(kept++ ? good({ id: `f${kept}`, name: 'b.txt', mediaType: 'text/plain', size: 3, createdAt: 1 }) : bad(413, 'too_large', 'there is no room for more files: delete some')),
    'DELETE /api/v1/files/f2': (route) => (dropped.push('f2'), route.fulfill(good({ deleted: true }))),
  }, { size: desktop });
  await message(page).waitFor();
  const give = (type, on, name) => page.evaluate(([type, on, name]) => {
    const carried = new DataTransfer();
    carried.items.add(new File(['abc'], name, { type: 'text/plain' }));
    const event = type === 'paste' ? new ClipboardEvent(type, { clipboardData: carried, bubbles: true, cancelable: true }) : new DragEvent(type, { dataTransfer: carried, bubbles: true, cancelable: true });
    document.querySelector(on).dispatchEvent(event);
  }, [type, on, name]);
  await give('paste', '#message', 'a.txt');
  await page.locator('.attached').getByRole('alert').getByText('There is no room for more files: delete some.').waitFor();
  await becomes(() => button(page, 'Send').getAttribute('aria-disabled'), 'true');
  await give('dragover', '.conversation', 'b.txt');
  await page.getByText('Drop here').waitFor();
  await accessible(page, 'a file held over the room');
  await shot(page, 'dropping');
  await give('drop', '.conversation', 'b.txt');
  await page.locator('.attached').getByText('b.txt').waitFor();
  await page.waitForFunction(() => !document.querySelector('.attached progress'));
  await becomes(() => button(page, 'Send').getAttribute('aria-disabled'), 'false', 'a file alone can be sent');
  await button(page, 'Remove a.txt').click();
  await button(page, 'Remove b.txt').click();
  await page.locator('.attached').waitFor({ state: 'detached' });
  assert.deepEqual(dropped, ['f2'], 'what nobody was told of is not kept');
  assert.deepEqual(problems, []);
  await context.close();
});

const providers = [
  { id: 'openai', name: 'OpenAI', url: 'https://api.openai.com/v1', defaultUrl: 'https://api.openai.com/v1', needsKey: true, hasKey: true, keyFrom: 'page', keyHint: 'make one at platform.openai.com', keyPrefixes: ['sk-'], local: false },
  { id: 'anthropic', name: 'Anthropic', url: 'https://api.anthropic.com', defaultUrl: 'https://api.anthropic.com', needsKey: true, hasKey: false, keyFrom: null, keyHint: 'make one at console.anthropic.com', keyPrefixes: ['sk-ant-'], local: false },
  { id: 'together', name: 'Together', url: 'https://together.example/v1', defaultUrl: 'https://together.example/v1', needsKey: true, hasKey: false, keyFrom: null, keyHint: 'make one there', keyPrefixes: [], local: false },
  { id: 'ollama', name: 'Ollama', url: 'http://127.0.0.1:11434/v1', defaultUrl: 'http://127.0.0.1:11434/v1', needsKey: false, hasKey: false, keyFrom: null, keyHint: '', keyPrefixes: [], local: true },
];
const known = [
  { model: 'openai/gpt-5-mini', name: 'gpt-5-mini', context: 400_000, output: 128_000, inputPrice: 0.25, outputPrice: 2, tools: true, images: true, audio: false, files: true },
  { model: 'anthropic/claude-haiku', name: 'claude-haiku', context: 200_000, output: 64_000, inputPrice: 1, outputPrice: 5, tools: true, images: true, audio: false, files: true },
];
const day = (ago) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
const use = (cost, requests) => ({ requests, promptTokens: requests * 2100, cachedTokens: requests * 800, completionTokens: requests * 300, cost });
const spent = {
  today: { cost: 0.42, tokens: 31_000, requests: 13, budget: 2, left: 1.58 },
  days: Array.from({ length: 20 }, (_, n) => ({ date: day(n), ...use(0.1 + (n % 5) * 0.3, 4 + n), models: [{ model: 'openai/gpt-5-mini', ...use(0.1 + (n % 5) * 0.3, 3 + n) }, { model: 'ollama/qwen3', ...use(0, 1) }] })),
};

test('models: who stands in, budget, keys, a try, what was spent', async () => {
  const it = { model: { model: 'openai/gpt-5-mini', url: '', hasKey: true, from: 'page', changeable: true, fallback: ['anthropic/claude-haiku', 'ollama/qwen3'], strategy: 'fallback', preferReflex: false, dailyBudget: 2 }, providers, asked: [] };
  const change = (route) => {
    const body = route.request().postDataJSON();
    it.asked.push(body);
    Object.assign(it.model, body);
    return route.fulfill(good(it.model));
  };
  const answers = {
    'GET /api/v1/model': (route) => route.fulfill(good(it.model)), 'PATCH /api/v1/model': change, 'PUT /api/v1/model': change,
    'GET /api/v1/providers': (route) => route.fulfill(good({ providers: it.providers })), 'GET /api/v1/models': good({ models: known, source: 'built-in', updatedAt: null }), 'GET /api/v1/usage': good(spent),
    'POST /api/v1/providers/anthropic/try': good({ ok: true, models: Array.from({ length: 15 }, (_, n) => `claude-${n}`), message: 'it answered in 210 ms' }),
    'PUT /api/v1/providers/anthropic': (route) => {
      it.asked.push(route.request().postDataJSON());
      it.providers = providers.map((one) => (one.id === 'anthropic' ? { ...one, hasKey: true, keyFrom: 'page' } : one));
      return route.fulfill(good(it.providers[1]));
    },
  };
  await everywhere('models', async (options) => {
    const opened = await staged(browser, answers, { at: '#/device/models', ...options });
    await opened.page.getByText('By model').waitFor({ state: 'attached' });
    return opened;
  });
  const { page, context, problems } = await staged(browser, answers, { at: '#/device/models', size: desktop });
  await button(page, 'Move ollama/qwen3 up').click();
  await page.getByText('ollama/qwen3 is now number 1.').waitFor();
  assert.deepEqual(it.asked.at(-1), { fallback: ['ollama/qwen3', 'anthropic/claude-haiku'] });
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Move ollama/qwen3 down');
  await button(page, 'Remove anthropic/claude-haiku').click();
  await page.getByText('anthropic/claude-haiku removed.').waitFor();
  await button(page, 'Add a fallback').click();
  await page.getByLabel('Model to add').fill('haiku');
  await button(page, 'Add a fallback').click();
  await page.getByText('Enter it as provider/model').waitFor();
  await page.getByLabel('Model to add').fill('anthropic/claude-haiku');
  await button(page, 'Add a fallback').click();
  await page.locator('.stand-ins li').nth(1).waitFor();
  await page.getByLabel('Which model goes first').selectOption('cheapest');
  await page.getByRole('switch', { name: 'Try this device first' }).press('Space');
  await page.waitForFunction(() => document.querySelector('[role="switch"]').checked);
  await page.getByLabel('US dollars a day').fill('much');
  await button(page, 'Save').click();
  await page.getByText('Enter an amount such as 2').waitFor();
  await page.getByLabel('US dollars a day').fill('');
  await button(page, 'Save').click();
  await page.getByText('Limit removed').waitFor();
  assert.deepEqual(it.asked.slice(-3), [{ strategy: 'cheapest' }, { preferReflex: true }, { dailyBudget: null }]);
  assert.equal(await button(page, 'Set up Together').isVisible(), false, 'the lesser known are behind "more"');
  await page.getByText('1 more', { exact: true }).click();
  await button(page, 'Set up Together').waitFor();
  await button(page, 'Set up Anthropic').click();
  await page.getByRole('form', { name: 'Set up Anthropic' }).getByLabel('Key').fill('sk-ant');
  await button(page, 'Test').click();
  await page.getByText('It offers 15 models:').waitFor();
  await accessible(page, 'a tried key');
  await shot(page, 'models-tried');
  await page.getByRole('form', { name: 'Set up Anthropic' }).getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  assert.deepEqual(it.asked.at(-1), { key: 'sk-ant' });
  await page.getByRole('button', { name: 'Change model' }).click();
  await page.getByLabel('Provider', { exact: true }).selectOption('anthropic');
  await page.getByLabel('Model', { exact: true }).fill('claude-haiku');
  await page.getByText('per million tokens').first().waitFor();
  await button(page.getByRole('form', { name: 'Change model' }), 'Save').click();
  await page.getByText('claude-haiku answers, at Anthropic').waitFor();
  assert.deepEqual(it.asked.at(-1), { model: 'anthropic/claude-haiku' });
  assert.deepEqual(problems, []);
  await context.close();
});

test('a member sees the models and changes nothing', async () => {
  const { page, context, problems } = await staged(browser, {
    'GET /api/v1/session': good({ ...owner, role: 'member' }),
    'GET /api/v1/model': good({ model: 'reflex', url: '', hasKey: false, from: 'key', changeable: true, fallback: ['openai/gpt-5-mini'], automaticFallback: true, strategy: 'fallback', preferReflex: true, dailyBudget: null }),
    'GET /api/v1/models': good({ models: known, source: 'built-in', updatedAt: null }),
  }, { at: '#/device/models' });
  await page.getByText('Only an admin can change this.').waitFor();
  await page.getByText('Chosen automatically, because their keys are in the environment.').waitFor();
  await page.locator('.stand-ins').getByText('gpt-5-mini').first().waitFor();
  await counted(page.locator('.page button'), 0);
  await accessible(page, 'the models for a member');
  assert.deepEqual(problems, []);
  await context.close();
});

test('documents: read, changed, a conflict, history, rolled back; what the model is told', async () => {
  const it = { version: 3, text: 'Be brief.\nSay it plainly.', sent: [], conflict: true };
  const lines = [['system_prompt', 'System prompt', 'what it is told first'], ['learned_notes', 'Learned notes', 'what it wrote down about you'], ['SOUL.md', 'Soul', 'how it speaks']]
    .map(([name, title, about], n) => ({ name, title, about, version: n ? 0 : it.version, length: n ? 0 : it.text.length, updatedAt: n ? null : Date.now() - 3_600_000 }));
  const now = () => good({ name: 'system_prompt', text: it.text, version: it.version, updatedAt: Date.now(), builtIn: null });
  const at = '/api/v1/documents/system_prompt';
  const answers = {
    'GET /api/v1/documents': good({ documents: lines }), [`GET ${at}`]: (route) => route.fulfill(now()),
    [`PUT ${at}`]: (route) => {
      const body = route.request().postDataJSON();
      it.sent.push(body);
      if (body.version !== it.version) return route.fulfill(bad(409, 'conflict', 'it was changed meanwhile: read it anew'));
      Object.assign(it, { text: body.text, version: it.version + 1 });
      return route.fulfill(now());
    },
    [`GET ${at}/history`]: (route) => route.fulfill(good({ count: it.version, versions: Array.from({ length: it.version }, (_, n) => ({ version: it.version - n, at: Date.now() - n * 3_600_000, by: n % 2 ? 'agent' : 'person', operation: n % 2 ? 'append' : 'replace', length: 20 + n })) })),
    [`GET ${at}/history/1`]: good({ version: 1, text: 'The very first words.', at: 1, by: 'person', operation: 'replace' }),
    [`POST ${at}/rollback`]: (route) => (it.sent.push(route.request().postDataJSON()), Object.assign(it, { text: 'The very first words.', version: it.version + 1 }), route.fulfill(now())),
    'GET /api/v1/prompt': good({ prompt: 'You are Hob.\n\n---\n\nIt is Sunday.', sections: [{ name: 'base', length: 400, shown: true }, { name: 'user_profile', length: 0, shown: false }, { name: 'time', length: 60, shown: true }], length: 460, tokens: 115 }),
  };
  await everywhere('persona', async (options) => {
    const opened = await staged(browser, answers, { at: '#/device/persona', ...options });
    await opened.page.getByRole('link', { name: /System prompt/ }).waitFor();
    return opened;
  });
  await everywhere('document', async (options) => {
    const opened = await staged(browser, answers, { at: '#/device/persona/system_prompt', ...options });
    await opened.page.getByText('Version 3 · current').waitFor();
    return opened;
  });
  await everywhere('prompt', async (options) => {
    const opened = await staged(browser, answers, { at: '#/device/prompt', ...options });
    await opened.page.getByText('about 115 tokens').waitFor();
    return opened;
  });
  const { page, context, problems } = await staged(browser, answers, { at: '#/device/persona/system_prompt' });
  await button(page, 'Edit').click();
  await page.getByLabel('Text').fill('Mine.');
  it.version = 4;
  it.text = 'Theirs.';
  await button(page, 'Save').click();
  await page.getByText('Somebody else has changed it').waitFor();
  await becomes(() => page.getByLabel('Text', { exact: true }).inputValue(), 'Mine.', 'what was typed stays');
  await button(page, 'See the newer text').click();
  await page.getByText('Theirs.').waitFor();
  await accessible(page, 'a conflict');
  await fits(page, phone, 'a conflict');
  await shot(page, 'document-conflict');
  await button(page, 'Save mine over it').click();
  await page.getByText('Saved as version 5.').waitFor();
  assert.deepEqual(it.sent.map(({ version }) => version), [3, 4]);
  await button(page, 'View version 1').click();
  await page.getByText('The very first words.').waitFor();
  await button(page, 'Restore this version').click();
  await accessible(page, 'before going back');
  await shot(page, 'document-rollback');
  await button(page, 'Yes, restore it').click();
  await page.getByText('Version 6 restores version 1.').waitFor();
  assert.deepEqual(it.sent.at(-1), { version: 1 });
  assert.deepEqual(problems, []);
  await context.close();
});

test('runs: how each stands, its steps, stopped and taken up again', async () => {
  const at = Date.now() - 60_000;
  const runs = [
    { id: 'r1', conversationId: 'c1', state: 'running', startedAt: at, endedAt: null, model: 'openai/gpt-5-mini', channel: 'page', turns: 2, toolCalls: 3, usage: { promptTokens: 4100, completionTokens: 200 }, cost: 0.0031, error: null, resumed: 1, asked: 'tidy up the shopping list' },
    { id: 'r2', conversationId: 'c1', state: 'failed', startedAt: at - 90_000, endedAt: at - 60_000, model: 'openai/gpt-5-mini', channel: 'page', turns: 1, toolCalls: 0, usage: {}, cost: null, error: { code: 'model', message: 'the model did not answer: look whether it runs' }, resumed: 0 },
    { id: 'r3', conversationId: null, state: 'done', startedAt: at - 900_000, endedAt: at - 899_000, model: 'reflex', channel: 'schedule', turns: 1, toolCalls: 1, usage: {}, cost: 0, error: null, resumed: 0 },
  ];
  const steps = [
    { kind: 'message', at, text: 'turn on the lamp' }, { kind: 'call', at, callId: 'k', name: 'gpio_write', arguments: { pin: 17, high: true }, state: 'done' },
    { kind: 'result', at, callId: 'k', name: 'gpio_write', content: { pin: 17, high: true }, isError: false, durationMs: 3 }, { kind: 'answer', at, text: 'It is on.', model: 'reflex' },
  ];
  const routing = {
    strategy: 'fallback', model: 'reflex', reason: 'no model answered',
    attempts: [
      { model: 'openai/gpt-5-mini', outcome: 'failed', code: 'server', error: 'the model server `openai` failed (status 503)', durationMs: 40 },
      { model: 'reflex', outcome: 'answered', code: null, error: null, durationMs: 0 },
    ],
  };
  const asked = [];
  const answers = {
    'GET /api/v1/runs': good({ count: 3, runs }), 'GET /api/v1/runs/r3': good({ ...runs[2], steps, routing }), 'GET /api/v1/runs/r1': good({ ...runs[0], steps: steps.slice(0, 2) }),
    'POST /api/v1/runs/r1/cancel': (route) => (asked.push('cancel'), route.fulfill(good({ cancelled: true }))), 'POST /api/v1/runs/r2/resume': (route) => (asked.push('resume'), route.fulfill(good({}))),
  };
  await everywhere('runs', async (options) => {
    const opened = await staged(browser, answers, { at: '#/device/runs', ...options });
    const { page } = opened;
    await page.locator('.act-head').getByText('tidy up the shopping list').waitFor();
    await page.locator('.act-head').getByText('A request of a program').waitFor();
    await page.getByText('Steps').nth(2).click();
    await page.getByText('It is on.').waitFor();
    await page.getByText(/gpt-5-mini.*did not answer: .*503/).waitFor();
    await page.getByText(/reflex.*answered: no model answered/).waitFor();
    return opened;
  });
  const { page, context } = await staged(browser, answers, { at: '#/device/runs' });
  await page.getByRole('button', { name: /^Stop the run/ }).click();
  await page.getByText('Stopped.').waitFor();
  await page.getByRole('button', { name: /^Resume the run/ }).click();
  await page.getByText('Resumed.').waitFor();
  assert.deepEqual(asked, ['cancel', 'resume']);
  await context.close();
});

test('a conversation is saved as a file, brought back, and gone on with elsewhere', async () => {
  const whole = { format: 'hob-conversation', version: 1, title: 'The roof', messages: [] };
  const brought = [];
  const { page, context, problems } = await staged(browser, {
    'GET /api/v1/conversations': good({ count: 1, conversations: [{ id: 'c1', title: 'The roof', updatedAt: Date.now(), messageCount: 2 }] }),
    'GET /api/v1/conversations/c1': good({ id: 'c1', title: 'The roof', messages: [{ id: 'm1', runId: 'r1', role: 'user', content: 'look' }, { id: 'm2', runId: 'r1', role: 'assistant', content: 'Two tiles.' }] }),
    'GET /api/v1/conversations/c1/export': good(whole),
    'POST /api/v1/conversations/import': (route) => (brought.push(route.request().postDataJSON()), route.fulfill(good({ id: 'c3', title: 'The roof' }))),
    'POST /api/v1/conversations/c1/fork': (route) => (brought.push(route.request().postDataJSON()), route.fulfill(good({ id: 'c2', forkedFrom: 'c1' }))),
    'GET /api/v1/conversations/c2': good({ id: 'c2', messages: [{ id: 'n1', runId: 'r1', role: 'user', content: 'look' }] }),
    'GET /api/v1/conversations/c3': good({ id: 'c3', messages: [{ id: 'n1', runId: 'r1', role: 'user', content: 'brought back' }] }),
  }, { at: '#/talk/c1' });
  await exchanges(page).first().waitFor();
  await page.getByRole('button', { name: 'Branch from “look”' }).click();
  await page.getByText('This is a new conversation').waitFor();
  assert.deepEqual(brought.pop(), { messageId: 'm2' });
  await button(page, 'Conversations').click();
  const drawer = page.getByRole('dialog', { name: 'Conversations' });
  const [download] = await Promise.all([page.waitForEvent('download'), drawer.getByRole('button', { name: 'Save “The roof” as a file' }).click()]);
  assert.equal(download.suggestedFilename(), 'the-roof.json');
  await accessible(page, 'the drawer');
  await fits(page, phone, 'the drawer');
  await shot(page, 'drawer-files');
  const picker = drawer.locator('input[type="file"]');
  await picker.setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from('no json') });
  await drawer.getByRole('alert').getByText('not a saved conversation').waitFor();
  await picker.setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(whole)) });
  await exchanges(page).getByText('brought back').waitFor();
  assert.deepEqual(brought, [whole]);
  assert.deepEqual(problems, []);
  await context.close();
});
