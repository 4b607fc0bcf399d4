// A person with the printed link, a phone and a desktop, against the real daemon: claim, ask, look inside, reload, search, sign out.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import {
  accessible, answer, ask, becomes, claim, counted, desktop, exchanges, fits, hob, launch, message, need, open, phone, schemes, shot, shows,
  sizes, visit,
} from './page.mjs';

const link = need('HOB_CLAIM');
let browser, context, page, problems;

before(async () => {
  browser = await launch();
  ({ context, page, problems } = await open(browser));
});

after(async () => {
  await browser?.close();
});

test('the first load is light, whole, and stays on the device', async () => {
  const bodies = [];
  const collect = (response) => bodies.push(response.body().catch(() => Buffer.alloc(0)));
  page.on('response', collect);
  await page.goto(hob, { waitUntil: 'networkidle' });
  page.off('response', collect);
  const weight = (await Promise.all(bodies)).reduce((sum, body) => sum + gzipSync(body).length, 0);
  assert.ok(weight > 1000 && weight < 80_000, `first load weighs ${weight} bytes compressed`);
  await page.getByRole('heading', { name: 'Claim this Hob' }).waitFor();
  assert.deepEqual(problems, []);
});

test('the page allows nothing from elsewhere', async () => {
  const response = await page.request.get(hob);
  const policy = response.headers()['content-security-policy'] ?? '';
  assert.match(policy, /default-src 'self'/);
  assert.doesNotMatch(policy, /unsafe-/);
});

test('a wrong code is told so in a sentence', async () => {
  await page.goto(`${hob}/#claim=AAAAA-AAAAA-AAAAA`);
  await page.reload();
  await page.getByRole('button', { name: 'Claim this Hob' }).click();
  const told = page.getByRole('alert');
  await told.waitFor();
  await shows(() => told.innerText(), /code is wrong.*\./);
  await accessible(page, 'the claim screen');
  await fits(page, phone, 'the claim screen');
  await shot(page, 'claim-wrong');
});

test('the printed link claims with one press and leaves no code in the address', async () => {
  await claim(page, link);
  assert.equal(new URL(page.url()).hash, '');
  await page.getByText('Ask, tell, or get something done').waitFor();
  await accessible(page, 'the empty room');
  await fits(page, phone, 'the empty room');
  await shot(page, 'empty');
});

test('it works out a sum, and says that it did', async () => {
  const exchange = await ask(page, 'what is 12 * 12?');
  await shows(() => answer(exchange).innerText(), /144/);
  // Words of engineers are behind the line: what answered, and how long it took.
  assert.doesNotMatch(await exchange.innerText(), /reflex|\d ms|JSON/);
});

test('it remembers, and the line of what it did opens', async () => {
  await ask(page, 'remember that Marta serviced the boiler on 3 October');
  const exchange = await ask(page, 'who looked after the heating?');
  await shows(() => answer(exchange).locator('.words').innerText(), /Marta/);
  const line = exchange.locator('details.did').first();
  const summary = line.locator('> summary');
  await shows(() => summary.innerText(), /looked in memory/);
  await summary.click();
  assert.ok(await line.getByText('Arguments', { exact: true }).isVisible());
  await shows(() => line.innerText(), /Marta/);
  assert.doesNotMatch(await line.innerText(), /reflex|\d ms|JSON|recall/);
  await line.getByText('Details', { exact: true }).click();
  await shows(() => line.innerText(), /Took\s+\d+(\.\d)? m?s\s+Answered by\s+this device alone/);
  await accessible(page, 'an open tool line');
  await shot(page, 'tool-line');
  await summary.click();
  assert.ok(!(await line.getByText('Arguments', { exact: true }).isVisible()));
});

test('it sets a pin', async () => {
  const exchange = await ask(page, 'turn on pin 17');
  await shows(() => answer(exchange).innerText(), /17/);
  await exchange.locator('details.did').first().waitFor();
  await counted(exchange.locator('details.did.failed'), 0, await exchange.innerText());
});

test('Shift+Enter is a new line, Enter sends', async () => {
  await message(page).fill('what is');
  await message(page).press('Shift+Enter');
  await message(page).pressSequentially('2 + 2?');
  await becomes(() => message(page).inputValue(), 'what is\n2 + 2?');
  await message(page).fill('');
});

test('a reload shows the conversation again', async () => {
  await page.reload();
  const first = exchanges(page).first();
  await first.waitFor();
  await counted(exchanges(page), 4);
  await shows(() => first.innerText(), /12 \* 12[^]*144/);
  const line = exchanges(page).nth(2).locator('details.did').first();
  await line.locator('> summary').click();
  await shows(() => line.innerText(), /Marta/);
  await line.locator('> summary').click();
});

