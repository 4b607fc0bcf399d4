// Today against the real daemon: what runs, what is due, events, lists, notices and named pins, live; and whose they are.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { modelServer, says } from './model.mjs';
import { accessible, api, becomes, counted, desktop, enter, enterAs, fits, hob, launch, message, phone, schemes, shot, shows, sizes, visit } from './page.mjs';
import { bad, good, staged } from './staged.mjs';

let browser, context, page, problems;
before(async () => {
  browser = await launch();
  ({ context, page, problems } = await enter(browser, { size: desktop }));
});
after(async () => {
  await browser?.close();
});

const call = async (tool, args = {}, as = context) => (await api(as, 'POST', `/api/v1/tools/${tool}/execute`, { arguments: args })).result;
const part = (name, on = page) => on.getByRole('region', { name, exact: true });
const box = (title, on = page) => on.getByRole('checkbox', { name: new RegExp(`^${title}`) });
const toast = (on = page) => on.getByRole('complementary', { name: 'Last change' });
const two = (n) => String(n).padStart(2, '0');
/** A day, and with minutes a moment, by the clock of the device, which is that of the tests. */
const day = (days) => {
  const at = new Date(Date.now() + days * 86_400_000);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
};
const inMinutes = (n) => new Date(Date.now() + n * 60_000).toISOString();

async function atToday(opened) {
  await opened.page.goto(`${hob}/#/home`);
  await part('Due', opened.page).waitFor();
  return opened;
}

test('a fresh household is told what to say, and pressing it writes that in Talk', async () => {
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const other = await atToday(await enter(browser, { size, scheme }));
      for (const [title, words] of [['Now', 'Nothing is running.'], ['Due', 'Nothing is due in the next seven days.'], ['Coming up', 'Nothing is planned for the next seven days.'], ['Lists', 'No list has anything on it.'], ['Devices', 'it gets a card here']]) {
        await part(title, other.page).getByText(words).waitFor();
      }
      await accessible(other.page, `an empty day, ${name}, ${scheme}`);
      await fits(other.page, size, `an empty day, ${name}, ${scheme}`);
      await shot(other.page, `today-empty-${name}-${scheme}`, { fullPage: true });
      assert.deepEqual(other.problems, []);
      await other.context.close();
    }
  }
  await page.goto(hob);
  await message(page).fill('half a thought');
  await atToday({ page });
  await page.getByRole('button', { name: '“add milk to the shopping list”' }).click();
  await becomes(() => message(page).inputValue(), 'half a thought\nadd milk to the shopping list');
  await message(page).fill('');
});

test('a timer set elsewhere appears, counts down, and rings with snooze and stop', async () => {
  await atToday({ page });
  await call('set_timer', { name: 'pasta', duration: 'PT10M' });
  const timer = part('Now').locator('.timer').filter({ hasText: 'Pasta' });
  await shows(() => timer.getByRole('timer').innerText(), /^(10:00|9:5\d)$/);
  const before = await timer.getByRole('timer').innerText();
  await page.waitForFunction((text) => document.querySelector('.timer [role=timer]')?.textContent !== text, before);
  await call('set_timer', { name: 'tea', duration: 'PT1S' });
  await page.getByRole('button', { name: 'Snooze 5 min: Tea timer' }).click();
  const tea = part('Now').locator('.timer').filter({ hasText: 'Tea' });
  await shows(() => tea.getByRole('timer').innerText(), /^(5:00|4:5\d)$/);
  await call('set_timer', { name: 'rice', duration: 'PT1S' });
  await page.getByRole('button', { name: 'Stop Rice timer' }).click();
  await page.getByRole('button', { name: 'Cancel Tea timer' }).click();
  await call('cancel_timer', { timer: 'pasta' });
  await part('Now').getByText('Nothing is running.').waitFor();
  assert.deepEqual(problems, []);
});

