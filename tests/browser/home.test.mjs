// Pins and network of the Home room against the real daemon with its simulated board: pins live on two pages at once, by finger and by keyboard.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, api, becomes, counted, desktop, enter, enterAs, fits, hob, launch, phone, schemes, shot, shows, sizes, visit } from './page.mjs';
import { bad, good, staged } from './staged.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
});

const pin = (page, number) => page.getByRole('button', { name: new RegExp(`^Pin ${number},`) });
const shown = (page, number, state) => page.getByRole('button', { name: new RegExp(`^Pin ${number}, .*\\b${state}\\b`) }).waitFor();

async function atHome(opened) {
  await opened.page.goto(`${hob}/#/home/pins`);
  await pin(opened.page, 17).waitFor();
  return opened;
}

test('the header is drawn as it is on the board', async () => {
  const { page, context, problems } = await atHome(await enter(browser));
  const spots = await page.locator('.spot').evaluateAll((all) => all.map((spot) => ({
    name: [spot.querySelector('.name').innerText.trim(), spot.querySelector('small')?.dataset.words].filter(Boolean).join(' '),
    physical: Number(spot.querySelector('.pad').dataset.words),
    x: spot.getBoundingClientRect().x,
    y: spot.getBoundingClientRect().y,
  })));
  assert.equal(spots.length, 40);
  assert.deepEqual(spots.map((spot) => spot.physical), Array.from({ length: 40 }, (_, n) => n + 1));
  const at = Object.fromEntries(spots.map((spot) => [spot.physical, spot.name]));
  for (const [physical, name] of [
    [1, '3.3 V'], [2, '5 V'], [3, 'Pin 2 I²C'], [6, 'ground'], [8, 'Pin 14 UART'], [11, 'Pin 17'], [13, 'Pin 27'], [17, '3.3 V'],
    [19, 'Pin 10 SPI'], [27, 'Pin 0 ID'], [28, 'Pin 1 ID'], [33, 'Pin 13'], [39, 'ground'], [40, 'Pin 21'],
  ]) assert.equal(at[physical], name, `physical pin ${physical}`);
  for (let n = 0; n < 40; n += 2) {
    assert.ok(spots[n].x < spots[n + 1].x && spots[n].y === spots[n + 1].y, `${n + 1} and ${n + 2} are side by side`);
    if (n) assert.ok(spots[n].y > spots[n - 1].y, `${n + 1} is below ${n - 1}`);
  }
  await counted(page.locator('button.spot'), 28);
  assert.deepEqual(problems, []);
  await context.close();
});

test('a tap switches a pin, and another page sees it at once', async () => {
  const one = await atHome(await enter(browser));
  const two = await atHome(await enter(browser, { size: desktop }));
  await shown(one.page, 17, 'off');
  await pin(one.page, 17).tap();
  await shown(one.page, 17, 'on');
  await shown(two.page, 17, 'on');
  await becomes(() => pin(two.page, 17).getAttribute('aria-pressed'), 'true');
  await pin(two.page, 17).click();
  await shown(one.page, 17, 'off');
  await becomes(() => pin(one.page, 17).getAttribute('aria-pressed'), 'false');
  // From now on Hob drives it, and both know.
  for (const { page } of [one, two]) {
    await page.waitForFunction(() => /^Pin 17, place 11 on the header, off$/.test(document.querySelector('[data-pin="17"]').ariaLabel));
    await becomes(() => pin(page, 18).getAttribute('aria-label'), 'Pin 18, place 12 on the header, off, not driven by Hob');
  }
  await api(one.context, 'POST', '/api/v1/tools/gpio_write/execute', { arguments: { pin: 27, high: true } });
  await shown(one.page, 27, 'on');
  await shown(two.page, 27, 'on');
  assert.deepEqual([...one.problems, ...two.problems], []);
  await one.context.close();
  await two.context.close();
});

