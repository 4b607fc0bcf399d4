// Answers to what Hob asks, with the real daemon and a scripted model: buttons under a question, a typed yes or no, a queue.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { calls, says, talkWithModel } from './model.mjs';
import { accessible, api, becomes, counted, enter, exchanges, fits, hob, message, phone, schemes, shot, shows, sizes } from './page.mjs';

let browser, model, context, page, problems, close;
before(async () => ({ browser, model, context, page, problems, close } = await talkWithModel()));
after(() => close?.());

const button = (place, name) => place.getByRole('button', { name, exact: true });
const replies = (on = page) => on.getByRole('group', { name: 'Answers' });
const newest = () => exchanges(page).last();
const settled = () => page.locator('article.exchange[data-state="running"]').waitFor({ state: 'detached' });
/** What the model was asked last, as the person said it. */
const told = () => model.asked.at(-1)?.messages.filter(({ role }) => role === 'user').map(({ content }) => (typeof content === 'string' ? content : content.map(({ text }) => text).join(''))).at(-1) ?? '';
const memory = async (content) => (await api(context, 'POST', '/api/v1/tools/remember/execute', { arguments: { content } })).result.id;
const remembered = async () => (await api(context, 'POST', '/api/v1/tools/list_memories/execute', { arguments: {} })).result.memories.map((one) => one.content);

async function say(words, script) {
  if (script) model.script = script;
  await message(page).fill(words);
  await message(page).press('Enter');
}
const over = async (words) => {
  await page.locator('.words').getByText(words, { exact: true }).last().waitFor();
  await settled();
};

test('a question has a Yes and a No under it, and pressing answers', async () => {
  await say('the lamp', [says('Shall I turn on the lamp? Say yes or no.')]);
  await replies().waitFor();
  await becomes(() => replies().getByRole('button').allInnerTexts(), ['Yes', 'No']);
  await accessible(page, 'a question with buttons');
  await fits(page, phone, 'a question with buttons');
  await message(page).fill('a draft of something else');
  model.script = [says('It is on.')];
  await button(replies(), 'Yes').click();
  await over('It is on.');
  await shows(async () => told(), /yes/);
  await counted(replies(), 0, 'an answered question has no buttons');
  await becomes(() => message(page).inputValue(), 'a draft of something else');
  await message(page).fill('');
});

test('a question of choices has the choices, also those with markup or at great length', async () => {
  await say('which one', [says('Which one: “milk”, “<b>oat</b> milk” or “soy milk”?')]);
  await becomes(() => replies().getByRole('button').allInnerTexts(), ['milk', '<b>oat</b> milk', 'soy milk']);
  model.script = [says('Done that.')];
  await button(replies(), '<b>oat</b> milk').click();
  await over('Done that.');
  await shows(async () => told(), /<b>oat<\/b> milk/);
  await say('a list', [says('Which list?\n\n- Shopping\n- Chores')]);
  await becomes(() => replies().getByRole('button').allInnerTexts(), ['Shopping', 'Chores']);
  await say('long', [says(`Which one: “${'x'.repeat(300)}” or “b”?`)]);
  await settled();
  await counted(replies(), 0, 'what is too long for a button is typed');
  await say('an example', [says('Which one? Say it by name: “cancel the reminder”, “delete the task”.')]);
  await settled();
  await counted(replies(), 0, 'examples are no choices');
});

test('both sizes, light and dark', async () => {
  await say('again', [says('Shall I add the task “buy milk” to the shopping list? Say yes or no.')]);
  await replies().waitFor();
  const storageState = await context.storageState();
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const other = await enter(browser, { size, scheme });
      await other.context.addInitScript((state) => state.forEach(({ name: key, value }) => localStorage.setItem(key, value)), storageState.origins[0]?.localStorage ?? []);
      await other.page.goto(hob);
      await replies(other.page).waitFor();
      await accessible(other.page, `answers, ${name}, ${scheme}`);
      await fits(other.page, size, `answers, ${name}, ${scheme}`);
      await shot(other.page, `answers-${name}-${scheme}`);
      assert.deepEqual(other.problems, []);
      await other.context.close();
    }
  }
});

