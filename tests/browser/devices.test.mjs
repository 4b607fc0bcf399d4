// Devices and pins against the real daemon with its simulated board: pins named by a tool become cards, live on two pages; a pin is set up
// from the header, and the board keeps to it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { execute } from './lists.mjs';
import { accessible, becomes, counted, desktop, enter, enterAs, fits, hob, launch, phone, shot, shows, visit } from './page.mjs';

let browser, keeper;
before(async () => {
  browser = await launch();
  keeper = await enter(browser);
});
after(async () => {
  await browser?.close();
});

const call = (tool, args) => execute(keeper.context, tool, args);
const card = (page, name) => page.locator('.thing').filter({ has: page.locator('.thing-name', { hasText: new RegExp(`^${name}$`, 'i') }) });
const lamp = (page) => page.getByRole('switch', { name: 'hall lamp' });
const press = (place, name) => place.getByRole('button', { name, exact: true }).click();

test('before anything has a name, the tab says how devices come there', async () => {
  const { page, context, problems } = await enter(browser, { size: phone });
  await page.goto(hob);
  await visit(page, 'Home');
  await page.getByRole('navigation', { name: 'Parts of Home' }).getByRole('link', { name: 'Devices' }).click();
  await page.getByRole('heading', { name: 'Your home goes here' }).waitFor();
  await page.getByRole('link', { name: 'Connect Home Assistant' }).click();
  await page.getByRole('heading', { name: 'Home Assistant', level: 2 }).waitFor();
  await page.getByRole('form', { name: 'Set up' }).waitFor();
  assert.deepEqual(problems, []);
  await context.close();
});

test('named pins are cards, which switch the board and follow it on every page', async () => {
  await call('name_pin', { pin: 17, name: 'hall lamp' });
  await call('name_pin', { pin: 4, name: 'front door', sensor: true });
  const one = await enter(browser, { size: phone });
  const two = await enter(browser, { size: desktop, scheme: 'dark' });
  for (const { page } of [one, two]) {
    await page.goto(`${hob}/#/home/devices`);
    await lamp(page).waitFor();
  }
  await lamp(one.page).tap();
  await becomes(() => lamp(one.page).getAttribute('aria-checked'), 'true');
  await becomes(() => lamp(two.page).getAttribute('aria-checked'), 'true');
  assert.equal((await call('gpio_read', { pin: 17 })).high, true);
  await call('gpio_write', { pin: 17, high: false });
  await becomes(() => lamp(one.page).getAttribute('aria-checked'), 'false');
  await becomes(() => lamp(two.page).getAttribute('aria-checked'), 'false');
  // What is only read has no switch.
  await counted(card(two.page, 'front door').getByRole('switch'), 0);
  await accessible(one.page, 'devices of a board');
  await fits(one.page, phone, 'devices of a board');
  await shot(one.page, 'devices-board-phone');
  assert.deepEqual([...one.problems, ...two.problems], []);
  await one.context.close();
  await two.context.close();
});

test('an area, an alias and a place among the lights: kept, found, and heard by Talk', async () => {
  const { page, context, problems } = await enter(browser, { size: desktop });
  await page.goto(`${hob}/#/home/devices`);
  await press(card(page, 'hall lamp'), 'Details: hall lamp');
  const sheet = page.getByRole('dialog');
  await sheet.getByText('Pin 17').first().waitFor();
  await press(sheet, 'Name, area and more');
  await sheet.getByLabel('Area', { exact: true }).fill('Hall');
  await sheet.getByLabel('Also called 1').fill('entrance light');
  await sheet.getByLabel('What it is').selectOption('light');
  await press(sheet, 'Save');
  await sheet.getByText('Saved.').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Hall', exact: true }).waitFor();
  await page.getByRole('searchbox', { name: 'Search devices' }).fill('entrance');
  await becomes(() => page.locator('.thing-name').allTextContents(), ['hall lamp']);
  const { things } = await call('list_things', { query: 'entrance light' });
  assert.deepEqual(things.map(({ thing, area, kind }) => [thing, area, kind]), [['pin:17', 'Hall', 'light']]);
  // From the search over everything, too.
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Find anything' }).fill('hall lamp');
  await page.getByRole('option').filter({ hasText: 'hall lamp' }).first().click();
  await page.getByRole('dialog', { name: 'hall lamp' }).waitFor();
  assert.deepEqual(problems, []);
  await context.close();
});

