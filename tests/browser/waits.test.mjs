// Several decisions wait while the conversation goes on: they stand at its end, what is said meanwhile queues, and what was not done is called so.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { calls, says, talkWithModel } from './model.mjs';
import { accessible, api, ask, becomes, counted, enter, exchanges, fits, hob, message, phone, schemes, shot, shows, sizes } from './page.mjs';

let browser, model, context, page, problems, close;
before(async () => ({ browser, model, context, page, problems, close } = await talkWithModel()));
after(() => close?.());

const button = (place, name) => place.getByRole('button', { name, exact: true });
const memory = async (content) => (await api(context, 'POST', '/api/v1/tools/remember/execute', { arguments: { content } })).result.id;
const queue = () => page.getByRole('list', { name: 'queued' });
const late = (on = page) => on.getByRole('region', { name: 'Waiting for your decision' });
const words = (text) => page.locator('.words').getByText(text, { exact: true });

async function say(text, script) {
  if (script) model.script = script;
  await message(page).fill(text);
  await message(page).press('Enter');
}
/** The vertical middle of a place. */
const middle = async (place) => {
  const { y, height } = await place.boundingBox();
  return y + height / 2;
};
/** The approvals whose runs were suspended: nobody answered while they waited in the call. */
const suspended = async (number) => {
  await page.locator('.remark').getByText('Waiting for your decision').waitFor();
  await becomes(async () => (await api(context, 'GET', '/api/v1/approvals?state=pending')).count, number);
};

test('of several decisions one is open, directly under its message; the others are lines below it', async () => {
  const ids = [await memory('bins on Mondays'), await memory('key under the pot'), await memory('meter in the cellar')];
  await say('forget those three', [calls(...ids.map((memoryId) => ['forget', { memoryId }]))]);
  const last = exchanges(page).last();
  await last.locator('.confirm.asks').getByText('2 more wait after this one.').waitFor();
  await counted(page.locator('.confirm.asks'), 1);
  await counted(last.locator('.asks-behind'), 2);
  assert.ok(await middle(last.locator('.confirm.asks')) > await middle(last.locator('.you')), 'under the message');
  await accessible(page, 'several decisions');
  await fits(page, phone, 'several decisions');
  await shot(page, 'waits-several');
  // A line opens into its card.
  await last.locator('.asks-behind').first().click();
  await counted(page.locator('.confirm.asks'), 2);
  await counted(last.locator('.asks-behind'), 1);
  await button(page.locator('.confirm.asks').first(), 'Deny').click();
  await counted(page.locator('.answered'), 1);
});

test('what is said while they wait is in a queue to see, after a reload too, and can be taken back', async () => {
  await say('what is for dinner');
  await say('and for lunch');
  await queue().getByText('what is for dinner').waitFor();
  await queue().getByText('and for lunch').waitFor();
  await page.reload();
  await queue().getByText('what is for dinner').waitFor();
  await becomes(() => queue().locator('li p span').allInnerTexts(), ['what is for dinner', 'and for lunch']);
  await accessible(page, 'a queue after a reload');
  await fits(page, phone, 'a queue after a reload');
  await shot(page, 'waits-queue');
  await button(queue(), 'Remove from the queue: and for lunch').click();
  await counted(queue().getByText('and for lunch'), 0);
  model.script = [says('Soup.')];
  await words('Soup.').waitFor();
  await counted(queue(), 0);
});

test('when others were answered since, they stand at the end, and say what they are about', async () => {
  await suspended(2);
  await late().getByText('About “forget those three”').waitFor();
  await counted(late().locator('.confirm.asks'), 1);
  assert.ok(await middle(late()) > await middle(words('Soup.')), 'after the answer that came since');
  await page.locator('.remark').getByText('Waiting for your decision, below').waitFor();
  const storageState = await context.storageState();
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const other = await enter(browser, { size, scheme });
      await other.context.addInitScript((state) => state.forEach(({ name: key, value }) => localStorage.setItem(key, value)), storageState.origins[0]?.localStorage ?? []);
      await other.page.goto(hob);
      await late(other.page).locator('.confirm.asks').waitFor();
      await accessible(other.page, `late decisions, ${name}, ${scheme}`);
      await fits(other.page, size, `late decisions, ${name}, ${scheme}`);
      await shot(other.page, `waits-late-${name}-${scheme}`);
      assert.deepEqual(other.problems, []);
      await other.context.close();
    }
  }
});

