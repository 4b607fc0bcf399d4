// The cards of devices that a simulated board does not have: every kind, what is asked before something opens, refusals, and a large home.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { demoHome, large } from './demo-home.mjs';
import { accessible, becomes, counted, desktop, fits, launch, phone, schemes, shot, shows, sizes } from './page.mjs';
import { bad, good, owner, staged } from './staged.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
});

const visit = async (home, options = {}) => staged(browser, home.answers, { live: true, at: '#/home/devices', ...options });
const card = (page, name) => page.locator('.thing').filter({ has: page.locator('.thing-name', { hasText: new RegExp(`^${name}$`) }) });
const press = (place, name) => place.getByRole('button', { name, exact: true }).click();

test('a home with every kind: nothing sticks out, and axe finds nothing', async () => {
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const home = demoHome();
      const { page, context, problems } = await visit(home, { size, scheme });
      await card(page, 'Thermostat').waitFor();
      await becomes(() => page.locator('.thing-group h2').allInnerTexts(), ['Cellar', 'Hall', 'Living room', 'No area yet']);
      await accessible(page, `devices, ${name}, ${scheme}`);
      await fits(page, size, `devices, ${name}, ${scheme}`);
      await shot(page, `devices-${name}-${scheme}`, { fullPage: true });
      await press(card(page, 'Ceiling light'), 'Details: Ceiling light');
      await page.getByRole('dialog', { name: 'Ceiling light' }).getByText('Home Assistant, light.ceiling').waitFor();
      await accessible(page, `a device, ${name}, ${scheme}`);
      await shot(page, `device-${name}-${scheme}`);
      await press(page.getByRole('dialog'), 'Name, area and more');
      await accessible(page, `the form of a device, ${name}, ${scheme}`);
      await fits(page, size, `the form of a device, ${name}, ${scheme}`);
      await shot(page, `device-form-${name}-${scheme}`);
      assert.deepEqual(problems, []);
      await context.close();
    }
  }
});

test('a tap switches at once, and what the device says counts', async () => {
  const home = demoHome();
  const { page, context, problems } = await visit(home);
  const lamp = page.getByRole('switch', { name: 'hall lamp' });
  await lamp.waitFor();
  let answer;
  const answered = new Promise((resolve) => (answer = resolve));
  const real = home.answers['POST /api/v1/tools/control_thing/execute'];
  home.answers['POST /api/v1/tools/control_thing/execute'] = async (route) => (await answered, real(route));
  await page.route((url) => url.pathname === '/api/v1/tools/control_thing/execute', (route) => home.answers['POST /api/v1/tools/control_thing/execute'](route));
  await lamp.tap();
  // Before anybody has answered.
  await becomes(() => lamp.getAttribute('aria-checked'), 'false');
  answer();
  await becomes(() => home.controlled(), [{ thing: 'pin:17', action: 'turn_off' }]);
  await becomes(() => lamp.getAttribute('aria-busy'), null);
  assert.equal(await lamp.getAttribute('aria-checked'), 'false');
  // Switched elsewhere.
  home.find('pin:17').state = { value: 'on', active: true };
  await page.evaluate(() => globalThis.tell('thing:changed', { thing: 'pin:17', name: 'hall lamp', kind: 'light', value: 'on', active: true, before: 'off' }));
  await becomes(() => lamp.getAttribute('aria-checked'), 'true');
  // Sensors tell their number.
  await page.evaluate(() => globalThis.tell('thing:changed', { thing: 'ha:sensor.power', name: 'Power', kind: 'sensor', value: '1280', number: 1280, active: null, before: '412' }));
  await card(page, 'Power').getByText('1,280').waitFor();
  assert.deepEqual(problems, []);
  await context.close();
});

test('a refusal takes the card back and says why', async () => {
  const home = demoHome();
  home.answers['POST /api/v1/tools/control_thing/execute'] = bad(409, 'unavailable', 'Home Assistant does not answer: look whether it runs');
  const { page, context } = await visit(home, { size: desktop });
  const lamp = page.getByRole('switch', { name: 'Reading lamp' });
  await lamp.click();
  await card(page, 'Reading lamp').getByRole('alert').getByText('Home Assistant does not answer: look whether it runs.').waitFor();
  await becomes(() => lamp.getAttribute('aria-checked'), 'false');
  await accessible(page, 'a card with an error');
  await shot(page, 'devices-refused');
  await context.close();
});