test('for five minutes: the way back is planned', async () => {
  const { page, context, problems } = await enter(browser, { size: phone });
  await page.goto(`${hob}/#/home/devices`);
  await press(card(page, 'hall lamp'), 'Details: hall lamp');
  await page.getByRole('group', { name: 'On for' }).getByRole('button', { name: '5 min', exact: true }).click();
  await page.getByText('hall lamp is on for 5 min.', { exact: false }).waitFor();
  assert.equal((await call('gpio_read', { pin: 17 })).high, true);
  assert.equal((await call('list_scheduled_tasks', { enabled: true })).tasks.length, 1);
  await page.keyboard.press('Escape');
  await lamp(page).tap();
  await becomes(() => lamp(page).getAttribute('aria-checked'), 'false');
  assert.deepEqual(problems, []);
  await context.close();
});

test('a pin is set up from the header, and the board keeps to it', async () => {
  for (const [size, scheme] of [[phone, 'light'], [desktop, 'dark']]) {
    const { page, context, problems } = await enter(browser, { size, scheme });
    await page.goto(`${hob}/#/home/pins`);
    await page.getByRole('button', { name: 'Tap to set up' }).click();
    await page.getByRole('button', { name: /^Pin 22,/ }).click();
    const sheet = page.getByRole('dialog');
    await sheet.getByText('Pin 22, place 15 on the header').waitFor();
    await sheet.getByLabel('It is').selectOption('switch');
    await sheet.getByLabel('Longest time on, in seconds').fill('20');
    await sheet.getByLabel('Never on together with others of').fill('pumps');
    await accessible(page, 'setting up a pin');
    await fits(page, size, 'setting up a pin');
    await shot(page, `pin-sheet-${size === phone ? 'phone' : 'desktop'}-${scheme}`);
    if (size === phone) {
      await press(sheet, 'Cancel');
      await counted(sheet, 0);
      assert.equal((await call('pin_map')).pins.find((one) => one.pin === 22).settings, undefined);
      await context.close();
      continue;
    }
    await sheet.getByLabel('What is connected to it').fill('Pump');
    await press(sheet, 'Save');
    await counted(sheet, 0);
    const kept = (await call('pin_map')).pins.find((one) => one.pin === 22);
    assert.deepEqual([kept.name, kept.kind, kept.maxOnSeconds, kept.interlock], ['Pump', 'switch', 20, 'pumps']);
    // The other of its group is refused while it is on.
    await call('name_pin', { pin: 23, name: 'Second pump' });
    await call('configure_pin', { pin: 23, interlock: 'pumps' });
    const names = page.getByRole('region', { name: 'Names' });
    await names.getByText(/on for at most 20 s/).waitFor();
    await page.goto(`${hob}/#/home/devices`);
    await page.getByRole('switch', { name: 'Pump', exact: true }).click();
    await becomes(() => page.getByRole('switch', { name: 'Pump', exact: true }).getAttribute('aria-checked'), 'true');
    await page.getByRole('switch', { name: 'Second pump' }).click();
    await card(page, 'Second pump').getByRole('alert').waitFor();
    await becomes(() => page.getByRole('switch', { name: 'Second pump' }).getAttribute('aria-checked'), 'false');
    await shot(page, 'devices-interlock');
    // The form shows what is stored.
    await page.goto(`${hob}/#/home/pins`);
    await page.getByRole('button', { name: 'Set up: Pump' }).click();
    await becomes(() => page.getByRole('dialog').getByLabel('Longest time on, in seconds').inputValue(), '20');
    await page.keyboard.press('Escape');
    assert.deepEqual(problems, []);
    await context.close();
  }
});

test('a pin with PWM is a lamp that is dimmed, and a reset takes its name and settings away', async () => {
  const { page, context, problems } = await enter(browser, { size: desktop });
  await call('name_pin', { pin: 18, name: 'desk lamp' });
  await page.goto(`${hob}/#/home/pins`);
  const at = async () => (await call('pin_map')).pins.find((one) => one.pin === 18);
  await page.getByRole('button', { name: 'Set up: desk lamp' }).click();
  const sheet = page.getByRole('dialog');
  await sheet.getByLabel('Dim it by PWM, at how many hertz').fill('800');
  await press(sheet, 'Save');
  await counted(sheet, 0);
  await call('gpio_write', { pin: 18, high: true });
  await page.goto(`${hob}/#/home/devices`);
  const brightness = card(page, 'desk lamp').getByLabel('Brightness');
  await brightness.waitFor();
  await brightness.fill('30');
  await becomes(async () => (await at()).pwm, { hertz: 800, percent: 30 });
  await card(page, 'desk lamp').getByText('30\u00a0%').waitFor();
  // Dimmed elsewhere.
  await call('control_thing', { thing: 'desk lamp', action: 'set_level', level: 70 });
  await card(page, 'desk lamp').getByText('70\u00a0%').waitFor();
  await page.goto(`${hob}/#/home/pins`);
  await page.getByRole('button', { name: 'Set up: desk lamp' }).click();
  await press(sheet, 'Reset this pin');
  await accessible(page, 'resetting a pin');
  await press(sheet.getByRole('alertdialog'), 'Cancel');
  assert.equal((await at()).name, 'desk lamp');
  await press(sheet, 'Reset this pin');
  await press(sheet.getByRole('alertdialog'), 'Yes, reset it');
  await counted(sheet, 0);
  const left = await at();
  assert.deepEqual([left.name, left.settings], [undefined, undefined]);
  await counted(page.getByRole('button', { name: 'Set up: desk lamp' }), 0);
  assert.deepEqual(problems, []);
  await context.close();
});

