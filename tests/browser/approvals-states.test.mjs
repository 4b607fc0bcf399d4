// What asks for a decision, in every state: the card in the flow, at the top, on a tool's page, in two pages at once, and with bad answers. The API is staged.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, becomes, counted, desktop, exchanges, fits, launch, message, phone, schemes, shot, shows, sizes, visit } from './page.mjs';
import { bad, good, owner, staged as stage } from './staged.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
});

const NARROW = { width: 320, height: 640 };
const NOW = Date.now();
const REASON = 'your autonomy is medium, and a model wants to move something in the world';
const ask = (change = {}) => ({
  id: 'a1', nonce: 'n1', tool: 'gpio_write', arguments: { pin: 17, high: true }, about: 'Drive one output pin; it stays driven until changed',
  risk: 'actuate', rule: 'autonomy', reason: REASON, tainted: false, state: 'pending', userId: 'owner', runId: 'r1', conversationId: 'c1',
  toolCallId: 'k1', channel: 'chat', version: 1, pattern: { pin: 17, high: true }, askedAt: NOW, waitsUntil: NOW + 120_000, expiresAt: NOW + 120_000, ...change,
});
const mail = (change = {}) => ask({
  id: 'a2', nonce: 'n2', tool: 'send_email', about: 'Send a mail', risk: 'send', rule: 'tainted', tainted: true, toolCallId: 'k2',
  reason: 'the run read something from outside, and this lets data leave the device',
  arguments: { to: ['jonas@example.org', 'ida@example.org'], subject: 'The boiler', body: 'It was serviced on 3 October.\nAll is well.', urgent: false },
  pattern: { to: ['jonas@example.org', 'ida@example.org'], subject: 'The boiler' }, expiresAt: NOW + 86_400_000, ...change,
});
const none = good({ count: 0, approvals: [] });
const waiting = (...approvals) => good({ count: approvals.length, approvals });