test('what is due is ticked in place, stays crossed out, and Undo opens it again', async () => {
  await atToday({ page });
  await call('add_task', { title: 'Pay the chimney sweep', dueDate: day(-2), priority: 'high' });
  await call('add_task', { title: 'Put out the bins', dueDate: day(0) });
  await call('add_task', { title: 'Next month', dueDate: day(30) });
  await box('Put out the bins').waitFor();
  await shows(() => part('Due').locator('li').first().innerText(), /Pay the chimney sweep\s+overdue since .* important/);
  await counted(part('Due').getByRole('checkbox'), 2);
  await box('Put out the bins').check();
  await shows(() => toast().innerText(), /Put out the bins/);
  const done = async () => (await call('list_tasks', { status: 'completed' })).tasks.map(({ title }) => title);
  await becomes(done, ['Put out the bins']);
  const crossed = async () => (await part('Due').locator('li.over').allInnerTexts()).map((one) => one.split('\n')[0]);
  assert.deepEqual(await crossed(), ['Put out the bins']);
  await toast().getByRole('button', { name: 'Undo' }).click();
  await becomes(crossed, [], 'undone, it is open again');
  assert.equal(await box('Put out the bins').isChecked(), false);
  // It is crossed out where it was, also after the day was read anew; pressed again, it is open.
  await box('Put out the bins').check();
  await becomes(done, ['Put out the bins']);
  await call('add_task', { title: 'Ring the bank', dueDate: day(1) });
  await box('Ring the bank').waitFor();
  assert.deepEqual(await crossed(), ['Put out the bins']);
  await shows(() => part('Due').locator('li').nth(1).innerText(), /Put out the bins/);
  await box('Put out the bins').uncheck();
  await becomes(done, []);
  // Left and entered again, ticked ones are gone.
  await box('Ring the bank').check();
  await counted(part('Due').locator('li.over'), 1);
  await visit(page, 'Memory');
  await visit(page, 'Home');
  await counted(part('Due').getByRole('checkbox'), 2);
  assert.deepEqual(problems, []);
});

test('lists are ticked and added to in place, live on two pages; a private one is not the household’s', async () => {
  await api(context, 'POST', '/api/v1/people', { name: 'Ben', role: 'member', password: 'told at breakfast' });
  const ben = await enter(browser, { size: phone });
  await ben.context.clearCookies();
  await api(ben.context, 'POST', '/api/v1/session', { person: 'Ben', password: 'told at breakfast' });
  await atToday(ben);
  await atToday({ page });
  await call('batch_add_tasks', { tasks: ['Oat milk', 'Eggs', 'Bread'].map((title) => ({ title, category: 'shopping' })) });
  await call('add_task', { title: 'Ring for Ben', category: 'presents', shared: false });
  await call('add_task', { title: 'See the doctor', dueDate: day(0) });
  const list = (name, on) => part('Lists', on).getByRole('region', { name, exact: true });
  await shows(() => list('shopping', ben.page).locator('h3').innerText(), /shopping\s*3 items/i);
  await shows(() => list('presents').locator('h3').innerText(), /1 item · only you/);
  await counted(list('presents', ben.page), 0);
  await box('Eggs', ben.page).tap();
  await box('Eggs').waitFor({ state: 'detached' });
  await shows(() => list('shopping').locator('h3').innerText(), /2 items/);
  const field = list('shopping', ben.page).getByRole('textbox', { name: 'Add to shopping' });
  await field.fill('Butter');
  await field.press('Enter');
  await box('Butter').waitFor();
  await becomes(() => field.inputValue(), '');
  await shows(() => list('shopping').locator('li').filter({ hasText: 'Butter' }).innerText(), /from Ben/);
  // A list that was emptied here is there until the room is left.
  for (const title of ['Oat milk', 'Bread', 'Butter']) await box(title).check();
  await shows(() => list('shopping').locator('h3').innerText(), /0 items/);
  await counted(list('shopping', ben.page), 1, 'what was ticked there stays crossed out there');
  await accessible(page, 'a ticked list');
  const text = await ben.page.locator('main').innerText();
  assert.ok(!/doctor|Ring for Ben|chimney/.test(text), text);
  assert.deepEqual([...problems, ...ben.problems], []);
  await ben.context.close();
});

test('events come up in order, and go when they are over', async () => {
  await atToday({ page });
  await call('add_calendar_event', { title: 'Choir', startTime: `${day(2)}T19:00`, location: 'Town hall' });
  await call('add_calendar_event', { title: 'Call', startTime: inMinutes(-30), endTime: inMinutes(30) });
  await call('add_calendar_event', { title: 'Holiday', startTime: day(-1), endTime: day(4) });
  await call('add_calendar_event', { title: 'Last week', startTime: day(-7) });
  await becomes(() => part('Coming up').locator('.event-words b').allInnerTexts(), ['Holiday', 'Call', 'Choir']);
  await shows(() => part('Coming up').locator('li').last().innerText(), /19:00 – 20:00\s· Town hall/);
  await shows(() => part('Coming up').locator('li').nth(1).innerText(), /now\s· until/);
  const end = new Date(Date.now() + 15_000).toISOString();
  await call('add_calendar_event', { title: 'Nearly over', startTime: inMinutes(-10), endTime: end });
  await part('Coming up').getByText('Nearly over').waitFor();
  await part('Coming up').getByText('Nearly over').waitFor({ state: 'detached' });
  assert.deepEqual(problems, []);
});

