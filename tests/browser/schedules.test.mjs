// What Hob does later: schedules and triggers in the Memory room, and the cards by which it tells a person something, against the real daemon.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { execute, iso, lists } from './lists.mjs';
import { accessible, api, becomes, counted, desktop, enter, fits, hob, launch, message, open, schemes, shot, shows, sizes, visit } from './page.mjs';

let browser, context, page, problems;

before(async () => {
  browser = await launch();
  ({ context, page, problems } = await enter(browser, { size: desktop }));
  await page.goto(`${hob}/#/memory/schedules`);
  await page.locator('.lists').waitFor();
});

after(async () => {
  await browser?.close();
});

const call = (tool, args = {}, who = context) => execute(who, tool, args);
const { field, form, heard, line, more, press } = lists(() => page);
const card = (on = page) => on.getByRole('complementary', { name: 'Notices' });
const schedule = async (name) => (await call('list_scheduled_tasks', { search: name })).tasks[0];
/** The card goes at once; that Hob knows of it takes a moment. */
async function allSeen() {
  for (let n = 0; n < 50 && (await call('list_notices', { unseen: true })).count; n += 1) await page.waitForTimeout(50);
  assert.equal((await call('list_notices', { unseen: true })).count, 0);
}

async function remove(name) {
  await press(`Delete: ${name}`);
  await page.getByRole('alertdialog').getByRole('button', { name: 'Yes, delete it' }).click();
  await line(name).waitFor({ state: 'detached' });
}

test('a reminder for every day: refused while it says nothing, then a sentence with its next time', async () => {
  await page.getByText('No schedules yet.').waitFor();
  await page.getByText('No triggers yet.').waitFor();
  await press('Add a schedule');
  await press('Add');
  await form().getByText('This is required.').waitFor();
  await field('Message').fill('Take out the bins');
  await field('Time').fill('');
  await press('Add');
  await form().getByText('This is required.').waitFor();
  await field('Time').fill('07:30');
  await press('Add');
  await line('Take out the bins').waitFor();
  await shows(() => line('Take out the bins').innerText(), /every day at 07:30[^]*next (today|tomorrow), 07:30/);
  const kept = await schedule('bins');
  assert.deepEqual([kept.schedule, kept.action, kept.missed, kept.retries], ['30 7 * * *', { type: 'notify', message: 'Take out the bins' }, 'once', 2]);
});

