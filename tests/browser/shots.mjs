// Makes the README's pictures from the real daemon: a short conversation on a phone and on a desktop, light and dark.
// A fresh daemon is claimed with HOB_CLAIM; one that has an owner is signed in to with HOB_TOKEN.
import { ask, claim, desktop, exchanges, hob, launch, message, need, open, phone, shot } from './page.mjs';

need('SHOTS');
const browser = await launch();
try {
  const { page, context } = await open(browser);
  if (process.env.HOB_TOKEN) {
    await page.goto(hob);
    await page.getByLabel('Token').fill(process.env.HOB_TOKEN);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await message(page).waitFor();
  } else {
    await claim(page, need('HOB_CLAIM'));
  }
  await ask(page, 'remember that Marta serviced the boiler on 3 October');
  await ask(page, 'who looked after the heating?');
  await ask(page, 'turn on pin 17');
  const storageState = await context.storageState();
  for (const [name, size] of Object.entries({ phone, desktop })) {
    for (const scheme of ['light', 'dark']) {
      const other = await open(browser, { size, scheme, storageState, scale: 2 });
      await other.page.goto(hob);
      const last = exchanges(other.page).nth(2).locator('details.did summary').first();
      await last.waitFor();
      if (size === desktop) await last.click();
      await other.page.evaluate(() => {
        document.activeElement?.blur();
        scrollTo(0, document.documentElement.scrollHeight);
      });
      await shot(other.page, `hob-${name}-${scheme}`);
      await other.context.close();
    }
  }
} finally {
  await browser.close();
}