test('reminders come up among the events, and are their owner’s', async () => {
  await atToday({ page });
  await call('create_scheduled_task', { name: 'Call Anna', message: 'Call Anna', schedule: `${day(1)}T09:00` });
  await call('create_scheduled_task', { name: 'Bins', message: 'Put out the bins', schedule: 'every day at 18:00' });
  await call('create_scheduled_task', { name: 'Look', tool: 'system_info', arguments: {}, schedule: 'every day at 18:00' });
  const line = (text) => part('Coming up').locator('li').filter({ hasText: text });
  await shows(() => line('Call Anna').innerText(), /tomorrow, 09:00\s· reminder$/);
  await shows(() => line('Put out the bins').innerText(), /18:00\s· reminder, repeats$/);
  await counted(line('Look'), 0, 'what calls a tool is no reminder');
  await call('delete_scheduled_task', { taskId: 'Call Anna' });
  await counted(line('Call Anna'), 0);
  await call('delete_scheduled_task', { taskId: 'Bins' });
  await counted(line('Put out the bins'), 0);
  assert.deepEqual(problems, []);
});

test('a named pin is a card with a switch, a sensor a reading', async () => {
  const other = await atToday(await enter(browser, { size: phone }));
  await atToday({ page });
  await call('name_pin', { pin: 17, name: 'Lamp' });
  await call('name_pin', { pin: 4, name: 'Front door', sensor: true });
  const lamp = (on = page) => part('Devices', on).getByRole('switch', { name: 'Lamp' });
  await lamp(other.page).waitFor();
  await shows(() => part('Devices').locator('[data-pin="4"]').innerText(), /Front door\s+off/);
  await counted(part('Devices').getByRole('switch'), 1, 'a sensor has no switch');
  await lamp(other.page).tap();
  await becomes(() => lamp().getAttribute('aria-checked'), 'true');
  await shows(() => lamp().innerText(), /Lamp\s+on/);
  await shows(() => toast(other.page).innerText(), /Lamp/);
  await toast(other.page).getByRole('button', { name: 'Undo' }).click();
  await becomes(() => lamp().getAttribute('aria-checked'), 'false');
  await lamp().focus();
  await page.keyboard.press('Space');
  await becomes(() => lamp(other.page).getAttribute('aria-checked'), 'true');
  assert.deepEqual([...problems, ...other.problems], []);
  await other.context.close();
});

test('notices are a part of the day, and no card above it', async () => {
  await atToday({ page });
  await call('notify', { title: 'From the kitchen', text: 'The washing machine is done.' });
  await call('notify', { text: 'Dinner in ten minutes.' });
  await part('Notices').getByText('Dinner in ten minutes.').waitFor();
  await counted(page.getByRole('complementary', { name: 'Notices' }), 0);
  await counted(part('Notices').locator('li'), 2);
  await page.getByRole('button', { name: 'Dismiss: Dinner in ten minutes.' }).click();
  await counted(part('Notices').locator('li'), 1);
  await visit(page, 'Tools');
  await page.getByRole('complementary', { name: 'Notices' }).getByText('The washing machine is done.').waitFor();
  assert.deepEqual(problems, []);
});

test('an answer under way is shown with its conversation, and stops', async () => {
  const model = await modelServer();
  try {
    await api(context, 'PUT', '/api/v1/model', { model: 'custom/scripted', url: model.url });
    await atToday({ page });
    let release;
    model.hold = new Promise((go) => (release = go));
    model.script = [says('Too late.')];
    const asked = api(context, 'POST', '/api/v1/chat', { message: 'tell me a long story' }).catch((error) => error);
    const run = part('Now').locator('[data-run]');
    await shows(() => run.innerText(), /tell me a long story\s+Hob is answering/i);
    await accessible(page, 'an answer under way');
    await run.getByRole('button', { name: /^Stop: / }).click();
    await counted(run, 0);
    release();
    await asked;
    assert.equal((await api(context, 'GET', '/api/v1/runs')).runs[0].state, 'cancelled');
  } finally {
    await api(context, 'PUT', '/api/v1/model', { model: '' });
    model.close();
  }
  assert.deepEqual(problems, []);
});