test('after a no the message says what was not done, never that it is done, and the rest is said at the end', async () => {
  await button(late().locator('.confirm.asks'), 'Deny').click();
  await late().locator('.answered').waitFor();
  model.script = [says('Then all three stay.')];
  await button(late().locator('.confirm.asks'), 'Deny').click();
  await words('Then all three stay.').waitFor();
  const asked = exchanges(page).filter({ has: page.locator('.you').getByText('forget those three') });
  for (const round of ['live', 'reloaded']) {
    await shows(() => asked.innerText(), /Not done: forgetting\. You said no\./, round);
    await shows(() => asked.innerText(), /forgetting\s+·\s+not done/, round);
    assert.doesNotMatch(await asked.innerText(), /\bDone\.|\bforgot\b/, round);
    const last = exchanges(page).last();
    await last.getByText('About “forget those three”').waitFor();
    await last.getByText('Then all three stay.', { exact: true }).waitFor();
    await shows(() => exchanges(page).filter({ hasText: 'what is for dinner' }).innerText(), /Soup\./);
    await page.reload();
    await words('Then all three stay.').waitFor();
  }
  await shot(page, 'waits-denied');
  const found = (await api(context, 'POST', '/api/v1/tools/list_memories/execute', { arguments: {} })).result.memories;
  assert.equal(found.length, 3);
});

test('a model that says nothing after a no is not answered for with a Done', async () => {
  const id = await memory('the ladder is next door');
  await say('forget the ladder', [calls(['forget', { memoryId: id }]), says('')]);
  await button(page.locator('.confirm.asks'), 'Deny').click();
  const last = exchanges(page).last();
  await shows(() => last.innerText(), /forgetting\s+·\s+not done/);
  await page.locator('article.exchange[data-state="running"]').waitFor({ state: 'detached' });
  assert.doesNotMatch(await last.innerText(), /\bDone\./);
});

test('no answer in time: what was not done is said', async () => {
  await api(context, 'PUT', '/api/v1/autonomy', { level: 'low' });
  await say('lamp on', [calls(['gpio_write', { pin: 22, high: true }]), says('')]);
  const last = exchanges(page).last();
  await shows(() => last.innerText(), /not done/);
  await page.locator('article.exchange[data-state="running"]').waitFor({ state: 'detached' });
  assert.doesNotMatch(await last.innerText(), /\bDone\.|set a pin/);
  await api(context, 'PUT', '/api/v1/autonomy', { level: 'medium' });
});

test('calls of this device alone have ids of their own, so that nothing stands under another message', async () => {
  await api(context, 'PUT', '/api/v1/model', { model: 'reflex' });
  await page.getByRole('button', { name: 'New conversation' }).click();
  await ask(page, 'add milk to the shopping list');
  await ask(page, 'add bread to the shopping list');
  const { conversations } = await api(context, 'GET', '/api/v1/conversations');
  const { messages } = await api(context, 'GET', `/api/v1/conversations/${conversations[0].id}`);
  const ids = messages.flatMap(({ toolCalls }) => toolCalls ?? []).map(({ id }) => id);
  assert.ok(ids.length >= 2, JSON.stringify(messages));
  assert.equal(new Set(ids).size, ids.length);
  await page.reload();
  await becomes(async () => (await exchanges(page).allInnerTexts()).map((one) => /“(milk|bread)”/.exec(one)?.[1]), ['milk', 'bread']);
  assert.deepEqual(problems, []);
});