test('a confirmation that never comes: the true state is shown again, with the reason', async () => {
  const home = demoHome();
  const path = 'POST /api/v1/tools/control_thing/execute';
  const taken = good({ tool: 'control_thing', result: { things: [] }, isError: false });
  home.answers[path] = taken;
  const { page, context, problems } = await visit(home, { size: desktop });
  const lamp = page.getByRole('switch', { name: 'hall lamp' });
  await lamp.click();
  await becomes(() => lamp.getAttribute('aria-checked'), 'false');
  await card(page, 'hall lamp').getByRole('alert').getByText('It has not confirmed that: it is on.').waitFor();
  assert.equal(await lamp.getAttribute('aria-checked'), 'true');
  // What it says later takes the sentence away.
  await page.evaluate(() => globalThis.tell('thing:changed', { thing: 'pin:17', name: 'hall lamp', kind: 'light', value: 'off', active: false, before: 'on' }));
  await becomes(() => lamp.getAttribute('aria-checked'), 'false');
  await counted(card(page, 'hall lamp').getByRole('alert'), 0);
  // Of two commands, the first ends last, and neither was done.
  let endFirst;
  const first = new Promise((resolve) => {
    endFirst = resolve;
  });
  let calls = 0;
  await page.route((url) => url.pathname === '/api/v1/tools/control_thing/execute', async (route) => {
    calls += 1;
    if (calls === 1) await first;
    await route.fulfill(taken);
  });
  const fan = page.getByRole('switch', { name: 'Reading lamp' });
  await fan.click();
  await becomes(() => fan.getAttribute('aria-checked'), 'true');
  await fan.click();
  await fan.click();
  await becomes(() => calls, 3);
  endFirst();
  await card(page, 'Reading lamp').getByRole('alert').getByText('It has not confirmed that: it is off.').waitFor();
  assert.equal(await fan.getAttribute('aria-checked'), 'false');
  assert.deepEqual(problems, []);
  await context.close();
});

test('nothing that lets somebody in opens without a yes', async () => {
  const home = demoHome();
  const { page, context, problems } = await visit(home);
  const asks = [['Front door', 'Unlock: Front door', 'Unlock the front door?', 'Unlock', 'unlock'], ['Garage door', 'Open: Garage door', 'Open the garage door?', 'Open', 'open'], ['House alarm', 'Disarm: House alarm', 'Disarm the house alarm?', 'Disarm', 'disarm']];
  for (const [name, button, question, yes, action] of asks) {
    home.calls.length = 0;
    await press(card(page, name), button);
    const asked = page.getByRole('alertdialog', { name: question });
    await asked.waitFor();
    if (name === 'Front door') {
      await accessible(page, 'a question before a lock opens');
      await shot(page, 'devices-unlock');
    }
    await press(asked, 'No');
    await counted(asked, 0);
    assert.deepEqual(home.controlled(), [], `${name}: no means no`);
    // The focus is back where it was.
    await page.waitForFunction((label) => document.activeElement?.getAttribute('aria-label') === label, button);
    await press(card(page, name), button);
    await press(page.getByRole('alertdialog', { name: question }), yes);
    await becomes(() => home.controlled(), [{ thing: home.things.find((one) => one.name === name).address, action }]);
  }
  await card(page, 'Front door').getByText('Unlocked').waitFor();
  // Locking and closing ask nobody.
  home.calls.length = 0;
  await press(card(page, 'Front door'), 'Lock: Front door');
  await press(card(page, 'Garage door'), 'Close: Garage door');
  await becomes(() => home.controlled().map((one) => one.action), ['lock', 'close']);
  assert.deepEqual(problems, []);
  await context.close();
});