test('every way to say when becomes what the tool takes, and stands in the form again', async () => {
  const ways = [
    ['weekly', async () => {
      for (const name of ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday']) await form().getByRole('button', { name, exact: true }).click();
      await press('Add');
      await form().getByText('Choose at least one day.').waitFor();
      for (const name of ['Monday', 'Thursday']) await form().getByRole('button', { name, exact: true }).click();
      await field('Time').fill('20:15');
    }, '15 20 * * 1,4', () => becomes(() => form().getByRole('button', { name: 'Thursday', exact: true }).getAttribute('aria-pressed'), 'true')],
    ['monthly', async () => {
      await field('Day of the month').fill('40');
      await press('Add');
      await form().getByText('Enter a day from 1 to 31.').waitFor();
      await field('Day of the month').fill('3');
    }, '0 7 3 * *', () => becomes(() => field('Day of the month').inputValue(), '3')],
    ['interval', async () => {
      await field('Every').fill('6');
      await field('Unit').selectOption('hours');
    }, 'every 6 hours', () => becomes(() => field('Unit').inputValue(), 'hours')],
    ['once', async () => {
      await form().getByLabel('Day and time: day').fill('2020-01-01');
      await form().getByLabel('Day and time: time').fill('10:00');
      await press('Add');
      // Hob itself says that this is over.
      await form().locator('.problem').first().waitFor();
      await becomes(() => field('Message').inputValue(), 'When: once');
      await form().getByLabel('Day and time: day').fill(iso(3));
    }, `${iso(3)}T10:00`, () => becomes(() => form().getByLabel('Day and time: time').inputValue(), '10:00')],
    ['cron', async () => field('Schedule').fill('*/20 6-9 * * 1-5'), '*/20 6-9 * * 1-5', () => becomes(() => field('Schedule').inputValue(), '*/20 6-9 * * 1-5')],
  ];
  for (const [kind, fill, written, look] of ways) {
    const name = `When: ${kind}`;
    await press('Add a schedule');
    await field('Message').fill(name);
    await field('When').selectOption(kind);
    await fill();
    await press('Add');
    await line(name).waitFor();
    assert.equal((await schedule(name)).schedule, written, kind);
    await press(`Edit: ${name}`);
    await becomes(() => field('When').inputValue(), kind);
    await look();
    await press('Cancel');
    await remove(name);
  }
});

test('it is changed, paused, goes on, runs now with a card that tells, and has a history', async () => {
  await press('Edit: Take out the bins');
  await field('Time').fill('06:00');
  await more();
  await field('Name').fill('Bins');
  await field('If Hob was off').selectOption('skip');
  await field('Retries after a failure').fill('99');
  await press('Save');
  await form().locator('.problem').getByText('Enter 10 or less.').waitFor();
  await field('Retries after a failure').fill('0');
  await press('Save');
  await line('Bins').getByText('every day at 06:00').waitFor();
  const kept = await schedule('Bins');
  assert.deepEqual([kept.name, kept.schedule, kept.missed, kept.retries, kept.action.message], ['Bins', '0 6 * * *', 'skip', 0, 'Take out the bins']);
  await press('Pause: Bins');
  await heard('“Bins” paused.').waitFor();
  await line('Bins').getByText('paused', { exact: true }).waitFor();
  assert.equal((await schedule('Bins')).enabled, false);
  await press('Resume: Bins');
  await line('Bins').getByText(/^next/).waitFor();
  await press('History: Bins');
  await page.getByText('No runs yet.').waitFor();
  await press('Run now: Bins');
  await card().getByText('Take out the bins').waitFor();
  await page.getByRole('group', { name: 'History: Bins' }).getByText('run by hand').waitFor();
  await line('Bins').getByText(/^ok, today/).waitFor();
  await page.getByRole('button', { name: /^Dismiss: / }).click();
  await card().waitFor({ state: 'detached' });
  await allSeen();
});

test('a tool is used later, with a form of its own', async () => {
  await press('Add a schedule');
  await field('Do this').selectOption('tool');
  await press('Add');
  await form().getByText('Choose a tool').last().waitFor();
  await field('Tool').selectOption('gpio_write');
  await press('Add');
  await form().getByText('This is required.').first().waitFor();
  await form().getByLabel(/^Pin/).fill('17');
  const level = form().getByLabel(/^High/);
  if (await level.evaluate((it) => it.matches('select'))) await level.selectOption('true');
  else await form().getByRole('switch', { name: /^High/ }).click();
  await press('Add');
  await line('gpio write').waitFor();
  await line('gpio write').getByText('Uses gpio_write').waitFor();
  const kept = await schedule('gpio write');
  assert.equal(kept.action.tool, 'gpio_write');
  assert.equal(kept.action.arguments.pin, 17);
  await press('Edit: gpio write');
  await becomes(() => form().getByLabel(/^Pin/).inputValue(), '17');
  await press('Cancel');
  await remove('gpio write');
});

test('what needs a yes is asked about in the form, before it is kept', async () => {
  const { id } = await api(context, 'POST', '/api/v1/custom-tools', {
    name: 'water_plants', description: 'Waters the plants.', createdBy: 'llm', permissions: ['shell'], parameters: { type: 'object', properties: {} }, code: 'return "watered";',
  });
  await api(context, 'POST', `/api/v1/custom-tools/${id}/approve`);
  await press('Add a schedule');
  await field('Do this').selectOption('tool');
  await field('Tool').selectOption('water_plants');
  await press('Add');
  await form().getByRole('button', { name: 'Deny' }).click();
  await form().getByRole('alert').last().waitFor();
  assert.equal(await schedule('water plants'), undefined);
  await becomes(() => field('Tool').inputValue(), 'water_plants');
  await press('Add');
  await form().getByRole('button', { name: 'Allow once' }).waitFor();
  await accessible(page, 'a schedule that is asked about');
  await shot(page, 'schedules-asked');
  await form().getByRole('button', { name: 'Allow once' }).click();
  await line('water plants').waitFor();
  assert.equal((await schedule('water plants')).action.tool, 'water_plants');
  await remove('water plants');
  await api(context, 'DELETE', `/api/v1/custom-tools/${id}`);
});

test('a trigger waits for an event, tells, is looked at, paused and deleted', async () => {
  await press('Add a trigger');
  await press('Add');
  await counted(form().locator('[aria-invalid]'), 3);
  await field('Name').fill('Bell');
  await field('Event').fill('pin:changed');
  await field('Only if').fill('{"pin": 17');
  await field('Message').fill('Somebody is at the door');
  await press('Add');
  await form().getByText(/This is not valid JSON/).waitFor();
  await field('Only if').fill('{"pin": 17, "high": true}');
  await press('Add');
  await line('Bell').waitFor();
  await shows(() => line('Bell').innerText(), /pin:changed[^]*17/);
  await call('gpio_write', { pin: 17, high: true });
  await card().getByText('Somebody is at the door').waitFor();
  await line('Bell').getByText(/^fired once/).waitFor();
  await press('History: Bell');
  await page.getByRole('group', { name: 'History: Bell' }).getByText('ok', { exact: true }).waitFor();
  await page.getByRole('button', { name: /^Dismiss: / }).click();
  await press('Edit: Bell');
  assert.deepEqual(JSON.parse(await field('Only if').inputValue()), { pin: 17, high: true });
  await field('Message').fill('The bell rang');
  await press('Save');
  await line('Bell').getByText('The bell rang').waitFor();
  await press('Fire now: Bell');
  await card().getByText('The bell rang').waitFor();
  await page.getByRole('button', { name: /^Dismiss: / }).click();
  await press('Pause: Bell');
  await line('Bell').getByText('paused', { exact: true }).waitFor();
  await remove('Bell');
  await page.getByText('No triggers yet.').waitFor();
});

test('a trigger looks with a tool, again and again', async () => {
  await press('Add a trigger');
  await field('Name').fill('Too warm');
  await field('When').selectOption('condition');
  const tools = await field('Tool').locator('option').allInnerTexts();
  assert.ok(tools.includes('system_info') && !tools.includes('gpio_write'), 'a condition only looks');
  await field('Tool').selectOption('system_info');
  await field('Field of the result').fill('disk.free');
  await field('Comparison').selectOption('lt');
  await field('Value').fill('1000000');
  await field('Check every … seconds').fill('5');
  await field('Message').fill('The disk is nearly full');
  await press('Add');
  await form().locator('.problem').getByText('Enter 10 or more.').waitFor();
  await field('Check every … seconds').fill('60');
  await press('Add');
  await line('Too warm').waitFor();
  const [kept] = (await call('list_triggers')).triggers;
  assert.deepEqual([kept.type, kept.config.check.op, kept.config.check.value, kept.config.everySeconds], ['condition', 'lt', 1_000_000, 60]);
  await press('Edit: Too warm');
  await becomes(() => field('Value').inputValue(), '1000000');
  await press('Cancel');
  await remove('Too warm');
  assert.deepEqual(problems, []);
});

test('what was told while nobody looked is there at the next look, in any room, one card at a time', async () => {
  for (const text of ['The post is here', 'The washing machine is done', 'Dinner in ten minutes']) await call('notify', { text, title: 'From the kitchen' });
  const later = await open(browser, { size: sizes.phone, storageState: await context.storageState() });
  await later.page.goto(hob);
  await message(later.page).waitFor();
  await card(later.page).getByText('Dinner in ten minutes').waitFor();
  await card(later.page).getByText('and 2 more').waitFor();
  await accessible(later.page, 'Talk with a notice');
  await fits(later.page, sizes.phone, 'Talk with a notice');
  await shot(later.page, 'notice-talk-phone');
  // Nothing of the room is covered by it.
  const [top, below] = await Promise.all([later.page.locator('.top').boundingBox(), card(later.page).boundingBox()]);
  assert.ok(top.y >= below.y + below.height - 1, `the top of the room at ${top.y} is below the card that ends at ${below.y + below.height}`);
  await later.page.getByRole('button', { name: 'Dismiss: From the kitchen' }).focus();
  await later.page.keyboard.press('Enter');
  await card(later.page).getByText('The washing machine is done').waitFor();
  await later.page.waitForFunction(() => document.activeElement?.closest('.notices') !== null);
  await visit(later.page, 'Home');
  await card(later.page).getByText('and one more').waitFor();
  await later.page.getByRole('button', { name: 'Dismiss all 2' }).click();
  await card(later.page).waitFor({ state: 'detached' });
  await allSeen();
  // Dismissed on one page, it is gone from the other.
  await card().waitFor({ state: 'detached' });
  await call('notify', { text: 'One for both' });
  await card().getByText('One for both').waitFor();
  await card(later.page).getByText('One for both').waitFor();
  await heard('One for both').waitFor();
  await page.getByRole('button', { name: 'Dismiss: One for both' }).click();
  await card(later.page).waitFor({ state: 'detached' });
  assert.deepEqual(later.problems, []);
  await later.context.close();
});

test('a notice is for one person alone', async () => {
  await api(context, 'POST', '/api/v1/people', { name: 'Jonas', role: 'member', password: 'told at breakfast' });
  const other = await open(browser, { size: desktop });
  await api(other.context, 'POST', '/api/v1/session', { person: 'Jonas', password: 'told at breakfast' });
  await other.page.goto(`${hob}/#/memory/schedules`);
  await other.page.getByText('No schedules yet.').waitFor();
  await call('notify', { text: 'For the owner alone' });
  await card().getByText('For the owner alone').waitFor();
  await counted(card(other.page), 0);
  await counted(line('Bins', other.page), 0);
  await call('dismiss_notice', { noticeId: 'all' });
  await card().waitFor({ state: 'detached' });
  await other.context.close();
});

for (const [name, size] of Object.entries(sizes)) {
  for (const scheme of schemes) {
    test(`it fits and reads well: ${name}, ${scheme}`, async () => {
      const it = await enter(browser, { size, scheme });
      const look = async (what) => {
        await accessible(it.page, `${what}, ${name}, ${scheme}`);
        await fits(it.page, size, what);
        await shot(it.page, `schedules-${what}-${name}-${scheme}`);
      };
      await it.page.goto(`${hob}/#/memory/schedules`);
      await line('Bins', it.page).waitFor();
      await press('History: Bins', it.page);
      await it.page.getByRole('group', { name: 'History: Bins' }).locator('li').first().waitFor();
      await look('list');
      await press('Add a schedule', it.page);
      await form(it.page).getByLabel('When', { exact: true }).selectOption('weekly');
      await form(it.page).locator('summary').click();
      await look('form');
      await press('Cancel', it.page);
      await press('Add a trigger', it.page);
      await press('Add', it.page);
      await look('trigger');
      assert.deepEqual(it.problems, []);
      await it.context.close();
    });
  }
}
