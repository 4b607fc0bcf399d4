// A change made by talking or with a form can be undone for some seconds, and what was deleted comes back from the bin.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, api, ask, becomes, desktop, enter, enterAs, fits, hob, launch, message, phone, schemes, shot, shows, sizes, visit } from './page.mjs';

let browser, context, page, problems;

before(async () => {
  browser = await launch();
  ({ context, page, problems } = await enter(browser, { size: desktop }));
});

after(async () => {
  await browser?.close();
});

const call = async (tool, args = {}) => (await api(context, 'POST', `/api/v1/tools/${tool}/execute`, { arguments: args })).result;
const toast = (on = page) => on.getByRole('complementary', { name: 'Last change' });
const tasks = async () => (await call('list_tasks')).tasks.map((task) => task.title);
const bin = (on = page) => on.locator('.bin li');

test('a change made by talking is undone with a press', async () => {
  await page.goto(hob);
  await ask(page, 'add milk to the shopping list');
  await shows(() => toast().innerText(), /Added milk to the shopping list\./);
  await page.getByRole('status').getByText('Added milk to the shopping list. You can undo this.').waitFor({ state: 'attached' });
  await toast().getByRole('button', { name: 'Undo' }).focus();
  await page.keyboard.press('Enter');
  await shows(() => toast().innerText(), /Undone: milk is off the shopping list\./);
  assert.deepEqual(await tasks(), []);
  await toast().getByRole('button', { name: 'Dismiss' }).click();
  await toast().waitFor({ state: 'detached' });
});

test('the line covers neither the title, the composer nor what is said, and goes by itself', async () => {
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const other = await enter(browser, { size, scheme });
      await other.page.goto(hob);
      const exchange = await ask(other.page, 'add bread to the shopping list');
      await toast(other.page).waitFor();
      const box = await toast(other.page).boundingBox();
      for (const part of [exchange.locator('.words'), exchange.locator('.you'), other.page.locator('.composer textarea'), other.page.locator('.top')]) {
        const there = await part.boundingBox();
        const apart = there.y >= box.y + box.height - 1 || there.y + there.height <= box.y + 1;
        assert.ok(apart, `${name}: ${JSON.stringify(there)} is under ${JSON.stringify(box)}`);
      }
      await accessible(other.page, `Talk with an undo, ${name}, ${scheme}`);
      await fits(other.page, size, `Talk with an undo, ${name}`);
      await shot(other.page, `undo-talk-${name}-${scheme}`);
      await visit(other.page, 'Memory');
      const [line, bar, title] = await Promise.all([toast(other.page), other.page.getByRole('navigation', { name: 'Rooms' }), other.page.locator('.top h1')].map((one) => one.boundingBox()));
      assert.ok(line.y > title.y + title.height, `${name}: the title is free`);
      assert.ok(line.y + line.height <= bar.y + 1 || line.x >= bar.x + bar.width - 1, `${name}: the bar is free`);
      await shot(other.page, `undo-memory-${name}-${scheme}`);
      await toast(other.page).waitFor({ state: 'detached', timeout: 12_000 });
      assert.deepEqual(other.problems, []);
      await other.context.close();
      await call('undo');
    }
  }
});

test('a thing that is ticked is called ticked', async () => {
  await call('add_task', { title: 'Flour', category: 'shopping' });
  await call('complete_task', { taskId: 'Flour' });
  await shows(() => toast().innerText(), /Ticked Flour on the shopping list\./);
  const [last] = (await api(context, 'GET', '/api/v1/changes?limit=1')).changes;
  assert.equal(last.text, 'Ticked Flour on the shopping list.');
  await toast().getByRole('button', { name: 'Undo' }).click();
  await shows(() => toast().innerText(), /Undone: Flour is as it was before\./);
  await call('delete_task', { taskId: 'Flour' });
});

test('what is deleted with a form is undone, or restored from the bin', async () => {
  for (const title of ['Paint', 'Ferry', 'Tyres']) await call('add_note', { title, content: 'x' });
  await call('add_task', { title: 'Sell the bike', category: 'shopping' });
  await page.goto(`${hob}/#/memory/notes`);
  await page.getByRole('button', { name: /^Delete: Paint/ }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Yes, delete it' }).click();
  await shows(() => toast().innerText(), /Deleted the note “Paint”\./);
  await toast().getByRole('button', { name: 'Undo' }).click();
  await page.locator('li').filter({ hasText: 'Paint' }).first().waitFor();

  await call('delete_note', { noteId: 'Ferry' });
  await call('delete_note', { noteId: 'Tyres' });
  await call('delete_task', { taskId: 'Sell the bike' });
  await page.goto(`${hob}/#/memory/bin`);
  await bin().filter({ hasText: 'Ferry' }).waitFor();
  await page.getByRole('group', { name: 'Kinds' }).getByRole('button', { name: 'Note' }).click();
  await becomes(() => bin().filter({ hasText: 'bike' }).count(), 0);
  await page.getByRole('button', { name: 'Restore: Ferry' }).click();
  await page.getByText('The note “Ferry” is back.', { exact: true }).waitFor();
  await bin().filter({ hasText: 'Ferry' }).waitFor({ state: 'detached' });
  assert.ok((await call('list_notes')).notes.some((note) => note.title === 'Ferry'));
  assert.deepEqual(problems, []);
});

test('the bin is readable at both sizes, and a viewer restores nothing', async () => {
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const other = await enter(browser, { size, scheme });
      await other.page.goto(`${hob}/#/memory/bin`);
      await bin(other.page).filter({ hasText: 'Tyres' }).waitFor();
      await accessible(other.page, `the bin, ${name}, ${scheme}`);
      await fits(other.page, size, `the bin, ${name}`);
      await shot(other.page, `bin-${name}-${scheme}`);
      await other.context.close();
    }
  }
  const viewer = await enterAs(browser, 'viewer', { size: phone });
  await viewer.page.goto(`${hob}/#/memory/bin`);
  await viewer.page.locator('.bin').waitFor();
  assert.equal(await viewer.page.getByRole('button', { name: /^Restore/ }).count(), 0);
  await viewer.context.close();
});

test('the bin is emptied after a question', async () => {
  await page.goto(`${hob}/#/memory/bin`);
  await page.getByRole('button', { name: 'Empty now' }).click();
  const question = page.getByRole('alertdialog', { name: 'Delete everything in the bin for good?' });
  await question.getByRole('button', { name: 'No' }).click();
  await page.getByRole('button', { name: 'Empty now' }).click();
  await question.getByRole('button', { name: 'Yes, empty it' }).click();
  await page.getByText('The bin is empty.', { exact: true }).waitFor();
  assert.equal((await call('list_deleted')).count, 0);
  await visit(page, 'Talk');
  assert.deepEqual(problems, []);
});
