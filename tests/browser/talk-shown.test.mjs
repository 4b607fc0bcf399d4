// What Talk shows and offers, with the real daemon and a scripted model: cards of results, tables, copy, edit, retry, names, models, notices.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { calls, says, talkWithModel } from './model.mjs';
import { accessible, api, becomes, counted, desktop, enter, exchanges, fits, hob, message, phone, schemes, shot, shows, sizes } from './page.mjs';

let browser, model, context, page, problems, close;
before(async () => {
  ({ browser, model, context, page, problems, close } = await talkWithModel());
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: hob }).catch(() => undefined);
});
after(() => close?.());

const button = (place, name) => place.getByRole('button', { name, exact: true });
const newest = (on = page) => exchanges(on).last();
const run = (tool, args) => api(context, 'POST', `/api/v1/tools/${tool}/execute`, { arguments: args });
const tasks = async () => (await run('list_tasks', {})).result.tasks;
const clipboard = () => page.evaluate(() => navigator.clipboard.readText());

async function say(words, script) {
  const count = await exchanges(page).count();
  model.script = script;
  await message(page).fill(words);
  await message(page).press('Enter');
  await exchanges(page).nth(count).and(page.locator('[data-state="done"]')).waitFor();
}

/** The conversation on screen, at every size and in both schemes. */
async function everywhere(name, ready, look = async () => undefined) {
  const id = await page.evaluate(() => localStorage.getItem('hob.conversation'));
  for (const [size, box] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const other = await enter(browser, { size: box, scheme });
      await other.context.addInitScript((which) => localStorage.setItem('hob.conversation', which), id);
      await other.page.goto(hob);
      await ready(other.page).waitFor();
      await look(other.page);
      await accessible(other.page, `${name}, ${size}, ${scheme}`);
      await fits(other.page, box, `${name}, ${size}, ${scheme}`);
      await shot(other.page, `${name}-${size}-${scheme}`);
      assert.deepEqual(other.problems, []);
      await other.context.close();
    }
  }
}

test('tasks are a checklist that one can tick, and that follows what happens elsewhere', async () => {
  const names = ['milk', '<img src=x onerror=alert(1)>', 'e'.repeat(120)];
  await say('shopping', [calls(['batch_add_tasks', { tasks: names.map((title) => ({ title, category: 'shopping' })) }]), says('On the list.')]);
  const list = newest().getByRole('region', { name: 'shopping' });
  await counted(list.getByRole('checkbox'), 3);
  await list.getByText('<img src=x onerror=alert(1)>').waitFor();
  await list.getByRole('checkbox', { name: 'milk' }).check();
  await becomes(async () => (await tasks()).find(({ title }) => title === 'milk').status, 'completed');
  await list.getByRole('checkbox', { name: 'milk' }).uncheck();
  await becomes(async () => (await tasks()).find(({ title }) => title === 'milk').status, 'pending');
  // Elsewhere.
  const { id } = (await tasks()).find(({ title }) => title === 'milk');
  await run('complete_task', { taskId: id });
  await becomes(() => list.getByRole('checkbox', { name: 'milk' }).isChecked(), true);
  await page.reload();
  await becomes(() => newest().getByRole('checkbox', { name: 'milk' }).isChecked(), true, 'a stored answer shows how the tasks stand now');
  await everywhere('card-tasks', (on) => newest(on).getByRole('checkbox', { name: 'milk' }));
});

test('one that was deleted meanwhile says so when it is ticked', async () => {
  await say('one more', [calls(['add_task', { title: 'gone soon' }]), says('Added.')]);
  const box = newest().getByRole('checkbox', { name: 'gone soon' });
  await box.waitFor();
  await run('delete_task', { taskId: (await tasks()).find(({ title }) => title === 'gone soon').id });
  await box.click();
  await newest().getByText('This task no longer exists.').waitFor();
  await becomes(() => box.isChecked(), false);
});

test('an event is a card, money is a table, readings are a map, and JSON is one tap deeper', async () => {
  await say('plan', [calls(
    ['add_calendar_event', { title: 'Dentist', startTime: '2026-12-12T18:00:00', endTime: '2026-12-12T20:00:00', location: 'Main street' }],
    ['batch_add_expenses', { expenses: [{ amount: 12.5, category: 'food', description: 'lunch' }, { amount: 7.25, category: 'food', description: 'x'.repeat(200) }] }],
  ), calls(['use_tool', { tool_name: 'system_info', arguments: {} }]), says('All noted.')]);
  const at = newest();
  await at.getByRole('region', { name: 'Events' }).getByText('Dentist').waitFor();
  await shows(() => at.getByRole('region', { name: 'Events' }).innerText(), /18:00 – 20:00[^]*Main street/);
  const money = at.getByRole('region', { name: 'Expenses' });
  await money.getByRole('cell', { name: 'lunch' }).waitFor();
  await shows(() => money.locator('tfoot').innerText(), /Total[^]*19\.75/);
  const line = at.locator('details.did').filter({ hasText: 'device' });
  await shows(() => line.locator('> summary').innerText(), /checked the device/);
  await line.locator('> summary').click();
  const readings = line.getByRole('region', { name: 'Values' });
  await shows(() => readings.innerText(), /Disk free[^]*GB/);
  await counted(line.locator('pre:visible'), 0);
  await line.getByText('Details', { exact: true }).click();
  await shows(() => line.locator('pre:visible').last().innerText(), /"arch"/);
  await line.getByText('Details', { exact: true }).click();
  await everywhere('card-plan', (on) => newest(on).getByRole('region', { name: 'Expenses' }), async (on) => {
    await newest(on).locator('details.did').filter({ hasText: 'device' }).locator('> summary').click();
    await newest(on).getByRole('region', { name: 'Values' }).waitFor();
  });
});

