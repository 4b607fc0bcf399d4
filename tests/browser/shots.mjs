// Makes the pictures from the real daemon: a short conversation and every room, on a phone and on a desktop, light and dark.
// `hob-*` are the README's; `room-*` are for the eye. A fresh daemon is claimed with HOB_CLAIM; one that has an owner is signed in to with HOB_TOKEN.
import { api, ask, enter, exchanges, hob, launch, message, need, open, schemes, shot, sizes } from './page.mjs';

need('SHOTS');
const FACTS = [
  ['The gate code for deliveries is 4417', 'fact', ['house']],
  ['Jonas likes the hall at 19 °C in the evening', 'preference', ['heating']],
  ['The chimney was swept in September', 'event', ['heating', 'house']],
];

const browser = await launch();
try {
  const first = process.env.HOB_TOKEN ? await open(browser) : await enter(browser);
  if (process.env.HOB_TOKEN) await api(first.context, 'POST', '/api/v1/session', { token: process.env.HOB_TOKEN });
  await first.page.goto(hob);
  await message(first.page).waitFor();
  await ask(first.page, 'remember that Marta serviced the boiler on 3 October');
  await ask(first.page, 'who looked after the heating?');
  await ask(first.page, 'turn on pin 17');
  const execute = (tool, args) => api(first.context, 'POST', `/api/v1/tools/${tool}/execute`, { arguments: args });
  for (const [content, type, tags] of FACTS) await execute('remember', { content, type, tags });
  await execute('gpio_write', { pin: 27, high: true });
  await execute('gpio_write', { pin: 22, high: false });
  const storageState = await first.context.storageState();
  await first.context.close();

  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const { page, context } = await open(browser, { size, scheme, storageState, scale: 2 });
      await page.goto(hob);
      const last = exchanges(page).nth(2).locator('details.did summary').first();
      await last.waitFor();
      if (name === 'desktop') await last.click();
      await page.evaluate(() => {
        document.activeElement?.blur();
        scrollTo(0, document.documentElement.scrollHeight);
      });
      await shot(page, `hob-${name}-${scheme}`);
      for (const [what, hash, ready] of [
        ['home', 'home', '[data-pin="17"][aria-pressed="true"]'],
        ['tools', 'tools', 'main.tools a'],
        ['tool', 'tools/gpio_write', 'main.tools form'],
        ['memory', 'memory', 'main.memory li'],
        ['device', 'device', 'main.device section'],
      ]) {
        await page.goto(`${hob}/#/${hash}`);
        await page.locator(ready).first().waitFor();
        // What is asked of the device settles: a look at the network takes the longest.
        await page.waitForTimeout(2500);
        await page.evaluate(() => {
          document.activeElement?.blur();
          scrollTo(0, 0);
        });
        await shot(page, `room-${what}-${name}-${scheme}`);
      }
      await context.close();
    }
  }
} finally {
  await browser.close();
}