test('sliders, targets, modes, players and scenes say what they are told', async () => {
  const home = demoHome();
  const { page, context, problems } = await visit(home, { size: desktop });
  const told = async (...wanted) => {
    await becomes(() => home.controlled(), wanted);
    home.calls.length = 0;
  };
  await page.getByRole('slider', { name: 'Brightness: Ceiling light' }).fill('25');
  await told({ thing: 'ha:light.ceiling', action: 'set_level', level: 25 });
  await card(page, 'Ceiling light').getByText('On · 25 %').waitFor();
  await press(card(page, 'Thermostat'), 'Warmer: Thermostat');
  await press(card(page, 'Thermostat'), 'Warmer: Thermostat');
  await press(card(page, 'Thermostat'), 'Warmer: Thermostat');
  await told({ thing: 'ha:climate.living', action: 'set_temperature', temperature: 22.5 });
  await page.getByRole('combobox', { name: 'Mode: Thermostat' }).selectOption('off');
  await told({ thing: 'ha:climate.living', action: 'set_mode', text: 'off' });
  await press(card(page, 'Sonos'), 'Pause: Sonos');
  await told({ thing: 'ha:media_player.sonos', action: 'pause' });
  await press(card(page, 'Sonos'), 'Play: Sonos');
  await press(card(page, 'Sonos'), 'Next: Sonos');
  await told({ thing: 'ha:media_player.sonos', action: 'play' }, { thing: 'ha:media_player.sonos', action: 'next' });
  await press(card(page, 'Blinds'), 'Stop: Blinds');
  await told({ thing: 'ha:cover.blinds', action: 'stop' });
  await press(card(page, 'Movie night'), 'Start: Movie night');
  await told({ thing: 'ha:scene.movie', action: 'activate' });
  // The lights of a room at once.
  await press(card(page, 'Reading lamp'), 'Details: Reading lamp');
  await page.getByRole('dialog').getByRole('group', { name: 'On for' }).getByRole('button', { name: '15 min' }).click();
  await told({ thing: 'ha:light.reading', action: 'turn_on', for: 'PT15M' });
  await page.getByRole('dialog').getByText('Reading lamp is on for 15 min.').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Lights off: Living room' }).click();
  await told({ area: 'Living room', kind: 'light', action: 'turn_off' });
  assert.deepEqual(problems, []);
  await context.close();
});

test('a device is renamed, placed and hidden from its sheet', async () => {
  const home = demoHome();
  const { page, context, problems } = await visit(home);
  await press(card(page, 'Boiler'), 'Details: Boiler');
  const sheet = page.getByRole('dialog');
  await press(sheet, 'Name, area and more');
  await sheet.getByLabel(/^Name(required)?$/).fill('');
  await sheet.getByText('Every device needs a name.').waitFor();
  await sheet.getByLabel(/^Name(required)?$/).fill('Water heater');
  await sheet.getByLabel('Also called 1').fill('boiler');
  await sheet.getByLabel('Area', { exact: true }).fill('Bathroom');
  await sheet.getByText('Voice may use it').click();
  await press(sheet, 'Save');
  await becomes(() => home.calls.filter(([name]) => name === 'update_thing').map(([, args]) => args), [{ thing: 'mqtt:boiler', name: 'Water heater', aliases: ['boiler'], area: 'Bathroom', voice: false }]);
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Bathroom' }).waitFor();
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Details: Water heater');
  assert.deepEqual(problems, []);
  await context.close();
});

test('search with /, what is on, one area; a viewer only looks', async () => {
  const home = demoHome();
  const { page, context, problems } = await visit(home, { size: desktop });
  const names = () => page.locator('.thing-name').allTextContents();
  await card(page, 'Boiler').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('cellar temp');
  await becomes(names, ['Cellar temperature']);
  await page.getByRole('status').getByText('1 device').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'On now' }).click();
  await becomes(async () => (await names()).includes('Boiler'), false);
  await card(page, 'Sonos').waitFor();
  await page.getByRole('button', { name: 'On now' }).click();
  await page.getByRole('combobox', { name: 'Area' }).selectOption('Hall');
  await becomes(names, ['hall lamp', 'Front door', 'House alarm', 'porch door']);
  assert.deepEqual(problems, []);
  await context.close();
  const viewer = await staged(browser, { ...demoHome().answers, 'GET /api/v1/session': good({ ...owner, role: 'viewer' }) }, { at: '#/home/devices' });
  await card(viewer.page, 'Boiler').waitFor();
  await counted(viewer.page.getByRole('switch'), 0);
  await counted(viewer.page.getByRole('button', { name: 'Unlock: Front door' }), 0);
  await viewer.context.close();
});

