// Long lists: a conversation of hundreds of messages that is read page by page, and a drawer of many conversations.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, api, ask, becomes, claim, counted, desktop, exchanges, fits, hob, launch, message, need, open, phone, shot, sizes } from './page.mjs';

const link = need('HOB_CLAIM');
const MESSAGES = 400;
let browser, context, page, problems, long;

/** Imports a conversation; every second message is an answer. */
async function bring(title, count) {
  const messages = Array.from({ length: count }, (_, n) => (n % 2
    ? { role: 'assistant', content: `Answer ${n} to the ${title}.\n\n${'It takes a few lines. '.repeat(n % 7)}` }
    : { role: 'user', content: `Question ${n} of the ${title}` }));
  return (await api(context, 'POST', '/api/v1/conversations/import', { format: 'hob-conversation', version: 1, title, messages })).id;
}

/** The place on the screen of the first exchange that is fully on it, and its words. */
const place = (on = page) => on.evaluate(() => {
  const first = [...document.querySelectorAll('.exchange')].find((one) => one.getBoundingClientRect().top >= 0);
  return { words: first.querySelector('.you').textContent, top: Math.round(first.getBoundingClientRect().top) };
});
const topOf = (words, on = page) => on.evaluate((wanted) => {
  const found = [...document.querySelectorAll('.exchange')].find((one) => one.querySelector('.you')?.textContent === wanted);
  return Math.round(found.getBoundingClientRect().top);
}, words);
const older = (on = page) => on.getByRole('button', { name: /^Earlier messages/ });
const scroll = (to, on = page) => on.evaluate((y) => scrollTo({ top: y, behavior: 'instant' }), to);
const questions = (on = page) => on.evaluate(() => [...document.querySelectorAll('.exchange .you')].map((one) => one.textContent.replace('You said: ', '')));

before(async () => {
  browser = await launch();
  ({ context, page, problems } = await open(browser));
  await page.goto(hob);
  await claim(page, link);
  long = await bring('long story', MESSAGES);
});

after(async () => {
  await browser?.close();
});

test('a long conversation opens at its end, and only its end is read', async () => {
  const asked = [];
  page.on('request', (request) => /conversations\/[^/]+/.test(request.url()) && asked.push(request.url()));
  await page.goto(`${hob}/#/talk/${long}`);
  await page.getByText(`Answer ${MESSAGES - 1} to`).waitFor();
  await counted(exchanges(page), 30);
  assert.ok(asked.every((url) => !url.includes('/messages')), `${asked}`);
  await becomes(() => page.evaluate(() => scrollY + innerHeight >= document.documentElement.scrollHeight - 2), true);
  await shot(page, 'long-end');
});

test('scrolling up brings older messages, and what is on the screen does not move', async () => {
  for (let pages = 1; pages <= 3; pages += 1) {
    const known = await exchanges(page).count();
    await scroll(0);
    const { words, top } = await place();
    await page.waitForFunction((before) => document.querySelectorAll('.exchange').length > before, known);
    assert.ok(Math.abs((await topOf(words)) - top) <= 2, `page ${pages}: it was at ${top} and is at ${await topOf(words)}`);
  }
  await shot(page, 'long-middle');
  // To the first message.
  for (let n = 0; n < 20 && (await older().count()); n += 1) {
    await scroll(0);
    await page.waitForTimeout(100);
  }
  await older().waitFor({ state: 'detached' });
  const expected = Array.from({ length: MESSAGES / 2 }, (_, n) => `Question ${2 * n} of the long story`);
  await becomes(async () => (await questions()).length, MESSAGES / 2);
  assert.deepEqual(await questions(), expected);
  await scroll(0);
  await page.getByText('Question 0 of the long story').waitFor();
  await shot(page, 'long-start');
  assert.deepEqual(problems, []);
});