test('what was found is a list, and what is no record is still readable', async () => {
  await run('remember', { content: 'The spare key hangs behind the <b>blue</b> door' });
  await say('the key', [calls(['recall', { query: 'spare key' }]), says('Behind the blue door.')]);
  const line = newest().locator('details.did').first();
  await line.locator('> summary').click();
  await line.getByRole('region', { name: 'Found' }).getByText('The spare key hangs behind the <b>blue</b> door').waitFor();
  await shot(page, 'card-hits-phone-light');
  await say('a sum', [calls(['calculate', { expression: '2+2' }], ['get_task', {}]), says('Four.')]);
  const odd = newest().locator('details.did.failed');
  await odd.locator('> summary').click();
  await shows(() => odd.innerText(), /Error/);
});

const TABLE = ['| Room | °C |', '|:-----|---:|', '| Hall `a\\|b` | 19 |', '| **Kitchen** | 21.5 |', '| <script>x</script> |'].join('\n');

test('a table renders, with marks in it and cells that are missing', async () => {
  await say('a table', [says(`Here:\n\n${TABLE}\n\nThat is all.\n\n| no table | at all\n\n\`\`\`sh\nls | wc\n\`\`\``)]);
  const table = newest().getByRole('table');
  await becomes(() => table.locator('th').allInnerTexts(), ['Room', '°C']);
  await becomes(() => table.locator('tbody tr').count(), 3);
  await becomes(() => table.locator('tbody td').allInnerTexts(), ['Hall a|b', '19', 'Kitchen', '21.5', '<script>x</script>', '']);
  await newest().getByText('That is all.').waitFor();
  await newest().getByText('| no table | at all').waitFor();
  await everywhere('table', (on) => newest(on).getByRole('table'));
});

test('an answer and its code are copied', async () => {
  await button(newest(), 'Copy the answer').click();
  await shows(clipboard, /\| \*\*Kitchen\*\* \| 21\.5 \|/);
  await button(newest().locator('.code'), 'Copy').click();
  await becomes(clipboard, 'ls | wc');
  await button(newest().locator('.code'), 'Copied').waitFor();
});

test('a message is edited and sent again, asked again, and brought back by ↑', async () => {
  await say('turn on teh lamp', [says('Which lamp?')]);
  await button(newest(), 'Edit and say again: turn on teh lamp').click();
  await becomes(() => message(page).inputValue(), 'turn on teh lamp');
  assert.ok(await message(page).evaluate((field) => field === document.activeElement));
  await message(page).fill('turn on the lamp');
  const before = await exchanges(page).count();
  model.script = [says('It is on.')];
  await message(page).press('Enter');
  await exchanges(page).nth(before).and(page.locator('[data-state="done"]')).waitFor();
  model.script = [says('It is on already.')];
  await button(newest(), 'Ask again').click();
  await exchanges(page).nth(before + 1).and(page.locator('[data-state="done"]')).waitFor();
  await shows(() => newest().innerText(), /turn on the lamp[^]*It is on already\./);
  await counted(page.getByRole('button', { name: 'Ask again', exact: true }), 1, 'only the newest is asked again');
  await message(page).press('ArrowUp');
  await becomes(() => message(page).inputValue(), 'turn on the lamp');
  await message(page).fill('words of my own');
  await message(page).press('ArrowUp');
  await becomes(() => message(page).inputValue(), 'words of my own', 'a draft is not replaced');
  await message(page).fill('');
});

