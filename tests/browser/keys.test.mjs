// Every room for those who have no mouse, who need it twice as large, or who asked for no motion.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, api, ask, desktop, enter, hob, launch, message, shot, visit } from './page.mjs';

const ROOMS = ['Talk', 'Home', 'Tools', 'Memory', 'Device'];

let browser, context, page, problems;
before(async () => {
  browser = await launch();
  ({ context, page, problems } = await enter(browser, { size: desktop }));
  await page.goto(hob);
  await message(page).waitFor();
  await ask(page, 'remember that Marta serviced the boiler on 3 October');
  await api(context, 'POST', '/api/v1/custom-tools', {
    name: 'restart_radio', description: 'Restarts the radio.', createdBy: 'llm', permissions: ['shell'], parameters: { type: 'object' }, code: 'return 1;',
  });
});
after(async () => {
  await browser?.close();
});

/** What has the focus: what it is called, and whether one sees that it has it. */
const focus = () => page.evaluate(() => {
  const it = document.activeElement;
  if (!it || it === document.body) return null;
  // A switch shows it on its track, a field on the edge round it.
  const shows = [it, it.nextElementSibling, it.closest('.composer > div, .searcher, .find-field, .seek')].filter(Boolean).map((one) => getComputedStyle(one));
  const seen = shows.some((style) => (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2) || style.boxShadow !== 'none');
  const box = it.getBoundingClientRect();
  const inView = box.bottom > 0 && box.top < innerHeight;
  it.dataset.walked = 'yes';
  return { name: `${it.tagName} ${it.getAttribute('aria-label') ?? it.textContent?.trim().slice(0, 40)}`, seen, inView };
});

for (const room of ROOMS) {
  test(`${room} by the keyboard alone: all is reached, and one sees where one is`, async () => {
    await visit(page, room);
    await page.waitForTimeout(300);
    await page.evaluate(() => document.activeElement?.blur());
    const hidden = [];
    // Twice past the end: the walk begins where the focus was.
    for (let n = 0, ends = 0; n < 300 && ends < 2; n++) {
      await page.keyboard.press('Tab');
      const at = await focus();
      if (!at) ends++;
      else if (!at.seen || !at.inView) hidden.push(at);
    }
    assert.deepEqual(hidden, []);
    const missed = await page.evaluate(() =>
      [...document.querySelectorAll('a[href], button, input, textarea, select, summary')]
        .filter((one) => one.checkVisibility() && !one.dataset.walked && !one.disabled && one.type !== 'radio')
        .map((one) => one.outerHTML.slice(0, 120)));
    assert.deepEqual(missed, []);
  });
}

test('a tool that waits is decided about by the keyboard, and the mark in the bar goes', async () => {
  const bar = page.getByRole('navigation', { name: 'Rooms' });
  await visit(page, 'Home');
  await bar.getByRole('link', { name: /a tool needs approval/ }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: /restart_radio/ }).focus();
  await page.keyboard.press('Enter');
  const yes = page.getByRole('button', { name: 'Approve' });
  await yes.waitFor();
  for (let n = 0; n < 20 && !(await yes.evaluate((it) => it === document.activeElement)); n++) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await yes.waitFor({ state: 'detached' });
  await bar.getByRole('link', { name: 'Tools', exact: true }).waitFor();
});

test('what is decided elsewhere is known in every room', async () => {
  await visit(page, 'Memory');
  const bar = page.getByRole('navigation', { name: 'Rooms' });
  const { id } = await api(context, 'POST', '/api/v1/custom-tools', {
    name: 'restart_router', description: 'Restarts the router.', createdBy: 'llm', permissions: ['shell'], parameters: { type: 'object' }, code: 'return 1;',
  });
  await bar.getByRole('link', { name: /a tool needs approval/ }).waitFor();
  await api(context, 'POST', `/api/v1/custom-tools/${id}/reject`);
  await bar.getByRole('link', { name: 'Tools', exact: true }).waitFor();
});

test('at twice the size nothing sticks out, and at four times neither', async () => {
  for (const [times, size] of [[2, { width: 640, height: 400 }], [4, { width: 320, height: 256 }]]) {
    const it = await enter(browser, { size });
    await it.page.goto(hob);
    for (const room of ROOMS) {
      await visit(it.page, room);
      await it.page.waitForTimeout(300);
      const wide = await it.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(wide, 0, `${room} at ${times} times scrolls sideways by ${wide} px`);
      await accessible(it.page, `${room} at ${times} times`);
      await shot(it.page, `zoom-${times}-${room.toLowerCase()}`);
    }
    assert.deepEqual(it.problems, []);
    await it.context.close();
  }
});

test('nothing moves for those who asked for no motion', async () => {
  for (const room of ROOMS) {
    await visit(page, room);
    const moving = await page.evaluate(() =>
      [...document.querySelectorAll('*')].filter((one) => {
        const style = getComputedStyle(one);
        return style.animationName !== 'none' || style.transitionDuration.split(',').some((long) => parseFloat(long) > 0);
      }).map((one) => one.className));
    assert.deepEqual(moving, [], room);
  }
  assert.deepEqual(problems, []);
});