test('the keyboard walks over the header and switches', async () => {
  const { page, context } = await atHome(await enter(browser, { size: desktop }));
  await pin(page, 17).focus();
  for (const [key, physical] of [['ArrowRight', 12], ['ArrowRight', 12], ['ArrowDown', 16], ['ArrowLeft', 15], ['ArrowUp', 13], ['ArrowUp', 11], ['ArrowUp', 7]]) {
    await page.keyboard.press(key);
    assert.equal(await page.evaluate(() => Number(document.activeElement.dataset.physical)), physical, key);
  }
  await page.keyboard.press('Space');
  await shown(page, 4, 'on');
  // The event may come before the answer; until then the pin takes no other press.
  await page.locator('[data-pin="4"]:not([aria-busy])').waitFor();
  await page.keyboard.press('Enter');
  await shown(page, 4, 'off');
  await context.close();
});

test('both sizes, light and dark: nothing sticks out and axe finds nothing', async () => {
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const { page, context, problems } = await atHome(await enter(browser, { size, scheme }));
      await accessible(page, `pins, ${name}, ${scheme}`);
      await fits(page, size, `pins, ${name}, ${scheme}`);
      await shot(page, `pins-${name}-${scheme}`);
      assert.deepEqual(problems, []);
      await context.close();
    }
  }
});

test('a viewer sees the pins, and is told why they do not switch', async () => {
  const { page, context } = await atHome(await enterAs(browser, 'viewer'));
  await shown(page, 27, 'on');
  await pin(page, 27).tap();
  const told = page.getByRole('alert');
  await told.waitFor();
  await shows(() => told.innerText(), /role.*\.$/);
  await shown(page, 27, 'on');
  await accessible(page, 'refused at a pin');
  await shot(page, 'pins-viewer');
  await context.close();
});

test('without pins it says why', async () => {
  const { page, context } = await staged(browser, {
    'POST /api/v1/tools/gpio_list/execute': bad(409, 'unavailable', 'this machine has no header that Hob knows: start it with `--board sim` to try without one'),
    'GET /api/v1/discover': good({ count: 0, found: [], why: 'looking around is switched off (`--no-mdns`)' }),
  }, { at: '#/home/pins' });
  await page.getByText('This machine has no header that Hob knows').waitFor();
  await counted(page.locator('.board'), 0);
  await accessible(page, 'no pins');
  await shot(page, 'pins-none');
  await page.getByRole('link', { name: 'Network' }).click();
  await page.getByText('Looking around is switched off').waitFor();
  await context.close();
});

test('what is on the network is listed, with links that lead there and nowhere else', async () => {
  const found = [
    { name: 'kitchen', kind: 'hob', host: 'kitchen.local', port: 4620, url: 'http://kitchen.local:4620', version: '0.1.0', claimed: true, self: true },
    { name: 'workshop', kind: 'hob', host: 'workshop.local', port: 4620, url: 'http://workshop.local:4620', version: '0.1.0', claimed: false, self: false },
    { name: 'Home', kind: 'home-assistant', host: 'homeassistant.local', port: 8123, url: 'http://homeassistant.local:8123', version: '2026.11', self: false },
    { name: '<b>evil</b>', kind: 'hob', host: 'x.local', port: 1, url: 'javascript:document.title="owned"', self: false },
  ];
  let answers = 0;
  for (const [name, size] of Object.entries(sizes)) {
    const { page, context, problems } = await staged(browser, {
      'POST /api/v1/tools/gpio_list/execute': bad(409, 'unavailable', 'no pins here'),
      'GET /api/v1/discover': (route) => route.fulfill(good({ count: 4, found: answers++ % 2 ? found : found.slice(0, 1) })),
    }, { at: '#/home/network', size });
    await page.getByText('No other devices found.').waitFor();
    await shot(page, `network-empty-${name}`);
    await page.getByRole('button', { name: 'Scan again' }).click();
    const network = page.getByRole('region', { name: 'On the network' });
    await network.getByRole('link', { name: 'workshop' }).waitFor();
    const links = await network.getByRole('link').evaluateAll((all) => all.map((a) => [a.innerText, a.getAttribute('href')]));
    // What leads within the page is not theirs.
    assert.deepEqual(links.filter(([, to]) => !to.startsWith('#')), [['workshop', 'http://workshop.local:4620'], ['Home', 'http://homeassistant.local:8123']]);
    await network.getByText('this device').waitFor();
    await network.getByText('not claimed yet').waitFor();
    await network.getByText('<b>evil</b>').waitFor();
    await accessible(page, 'the network');
    await fits(page, size, 'the network');
    await shot(page, `network-${name}`);
    assert.deepEqual(problems, []);
    await context.close();
  }
});

