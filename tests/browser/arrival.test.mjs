// The first evening: claim, four short steps that can be passed over and resumed, three things to try, a person who joins with a link,
// and one clock in every browser: the household's.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, api, ask, answer, becomes, counted, desktop, fits, hob, launch, message, need, open, phone, schemes, shot, shows, sizes } from './page.mjs';

const link = need('HOB_CLAIM');
const PASSWORD = 'four words in a row';

let browser, context, page, problems;

before(async () => {
  browser = await launch();
  ({ context, page, problems } = await open(browser, { size: phone, timezoneId: 'Europe/Vienna' }));
});

after(async () => {
  await browser?.close();
});

const button = (at, name) => at.getByRole('button', { name, exact: true });
const title = (at, name) => at.getByRole('heading', { level: 1, name });
const steps = async () => (await api(context, 'GET', '/api/v1/arrival')).steps.map(({ state }) => state);
const home = () => api(context, 'GET', '/api/v1/home');

/** Looks at a step in both sizes and schemes, as the owner in further browsers. */
async function everywhere(what, heading, prepare) {
  const storageState = await context.storageState();
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const other = await open(browser, { size, scheme, storageState, timezoneId: 'Europe/Vienna' });
      await other.page.goto(hob);
      await title(other.page, heading).waitFor();
      await prepare?.(other.page);
      await accessible(other.page, `${what}, ${name}, ${scheme}`);
      await fits(other.page, size, `${what}, ${name}, ${scheme}`);
      await shot(other.page, `arrival-${what}-${name}-${scheme}`, { fullPage: true });
      assert.deepEqual(other.problems, []);
      await other.context.close();
    }
  }
}

test('after the claim, the first step asks for a name and a password', async () => {
  await page.goto(link);
  await page.getByRole('heading', { name: 'Claim this Hob' }).waitFor();
  await accessible(page, 'the claim screen');
  await shot(page, 'arrival-claim-phone-light');
  await button(page, 'Claim this Hob').click();
  await title(page, 'Hello! What’s your name?').waitFor();
  assert.equal(new URL(page.url()).hash, '', 'the code has gone from the address');
  await page.getByText('Step 1 of 4').waitFor();
  await page.getByText(/^At least 10 characters\./).waitFor();
  await everywhere('you', 'Hello! What’s your name?');
});

test('without a password there is a plain warning, with the way back in', async () => {
  await page.getByLabel('Your name').fill('Marta');
  await button(page, 'Continue').click();
  await page.getByRole('heading', { name: 'Go on without a password?' }).waitFor();
  await page.getByText('this browser is your only way in').waitFor();
  await page.getByText('hob token new owner').waitFor();
  await accessible(page, 'the warning');
  await fits(page, phone, 'the warning');
  await shot(page, 'arrival-warning-phone-light');
  assert.deepEqual(await steps(), ['open', 'open', 'open', 'open'], 'nothing is decided yet');
  await button(page, 'Choose a password').click();
  await becomes(() => page.getByLabel('Your name').inputValue(), 'Marta', 'what was typed is still there');
  await button(page, 'Skip for now').click();
  await page.getByRole('heading', { name: 'Go on without a password?' }).waitFor();
  await button(page, 'Choose a password').click();
  await page.getByRole('textbox', { name: 'Password' }).fill('short');
  await button(page, 'Continue').click();
  await page.getByRole('alert').getByText('Use at least 10').waitFor();
  await page.getByLabel('Your name').fill('');
  await button(page, 'Continue').click();
  await page.getByRole('alert').getByText('Enter a name').waitFor();
  await page.getByLabel('Your name').fill('Marta');
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await button(page, 'Continue').click();
  await title(page, 'Your home').waitFor();
  const session = await api(context, 'GET', '/api/v1/session');
  assert.deepEqual([session.person, session.hasPassword], ['Marta', true]);
});

test('a reload and another browser go on where it was left', async () => {
  await page.reload();
  await title(page, 'Your home').waitFor();
  await page.getByText('Step 2 of 4').waitFor();
  const other = await open(browser, { size: desktop, timezoneId: 'Europe/Vienna' });
  await other.page.goto(hob);
  await other.page.getByLabel('Name').fill('marta');
  await other.page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await other.page.keyboard.press('Enter');
  await title(other.page, 'Your home').waitFor();
  await button(other.page, 'Back').click();
  await title(other.page, 'Hello! What’s your name?').waitFor();
  await other.page.getByText('You already have a password.').waitFor();
  await other.context.close();
});

