// What the browser tests and the picture script share: Chromium, sizes, and the few things a person does on the page.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { chromium } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const hob = need('HOB_URL').replace(/\/$/, '');
const folder = process.env.SHOTS ?? '';

export const phone = { width: 390, height: 844 };
export const desktop = { width: 1280, height: 800 };
export const sizes = { phone, desktop };
export const schemes = ['light', 'dark'];

export function need(name) {
  const value = process.env[name];
  assert.ok(value, `set ${name} (see tests/browser/README.md)`);
  return value;
}

/** Chromium; `more` are further switches. */
export function launch(more = [], { quic = false } = {}) {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync',
      ...(quic ? [] : ['--disable-quic']), ...more,
    ],
  });
}

/** `SLOW=6` shows what a machine six times slower would see: a test must not depend on which of two things comes first. */
async function slow(page) {
  if (!process.env.SLOW) return;
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: Number(process.env.SLOW) });
}

/** A fresh browser profile; `problems` collects script errors, CSP refusals and requests that leave the device. */
export async function open(browser, { size = phone, scheme = 'light', storageState, scale = 1, timezoneId } = {}) {
  const context = await browser.newContext({
    viewport: size, colorScheme: scheme, reducedMotion: 'reduce', deviceScaleFactor: scale,
    hasTouch: size === phone, isMobile: size === phone, locale: 'en-GB', ...(storageState && { storageState }), ...(timezoneId && { timezoneId }),
  });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  await slow(page);
  const problems = [];
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('console', (line) => {
    // The browser itself notes every 4xx; those are answers the page deals with.
    if (line.type() === 'error' && !line.text().startsWith('Failed to load resource')) problems.push(`console: ${line.text()}`);
  });
  page.on('request', (request) => {
    // A picture that is about to be sent is shown from the page's own memory, a component's worker is made in that of its frame, and
    // a PDF is drawn by the browser's own reader.
    if (![`${hob}/`, `blob:${hob}/`, 'blob:null/', 'chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/', 'chrome://resources/'].some((own) => request.url().startsWith(own))) problems.push(`left the device: ${request.url()}`);
  });
  return { context, page, problems };
}

/** Asks the API as whoever is signed in to this context. */
export async function api(context, method, path, data) {
  const headers = {};
  if (method !== 'GET') {
    const who = await (await context.request.get(`${hob}/api/v1/session`)).json();
    headers['x-csrf-token'] = who.data?.csrfToken ?? '';
  }
  const answer = await context.request.fetch(`${hob}${path}`, { method, headers, ...(data && { data }) });
  const { data: found, error } = await answer.json();
  assert.ok(answer.ok(), `${method} ${path}: ${answer.status()} ${error?.message}`);
  return found;
}

let owner;

/** A page signed in as the owner; the first call claims the daemon without looking at the claim screen or the set-up. */
export async function enter(browser, options) {
  if (!owner) {
    const context = await browser.newContext();
    await api(context, 'POST', '/api/v1/claim', { code: decodeURIComponent(need('HOB_CLAIM').split('#claim=')[1]) });
    await api(context, 'PATCH', '/api/v1/arrival', { open: false });
    owner = await context.storageState();
    await context.close();
  }
  return open(browser, { ...options, storageState: owner });
}

/** A page signed in with a fresh token of this role: `member` or `viewer`. */
export async function enterAs(browser, role, options) {
  const { context } = await enter(browser);
  const { token } = await api(context, 'POST', '/api/v1/tokens', { name: role, role });
  await context.close();
  const opened = await open(browser, options);
  await api(opened.context, 'POST', '/api/v1/session', { token });
  return opened;
}

/** Goes to a room by the bar, and waits for it. */
export async function visit(page, room) {
  await page.getByRole('navigation', { name: 'Rooms' }).getByRole('link', { name: room }).click();
  await page.getByRole('heading', { level: 1, name: room === 'Talk' ? 'Hob' : room }).waitFor();
}

/** Reads the page until this holds of it: where a test looks only once, a busy machine decides what it sees. */
async function until(read, holds) {
  const end = Date.now() + 10_000;
  for (;;) {
    const seen = await read();
    if (holds(seen) || Date.now() > end) return seen;
    await sleep(50);
  }
}
export const becomes = async (read, expected, why) => assert.deepEqual(await until(read, (seen) => isDeepStrictEqual(seen, expected)), expected, why);
export const shows = async (read, pattern, why) => assert.match(await until(read, (seen) => pattern.test(seen)), pattern, why);
export const counted = (places, number, why) => becomes(() => places.count(), number, why);

/** Opens the families of the Tools room that are folded away, as they are where there are many tools. */
export async function unfold(page) {
  await page.locator('details.family').first().waitFor();
  const folded = page.locator('details.family:not([open]) > summary');
  while (await folded.count()) await folded.first().click();
}

export const message = (page) => page.getByRole('textbox', { name: 'Message' });
export const exchanges = (page) => page.locator('article.exchange');

/** Types a message, sends it, and waits for the whole answer; returns its place on the page. */
export async function ask(page, words) {
  const before = await exchanges(page).count();
  await message(page).fill(words);
  await message(page).press('Enter');
  const exchange = exchanges(page).nth(before);
  await exchange.and(page.locator('[data-state]:not([data-state="running"])')).waitFor();
  assert.equal(await exchange.getAttribute('data-state'), 'done', await exchange.innerText());
  return exchange;
}

export const answer = (exchange) => exchange.locator('.hob');

/** Claims with the printed link, leaves the set-up for later, and waits for the room. */
export async function claim(page, link) {
  await page.goto(link);
  await page.getByRole('button', { name: 'Claim this Hob' }).click();
  await page.getByRole('button', { name: 'Finish later' }).click();
  await message(page).waitFor();
}

export async function accessible(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  const found = violations.map((v) => `${v.id}: ${v.help}\n    ${v.nodes.map((n) => n.html).join('\n    ')}`);
  assert.deepEqual(found, [], `axe on ${what}`);
}

/** Nothing scrolls sideways; on a phone everything to press is at least 44 px high. */
export async function fits(page, size, what) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(wide, 0, `${what} scrolls sideways by ${wide} px`);
  if (size !== phone) return;
  const small = await page.evaluate(() =>
    [...document.querySelectorAll('button, input, textarea, select, summary, nav a')]
      .filter((element) => element.checkVisibility())
      // A box or a radio is pressed by its label.
      .map((element) => (element.matches('[type="checkbox"], [type="radio"]') ? element.closest('label') ?? element : element))
      .map((element) => ({ name: element.getAttribute('aria-label') ?? element.textContent, box: element.getBoundingClientRect() }))
      .filter(({ box }) => box.height < 43.9 || box.width < 43.9)
      .map(({ name, box }) => `${name}: ${box.width} × ${box.height}`));
  assert.deepEqual(small, [], `${what} has targets under 44 px`);
}

export async function shot(page, name, options = {}) {
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), ...options });
}
