// Decisions with the real daemon and a scripted model: allowed, refused, given for good and taken back, a run that rests over a reload, groups, services, activity.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { calls, says, talkWithModel } from './model.mjs';
import { accessible, api, becomes, counted, desktop, enter, enterAs, exchanges, fits, hob, message, phone, shot, shows, unfold, visit } from './page.mjs';

let browser, model, context, page, problems, close;
before(async () => ({ browser, model, context, page, problems, close } = await talkWithModel()));
after(() => close?.());

const button = (place, name) => place.getByRole('button', { name, exact: true });
const card = (tool, on = page) => on.getByRole('group', { name: new RegExp(`^Hob wants to use ${tool}( |$)`) });
const bar = (on = page) => on.getByRole('navigation', { name: 'Rooms' });
const run = async (tool, args = {}) => (await api(context, 'POST', `/api/v1/tools/${tool}/execute`, { arguments: args })).result;
const pending = async () => (await api(context, 'GET', '/api/v1/approvals?state=pending')).approvals;
const kept = async (id) => (await run('list_memories', { limit: 50 })).memories.some((one) => one.id === id);

/** Something that can be forgotten. */
const keep = async (content) => (await run('remember', { content })).id;

/** Says something to which the model answers by this script. */
async function say(words, script) {
  model.script = script;
  await message(page).fill(words);
  await message(page).press('Enter');
}
const over = (words) => page.locator('.words').getByText(words, { exact: true }).waitFor();
/** Stands the model's run still until its next answer is wanted. */
const settled = () => page.locator('article.exchange[data-state="running"]').waitFor({ state: 'detached' });

test('what cannot be undone is asked about; a yes lets it happen once', async () => {
  const id = await keep('the bins go out on Mondays');
  await say('forget about the bins', [calls(['forget', { memoryId: id }]), says('Forgotten.')]);
  await card('forget').waitFor();
  await shows(() => card('forget').innerText(), new RegExp(`Memory id\\s+${id}`));
  await bar().getByRole('link', { name: /^Talk.*1 decision for you$/ }).waitFor();
  await accessible(page, 'a real card');
  await fits(page, phone, 'a real card');
  await shot(page, 'approval-real');
  assert.equal(await kept(id), true);
  await button(card('forget'), 'Allow once').click();
  await page.getByText('You allowed forget', { exact: true }).waitFor();
  await over('Forgotten.');
  assert.equal(await kept(id), false);
  await bar().getByRole('link', { name: 'Talk', exact: true }).waitFor();
});

test('a no is told to the model, and nothing happens', async () => {
  const id = await keep('the key is under the third pot');
  await say('forget about the key', [calls(['forget', { memoryId: id }]), says('Then I leave it.')]);
  await button(card('forget'), 'Deny').click();
  await page.getByText('You denied forget', { exact: true }).waitFor();
  await over('Then I leave it.');
  assert.equal(await kept(id), true);
});

test('a second page sees the card, and what is answered on one is settled on both', async () => {
  const id = await keep('the meter is in the cellar');
  const other = await enter(browser, { size: desktop });
  await other.page.goto(`${hob}/#/home`);
  await other.page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
  await say('forget about the meter', [calls(['forget', { memoryId: id }]), says('Done with the meter.')]);
  await bar(other.page).getByRole('link', { name: /^Talk.*1 decision for you$/ }).click();
  await button(card('forget', other.page), 'Allow once').click();
  await page.getByText('forget was allowed elsewhere').waitFor();
  await over('Done with the meter.');
  assert.deepEqual(other.problems, []);
  await other.context.close();
});