test('a pin with a lock asks before it opens', async () => {
  await call('name_pin', { pin: 27, name: 'gate' });
  await call('configure_pin', { pin: 27, kind: 'lock' });
  const { page, context, problems } = await enter(browser, { size: phone });
  await page.goto(`${hob}/#/home/devices`);
  await press(card(page, 'gate'), 'Unlock: gate');
  await page.getByRole('alertdialog', { name: 'Unlock the gate?' }).waitFor();
  assert.equal((await call('gpio_read', { pin: 27 })).high, false);
  await press(page.getByRole('alertdialog'), 'Unlock');
  await card(page, 'gate').getByText('Unlocked').waitFor();
  assert.equal((await call('gpio_read', { pin: 27 })).high, true);
  await press(card(page, 'gate'), 'Lock: gate');
  await card(page, 'gate').getByText('Locked').waitFor();
  assert.deepEqual(problems, []);
  await context.close();
});

test('the header and Today ask before a pin opens a door', async () => {
  await call('gpio_write', { pin: 27, high: false });
  const high = async () => (await call('gpio_read', { pin: 27 })).high;
  const { page, context, problems } = await enter(browser, { size: phone });
  for (const [at, find] of [
    ['home/pins', () => page.getByRole('button', { name: /^Pin 27,/ })],
    ['home', () => page.getByRole('switch', { name: 'gate' })],
  ]) {
    await page.goto(`${hob}/#/${at}`);
    await find().tap();
    const question = page.getByRole('alertdialog', { name: 'Turn on the gate?' });
    await question.waitFor();
    assert.equal(await high(), false, at);
    await press(question, 'No');
    await counted(page.getByRole('alertdialog'), 0);
    assert.equal(await high(), false, at);
    await find().tap();
    await press(question, 'Turn on');
    await becomes(high, true);
    // Closing asks nobody.
    await find().tap();
    await becomes(high, false);
    await counted(page.getByRole('alertdialog'), 0);
  }
  assert.deepEqual(problems, []);
  await context.close();
});

test('a viewer sees devices and switches nothing', async () => {
  const { page, context } = await enterAs(browser, 'viewer', { size: phone });
  await page.goto(`${hob}/#/home/devices`);
  await card(page, 'hall lamp').waitFor();
  await counted(page.getByRole('switch'), 0);
  await shows(() => page.locator('main').innerText(), /front door/i);
  await context.close();
});

test('a rule made by choosing switches a device, and says why', async () => {
  await call('name_pin', { pin: 5, name: 'bell' });
  await call('gpio_write', { pin: 17, high: false });
  const { page, context, problems } = await enter(browser, { size: phone });
  await page.goto(`${hob}/#/home/rules`);
  await press(page, 'Add a rule');
  const form = page.locator('form.writing');
  await form.getByLabel('What starts it').selectOption('pin');
  await form.getByRole('combobox', { name: /^Pin/ }).selectOption({ label: 'bell (pin 5)' });
  await form.getByRole('combobox', { name: /^Device/ }).selectOption({ label: 'hall lamp' });
  await form.locator('.rule-sentence').getByText('When the bell turns on, turn on the hall lamp.').waitFor();
  await press(form, 'Test');
  await form.getByText('What would happen now').waitFor();
  await shot(page, 'rule-real-phone', { fullPage: true });
  await press(form, 'Add');
  const rule = page.locator('.records > li').filter({ hasText: 'When the bell turns on, turn on the hall lamp.' });
  await rule.waitFor();
  await call('gpio_write', { pin: 5, high: true });
  await becomes(async () => (await call('gpio_read', { pin: 17 })).high, true);
  await rule.getByText(/^fired once/).waitFor();
  await rule.getByRole('button', { name: /^Why/ }).click();
  await rule.getByText('→ turn on the hall lamp').waitFor();
  await accessible(page, 'why a rule ran');
  await fits(page, phone, 'why a rule ran');
  assert.deepEqual(problems, []);
  await context.close();
});