test('the home takes the browser’s time zone, or another', async () => {
  await becomes(() => page.getByLabel('Time zone').inputValue(), 'Europe/Vienna');
  await page.getByText(/^It is \d\d:\d\d there now\.$/).waitFor();
  await becomes(() => page.getByRole('radio', { name: /Metric/ }).isChecked(), true);
  await everywhere('home', 'Your home');
  // An address that refuses says so, and nothing is lost.
  await page.route('**/api/v1/home', (route) => route.fulfill({ status: 400, json: { success: false, error: { code: 'bad_args', message: '`Europe/Vienna` is not a time zone: use a name such as Europe/Vienna' } } }), { times: 1 });
  await page.getByLabel('What do you call it?').fill('The Old Mill');
  await button(page, 'Continue').click();
  await page.getByRole('alert').getByText('is not a time zone').waitFor();
  await page.getByLabel('Time zone').selectOption('Asia/Tokyo');
  await page.getByRole('radio', { name: /Imperial/ }).check();
  await button(page, 'Continue').click();
  await title(page, 'Who lives here?').waitFor();
  assert.deepEqual(await home(), { name: 'The Old Mill', timeZone: 'Asia/Tokyo', units: 'imperial' });
});

let invitation;

test('who lives here gets a link to join', async () => {
  await button(page, 'Add').click();
  await page.getByRole('alert').getByText('Enter a name.').waitFor();
  await page.getByLabel('Name', { exact: true }).fill('Ida');
  await button(page, 'Add').click();
  const shown = page.getByRole('region', { name: 'Ida’s link' });
  await shown.waitFor();
  invitation = (await shown.locator('code').first().innerText()).trim();
  assert.match(invitation, /^http:\/\/127\.0\.0\.1:\d+\/#join=([0-9A-Z]{4}-){4}[0-9A-Z]{4}$/);
  await shown.getByText('Works once, until').waitFor();
  await shown.getByText('Only this device can open the page').waitFor();
  await page.getByLabel('Name', { exact: true }).fill('ida');
  await button(page, 'Add').click();
  await page.getByRole('alert').waitFor();
  // A child: what they may do is chosen, and the first link stays.
  await page.getByLabel('Name', { exact: true }).fill('Ben');
  await page.getByRole('radio', { name: /^Only look/ }).check();
  await button(page, 'Add').click();
  await page.getByRole('region', { name: 'Ben’s link' }).waitFor();
  await becomes(() => shown.locator('code').first().innerText().then((words) => words.trim()), invitation);
  await page.getByLabel('Name', { exact: true }).fill('Tom');
  await becomes(() => page.getByRole('radio', { name: /^Look and add/ }).isChecked(), true, 'not what was chosen for another');
  await button(page, 'Add').click();
  await page.getByRole('region', { name: 'Tom’s link' }).waitFor();
  await counted(page.locator('.invite'), 3);
  const roles = Object.fromEntries((await api(context, 'GET', '/api/v1/people')).people.map(({ name, role }) => [name, role]));
  assert.deepEqual([roles.Ida, roles.Ben, roles.Tom], ['member', 'viewer', 'member']);
  await page.getByText(/can only look/).waitFor();
  await accessible(page, 'people with a link');
  await fits(page, phone, 'people with a link');
  await shot(page, 'arrival-link-phone-light', { fullPage: true });
  await everywhere('people', 'Who lives here?');
});

test('Ida joins with it, once', async () => {
  for (const scheme of schemes) {
    const { page: ida, context: theirs, problems: wrong } = await open(browser, { size: phone, scheme });
    await ida.goto(invitation);
    await title(ida, 'Welcome to The Old Mill').waitFor();
    await ida.getByText('Hello Ida!').waitFor();
    await button(ida, 'Join').click();
    await ida.getByRole('alert').getByText('Use at least 10').waitFor();
    await accessible(ida, `join, ${scheme}`);
    await fits(ida, phone, `join, ${scheme}`);
    await shot(ida, `arrival-join-phone-${scheme}`);
    if (scheme === 'dark') {
      await ida.getByRole('textbox', { name: 'Your password' }).fill('told at breakfast');
      await ida.keyboard.press('Enter');
      await ida.getByRole('navigation', { name: 'Rooms' }).waitFor();
      assert.equal(new URL(ida.url()).hash.includes('join'), false);
      assert.equal((await api(theirs, 'GET', '/api/v1/session')).person, 'Ida');
    }
    assert.deepEqual(wrong, []);
    await theirs.close();
  }
  const late = await open(browser, { size: phone });
  await late.page.goto(invitation);
  await title(late.page, 'This link doesn’t work any more').waitFor();
  await accessible(late.page, 'a used link');
  await shot(late.page, 'arrival-used-link-phone-light');
  await button(late.page, 'Sign in instead').click();
  await title(late.page, 'Sign in').waitFor();
  await late.context.close();
});

test('a link opened where somebody else is signed in says so', async () => {
  const { id } = (await api(context, 'GET', '/api/v1/people')).people.find(({ name }) => name === 'Ida');
  const { code } = await api(context, 'POST', `/api/v1/people/${id}/invitation`);
  const other = await open(browser, { storageState: await context.storageState() });
  await other.page.goto(`${hob}/#join=${code}`);
  await other.page.getByText('Marta is signed in here.').waitFor();
  await other.context.close();
});

test('a step that is passed over stays open for later, and the last card offers what works here', async () => {
  await page.reload();
  await title(page, 'Who lives here?').waitFor();
  await page.getByText('has joined').waitFor();
  await button(page, 'That’s all').click();
  await title(page, 'What answers?').waitFor();
  await everywhere('answers', 'What answers?');
  await button(page, 'Skip for now').click();
  await title(page, 'You’re all set, Marta').waitFor();
  assert.deepEqual(await steps(), ['done', 'done', 'done', 'passed']);
  await page.getByText('What you skipped is waiting under Device').waitFor();
  await everywhere('tries', 'You’re all set, Marta');
});

test('each of the three works on this device without a model', async () => {
  const tries = await page.locator('.tries b').allInnerTexts();
  assert.equal(tries.length, 3);
  await page.getByRole('button', { name: new RegExp(`^${tries[0]}`) }).click();
  await becomes(() => message(page).inputValue(), tries[0]);
  await message(page).press('Enter');
  await page.getByRole('timer').first().waitFor();
  for (const [words, said] of [[tries[1], /milk/i], [tries[2], /09:00/]]) {
    const exchange = await ask(page, words);
    await shows(() => answer(exchange).innerText(), said);
    assert.doesNotMatch(await answer(exchange).innerText(), /don.t know|can.t|cannot/i);
  }
  assert.equal((await api(context, 'GET', '/api/v1/session')).arriving, false);
  await page.reload();
  await message(page).waitFor();
  assert.deepEqual(problems, []);
});

test('Device goes on with what was passed over, by keyboard alone', async () => {
  await page.setViewportSize(desktop);
  await page.goto(`${hob}/#/device`);
  const part = page.getByRole('region', { name: 'Set-up', exact: true });
  await part.getByText('skipped').waitFor();
  await part.getByRole('button', { name: 'Continue set-up' }).focus();
  await page.keyboard.press('Enter');
  await title(page, 'What answers?').waitFor();
  const press = async (name) => {
    for (let n = 0; n < 60; n += 1) {
      await page.keyboard.press('Tab');
      const here = await page.evaluate(() => document.activeElement?.textContent?.trim());
      if (here === name) return page.keyboard.press('Enter');
    }
    throw new Error(`Tab does not reach ${name}`);
  };
  await press('Back');
  await title(page, 'Who lives here?').waitFor();
  await becomes(() => page.evaluate(() => document.activeElement?.tagName), 'H1', 'the new step has the focus');
  await press('That’s all');
  await title(page, 'What answers?').waitFor();
  await press('Skip for now');
  await title(page, 'You’re all set, Marta').waitFor();
  await press('Go to Hob');
  await message(page).waitFor();
});

test('every browser shows the household’s clock', async () => {
  const run = (tool, args) => api(context, 'POST', `/api/v1/tools/${tool}/execute`, { arguments: args });
  // Half past one at night in Tokyo is the evening before in New York.
  await api(context, 'PATCH', '/api/v1/home', { timeZone: 'Asia/Tokyo' });
  const storageState = await context.storageState();
  const zones = ['America/New_York', 'Asia/Tokyo', 'Pacific/Kiritimati'];
  const seen = [];
  await run('add_task', { title: 'Sweep the chimney', dueDate: '2031-03-01T01:30' });
  for (const timezoneId of zones) {
    const other = await open(browser, { size: desktop, timezoneId, storageState });
    // A fixed moment: 23:40 in Tokyo on 30 December.
    await other.page.clock.setFixedTime(new Date('2030-12-30T14:40:00Z'));
    await other.page.goto(`${hob}/#/memory/tasks`);
    const task = other.page.locator('li', { hasText: 'Sweep the chimney' });
    await task.waitFor();
    const due = await task.innerText();
    await other.page.goto(`${hob}/#/memory/calendar`);
    const today = await other.page.locator('[aria-current="date"]').first().innerText();
    await other.page.goto(`${hob}/#/device/activity`);
    const call = other.page.locator('li', { hasText: 'add_task' }).locator('time').last();
    await call.waitFor();
    seen.push([due, today, await call.innerText()]);
    await other.context.close();
  }
  assert.match(seen[1][0], /01:30/);
  assert.match(seen[1][1], /30/);
  assert.deepEqual(seen[0], seen[1]);
  assert.deepEqual(seen[2], seen[1]);
});