test('a typed no denies the approval that waits, and a typed yes allows it once', async () => {
  const first = await memory('the first thing');
  await say('forget it', [calls(['forget', { memoryId: first }]), says('Then it stays.')]);
  await page.locator('.confirm.asks').waitFor();
  await say('No, thanks.');
  await over('Then it stays.');
  assert.ok((await remembered()).includes('the first thing'));
  await say('forget it now', [calls(['forget', { memoryId: first }]), says('It is gone.')]);
  await page.locator('.confirm.asks').waitFor();
  const before = model.asked.length;
  await say('yes');
  await over('It is gone.');
  assert.ok(!(await remembered()).includes('the first thing'));
  assert.equal(model.asked.length, before + 1, 'the word itself is not sent to the model');
  assert.equal((await api(context, 'GET', '/api/v1/grants')).count, 0, 'nothing is allowed for good');
  await counted(newest().locator('.answered'), 1);
});

test('a yes among several approvals decides nothing, and is kept', async () => {
  const [a, b] = [await memory('thing a'), await memory('thing b')];
  await say('forget both', [calls(['forget', { memoryId: a }], ['forget', { memoryId: b }]), says('Both seen to.')]);
  await page.locator('.confirm.asks').getByText('1 more waits after this one.').waitFor();
  await counted(page.locator('.asks-behind'), 1);
  await say('yes');
  await page.getByText('More than one decision waits here').waitFor();
  await becomes(() => message(page).inputValue(), 'yes');
  assert.deepEqual((await remembered()).filter((one) => /thing [ab]/.test(one)).length, 2);
  await button(page.locator('.confirm.asks').first(), 'Deny').click();
  await counted(page.locator('.asks-behind'), 0);
  await counted(page.locator('.confirm.asks'), 1);
  // Now it is clear which is meant.
  await message(page).press('Enter');
  await over('Both seen to.');
  assert.equal((await remembered()).filter((one) => /thing [ab]/.test(one)).length, 1);
});

test('a longer sentence decides nothing: it waits in the queue, and can be withdrawn', async () => {
  const id = await memory('a thing to keep');
  await say('forget the thing', [calls(['forget', { memoryId: id }]), says('As you wish.'), says('Next.')]);
  await page.locator('.confirm.asks').waitFor();
  await say('yes, but tell me why first');
  const queue = page.getByRole('list', { name: 'queued' });
  await queue.getByText('yes, but tell me why first').waitFor();
  await say('and one more');
  await queue.getByText('and one more').waitFor();
  await accessible(page, 'a queue');
  await fits(page, phone, 'a queue');
  await shot(page, 'queue-phone-light');
  await queue.getByRole('button', { name: 'Remove from the queue: and one more' }).click();
  await counted(queue.getByText('and one more'), 0);
  assert.ok((await remembered()).includes('a thing to keep'));
  await say('no');
  await over('Next.');
  assert.ok((await remembered()).includes('a thing to keep'));
  await shows(async () => told(), /tell me why/);
});

test('somebody’s yes on another page, and an approval of another conversation, are left alone', async () => {
  const id = await memory('a thing elsewhere');
  await say('forget that one', [calls(['forget', { memoryId: id }]), says('Settled.')]);
  await page.locator('.confirm.asks').waitFor();
  await page.getByRole('button', { name: 'New conversation' }).click();
  // The one here is asked before the other goes on.
  model.script = [says('Yes to what?'), says('Settled.')];
  await say('yes');
  await over('Yes to what?');
  assert.ok((await remembered()).includes('a thing elsewhere'));
  await button(page.locator('.confirm.asks').first(), 'Deny').click();
  assert.deepEqual(problems, []);
});