test('a home of 2,000 lists its areas, and one area page by page', async () => {
  const home = demoHome(large(2000, 25));
  const { page, context, problems } = await visit(home);
  await page.getByRole('button', { name: /^Area 03/ }).waitFor();
  await counted(page.locator('.thing'), 0);
  await counted(page.locator('.thing-areas li'), 25);
  await accessible(page, 'a large home');
  await fits(page, phone, 'a large home');
  await shot(page, 'devices-large');
  await page.getByRole('button', { name: /^Area 03/ }).click();
  await counted(page.locator('.thing'), 60);
  await page.getByRole('button', { name: 'Show 20 more' }).click();
  await counted(page.locator('.thing'), 80);
  await page.getByRole('switch', { name: 'Light 3', exact: true }).tap();
  // What one uses comes first from then on.
  await page.getByRole('combobox', { name: 'Area' }).selectOption('*');
  await page.reload();
  await page.getByRole('region', { name: 'Often used' }).getByRole('switch', { name: 'Light 3', exact: true }).waitFor();
  // Five hundred events a second draw their own cards only, and read nothing by themselves.
  home.calls.length = 0;
  await page.evaluate(() => {
    for (let n = 0; n < 500; n++) globalThis.tell('thing:changed', { thing: `ha:light.l${n + 100}`, name: `Light ${n}`, kind: 'light', value: 'on', active: true });
  });
  await page.getByRole('searchbox', { name: 'Search devices' }).fill('light 1999');
  await counted(page.locator('.thing'), 1);
  assert.ok(home.calls.length < 12, `${home.calls.length} calls`);
  assert.deepEqual(problems, []);
  await context.close();
});

test('an empty home says how things come there, and its links open the forms', async () => {
  for (const [name, size] of Object.entries(sizes)) {
    const home = demoHome([]);
    const { page, context, problems } = await visit(home, { size });
    await page.getByRole('heading', { name: 'Your home goes here' }).waitFor();
    await accessible(page, 'an empty home');
    await fits(page, size, 'an empty home');
    await shot(page, `devices-empty-${name}`);
    const links = await page.locator('.things-empty a').evaluateAll((all) => all.map((a) => [a.innerText, a.getAttribute('href')]));
    assert.deepEqual(links, [['Name a pin', '#/home/pins'], ['Connect Home Assistant', '#/device/services/home_assistant/new'], ['Connect MQTT', '#/device/services/mqtt/new']]);
    assert.deepEqual(problems, []);
    await context.close();
  }
});

test('what waits for a decision reads in plain words', async () => {
  const asked = (id, tool, args, change = {}) => ({
    id, nonce: 'n', tool, arguments: args, about: 'Control things of the home', risk: 'actuate', rule: 'opens', reason: 'it opens, unlocks or disarms something', tainted: false, state: 'pending', userId: 'owner', runId: 'r1',
    conversationId: null, toolCallId: id, channel: 'schedule', version: 1, pattern: args, askedAt: Date.now(), waitsUntil: Date.now() + 120_000, expiresAt: Date.now() + 120_000, ...change,
  });
  for (const [tool, args, question] of [
    ['control_thing', { thing: 'ha:lock.front_door', action: 'unlock' }, 'Unlock the front door?'],
    ['control_thing', { thing: 'ha:cover.garage', action: 'open', for: 'PT10M' }, 'Open the garage door for 10 minutes?'],
    ['control_thing', { area: 'Hall', kind: 'lock', action: 'unlock' }, 'Unlock every lock in Hall?'],
    ['control_thing', { things: ['ha:lock.front_door', 'ha:cover.garage'], action: 'open' }, 'Open the front door and the garage door?'],
    ['ha_call_service', { domain: 'alarm_control_panel', service: 'alarm_disarm', entity: 'alarm_control_panel.home' }, 'Disarm the house alarm?'],
    ['gpio_write', { pin: 17, high: true }, 'Turn on the hall lamp?'],
    ['control_thing', { when: 'when the bell is pressed', arguments: { thing: 'ha:lock.front_door', action: 'unlock' } }, 'Unlock the front door by itself, when the bell is pressed, without asking again?'],
  ]) {
    const one = asked('a1', tool, args);
    const home = demoHome();
    const { page, context, problems } = await staged(browser, { ...home.answers, 'GET /api/v1/approvals': good({ count: 1, approvals: [one] }), 'GET /api/v1/runs': good({ count: 0, runs: [] }) }, { live: true });
    const card = page.locator('.asks');
    await becomes(() => card.locator('.question').innerText(), question);
    if (args.thing === 'ha:lock.front_door') {
      await accessible(page, 'an approval in plain words');
      await shot(page, 'approval-unlock');
    }
    assert.deepEqual(problems, []);
    await context.close();
  }
});

