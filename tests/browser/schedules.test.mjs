// What Hob does later: schedules and rules in the Memory room, and the cards by which it tells a person something, against the real daemon.
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
  await page.getByText('No rules yet.').waitFor();
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
  await shows(() => line('Take out the bins').innerText(), /Every day at 07:30: Take out the bins\.[^]*Next: (today|tomorrow), 07:30/);
  const kept = await schedule('bins');
  assert.deepEqual([kept.schedule, kept.action, kept.missed, kept.retries], ['30 7 * * *', { type: 'notify', message: 'Take out the bins' }, 'once', 2]);
});

test('every way to choose when becomes a sentence, and stands in the form again', async () => {
  const chosen = (label, value) => becomes(() => field(label).inputValue(), value);
  const ways = [
    ['weekly', async () => {
      for (const name of ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday']) await form().getByRole('button', { name, exact: true }).click();
      await press('Add');
      await form().getByText('Choose at least one day.').waitFor();
      for (const name of ['Monday', 'Thursday']) await form().getByRole('button', { name, exact: true }).click();
      await field('Time').fill('20:15');
    }, 'Every Monday and Thursday at 20:15', () => becomes(() => form().getByRole('button', { name: 'Thursday', exact: true }).getAttribute('aria-pressed'), 'true')],
    ['nth', async () => {
      await field('Which').selectOption({ label: 'First' });
      await field('Weekday').selectOption({ label: 'Monday' });
      await field('Time').fill('09:00');
    }, 'Every first Monday at 09:00', () => chosen('Weekday', '1')],
    ['monthly', async () => field('Day of the month').selectOption({ label: 'Last day' }), 'On the last day of every month at 07:00', () => chosen('Day of the month', '-1')],
    ['yearly', async () => {
      await field('Month').selectOption({ label: 'February' });
      await field('Day of the month').selectOption({ label: '31' });
      await press('Add');
      await form().getByText('This month has fewer days.').waitFor();
      await field('Month').selectOption({ label: 'December' });
    }, 'Every 31 December at 07:00', () => chosen('Month', '12')],
    ['interval', async () => {
      await field('Every').fill('6');
      await field('Unit').selectOption('hours');
    }, 'Every 6 hours', () => chosen('Unit', 'hours')],
    ['once', async () => {
      await form().getByLabel('Day and time: day').fill('2020-01-01');
      await form().getByLabel('Day and time: time').fill('10:00');
      await press('Add');
      // Hob itself says that this is over.
      await form().locator('.problem').first().waitFor();
      await becomes(() => field('Message').inputValue(), 'When: once');
      await form().getByLabel('Day and time: day').fill(iso(3));
    }, / at 10:00: When: once/, () => becomes(() => form().getByLabel('Day and time: time').inputValue(), '10:00')],
    ['cron', async () => field('Times').fill('*/20 6-9 * * 1-5'), 'Every 20 minutes from 06:00 to 09:40, from Monday to Friday', () => chosen('Times', '*/20 6-9 * * 1-5')],
  ];
  for (const [kind, fill, sentence, look] of ways) {
    const name = `When: ${kind}`;
    await press('Add a schedule');
    await field('Message').fill(name);
    await field('When').selectOption(kind);
    await fill();
    // Before it is stored, the form says how Hob reads it, and its next times.
    if (typeof sentence === 'string') {
      await form().locator('.preview').getByText(`${sentence}.`).waitFor();
      await shows(() => form().locator('.preview').innerText(), /Next: /);
    }
    await press('Add');
    await line(name).waitFor();
    await shows(() => line(name).locator('.record-title').innerText(), typeof sentence === 'string' ? new RegExp(`^${sentence}: ${name}\\.$`) : sentence);
    await press(`Edit: ${name}`);
    await chosen('When', kind);
    await look();
    await press('Cancel');
    await remove(name);
  }
});

test('what was said in words is chosen in the form', async () => {
  await call('create_scheduled_task', { name: 'Rent', schedule: 'on the last friday of every month at 16:00', message: 'pay the rent' });
  await line('Rent').getByText('Every last Friday at 16:00: pay the rent.').waitFor();
  await press('Edit: Rent');
  await becomes(() => field('When').inputValue(), 'nth');
  await becomes(() => field('Which').inputValue(), '-1');
  await becomes(() => field('Weekday').inputValue(), '5');
  await field('Which').selectOption({ label: 'Second' });
  await press('Save');
  await line('Rent').getByText('Every second Friday at 16:00: pay the rent.').waitFor();
  // What is stored is one tap deeper.
  await press('History: Rent');
  const deeper = page.getByRole('group', { name: 'History: Rent' });
  await deeper.getByText('As Hob stores it').click();
  await shows(() => deeper.locator('pre').innerText(), /"schedule": "0 16 \* \* 5#2"/);
  await remove('Rent');
  // Deleted by mistake: the notice of the change takes it back.
  await page.getByRole('button', { name: 'Undo', exact: true }).first().click();
  await line('Rent').getByText('Every second Friday at 16:00: pay the rent.').waitFor();
  await remove('Rent');
});

test('a message for somebody else, and for everyone', async () => {
  await api(context, 'POST', '/api/v1/people', { name: 'Anna', role: 'member', password: 'waters the plants' });
  const other = await open(browser, { size: desktop });
  await api(other.context, 'POST', '/api/v1/session', { person: 'Anna', password: 'waters the plants' });
  await page.reload();
  await line('Take out the bins').waitFor();
  await press('Add a schedule');
  await field('When').selectOption('weekly');
  for (const name of ['Monday', 'Wednesday', 'Thursday', 'Friday']) await form().getByRole('button', { name, exact: true }).click();
  await field('Time').fill('18:00');
  await field('Message').fill('water the plants');
  await field('For').selectOption({ label: 'Anna' });
  await press('Add');
  await line('water the plants').getByText('Every Tuesday at 18:00: water the plants, for Anna.').waitFor();
  await press('Try now: water the plants');
  await other.page.goto(hob);
  await card(other.page).getByText('water the plants').first().waitFor();
  await counted(card(), 0);
  await press('Edit: water the plants');
  await becomes(() => field('For').inputValue(), 'Anna');
  await field('For').selectOption({ label: 'Everyone' });
  await press('Save');
  await line('water the plants').getByText('water the plants, for everyone.').waitFor();
  await remove('water the plants');
  await other.context.close();
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
  await line('Bins').getByText('Every day at 06:00: Take out the bins.').waitFor();
  const kept = await schedule('Bins');
  assert.deepEqual([kept.name, kept.schedule, kept.missed, kept.retries, kept.action.message], ['Bins', '0 6 * * *', 'skip', 0, 'Take out the bins']);
  await press('Turn off: Bins');
  await heard('“Bins” is off.').waitFor();
  await line('Bins').getByText('off', { exact: true }).waitFor();
  assert.equal((await schedule('Bins')).enabled, false);
  await press('Turn on: Bins');
  await line('Bins').getByText(/^Next/).waitFor();
  await press('History: Bins');
  await page.getByText('No runs yet.').waitFor();
  await press('Try now: Bins');
  await card().getByText('Take out the bins').waitFor();
  await page.getByRole('group', { name: 'History: Bins' }).getByText('tried by hand').waitFor();
  await line('Bins').getByText(/^done today/).waitFor();
  await page.getByRole('button', { name: /^Dismiss: / }).click();
  await card().waitFor({ state: 'detached' });
  await allSeen();
});

test('a tool is used later, with a form of its own', async () => {
  await press('Add a schedule');
  await field('Do this').selectOption('tool');
  await press('Add');
  await form().getByText('This is required.').or(form().locator('.problem')).first().waitFor();
  // Tools go by what they do, and can be looked for.
  await field('Search what Hob can do').fill('pin');
  const offered = await field('What to do').locator('option').allInnerTexts();
  assert.ok(offered.includes('Set one output pin') && !offered.includes('Add a task'), offered.join(', '));
  await field('What to do').selectOption({ label: 'Set one output pin' });
  await press('Add');
  await form().getByText('This is required.').first().waitFor();
  await form().getByLabel(/^Pin/).fill('17');
  const level = form().getByLabel(/^High/);
  if (await level.evaluate((it) => it.matches('select'))) await level.selectOption('true');
  else await form().getByRole('switch', { name: /^High/ }).click();
  await press('Add');
  await line('switch pin 17 on').waitFor();
  const kept = await schedule('Set one output pin');
  assert.equal(kept.action.tool, 'gpio_write');
  assert.equal(kept.action.arguments.pin, 17);
  await press('Edit: Set one output pin');
  await becomes(() => form().getByLabel(/^Pin/).inputValue(), '17');
  await press('Cancel');
  await press('Delete: Set one output pin');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Yes, delete it' }).click();
  await line('switch pin 17 on').waitFor({ state: 'detached' });
});

test('what needs a yes is asked about in the form, before it is kept', async () => {
  const { id } = await api(context, 'POST', '/api/v1/custom-tools', {
    name: 'water_plants', description: 'Waters the plants.', createdBy: 'llm', permissions: ['shell'], parameters: { type: 'object', properties: {} }, code: 'return "watered";',
  });
  await api(context, 'POST', `/api/v1/custom-tools/${id}/approve`);
  await press('Add a schedule');
  await field('Do this').selectOption('tool');
  await field('What to do').selectOption('water_plants');
  await press('Add');
  await form().getByRole('button', { name: 'Deny' }).click();
  await form().getByRole('alert').last().waitFor();
  assert.equal(await schedule('Waters the plants'), undefined);
  await becomes(() => field('What to do').inputValue(), 'water_plants');
  await press('Add');
  await form().getByRole('button', { name: 'Allow once' }).waitFor();
  await accessible(page, 'a schedule that is asked about');
  await shot(page, 'schedules-asked');
  await form().getByRole('button', { name: 'Allow once' }).click();
  await line('waters the plants').waitFor();
  assert.equal((await schedule('Waters the plants')).action.tool, 'water_plants');
  await press('Delete: Waters the plants');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Yes, delete it' }).click();
  await line('waters the plants').waitFor({ state: 'detached' });
  await api(context, 'DELETE', `/api/v1/custom-tools/${id}`);
});

const starts = (label) => field('What starts it').selectOption({ label });
const rules = async () => (await call('list_rules')).rules;
const plain = ({ words, ...part }) => part;

test('a rule waits for what one chooses, tells, says why, is turned off and deleted', async () => {
  await press('Add a rule');
  await starts('A pin turns on or off');
  await field('Action').selectOption('message');
  await press('Add');
  await counted(form().locator('[aria-invalid]'), 2);
  await field('Pin').selectOption({ label: 'Pin 17' });
  await field('When it').selectOption({ label: 'turns on' });
  await field('Message').fill('Somebody is at the door');
  await more();
  await field('Name').fill('Bell');
  await form().locator('.rule-sentence').getByText('When pin 17 turns on, tell you “Somebody is at the door”.').waitFor();
  await press('Add');
  await line('Bell').getByText('When pin 17 turns on, tell you “Somebody is at the door”.').waitFor();
  const [kept] = await rules();
  assert.deepEqual([kept.name, kept.triggers.map(plain), kept.actions.map(plain)], ['Bell', [{ type: 'pin', pin: 17, edge: 'rising' }], [{ type: 'message', message: 'Somebody is at the door' }]]);
  await call('gpio_write', { pin: 17, high: true });
  await card().getByText('Somebody is at the door').waitFor();
  await line('Bell').getByText(/^fired once/).waitFor();
  await press('Why: Bell');
  const log = page.getByRole('group', { name: 'Why: Bell' });
  await log.getByText('done', { exact: true }).waitFor();
  await log.getByText('→ tell you “Somebody is at the door”').waitFor();
  await page.getByRole('button', { name: /^Dismiss: / }).click();
  await press('Edit: Bell');
  await becomes(() => field('Pin').inputValue(), '17');
  await becomes(() => field('When it').inputValue(), 'rising');
  await field('When it').selectOption({ label: 'turns on or off' });
  await field('Message').fill('The bell rang');
  await press('Save');
  await line('Bell').getByText('When pin 17 turns on or off, tell you “The bell rang”.').waitFor();
  // A test does nothing; a run by hand does.
  await press('Test: Bell');
  await line('Bell').getByText('What would happen now').waitFor();
  assert.equal((await call('list_notices', { unseen: true })).count, 0);
  await press('Run now: Bell');
  await card().getByText('The bell rang').waitFor();
  await page.getByRole('button', { name: /^Dismiss: / }).click();
  await press('Turn off: Bell');
  await line('Bell').getByText('off', { exact: true }).waitFor();
  await remove('Bell');
  await page.getByText('No rules yet.').waitFor();
});

test('a timer that rings, a task that is done, and a disk that gets full are chosen too', async () => {
  const ways = [
    ['A timer rings', async () => field('Only timers named').fill('pizza'), /^When a timer named “pizza” rings/, () => becomes(() => field('Only timers named').inputValue(), 'pizza')],
    ['A task is done', async () => undefined, /^When a task is done/, async () => undefined],
    ['The disk gets full', async () => field('Less free than, in GB').fill('2,5'), /^When the free disk space falls below 2.5 GB/, () => becomes(() => field('Less free than, in GB').inputValue(), '2.5')],
  ];
  for (const [label, fill, sentence, look] of ways) {
    await press('Add a rule');
    await starts(label);
    await fill();
    await field('Action').selectOption('message');
    await field('Message').fill('cut it');
    await press('Add');
    await line('cut it').locator('.record-title').getByText(sentence).waitFor();
    const [{ name }] = await rules();
    await press(`Edit: ${name}`);
    await becomes(() => field('What starts it').evaluate((it) => it.selectedOptions[0].label), label);
    await look();
    await press('Cancel');
    await remove(name);
  }
});

test('a trigger with times, made by talking, is chosen in the form as well', async () => {
  await call('create_trigger', { name: 'Rent', type: 'schedule', config: { schedule: '0 9 * * 1#1' }, message: 'pay the rent' });
  await line('pay the rent').locator('.record-title').getByText(/^Every first Monday at 09:00/).waitFor();
  const when = form().getByRole('combobox', { name: 'When', exact: true });
  await press('Edit: Rent');
  await becomes(() => when.inputValue(), 'nth');
  await when.selectOption('monthly');
  await press('Save');
  await line('pay the rent').locator('.record-title').getByText(/^On the 1st of every month at 09:00/).waitFor();
  await press('Delete: Rent');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Yes, delete it' }).click();
  await line('pay the rent').waitFor({ state: 'detached' });
});

test('what cannot be chosen is written in full: another event, and whatever a tool reports', async () => {
  const onlyIf = form().getByRole('textbox', { name: /^Only if/ });
  await press('Add a rule');
  await starts('Another event');
  await field('Action').selectOption('message');
  await press('Add');
  await counted(form().locator('[aria-invalid]'), 2);
  await field('Event').fill('tool:after');
  await onlyIf.fill('{"tool": "system_info"');
  await field('Message').fill('It looked');
  await press('Add');
  await form().getByText(/This is not valid JSON/).waitFor();
  await onlyIf.fill('{"tool": "system_info"}');
  await press('Add');
  await line('It looked').getByText(/^When “tool:after” happens, with tool system_info/).waitFor();
  let [{ name }] = await rules();
  await press(`Edit: ${name}`);
  assert.deepEqual(JSON.parse(await onlyIf.inputValue()), { tool: 'system_info' });
  await press('Cancel');
  await remove(name);
  await press('Add a rule');
  await starts('Something Hob can look up');
  await field('Action').selectOption('message');
  const tools = await field('What to look at').locator('option').evaluateAll((all) => all.map((one) => one.value));
  assert.ok(tools.includes('system_info') && !tools.includes('gpio_write'), 'a condition only looks');
  await field('What to look at').selectOption('system_info');
  await field('Field of the result').fill('uptime');
  await field('Comparison').selectOption('lt');
  await field('Value').fill('1000000');
  await field('Look every … seconds').fill('5');
  await field('Message').fill('It has started');
  await press('Add');
  await form().locator('.problem').getByText('Enter 10 or more.').waitFor();
  await field('Look every … seconds').fill('60');
  await press('Add');
  await line('It has started').waitFor();
  const [kept] = await rules();
  assert.deepEqual([kept.triggers[0].type, kept.triggers[0].op, kept.triggers[0].value, kept.triggers[0].everySeconds], ['check', 'lt', 1_000_000, 60]);
  ({ name } = kept);
  await press(`Edit: ${name}`);
  await becomes(() => field('Value').inputValue(), '1000000');
  await press('Cancel');
  await remove(name);
  assert.deepEqual(problems, []);
});

test('what was told while nobody looked is there at the next look, in any room: one line with a count, that opens', async () => {
  for (const text of ['The post is here', 'The washing machine is done', 'Dinner in ten minutes']) await call('notify', { text, title: 'From the kitchen' });
  const later = await open(browser, { size: sizes.phone, storageState: await context.storageState() });
  await later.page.goto(hob);
  await message(later.page).waitFor();
  await card(later.page).getByText('Dinner in ten minutes').waitFor();
  const fold = card(later.page).getByRole('button', { name: /^3 notices/ });
  await fold.waitFor();
  assert.ok((await card(later.page).boundingBox()).height < 70, 'one line, however many there are');
  await accessible(later.page, 'Talk with a notice');
  await fits(later.page, sizes.phone, 'Talk with a notice');
  await shot(later.page, 'notice-talk-phone');
  // Nothing of the room is covered by it.
  const [top, below] = await Promise.all([later.page.locator('.top').boundingBox(), card(later.page).boundingBox()]);
  assert.ok(top.y >= below.y + below.height - 1, `the top of the room at ${top.y} is below the card that ends at ${below.y + below.height}`);
  await fold.focus();
  await later.page.keyboard.press('Enter');
  await counted(card(later.page).locator('li'), 3);
  await accessible(later.page, 'Talk with notices, open');
  await fits(later.page, sizes.phone, 'Talk with notices, open');
  await shot(later.page, 'notices-open-talk-phone');
  await later.page.getByRole('button', { name: 'Dismiss: From the kitchen' }).first().focus();
  await later.page.keyboard.press('Enter');
  await counted(card(later.page).locator('li'), 2);
  await card(later.page).getByText('The washing machine is done').waitFor();
  await later.page.waitForFunction(() => document.activeElement?.closest('.notices') !== null);
  await visit(later.page, 'Tools');
  await card(later.page).getByRole('button', { name: '2 notices' }).waitFor();
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
      await form(it.page).locator('.preview').getByText(/^From Monday to Friday at 07:00/).waitFor();
      await form(it.page).locator('summary').click();
      await look('form');
      await form(it.page).getByLabel('Do this', { exact: true }).selectOption('tool');
      await form(it.page).getByLabel(/^What to do/).selectOption('gpio_write');
      await form(it.page).getByLabel(/^Pin/).waitFor();
      await look('tool');
      await press('Cancel', it.page);
      await press('Add a rule', it.page);
      await form(it.page).getByLabel('What starts it').selectOption('pin');
      await press('Add', it.page);
      await look('trigger');
      assert.deepEqual(it.problems, []);
      await it.context.close();
    });
  }
}