test('what is said here and elsewhere comes at the end, and older messages stay', async () => {
  await ask(page, 'what is 6 * 7?');
  await exchanges(page).last().getByText('42').first().waitFor();
  await counted(exchanges(page), MESSAGES / 2 + 1);
  await scroll(0);
  const { words, top } = await place();
  await api(context, 'POST', '/api/v1/chat', { message: 'what is 8 * 8?', conversationId: long });
  await exchanges(page).last().getByText('64').first().waitFor();
  await counted(exchanges(page), MESSAGES / 2 + 2);
  assert.ok(Math.abs((await topOf(words)) - top) <= 2);
  assert.equal((await questions())[0], 'Question 0 of the long story');
  assert.equal((await questions()).at(-2), 'what is 6 * 7?');
});

test('older messages that do not load say so, and come when asked again', async () => {
  const { page: other, context: elsewhere } = await open(browser, { size: desktop, storageState: await context.storageState() });
  let broken = true;
  await other.route('**/api/v1/conversations/*/messages*', (route) => (broken ? route.fulfill({ status: 422, json: { success: false, error: { code: 'failed', message: 'the disk is tired' }, meta: {} } }) : route.continue()));
  await other.goto(`${hob}/#/talk/${long}`);
  await other.getByText('64').first().waitFor();
  const known = await exchanges(other).count();
  await scroll(0, other);
  await other.getByRole('button', { name: 'Earlier messages did not load. Try again' }).waitFor();
  await accessible(other, 'older messages that did not load');
  await fits(other, desktop, 'older messages that did not load');
  await shot(other, 'long-failed');
  broken = false;
  await scroll(0, other);
  const { words, top } = await place(other);
  await older(other).click();
  await other.waitForFunction((before) => document.querySelectorAll('.exchange').length > before, known);
  assert.ok(Math.abs((await topOf(words, other)) - top) <= 2);
  await elsewhere.close();
});

test('a short conversation has no earlier messages', async () => {
  const short = await bring('short story', 6);
  await page.goto(`${hob}/#/talk/${short}`);
  await page.getByText('Answer 5 to').waitFor();
  await counted(exchanges(page), 3);
  await counted(older(), 0);
});

test('the drawer shows many conversations page by page, each once, while others come and go', async () => {
  const titles = Array.from({ length: 90 }, (_, n) => `letter ${n}`);
  const ids = [];
  for (const title of titles) ids.push(await bring(title, 2));
  await message(page).waitFor();
  await page.getByRole('button', { name: 'Conversations' }).click();
  const drawer = page.getByRole('dialog', { name: 'Conversations' });
  const lines = drawer.locator('.line');
  const names = () => lines.locator('span').allInnerTexts();
  await counted(lines, 40);
  await accessible(page, 'many conversations');
  await fits(page, phone, 'many conversations');
  await shot(page, 'long-drawer');
  // Two that were shown are deleted, one that was not, and one is new.
  for (const gone of [ids[89], ids[55], ids[20]]) await api(context, 'DELETE', `/api/v1/conversations/${gone}`);
  await bring('new letter', 2);
  for (const many of [80, 91]) {
    await drawer.getByRole('button', { name: 'More', exact: true }).click();
    await counted(lines, many);
  }
  await counted(drawer.getByRole('button', { name: 'More', exact: true }), 0);
  const expected = [...titles.filter((title) => title !== 'letter 20').reverse(), 'short story', 'long story'];
  assert.deepEqual(await names(), expected);
  assert.deepEqual(problems, []);
});

test('it fits every screen', async () => {
  for (const [name, size] of Object.entries(sizes)) {
    const seen = await open(browser, { size, storageState: await context.storageState() });
    await seen.page.goto(`${hob}/#/talk/${long}`);
    await seen.page.getByText('64').first().waitFor();
    await scroll(300, seen.page);
    await fits(seen.page, size, `a long conversation, ${name}`);
    await accessible(seen.page, `a long conversation, ${name}`);
    await seen.context.close();
  }
});