test('the tabs lead to the pins and the network, and an address names one pin', async () => {
  const { page, context, problems } = await enter(browser, { size: phone });
  await page.goto(hob);
  await visit(page, 'Home');
  const tabs = page.getByRole('navigation', { name: 'Parts of Home' });
  await becomes(() => tabs.getByRole('link').allInnerTexts(), ['Today', 'Devices', 'Rules', 'Pins', 'Network']);
  await tabs.getByRole('link', { name: 'Pins' }).click();
  await pin(page, 17).waitFor();
  await tabs.getByRole('link', { name: 'Network' }).click();
  await page.getByRole('heading', { name: 'On the network' }).waitFor();
  // As the search leads there, and as addresses were before Today.
  await page.goto(`${hob}/#/home/22`);
  await page.waitForFunction(() => document.activeElement?.dataset?.pin === '22');
  assert.deepEqual(problems, []);
  await context.close();
});

test('a pin gets a name, is known by it, and loses it', async () => {
  const { page, context, problems } = await atHome(await enter(browser, { size: desktop }));
  const names = page.getByRole('region', { name: 'Names' });
  await names.getByText('No pin has a name yet.').waitFor();
  await names.getByRole('button', { name: 'Name a pin' }).click();
  await names.getByRole('button', { name: 'Save' }).click();
  await names.getByText('Choose a pin.').waitFor();
  await names.getByText('Say what is connected to it.').waitFor();
  await accessible(page, 'naming a pin, with errors');
  await names.getByRole('combobox').selectOption('Pin 17');
  await names.getByLabel('What is connected to it').fill('Lamp');
  await shot(page, 'pins-naming');
  await names.getByRole('button', { name: 'Save' }).click();
  await names.locator('.pin-name').getByText('Pin 17').waitFor();
  await becomes(() => names.locator('li b').allInnerTexts(), ['Lamp']);
  // Another pin cannot have that name.
  await names.getByRole('button', { name: 'Name a pin' }).click();
  await names.getByRole('combobox').selectOption('Pin 4');
  await names.getByLabel('What is connected to it').fill('lamp');
  await names.getByRole('button', { name: 'Save' }).click();
  await names.getByText('Pin 17 is called Lamp already: choose another name.').waitFor();
  await names.getByLabel('What is connected to it').fill('Door');
  await names.getByText('Only read it').click();
  await names.getByRole('button', { name: 'Save' }).click();
  await becomes(() => names.locator('li').allInnerTexts().then((all) => all.map((one) => one.replace(/\s+/g, ' ').trim())), ['Door Pin 4 · sensor', 'Lamp Pin 17']);
  await names.getByRole('button', { name: 'Edit: Door' }).click();
  await names.getByLabel('What is connected to it').fill('Front door');
  await names.getByRole('button', { name: 'Save' }).click();
  await names.getByText('Front door', { exact: true }).waitFor();
  await fits(page, desktop, 'named pins');
  await accessible(page, 'named pins');
  await shot(page, 'pins-named');
  await names.getByRole('button', { name: 'Remove the name: Front door' }).click();
  await counted(names.locator('li'), 1);
  await api(context, 'POST', '/api/v1/tools/name_pin/execute', { arguments: { pin: 17, name: '' } });
  await counted(names.locator('li'), 0, 'a name that is dropped elsewhere goes here too');
  assert.deepEqual(problems, []);
  await context.close();
});