test('always: the same is not asked again, until it is taken back in Tools', async () => {
  await api(context, 'PUT', '/api/v1/autonomy', { level: 'low' });
  const high = { pin: 17, high: true };
  await say('lamp on', [calls(['gpio_write', high]), says('The lamp is on.')]);
  await button(card('gpio_write'), 'Always allow…').click();
  await button(card('gpio_write'), 'These exact values').click();
  await page.getByText('You always allow gpio_write').waitFor();
  await over('The lamp is on.');
  await settled();
  await say('lamp on again', [calls(['gpio_write', high]), says('It is on again.')]);
  await over('It is on again.');
  await settled();
  await say('lamp off', [calls(['gpio_write', { pin: 17, high: false }]), says('Not done.')]);
  await button(card('gpio_write'), 'Deny').click();
  await over('Not done.');
  await settled();
  await page.goto(`${hob}/#/tools/gpio_write`);
  const how = page.getByRole('region', { name: 'When Hob wants to use it' });
  await how.getByText(/^Hob asks first: /).waitFor();
  await shows(() => how.locator('.grants').innerText(), /High\s+yes\s+Pin\s+17/);
  await how.getByText('Every rule, in order').click();
  await how.locator('.decided').getByText('autonomy', { exact: true }).waitFor();
  await accessible(page, 'how a tool stands');
  await fits(page, phone, 'how a tool stands');
  await shot(page, 'standing-real');
  await how.getByRole('button', { name: /^Revoke/ }).click();
  await how.getByText('Hob will ask again.').waitFor();
  await visit(page, 'Talk');
  await say('lamp on once more', [calls(['gpio_write', high]), says('Asked again.')]);
  await button(card('gpio_write'), 'Deny').click();
  await over('Asked again.');
  await settled();
});

test('a pin that nobody answers about is not moved', async () => {
  await say('lamp on, quickly', [calls(['gpio_write', { pin: 22, high: true }]), says('Nobody was there.')]);
  await card('gpio_write').waitFor();
  await page.getByText('Nobody answered in time, so gpio_write was not used').waitFor();
  await over('Nobody was there.');
  assert.equal((await run('gpio_read', { pin: 22 })).high, false);
  await api(context, 'PUT', '/api/v1/autonomy', { level: 'medium' });
});

test('anything else rests, over a reload too, and goes on by itself after the answer', async () => {
  const id = await keep('the ladder is at the neighbours');
  await say('forget about the ladder', [calls(['forget', { memoryId: id }])]);
  await card('forget').waitFor();
  await page.locator('.remark').getByText('Waiting for your decision').waitFor();
  await button(page, 'Send').waitFor();
  await page.reload();
  const last = exchanges(page).last();
  await last.locator('.asks').waitFor();
  await last.locator('.remark').getByText('Waiting for your decision').waitFor();
  await counted(page.getByRole('region', { name: 'Waiting for your decision' }), 0);
  await shot(page, 'parked-real');
  model.script = [says('The ladder is forgotten.')];
  await button(card('forget'), 'Allow once').click();
  await over('The ladder is forgotten.');
  await page.getByText('You allowed forget', { exact: true }).waitFor();
  assert.equal(await kept(id), false);
  await counted(last.locator('.remark'), 0);
  assert.deepEqual(await pending(), []);
});

test('without a reload it goes on by itself too', async () => {
  const id = await keep('the bulb is E14');
  await say('forget about the bulb', [calls(['forget', { memoryId: id }])]);
  await page.locator('.remark').getByText('Waiting for your decision').waitFor();
  model.script = [says('The bulb is kept.')];
  await button(card('forget'), 'Deny').click();
  await over('The bulb is kept.');
  assert.equal(await kept(id), true);
});

test('in another conversation the question stands at the top, with the way to its own', async () => {
  const id = await keep('the tap drips');
  await say('forget about the tap', [calls(['forget', { memoryId: id }])]);
  await page.locator('.remark').waitFor();
  await button(page, 'New conversation').click();
  const top = page.getByRole('region', { name: 'Waiting for your decision' });
  await top.getByRole('link', { name: 'Open conversation' }).click();
  await exchanges(page).last().locator('.asks').waitFor();
  model.script = [says('The tap is kept.')];
  await button(card('forget'), 'Deny').click();
  await over('The tap is kept.');
});

test('a group is turned off and on again, and its tools with it', async () => {
  await page.goto(`${hob}/#/tools/groups`);
  await page.getByRole('heading', { name: 'Groups' }).waitFor();
  const { groups } = await api(context, 'GET', '/api/v1/tool-groups');
  const { group } = (await api(context, 'GET', '/api/v1/tools')).tools.find((one) => one.name === 'calculate');
  const name = groups.find((one) => one.id === group).name;
  const toggle = page.locator(`[id="group-${group}"]`).getByRole('switch');
  await accessible(page, 'the real groups');
  await fits(page, phone, 'the real groups');
  await shot(page, 'groups-real');
  await becomes(() => toggle.isChecked(), true);
  await toggle.press('Space');
  await page.waitForFunction((id) => !document.getElementById(`group-${id}`).querySelector('input').checked, group);
  await page.getByRole('link', { name: 'All tools' }).click();
  await unfold(page);
  await page.locator('a.tool-row').filter({ has: page.getByText('calculate', { exact: true }) }).getByText(`off: turn on ${name}`).waitFor();
  await page.goBack();
  await toggle.press('Space');
  // The switch shows the new state before it is saved.
  const enabled = async () => (await api(context, 'GET', '/api/v1/tool-groups')).groups.find((one) => one.id === group).enabled;
  await becomes(enabled, true);
  assert.equal((await run('calculate', { expression: '1 + 1' })).result, 2);
});

