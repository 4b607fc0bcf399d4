// Timers on the page against the real daemon: live in Talk and Home, over a reload, with sound and notification, in every room.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, api, ask, becomes, counted, desktop, enter, fits, hob, launch, message, schemes, shot, shows, sizes, visit } from './page.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
});

/** Counts the tones and the notifications instead of playing and showing them. */
function listen() {
  globalThis.heard = { tones: 0, notes: [], asked: 0 };
  class Tone {
    frequency = {};
    gain = { setValueAtTime() {}, linearRampToValueAtTime() {}, exponentialRampToValueAtTime() {} };
    connect(next) { return next; }
    start() { globalThis.heard.tones++; }
    stop() {}
  }
  globalThis.AudioContext = class {
    state = 'running';
    currentTime = 0;
    destination = {};
    createOscillator() { return new Tone(); }
    createGain() { return new Tone(); }
    async resume() {}
  };
  globalThis.Notification = class {
    static permission = 'default';
    static async requestPermission() {
      globalThis.heard.asked++;
      return (this.permission = 'granted');
    }
    constructor(title) { globalThis.heard.notes.push(title); }
    close() { globalThis.heard.notes.push('closed'); }
  };
}

const call = async (context, name, args) => (await api(context, 'POST', `/api/v1/tools/${name}/execute`, { arguments: args })).result;
const set = (context, name, duration) => call(context, 'set_timer', { name, duration });
const row = (page, name) => page.locator('.timer').filter({ hasText: name });
const time = (page, name) => row(page, name).getByRole('timer').innerText();
const press = (page, name) => page.getByRole('button', { name, exact: true }).click();
const heard = (page, what) => page.evaluate((field) => globalThis.heard[field], what);

async function entered(options) {
  const opened = await enter(browser, options);
  await opened.page.addInitScript(listen);
  await call(opened.context, 'cancel_timer', { all: true });
  return opened;
}

test('a timer set in Talk counts down there, and again after a reload', async () => {
  const { page, context, problems } = await entered();
  await page.goto(hob);
  const said = await ask(page, 'set a pizza timer for 2 minutes');
  const card = said.locator('.timers.card');
  await card.getByText('Pizza', { exact: true }).waitFor();
  await shows(() => time(card, 'Pizza'), /^1:5\d$/, 'it counts down');
  const first = await time(card, 'Pizza');
  await shows(async () => (await time(card, 'Pizza')) < first ? 'on' : first, /on/);
  // While the card is on screen, the strip does not repeat it.
  await counted(page.locator('.strip .timer'), 0);
  assert.equal(await heard(page, 'asked'), 0, 'nobody is asked unasked');
  await press(page, 'Notify me when it rings');
  await becomes(() => heard(page, 'asked'), 1);
  await press(page, '+1 min: Pizza timer');
  await shows(() => time(card, 'Pizza'), /^2:\d\d$/);
  await press(page, 'Pause Pizza timer');
  await row(card, 'Pizza').getByText('Paused').waitFor();
  const paused = await time(card, 'Pizza');
  await page.reload();
  await card.waitFor();
  await counted(page.locator('.strip .timer'), 0);
  await becomes(() => time(card, 'Pizza'), paused);
  await press(page, 'Resume Pizza timer');
  await shows(async () => (await time(card, 'Pizza')) < paused ? 'on' : '', /on/);
  await press(page, 'Cancel Pizza timer');
  await page.getByText('Pizza timer · Over').waitFor();
  assert.deepEqual(problems, []);
  await context.close();
});