test('a full day, both sizes, light and dark', async () => {
  await call('set_timer', { name: 'the long roast with potatoes', duration: 'PT1H30M' });
  await call('batch_add_tasks', { tasks: ['Oat milk', 'Eggs', 'Bread', 'Coffee', 'Two kilos of the flour that Ana likes, from the mill at the river', 'Rice', 'Salt', 'Onions', 'Apples', 'Tea'].map((title) => ({ title, category: 'shopping' })) });
  await call('add_task', { title: 'Sweep the hall', category: 'chores', dueDate: day(1) });
  await call('name_pin', { pin: 27, name: 'The pump at the end of the garden' });
  for (const [name, size] of [...Object.entries(sizes), ['tablet', { width: 1024, height: 768 }]]) {
    for (const scheme of schemes) {
      const other = await atToday(await enter(browser, { size, scheme }));
      await other.page.locator('.timer').waitFor();
      await part('Devices', other.page).getByRole('switch').first().waitFor();
      await part('Lists', other.page).getByText('2 more').waitFor();
      await accessible(other.page, `a full day, ${name}, ${scheme}`);
      await fits(other.page, size, `a full day, ${name}, ${scheme}`);
      await shot(other.page, `today-${name}-${scheme}`);
      await shot(other.page, `today-${name}-${scheme}-whole`, { fullPage: true });
      assert.deepEqual(other.problems, []);
      await other.context.close();
    }
  }
  await call('cancel_timer', { all: true });
});

test('the clock is the household’s, whatever the browser’s', async () => {
  const storageState = await context.storageState();
  const far = await browser.newContext({ storageState, viewport: desktop, timezoneId: 'Pacific/Kiritimati', locale: 'en-GB' });
  const away = await far.newPage();
  await away.addInitScript(() => {
    const now = Date.now.bind(Date);
    Date.now = () => now() + 100 * 86_400_000;
  });
  await atToday({ page: away });
  const { now, zone } = await api(context, 'GET', '/api/v1/today');
  const expected = new Date(now).toLocaleDateString('en-GB', { weekday: 'long', day: 'numeric', month: 'long', ...(zone && { timeZone: zone }) });
  await becomes(() => away.locator('.day-head h2').innerText(), expected);
  await shows(() => away.locator('.day-time').innerText(), new RegExp(`^${now.slice(11, 15)}`));
  await shows(() => away.locator('.tasks').first().innerText(), /Put out the bins\s+today/);
  await far.close();
});

test('a viewer looks, and changes nothing', async () => {
  const viewer = await atToday(await enterAs(browser, 'viewer', { size: phone }));
  await shows(() => part('Devices', viewer.page).locator('[data-pin="17"]').innerText(), /Lamp\s+o(n|ff)/);
  await counted(viewer.page.getByRole('switch'), 0);
  await counted(viewer.page.locator('.tasks input:not(:disabled)'), 0);
  await counted(viewer.page.locator('.add-item'), 0);
  await accessible(viewer.page, 'a viewer’s day');
  await shot(viewer.page, 'today-viewer', { fullPage: true });
  await viewer.context.close();
});

test('what fails is said where it failed, and what may not be listed is left out', async () => {
  const task = { id: 't1', title: 'Put out the bins', dueDate: '2026-11-23', overdue: false, priority: 'normal', category: null, sharedBy: null, changeable: true };
  const answers = {
    'GET /api/v1/today': good({ now: '2026-11-23T07:52:10+01:00', zone: 'Mars/Olympus', tasks: { tasks: [task], more: false }, events: null, reminders: null, lists: null }),
    'POST /api/v1/tools/gpio_list/execute': bad(409, 'unavailable', 'no pins here'),
    'POST /api/v1/tools/complete_task/execute': bad(404, 'not_found', 'there is no such task'),
  };
  const { page: odd, context: there, all } = await staged(browser, answers, { at: '#/home', live: true });
  await shows(() => odd.locator('.day-head').innerText(), /Monday,? 23 November\s+07:52/);
  await counted(odd.locator('.day-part'), 1, 'no events, reminders, lists and devices');
  await box('Put out the bins', odd).click();
  await odd.getByText('This task no longer exists.').waitFor();
  await becomes(() => box('Put out the bins', odd).isChecked(), false);
  all['GET /api/v1/today'] = bad(500, 'failed', 'the data cannot be read');
  await odd.evaluate(() => globalThis.tell('resync'));
  await odd.getByText('The data cannot be read.').waitFor();
  await box('Put out the bins', odd).waitFor();
  await accessible(odd, 'a day that cannot be read anew');
  await there.close();
});