/** In the page: the chat call is a stream that the test speaks on, with `say(event, data)` and `over()`. */
function mouth() {
  const real = globalThis.fetch;
  globalThis.fetch = (path, init) => {
    if (path !== '/api/v1/chat') return real(path, init);
    const body = new ReadableStream({
      start(line) {
        globalThis.say = (name, data) => line.enqueue(new TextEncoder().encode(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`));
        globalThis.over = () => line.close();
      },
    });
    return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
  };
}

/** A signed-in page; `decided` is what it sent, and how it is answered can be replaced in `all`. */
async function staged(answers = {}, options = {}) {
  const decided = [];
  const decide = (which, asked) => (route) => {
    const sent = route.request().postDataJSON();
    decided.push([which, sent, route.request().headers()['x-csrf-token']]);
    const state = sent.decision === 'deny' ? 'denied' : 'approved';
    return route.fulfill(good({ ...asked, state, decision: sent.decision, decidedAt: NOW, decidedBy: 'owner' }));
  };
  const opened = await stage(browser, {
    'GET /api/v1/approvals': none,
    'POST /api/v1/approvals/a1/decide': decide('a1', ask()), 'POST /api/v1/approvals/a2/decide': decide('a2', mail()),
    ...answers,
  }, { live: true, init: mouth, ...options });
  return { ...opened, decided };
}

const say = (page, name, data) => page.evaluate(([name, data]) => globalThis.say(name, data), [name, data]);
const tell = (page, topic, data) => page.evaluate(([topic, data]) => globalThis.tell(topic, data), [topic, data]);
const card = (page, tool = 'gpio_write') => page.getByRole('group', { name: new RegExp(`^Hob wants to use ${tool}( |$)`) });
const button = (place, name) => place.getByRole('button', { name, exact: true });
const talkLink = (page, name) => page.getByRole('navigation', { name: 'Rooms' }).getByRole('link', { name, exact: typeof name === 'string' });

/** A question that led to a call which is asked about. */
async function begin(page, asked = ask(), name = asked.tool) {
  await message(page).fill('turn on the lamp');
  await message(page).press('Enter');
  await page.waitForFunction(() => globalThis.say);
  await say(page, 'run', { runId: 'r1', conversationId: 'c1', model: 'custom/test' });
  await say(page, 'tool_start', { callId: asked.toolCallId, name: asked.tool, arguments: asked.arguments });
  await say(page, 'approval', asked);
  await card(page, name).waitFor();
}

test('the card says what, with what and why; one press allows, and the run goes on', async () => {
  const { page, context, decided, problems } = await staged({}, { size: desktop });
  await message(page).waitFor();
  await message(page).focus();
  await begin(page);
  const it = card(page);
  await shows(() => it.innerText(), /Turn on pin 17\?\s+Pin\s+17\s+High\s+yes/);
  await shows(() => it.innerText(), /Why it asks: Your autonomy is medium.*Expires \d\d:\d\d\./s);
  await counted(it.getByText('after reading something from outside'), 0);
  await becomes(() => it.locator('pre').isVisible(), false, 'no JSON first');
  await becomes(() => page.evaluate(() => document.activeElement?.id), 'message', 'the focus is not stolen');
  await page.getByRole('status').getByText('Hob wants to use gpio_write', { exact: true }).waitFor();
  await page.getByText('Waiting for your decision').waitFor();
  assert.equal(await page.getByText('thinking…').count() + await page.locator('.flame.alive').count(), 0, 'waiting is not thinking');
  await counted(page.locator('details.did'), 0, 'the card stands in the place of the line');
  await talkLink(page, /^Talk.*1 decision for you$/).waitFor();
  await it.getByText('Details').click();
  await shows(() => it.locator('pre').innerText(), /^gpio_write \{\s+"pin": 17,\s+"high": true\s+\}$/);
  await it.getByText('risk actuate, rule autonomy').waitFor();
  await button(it, 'Allow once').click();
  await page.getByText('You allowed gpio_write', { exact: true }).waitFor();
  assert.deepEqual(decided, [['a1', { decision: 'allow_once', nonce: 'n1' }, owner.csrfToken]]);
  await counted(it, 0);
  await becomes(() => page.evaluate(() => document.activeElement?.innerText), 'You allowed gpio_write', 'the focus stays where it was');
  await talkLink(page, 'Talk').waitFor();
  await tell(page, 'approval:settled', { id: 'a1', state: 'approved', decision: 'allow_once', tool: 'gpio_write', runId: 'r1', conversationId: 'c1' });
  await say(page, 'tool_end', { callId: 'k1', name: 'gpio_write', result: { pin: 17, high: true }, say: 'Pin 17 is on.', isError: false, durationMs: 3 });
  await say(page, 'text', { delta: 'The lamp is on.' });
  await say(page, 'done', { response: 'The lamp is on.', conversationId: 'c1', runId: 'r1', model: 'custom/test' });
  await page.locator('.words').getByText('The lamp is on.').waitFor();
  await page.locator('details.did.ended').getByText('set a pin').waitFor();
  await counted(page.getByText('You allowed gpio_write', { exact: true }), 1, 'news of what is known change nothing');
  await counted(exchanges(page), 1);
  assert.deepEqual(problems, []);
  await context.close();
});

test('a no is a no', async () => {
  const { page, context, decided } = await staged();
  await begin(page);
  await button(card(page), 'Deny').click();
  await page.getByText('You denied gpio_write', { exact: true }).waitFor();
  assert.deepEqual(decided[0][1], { decision: 'deny', nonce: 'n1' });
  await context.close();
});

test('always: with these values, or with any; by the keyboard alone', async () => {
  const { page, context, decided } = await staged({}, { size: desktop });
  await begin(page);
  const it = card(page);
  const press = async (name) => {
    await button(it, name).focus();
    await page.keyboard.press('Enter');
  };
  await press('Always allow…');
  const choice = it.getByRole('group', { name: 'Always allow, without asking' });
  await choice.waitFor();
  await becomes(() => button(choice, 'These exact values').evaluate((one) => one === document.activeElement), true);
  await choice.getByText('Hob may do exactly this again.').waitFor();
  await choice.getByText('Hob may use gpio_write however it likes.').waitFor();
  await accessible(page, 'the choice of always');
  await shot(page, 'approval-always');
  await page.keyboard.press('Escape');
  await choice.waitFor({ state: 'detached' });
  await page.waitForFunction(() => document.activeElement?.textContent === 'Always allow…');
  await page.keyboard.press('Enter');
  await button(choice, 'These exact values').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByText('You always allow gpio_write').waitFor();
  assert.deepEqual(decided[0][1], { decision: 'allow_always', nonce: 'n1', pattern: '*' });
  await context.close();
});

test('always with just these values: what was suggested, or where that is everything, the values themselves', async () => {
  for (const [change, sent] of [
    [{}, {}],
    [{ pattern: '*', arguments: { text: 'a * b \\ c', list: ['*', 1], deep: { x: null } } }, { pattern: { text: 'a \\* b \\\\ c', list: ['\\*', 1], deep: { x: null } } }],
  ]) {
    const { page, context, decided } = await staged();
    await begin(page, ask(change));
    await button(card(page), 'Always allow…').click();
    await button(card(page), 'These exact values').click();
    await page.getByText('You always allow gpio_write').waitFor();
    assert.deepEqual(decided[0][1], { decision: 'allow_always', nonce: 'n1', ...sent });
    await context.close();
  }
});

test('what a tool wants while it runs goes by the name of the tool', async () => {
  const asked = ask({ tool: 'weather#fetch', about: 'Reach api.example.org', arguments: { host: 'api.example.org' }, pattern: { host: 'api.example.org' } });
  const { page, context } = await staged({ 'POST /api/v1/approvals/a1/decide': good({ ...asked, state: 'denied', decision: 'deny' }) });
  await begin(page, asked, 'weather');
  await button(card(page, 'weather'), 'Deny').click();
  await page.getByText('You denied weather', { exact: true }).waitFor();
  await context.close();
});

test('a pattern with stars is shown as one', async () => {
  const asked = ask({ tool: 'http_get', arguments: { url: 'https://example.org/a' }, pattern: { url: 'https://example.org/*' } });
  const { page, context } = await staged();
  await begin(page, asked);
  await button(card(page, 'http_get'), 'Always allow…').click();
  await button(card(page, 'http_get'), 'Values like these').waitFor();
  await card(page, 'http_get').getByText('https://example.org/*').waitFor();
  await context.close();
});

test('after reading from outside it says so, and offers no blank cheque', async () => {
  const { page, context } = await staged();
  await begin(page, mail());
  const it = card(page, 'send_email');
  await it.getByText('Hob read something from outside before this').waitFor();
  await shows(() => it.innerText(), /To\s+jonas@example.org, ida@example.org\s+Subject\s+The boiler\s+Body\s+It was serviced on 3 October\.\s+All is well\.\s+Urgent\s+no/);
  await button(it, 'Always allow…').click();
  await button(it, 'These exact values').waitFor();
  await counted(button(it, 'Any values'), 0);
  await context.close();
});

test('answered elsewhere, and not answered in time', async () => {
  const { page, context } = await staged();
  await begin(page);
  await tell(page, 'approval:settled', { id: 'a1', state: 'denied', decision: 'deny', tool: 'gpio_write', runId: 'r1', conversationId: 'c1' });
  await page.getByText('gpio_write was denied elsewhere').waitFor();
  await say(page, 'tool_start', { callId: 'k2', name: 'send_email', arguments: {} });
  await say(page, 'approval', mail());
  await card(page, 'send_email').waitFor();
  await tell(page, 'approval:settled', { id: 'a2', state: 'expired', decision: null, tool: 'send_email', runId: 'r1', conversationId: 'c1' });
  await page.getByText('Nobody answered in time, so send_email was not used').waitFor();
  await talkLink(page, 'Talk').waitFor();
  await accessible(page, 'settled cards');
  await shot(page, 'approval-settled');
  await context.close();
});

test('409: the card looks how it stands, and settles', async () => {
  const { page, context } = await staged({
    'POST /api/v1/approvals/a1/decide': bad(409, 'conflict', 'it is answered already'),
    'GET /api/v1/approvals/a1': good(ask({ state: 'approved', decision: 'allow_once', decidedBy: 'p2' })),
  });
  await begin(page);
  await button(card(page), 'Deny').click();
  await page.getByText('gpio_write was allowed elsewhere').waitFor();
  await context.close();
});

test('409 with a nonce that is old: the new one is taken, and the person asked again', async () => {
  let nonce = '';
  const { page, context, all } = await staged({
    'POST /api/v1/approvals/a1/decide': bad(409, 'conflict', 'this question has changed: read it again'),
    'GET /api/v1/approvals/a1': good(ask({ nonce: 'n9', arguments: { pin: 27, high: true } })),
  });
  await begin(page);
  await button(card(page), 'Allow once').click();
  await card(page).getByRole('alert').getByText('This question has changed').waitFor();
  await card(page).getByText('27', { exact: true }).waitFor();
  all['POST /api/v1/approvals/a1/decide'] = (route) => {
    nonce = route.request().postDataJSON().nonce;
    return route.fulfill(good(ask({ state: 'approved', decision: 'allow_once' })));
  };
  await button(card(page), 'Allow once').click();
  await page.getByText('You allowed gpio_write', { exact: true }).waitFor();
  assert.equal(nonce, 'n9');
  await context.close();
});

test('404, 500 and no answer at all are told in the card', async () => {
  const { page, context, all } = await staged({ 'POST /api/v1/approvals/a1/decide': bad(500, 'failed', 'the disk is full: make room and try again') });
  await begin(page);
  await button(card(page), 'Allow once').click();
  await card(page).getByRole('alert').getByText('The disk is full').waitFor();
  await accessible(page, 'a card with a problem');
  all['POST /api/v1/approvals/a1/decide'] = (route) => route.abort('connectionrefused');
  all['GET /api/v1/approvals'] = (route) => route.abort('connectionrefused');
  all['GET /healthz'] = (route) => route.abort('connectionrefused');
  await button(card(page), 'Allow once').click();
  await card(page).getByRole('alert').getByText('Hob did not answer').waitFor();
  // The answer had arrived before the line broke.
  all['GET /api/v1/approvals'] = none;
  all['GET /api/v1/approvals/a1'] = good(ask({ state: 'approved', decision: 'allow_once' }));
  all['GET /healthz'] = good({});
  await page.getByText('gpio_write was allowed elsewhere').waitFor();
  await say(page, 'approval', mail());
  all['POST /api/v1/approvals/a2/decide'] = bad(404, 'not_found', 'there is no such approval');
  await button(card(page, 'send_email'), 'Deny').click();
  await page.getByText('send_email no longer needs a decision').waitFor();
  await context.close();
});

const QUESTION = { role: 'user', content: 'mail them about the boiler', createdAt: NOW - 60_000 };
const CALL = { role: 'assistant', content: 'I will write to them.', toolCalls: [{ id: 'k2', name: 'send_email', arguments: mail().arguments }], model: 'custom/test' };
const parked = (...more) => good({ id: 'c1', title: 'mail', messages: [QUESTION, CALL, ...more] });
const here = () => localStorage.setItem('hob.conversation', 'c1');

test('a run that rests says so, composing goes on, and after the answer it goes on by itself', async () => {
  const { page, context, all } = await staged({ 'GET /api/v1/runs': good({ count: 0, runs: [] }) });
  await begin(page, mail());
  all['GET /api/v1/approvals'] = waiting(mail());
  await say(page, 'done', { response: 'I wait for your decision.', conversationId: 'c1', runId: 'r1', model: 'custom/test', waiting: ['a2'] });
  await page.locator('.remark').getByText('Waiting for your decision').waitFor();
  await tell(page, 'run:ended', { runId: 'r1', conversationId: 'c1', outcome: 'parked' });
  await page.getByRole('button', { name: 'Send' }).waitFor();
  await message(page).fill('and another thing');
  await shot(page, 'approval-parked');
  await button(card(page, 'send_email'), 'Allow once').click();
  await page.getByText('You allowed send_email', { exact: true }).waitFor();
  all['GET /api/v1/runs'] = good({ count: 1, runs: [{ id: 'r1', conversationId: 'c1', startedAt: NOW, state: 'running' }] });
  all['GET /api/v1/conversations/c1'] = parked();
  await tell(page, 'approval:settled', { id: 'a2', state: 'approved', decision: 'allow_once', tool: 'send_email', runId: 'r1', conversationId: 'c1' });
  await tell(page, 'run:started', { runId: 'r1', conversationId: 'c1' });
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  all['GET /api/v1/runs'] = good({ count: 0, runs: [] });
  all['GET /api/v1/conversations/c1'] = parked(
    { role: 'tool', content: '', toolResults: [{ toolCallId: 'k2', name: 'send_email', content: 'sent', isError: false, durationMs: 700 }] },
    { role: 'assistant', content: 'They know now.', model: 'custom/test' },
  );
  await tell(page, 'run:ended', { runId: 'r1', conversationId: 'c1', outcome: 'ok' });
  await page.locator('.words').getByText('They know now.').waitFor();
  await page.getByText('You allowed send_email', { exact: true }).waitFor();
  await counted(page.locator('.remark'), 0);
  await becomes(() => message(page).inputValue(), 'and another thing');
  await context.close();
});

test('after a reload the card stands where its call stands', async () => {
  const { page, context } = await staged({
    'GET /api/v1/approvals': waiting(mail()), 'GET /api/v1/runs': good({ count: 0, runs: [] }),
    'GET /api/v1/conversations/c1': parked(),
  }, { init: here, size: desktop });
  const article = exchanges(page).first();
  await article.locator('.asks').waitFor();
  await counted(page.locator('details.did'), 0, 'what was not done is not said to be done');
  await article.locator('.remark').getByText('Waiting for your decision').waitFor();
  await counted(page.getByRole('region', { name: 'Waiting for your decision' }), 0);
  await button(card(page, 'send_email'), 'Deny').click();
  await page.getByText('You denied send_email', { exact: true }).waitFor();
  await context.close();
});

test('what belongs to no conversation here stands at the top, with the way to its own', async () => {
  const lone = ask({ conversationId: null, toolCallId: null, runId: null, channel: 'api' });
  const { page, context, all } = await staged({
    'GET /api/v1/approvals': waiting(lone, mail({ conversationId: 'c2' })), 'GET /api/v1/runs': good({ count: 0, runs: [] }),
    'GET /api/v1/conversations/c2': good({ id: 'c2', title: 'mail', messages: [QUESTION, CALL] }),
  });
  const top = page.getByRole('region', { name: 'Waiting for your decision' });
  await top.waitFor();
  await counted(top.getByRole('group', { name: /^Hob wants/ }), 2);
  await top.getByText('from a program').waitFor();
  await counted(top.getByRole('link', { name: 'Open conversation' }), 1);
  await talkLink(page, /^Talk.*2 decisions for you$/).waitFor();
  await accessible(page, 'decisions at the top');
  await fits(page, phone, 'decisions at the top');
  await shot(page, 'approval-top');
  await visit(page, 'Device');
  await talkLink(page, /^Talk.*2 decisions for you$/).waitFor();
  await talkLink(page, /^Talk/).click();
  await button(card(page), 'Deny').click();
  await top.getByText('You denied gpio_write').waitFor();
  await top.getByRole('link', { name: 'Open conversation' }).click();
  await exchanges(page).first().locator('.asks').waitFor();
  await counted(top, 0, 'the settled one is not kept for the next conversation');
  all['GET /api/v1/approvals'] = none;
  await context.close();
});

test('at the end of a long conversation a word leads up to what waits', async () => {
  const messages = Array.from({ length: 30 }, (_, n) => ({ role: n % 2 ? 'assistant' : 'user', content: `Sentence ${n}. `.repeat(20), model: 'custom/test' }));
  const { page, context } = await staged({
    'GET /api/v1/approvals': none, 'GET /api/v1/runs': good({ count: 0, runs: [] }), 'GET /api/v1/conversations/c1': good({ id: 'c1', title: 'long', messages }),
  }, { init: here });
  await exchanges(page).nth(14).waitFor();
  await tell(page, 'approval:asked', ask({ conversationId: null, toolCallId: null, channel: 'schedule' }));
  const up = button(page, 'A decision is waiting above');
  await up.waitFor();
  await accessible(page, '1 decision for you above');
  await fits(page, phone, '1 decision for you above');
  await shot(page, 'approval-above');
  await up.click();
  await up.waitFor({ state: 'detached' });
  await card(page).getByText('from a schedule').waitFor();
  await page.waitForFunction(() => document.activeElement?.id === 'elsewhere');
  await context.close();
});

test('two pages: what is answered on one is settled on the other after a resync too', async () => {
  const { page, context, all } = await staged({ 'GET /api/v1/approvals': waiting(ask({ conversationId: null })) });
  await card(page).waitFor();
  all['GET /api/v1/approvals'] = none;
  all['GET /api/v1/approvals/a1'] = good(ask({ state: 'denied', decision: 'deny' }));
  await tell(page, 'resync');
  await page.getByText('gpio_write was denied elsewhere').waitFor();
  await context.close();
});

test('hostile and huge arguments stay text, and the card stays small', async () => {
  const many = Object.fromEntries(Array.from({ length: 14 }, (_, n) => [`field_${n}`, n]));
  const asked = ask({
    tool: 'write_file', about: '<img src=x onerror="document.title=1">', reason: '<b>because</b>',
    arguments: { path: '/a/'.repeat(90), '<i>name</i>': '<script>document.title=2</script>', text: 'x'.repeat(5000), nested: { deep: [1, { a: 2 }] }, empty: '', ...many },
  });
  const { page, context, problems } = await staged({}, { size: NARROW });
  await begin(page, asked);
  const it = card(page, 'write_file');
  await it.getByText('<script>document.title=2</script>').first().waitFor();
  await it.getByText(/and 11 more, in the details/).waitFor();
  await counted(it.locator('img, script, i, b'), 0);
  await becomes(() => page.title(), 'Hob');
  await fits(page, NARROW, 'a huge card');
  assert.ok((await it.boundingBox()).height < 1400);
  await accessible(page, 'a huge card');
  await shot(page, 'approval-huge');
  assert.deepEqual(problems, []);
  await context.close();
});

test('an approval that lacks all it may lack does no harm', async () => {
  const { page, context, problems } = await staged({ 'GET /api/v1/approvals': good({ approvals: [{ id: 'a1', nonce: 'n1', tool: 'gpio_write', arguments: null, risk: 'actuate', rule: 'x', reason: '', state: 'pending', askedAt: NOW }] }) });
  await card(page).waitFor();
  await button(card(page), 'Always allow…').click();
  await button(card(page), 'Any values').waitFor();
  assert.deepEqual(problems, []);
  await context.close();
});

test('somebody else who signs in on this page is shown nothing of the one before', async () => {
  let who = owner;
  const { page, context, all } = await staged({
    'GET /api/v1/session': (route) => route.fulfill(who ? good(who) : bad(401, 'unauthorized', 'who are you?')),
    'POST /api/v1/session': (route) => ((who = { ...owner, user: 'p2', person: 'Jonas', role: 'member' }), route.fulfill(good(who))),
    'GET /api/v1/approvals': waiting(ask({ conversationId: null })),
  });
  await card(page).waitFor();
  who = null;
  all['GET /api/v1/approvals'] = bad(401, 'unauthorized', 'who are you?');
  await tell(page, 'resync');
  await page.getByRole('button', { name: 'Use a token instead' }).click();
  all['GET /api/v1/approvals'] = bad(500, 'failed', 'not now');
  await page.getByLabel('Token').fill('hob_0123456789');
  await page.getByLabel('Token').press('Enter');
  await message(page).waitFor();
  await counted(card(page), 0);
  await context.close();
});

test('320 px, phone and desktop, light and dark', async () => {
  for (const [name, size] of Object.entries({ narrow: NARROW, ...sizes })) {
    for (const scheme of schemes) {
      const { page, context, problems } = await staged({}, { size, scheme });
      await begin(page, mail());
      await accessible(page, `the card, ${name}, ${scheme}`);
      await fits(page, size, `the card, ${name}, ${scheme}`);
      await shot(page, `approval-${name}-${scheme}`);
      await button(card(page, 'send_email'), 'Always allow…').click();
      await accessible(page, `always, ${name}, ${scheme}`);
      await fits(page, size, `always, ${name}, ${scheme}`);
      await shot(page, `approval-always-${name}-${scheme}`);
      assert.deepEqual(problems, []);
      await context.close();
    }
  }
});

test('a tool used by hand that is asked about shows the card on its page', async () => {
  const tool = { name: 'gpio_write', description: 'Drive one output pin.', parameters: { type: 'object', properties: {} }, category: 'Hardware', group: 'gpio', risk: 'actuate', requiresConfirmation: false, aliases: [], enabled: true };
  const { page, context, decided } = await staged({
    'GET /api/v1/tools': good({ count: 1, tools: [tool] }), 'GET /api/v1/tools/gpio_write': good(tool), 'GET /api/v1/custom-tools': good({ count: 0, tools: [] }),
    'POST /api/v1/tools/gpio_write/execute': () => new Promise(() => {}),
  }, { at: '#/tools/gpio_write' });
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByRole('button', { name: 'Yes, do it' }).click();
  await tell(page, 'approval:asked', ask({ conversationId: null, toolCallId: null, channel: 'api' }));
  await button(card(page), 'Allow once').click();
  await card(page).waitFor({ state: 'detached' });
  assert.deepEqual(decided[0][1], { decision: 'allow_once', nonce: 'n1' });
  await context.close();
});