test('a timer rings in every room until somebody snoozes or stops it', async () => {
  const one = await entered();
  const two = await enter(browser, { size: desktop });
  await two.page.addInitScript(listen);
  await one.page.goto(`${hob}/#/tools`);
  await two.page.goto(`${hob}/#/home`);
  await one.page.getByRole('heading', { level: 1, name: 'Tools' }).waitFor();
  await one.page.evaluate(() => (globalThis.Notification.permission = 'granted'));
  await set(one.context, 'tea', 'PT3S');
  await row(two.page, 'Tea').waitFor();
  await counted(row(one.page, 'Tea'), 0);
  await one.page.getByRole('alert').filter({ hasText: 'Tea timer is done' }).waitFor();
  await two.page.getByRole('alert').filter({ hasText: 'Tea timer is done' }).waitFor();
  await shows(async () => String(await heard(one.page, 'tones')), /^[1-9]/, 'it sounds');
  assert.deepEqual(await heard(one.page, 'notes'), ['Tea timer is done']);
  await press(one.page, 'Snooze 5 min: Tea timer');
  await shows(() => time(two.page, 'Tea'), /^(5:00|4:5\d)$/);
  await counted(row(one.page, 'Tea'), 0);
  await becomes(() => heard(one.page, 'notes'), ['Tea timer is done', 'closed']);
  await set(one.context, 'rice', 'PT1S');
  await press(one.page, 'Stop Rice timer');
  await counted(row(two.page, 'Rice'), 0);
  const tones = await heard(one.page, 'tones');
  await new Promise((done) => setTimeout(done, 2000));
  assert.equal(await heard(one.page, 'tones'), tones, 'it is quiet');
  assert.deepEqual([one.problems, two.problems], [[], []]);
  await Promise.all([one.context.close(), two.context.close()]);
});

test('a page whose clock is wrong shows the right time', async () => {
  const { page, context } = await entered();
  // An hour ahead of the device.
  await page.addInitScript(() => {
    const now = Date.now.bind(Date);
    Date.now = () => now() + 3_600_000;
  });
  await set(context, 'bread', 'PT10M');
  await page.goto(`${hob}/#/home`);
  await shows(() => time(page, 'Bread'), /^(10:00|9:5\d)$/);
  await context.close();
});

test('where the device is out of reach, the page rings by itself', async () => {
  const { page, context } = await entered();
  await page.goto(hob);
  await message(page).waitFor();
  await set(context, 'soup', 'PT4S');
  await row(page, 'Soup').waitFor();
  await context.setOffline(true);
  await page.getByRole('alert').filter({ hasText: 'Soup timer is done' }).waitFor();
  await context.setOffline(false);
  // Back home, what the device says counts.
  await press(page, 'Stop Soup timer');
  await counted(row(page, 'Soup'), 0);
  await becomes(async () => (await call(context, 'list_timers', {})).count, 0);
  await context.close();
});

for (const [size, viewport] of Object.entries(sizes)) {
  for (const scheme of schemes) {
    test(`timers on a ${size}, ${scheme}`, async () => {
      const { page, context, problems } = await entered({ size: viewport, scheme });
      await page.goto(hob);
      await ask(page, 'set a pizza timer for 12 minutes');
      await set(context, 'tea', 'PT1S');
      await set(context, 'the long roast with potatoes and carrots', 'PT1H30M');
      await set(context, '', 'PT25M');
      await call(context, 'pause_timer', { timer: '25 minutes' });
      await row(page, 'Tea').getByRole('button', { name: 'Stop' }).waitFor();
      // One rings; those that only run are one line with a count.
      await counted(page.locator('.strip .timer'), 1);
      await shot(page, `timers-fold-${size}-${scheme}`);
      await fits(page, viewport, 'Talk with timers in a line');
      await page.getByRole('button', { name: /^2 timers.*(1:30:00|1:29:\d\d)/ }).click();
      await counted(page.locator('.strip .timer'), 3);
      await fits(page, viewport, 'Talk with timers');
      await accessible(page, 'Talk with timers');
      await shot(page, `timers-talk-${size}-${scheme}`);
      await visit(page, 'Home');
      await counted(page.locator('.timer'), 4);
      await fits(page, viewport, 'Home with timers');
      await accessible(page, 'Home with timers');
      await shot(page, `timers-home-${size}-${scheme}`);
      await visit(page, 'Tools');
      await counted(page.locator('.timer'), 1);
      await fits(page, viewport, 'a ringing timer over Tools');
      await accessible(page, 'a ringing timer over Tools');
      await shot(page, `timers-tools-${size}-${scheme}`);
      assert.deepEqual(problems, []);
      await context.close();
    });
  }
}