test('a service is set up, its key is told nowhere, and it is deleted', async () => {
  await page.goto(`${hob}/#/device/services`);
  await button(page, 'New service').click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('weather');
  await button(page, 'Add service').click();
  await button(page, 'Set up').click();
  await page.getByLabel('API key').fill('a-key-nobody-reads');
  await page.getByLabel('Address').fill('https://api.example.org');
  await button(page, 'Save').click();
  await page.getByText('Saved.').waitFor();
  await page.getByText('set', { exact: true }).waitFor();
  // The page reads once for itself and once when its line stands.
  let reads = 0;
  page.on('response', (told) => void (reads += told.url().endsWith('/api/v1/config-services')));
  await page.reload();
  await page.getByText('set', { exact: true }).waitFor();
  for (let n = 0; n < 100 && reads < 2; n++) await page.waitForTimeout(50);
  assert.equal((await page.content()).includes('a-key-nobody-reads'), false);
  await button(page, 'Change default').click();
  await page.getByLabel('Address').fill('https://elsewhere.example.org');
  await button(page, 'Save').click();
  const refused = page.getByRole('alert').getByText(/pass `?api_key`? again/);
  await refused.waitFor().catch(async () => assert.fail(`no refusal: ${await page.locator('main').innerText()}`));
  await button(page, 'Cancel').click();
  await button(page, 'Delete default').click();
  await button(page.getByRole('alertdialog'), 'Delete').click();
  await page.getByText('Not set up.').waitFor();
  await button(page, 'Delete service').click();
  await button(page.getByRole('alertdialog'), 'Delete it').click();
  await page.getByRole('heading', { level: 2, name: 'Services' }).waitFor();
});

test('autonomy is kept', async () => {
  await page.goto(`${hob}/#/device/you`);
  const choices = page.getByRole('group', { name: 'What Hob does without asking you' });
  await choices.getByRole('radio', { name: /^Most things/ }).check();
  await button(page, 'Save').click();
  await page.getByText('Saved.').waitFor();
  await page.reload();
  await choices.getByText('You chose this.').waitFor();
  await becomes(() => choices.getByRole('radio', { name: /^Most things/ }).isChecked(), true);
});

test('what was done is told, with what was decided', async () => {
  await page.goto(`${hob}/#/device/activity`);
  const acts = page.locator('.act');
  await acts.first().waitFor();
  await page.getByLabel('Tool').fill('gpio_write');
  await page.getByLabel('Outcome').selectOption('denied');
  await page.waitForFunction(() => [...document.querySelectorAll('.act a')].every((one) => one.textContent === 'gpio_write') && document.querySelector('.act.bad'));
  await shows(() => acts.first().innerText(), /denied.*Hob, for you/s);
  await page.getByLabel('Outcome').selectOption('ok');
  await page.waitForFunction(() => document.querySelector('.act') && !document.querySelector('.act.bad'));
  await accessible(page, 'the real log');
  await shot(page, 'activity-real');
});

test('a member has a log and a standing of their own, and no switch of the household', async () => {
  const guest = await enterAs(browser, 'member', { size: phone });
  await guest.page.goto(`${hob}/#/tools/groups`);
  await guest.page.getByText('Only an admin can switch them.').waitFor();
  await counted(guest.page.getByRole('switch'), 0);
  await guest.page.goto(`${hob}/#/device/activity`);
  await guest.page.getByRole('heading', { level: 2, name: 'Activity' }).waitFor();
  await counted(guest.page.getByRole('switch'), 0);
  await guest.page.getByText('gpio_write').waitFor({ state: 'detached' });
  await guest.page.goto(`${hob}/#/device/services`);
  await guest.page.getByRole('heading', { level: 2, name: 'Services' }).waitFor();
  await counted(button(guest.page, 'New service'), 0);
  assert.deepEqual(guest.problems, []);
  assert.deepEqual(problems, []);
  await guest.context.close();
});