test('the pins: a mark where something speaks against one, and a sheet that says what', async () => {
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const levels = [{ pin: 17, high: true, driven: true, name: 'hall lamp' }, { pin: 2, high: false, driven: false, name: 'Bell', sensor: true }, { pin: 22, high: false, driven: false }];
      const map = [
        { physical: 11, pin: 17, function: '', name: 'hall lamp', kind: 'light', high: true, driven: true, maxOnSeconds: 3600, settings: { pin: 17, kind: 'light', max_on_seconds: 3600 } },
        { physical: 3, pin: 2, function: 'I2C data', name: 'Bell', kind: 'button', high: false, watched: true, changes: { told: 12, coalesced: 3 }, warnings: ['It has a fixed pull-up of 1.8 kΩ and is the I2C bus.'], settings: { pin: 2, kind: 'button', pull: 'up', debounce_ms: 5 } },
        { physical: 15, pin: 22, function: '' },
      ];
      const sent = [];
      const tool = (tool, result) => [`POST /api/v1/tools/${tool}/execute`, (route) => (sent.push([tool, route.request().postDataJSON().arguments]), route.fulfill(good({ tool, result, isError: false })))];
      const { page, context, problems } = await staged(browser, Object.fromEntries([tool('gpio_list', { driver: 'sim', why: '', pins: levels }), tool('pin_map', { driver: 'sim', why: '', pins: map }), tool('configure_pin', {}), tool('name_pin', {})]), { live: true, at: '#/home/pins', size, scheme });
      await page.getByRole('button', { name: /^Pin 2, .*has a warning/ }).waitFor();
      await accessible(page, `pins with a warning, ${name}, ${scheme}`);
      await fits(page, size, `pins with a warning, ${name}, ${scheme}`);
      await shot(page, `pins-warned-${name}-${scheme}`, { fullPage: true });
      await press(page, 'Set up: Bell');
      const sheet = page.getByRole('dialog', { name: 'Bell' });
      await sheet.getByText('It has a fixed pull-up of 1.8 kΩ and is the I2C bus.').waitFor();
      await sheet.getByText(/12 changes since the start, 3 bounces left out/).waitFor();
      // A button is never on for too long.
      await counted(sheet.getByLabel('Longest time on, in seconds'), 0);
      await sheet.getByText('Button and signal').click();
      await becomes(() => sheet.getByLabel('Bounce, in milliseconds').inputValue(), '5');
      await accessible(page, `a pin, ${name}, ${scheme}`);
      await fits(page, size, `a pin, ${name}, ${scheme}`);
      await shot(page, `pin-${name}-${scheme}`);
      await sheet.getByLabel('Bounce, in milliseconds').fill('20');
      await sheet.getByLabel('Resistor inside').selectOption('down');
      sent.length = 0;
      await press(sheet, 'Save');
      await counted(sheet, 0);
      assert.deepEqual(sent.find(([called]) => called === 'configure_pin'), ['configure_pin', { pin: 2, pull: 'down', debounce_ms: 20 }]);
      assert.deepEqual(problems, []);
      await context.close();
    }
  }
});