test('both sizes, light and dark: nothing sticks out and axe finds nothing', async () => {
  const storageState = await context.storageState();
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const other = await open(browser, { size, scheme, storageState });
      await other.page.goto(hob);
      await exchanges(other.page).nth(3).waitFor();
      const what = `the conversation, ${name}, ${scheme}`;
      await accessible(other.page, what);
      await fits(other.page, size, what);
      await shot(other.page, `talk-${name}-${scheme}`);
      await other.page.getByRole('button', { name: 'Conversations' }).click();
      await other.page.getByRole('dialog').locator('.line').first().waitFor();
      await accessible(other.page, `the drawer, ${name}, ${scheme}`);
      await fits(other.page, size, `the drawer, ${name}, ${scheme}`);
      await shot(other.page, `drawer-${name}-${scheme}`);
      assert.deepEqual(other.problems, []);
      await other.context.close();
    }
  }
});

test('a new conversation is empty, and the old one is in the drawer', async () => {
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.getByText('Ask, tell, or get something done').waitFor();
  await page.getByRole('button', { name: 'Conversations' }).click();
  await page.getByRole('dialog').locator('.line').first().click();
  await exchanges(page).nth(3).waitFor();
});

const drawer = (page) => page.getByRole('dialog', { name: 'Conversations' });

test('the conversations are searched, by what was said in them too', async () => {
  await page.getByRole('button', { name: 'New conversation' }).click();
  await ask(page, 'what is 3 * 5?');
  await page.getByRole('button', { name: 'Conversations' }).click();
  const lines = drawer(page).locator('.line');
  await lines.nth(1).waitFor();
  await drawer(page).getByRole('searchbox', { name: 'Search conversations' }).fill('boiler');
  await lines.nth(1).waitFor({ state: 'detached' });
  await shows(() => lines.innerText(), /12 \* 12[^]*boiler/, 'the excerpt shows where');
  await accessible(page, 'a search in the conversations');
  await fits(page, phone, 'a search in the conversations');
  await shot(page, 'search');
  await drawer(page).getByRole('searchbox').fill('nobody ever said this');
  await drawer(page).getByText('Nothing found').waitFor();
  await shot(page, 'search-nothing');
  await page.keyboard.press('Escape');
});

test('a conversation is deleted, after a question', async () => {
  await page.getByRole('button', { name: 'Conversations' }).click();
  const lines = drawer(page).locator('.line');
  await lines.nth(1).waitFor();
  await page.getByRole('button', { name: 'Delete “what is 3 * 5?”' }).click();
  const question = page.getByRole('alertdialog');
  await question.getByText('cannot be undone').waitFor();
  await accessible(page, 'the question before deleting');
  await fits(page, phone, 'the question before deleting');
  await shot(page, 'delete');
  await question.getByRole('button', { name: 'Keep' }).click();
  await counted(lines, 2);
  await page.getByRole('button', { name: 'Delete “what is 3 * 5?”' }).click();
  await question.getByRole('button', { name: 'Delete' }).click();
  await lines.nth(1).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByText('Ask, tell, or get something done').waitFor();
  await page.getByRole('button', { name: 'Conversations' }).click();
  await lines.first().click();
  await exchanges(page).nth(3).waitFor();
});

test('the keyboard alone reaches and works everything', async () => {
  const other = await open(browser, { size: desktop, storageState: await context.storageState() });
  await other.page.goto(hob);
  await exchanges(other.page).nth(3).waitFor();
  await other.page.keyboard.type('what is 6 * 7?');
  await other.page.keyboard.press('Enter');
  await exchanges(other.page).nth(4).getByText('42').first().waitFor();
  const seen = [];
  await other.page.evaluate(() => document.activeElement?.blur());
  const all = ['New conversation', 'Conversations', 'SUMMARY', 'Message', 'Send', 'Talk', 'Home', 'Tools', 'Memory', 'Device', 'Find'];
  for (let n = 0; n < 60 && !all.every((wanted) => seen.includes(wanted)); n++) {
    await other.page.keyboard.press('Tab');
    seen.push(await other.page.evaluate(() => 
      document.activeElement?.getAttribute('aria-label') ?? (document.activeElement?.closest('nav') ? document.activeElement.innerText.trim() : document.activeElement?.tagName)));
    if (seen.at(-1) === 'SUMMARY') await other.page.keyboard.press('Enter');
  }
  for (const wanted of all) assert.ok(seen.includes(wanted), `${wanted} in ${seen}`);
  await other.page.locator('details.did[open]').first().waitFor();
  await other.context.close();
});

test('signing out leads to the sign-in screen, which knows a wrong token', async () => {
  await visit(page, 'Device');
  await page.getByRole('button', { name: 'Sign out here' }).click();
  // The owner chose no password: they are warned first.
  await page.getByRole('alertdialog').getByText('lose your way back in').waitFor();
  await page.getByRole('button', { name: 'Sign out anyway' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.getByRole('button', { name: 'Use a token instead' }).click();
  await page.getByLabel('Token').fill('not-a-token-of-this-hob-at-all-000000');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await shows(() => page.getByRole('alert').innerText(), /That token is not valid/);
  await accessible(page, 'the sign-in screen');
  await fits(page, phone, 'the sign-in screen');
  await shot(page, 'sign-in-wrong');
  await page.goto(link);
  await page.reload();
  await page.getByText('has already been claimed').waitFor();
  assert.deepEqual(problems, []);
});