test('the model is chosen in the composer', async () => {
  const opener = page.getByRole('button', { name: /^Answered by scripted\./ });
  await opener.click();
  const menu = page.getByRole('dialog', { name: 'Who answers' });
  await menu.getByRole('button', { name: /^This device/ }).waitFor();
  await accessible(page, 'the models');
  await fits(page, phone, 'the models');
  await shot(page, 'models-phone-light');
  await page.keyboard.press('Escape');
  await counted(menu, 0);
  await opener.click();
  await menu.getByRole('button', { name: /^This device/ }).click();
  await page.getByRole('button', { name: /^Answered by This device\./ }).click();
  await becomes(async () => (await api(context, 'GET', '/api/v1/model')).model, 'reflex');
  // The way back is there.
  await menu.getByRole('button', { name: 'scripted' }).click();
  await becomes(async () => (await api(context, 'GET', '/api/v1/model')).model, 'custom/scripted');
  await opener.waitFor();
  const other = await enter(browser, { size: desktop, scheme: 'dark' });
  await other.page.goto(hob);
  await other.page.getByRole('button', { name: /^Answered by scripted\./ }).click();
  await other.page.getByRole('dialog', { name: 'Who answers' }).getByRole('button', { name: /^This device/ }).waitFor();
  await accessible(other.page, 'the models on a desktop');
  await shot(other.page, 'models-desktop-dark');
  await other.context.close();
});

const drawer = (on = page) => on.getByRole('dialog', { name: 'Conversations' });
const openDrawer = (on = page) => on.getByRole('button', { name: 'Conversations' }).click();

test('conversations stand by day, are told apart, and are renamed', async () => {
  for (let n = 0; n < 2; n++) {
    await page.getByRole('button', { name: 'New conversation' }).click();
    await say('hello there', [says('Hello.')]);
  }
  await openDrawer();
  await drawer().getByRole('region', { name: 'Today' }).waitFor();
  const titles = async () => (await drawer().locator('.line > span').allInnerTexts()).slice(0, 2);
  await becomes(titles, ['hello there (2)', 'hello there']);
  await drawer().getByRole('button', { name: 'Rename “hello there (2)”' }).click();
  const field = drawer().getByLabel('Title');
  await field.fill('   ');
  await field.press('Enter');
  await drawer().getByText('Write a title.').waitFor();
  await field.fill('y'.repeat(201));
  await field.press('Enter');
  await drawer().getByText('Use 200 characters at most; this has 201.').waitFor();
  await accessible(page, 'a title that is too long');
  await fits(page, phone, 'a title that is too long');
  await shot(page, 'rename-phone-light');
  await field.press('Escape');
  await becomes(titles, ['hello there (2)', 'hello there']);
  await drawer().getByRole('button', { name: 'Rename “hello there (2)”' }).click();
  await field.fill('<i>The   garden</i>');
  await field.press('Enter');
  await becomes(titles, ['<i>The garden</i>', 'hello there']);
  await drawer().getByRole('button', { name: 'Rename “<i>The garden</i>”' }).and(page.locator(':focus')).waitFor();
  await drawer().getByRole('button', { name: 'Rename “hello there”' }).click();
  await field.fill('z'.repeat(200));
  await field.press('Enter');
  await becomes(async () => (await titles())[1], 'z'.repeat(200));
  await page.keyboard.press('Escape');
  await everywhere('drawer-days', (on) => on.getByRole('button', { name: 'Conversations' }), async (on) => {
    await openDrawer(on);
    await drawer(on).locator('.line').first().waitFor();
  });
});

test('a notice does not cover what is said', async () => {
  await say('a long story', [says(Array.from({ length: 30 }, (_, n) => `Line ${n} of the story.`).join('\n\n'))]);
  const last = newest().getByText('Line 29 of the story.');
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
  const gap = async () => {
    const [words, dock] = [await last.boundingBox(), await page.locator('.composer > div').boundingBox()];
    return Math.sign(Math.max(0, dock.y - words.y - words.height));
  };
  await becomes(gap, 1);
  await run('notify', { title: 'The washing machine', text: 'It has finished. '.repeat(12) });
  await page.getByRole('complementary', { name: 'Notices' }).waitFor();
  await becomes(gap, 1, 'the last words are above the composer');
  const card = await page.locator('.notices').boundingBox();
  const top = await page.locator('.top').boundingBox();
  assert.ok(top.y >= card.y + card.height - 1, 'the head is below the notice');
  await shot(page, 'notice-phone-light');
  await page.getByRole('button', { name: /^Dismiss: / }).click();
  await becomes(gap, 1);
});

test('a run that failed and is resumed elsewhere appears in the open page', async () => {
  await page.getByRole('button', { name: 'New conversation' }).click();
  await message(page).fill('count the pins');
  let go;
  model.hold = new Promise((done) => (go = done));
  const before = model.asked.length;
  await message(page).press('Enter');
  await becomes(async () => model.asked.length, before + 1);
  await page.getByRole('button', { name: 'Stop' }).click();
  go();
  model.hold = null;
  await page.getByText('stopped', { exact: true }).waitFor();
  const latest = async () => (await api(context, 'GET', '/api/v1/runs?limit=1')).runs[0];
  await becomes(async () => (await latest()).state, 'cancelled');
  model.script = [calls(['gpio_list', {}]), says('There are 28 pins.')];
  await api(context, 'POST', `/api/v1/runs/${(await latest()).id}/resume`, {});
  await newest().getByText('There are 28 pins.').waitFor();
  await counted(exchanges(page), 1);
  assert.deepEqual(problems, []);
});
