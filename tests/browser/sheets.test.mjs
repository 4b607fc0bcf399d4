// A person in the lists of the Memory room that are more than lists: money by the month, the calendar, tables; and the search over everything.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { execute, iso, lists } from './lists.mjs';
import { becomes, counted, desktop, enter, hob, launch, shows } from './page.mjs';

let browser, context, page, problems;

before(async () => {
  browser = await launch();
  ({ context, page, problems } = await enter(browser, { size: desktop }));
});

after(async () => {
  await browser?.close();
});

const call = (tool, args = {}, who = context) => execute(who, tool, args);
const { field, form, heard, line, lines, press, remove, search } = lists(() => page);

test('money: a month as a picture with its numbers, filtered by pressing a category, saved as a file', async () => {
  await page.goto(`${hob}/#/memory/money`);
  await page.getByText('No expenses.').waitFor();
  await press('Add an expense');
  await field('Amount').fill('nothing');
  await press('Add');
  await form().getByText('Enter a number.').waitFor();
  await field('Amount').fill('12,50');
  await field('Description').fill('Lunch');
  await press('Add');
  await heard('“Lunch” added.').waitFor();
  const today = iso(0);
  await call('batch_add_expenses', {
    expenses: [
      { amount: 820, category: 'housing', description: 'Rent', date: `${today.slice(0, 8)}01` }, { amount: 7.3, category: 'food', description: 'Bread and =cheese', tags: ['market'] },
      { amount: 20, category: 'other', description: 'Ferry', currency: 'USD' },
    ],
  });
  await page.locator('.spent .called').getByText('€839.80').waitFor();
  await page.getByText('3 expenses, €279.93 on average').waitFor();
  const picture = page.getByRole('region', { name: 'Spent' });
  await shows(() => picture.getByRole('table').innerText(), /€19\.80/);
  assert.match((await picture.getByRole('list', { name: 'By category' }).innerText()).replace(/\s+/g, ' '), /Housing €820\.00 98 % Food €19\.80 2 %/);
  await picture.getByRole('combobox', { name: 'Currency' }).selectOption('USD');
  await page.locator('.spent .called').getByText('US$20.00').waitFor();
  await picture.getByRole('combobox', { name: 'Currency' }).selectOption('EUR');
  await picture.getByRole('button', { name: /^Food/ }).click();
  await line('Rent').waitFor({ state: 'detached' });
  await press('Remove the filter food');
  await search('Search expenses').fill('cheese');
  await line('Rent').waitFor({ state: 'detached' });
  await search('Search expenses').fill('');
  await press('Previous month');
  await page.getByText('No expenses.').waitFor();
  assert.match(await page.evaluate(() => location.hash), /^#\/memory\/money\/\d{4}-\d\d$/);
  await press('This month');
  await line('Lunch').waitFor();
  const [file] = await Promise.all([page.waitForEvent('download'), press('Export as CSV')]);
  const { readFileSync } = await import('node:fs');
  const csv = readFileSync(await file.path(), 'utf8');
  assert.match(csv, /^date,amount,currency/);
  assert.match(csv, /Bread and =cheese/);
  assert.equal(csv.trim().split('\n').length, 5);
  await press('Edit: Lunch');
  await becomes(() => field('Amount').inputValue(), '12.5');
  await field('Amount').fill('13');
  await press('Save');
  await page.locator('.spent .called').getByText('€840.30').waitFor();
  await remove('Lunch');
  await page.locator('.spent .called').getByText('€827.30').waitFor();
  await press('All months');
  await line('Rent').waitFor();
});

test('the calendar: a month that is walked over by keys, and below it the day', async () => {
  await page.goto(`${hob}/#/memory/calendar/2027-03-10`);
  const month = page.getByRole('grid', { name: 'March 2027' });
  await month.waitFor();
  await page.getByText('No events.').waitFor();
  await press('Add an event');
  await becomes(() => field('Starts: day').inputValue(), '2027-03-10');
  await field('Event').fill('Dentist');
  await field('Starts: time').fill('15:00');
  await field('Location').fill('Ring 4');
  await field('Ends: day').fill('2027-03-09');
  await press('Add');
  await form().locator('.problem').first().waitFor();
  await becomes(() => field('Location').inputValue(), 'Ring 4');
  await field('Ends: day').fill('');
  await field('Remind me').selectOption('60');
  await press('Add');
  await line('Dentist').waitFor();
  await shows(() => line('Dentist').innerText(), /15:00 – 16:00[^]*Ring 4[^]*reminder 1 hour before/);
  await call('batch_add_calendar_events', {
    events: [
      { title: 'Holidays', startTime: '2027-03-12', endTime: '2027-03-16' }, { title: 'Night train', startTime: '2027-03-31T22:00', endTime: '2027-04-01T07:00' },
      { title: 'Late film', startTime: '2027-03-20T22:00', endTime: '2027-03-21T00:00' },
    ],
  });
  const cell = (name) => month.getByRole('button', { name });
  await cell('Wednesday, 10 March 2027: 15:00 Dentist').waitFor();
  await cell('Tuesday, 16 March 2027: Holidays').waitFor();
  await cell('Wednesday, 17 March 2027: nothing').waitFor();
  await cell('Thursday, 1 April 2027: Night train').waitFor();
  await cell('Saturday, 20 March 2027: 22:00 Late film').waitFor();
  await cell('Sunday, 21 March 2027: nothing').waitFor();
  await cell('Wednesday, 10 March 2027: 15:00 Dentist').focus();
  const focused = () => page.evaluate(() => document.activeElement?.dataset.day);
  for (const [key, day] of [['ArrowRight', '2027-03-11'], ['ArrowDown', '2027-03-18'], ['ArrowLeft', '2027-03-17'], ['ArrowUp', '2027-03-10'], ['Home', '2027-03-08'], ['End', '2027-03-14'], ['PageDown', '2027-04-14'], ['PageUp', '2027-03-14']]) {
    await page.keyboard.press(key);
    await page.waitForFunction((wanted) => document.activeElement?.dataset.day === wanted, day);
    await becomes(() => focused(), day, key);
  }
  await page.getByRole('heading', { name: 'Sunday, 14 March 2027' }).waitFor();
  await line('Holidays').waitFor();
  await counted(lines(), 1);
  // Moved to another day, the calendar stays; its time goes and comes.
  await cell('Wednesday, 10 March 2027: 15:00 Dentist').click();
  await press('Edit: Dentist');
  await field('Starts: time').fill('');
  await press('Save');
  await line('Dentist').getByText('all day').waitFor();
  await press('Edit: Dentist');
  await field('Starts: time').fill('09:30');
  await press('Save');
  await cell('Wednesday, 10 March 2027: 09:30 Dentist').waitFor();
  const { events } = await call('list_calendar_events', { startDate: '2027-03-10', endDate: '2027-03-10' });
  assert.deepEqual(events.map((event) => [event.isAllDay, event.startTime.slice(0, 16)]), [[false, '2027-03-10T09:30']]);
  await press('Next month');
  await page.getByRole('grid', { name: 'April 2027' }).waitFor();
  await press('Today');
  await page.locator('td.now[aria-selected="true"]').waitFor();
  await search('Search events').fill('train');
  await line('Night train').waitFor();
  await counted(page.getByRole('grid'), 0);
  await search('Search events').fill('');
  await page.goto(`${hob}/#/memory/calendar/2027-03-10`);
  await line('Dentist').waitFor();
  await remove('Dentist');
  await cell('Wednesday, 10 March 2027: nothing').waitFor();
});

test('a table is made, filled, sorted, filtered, given a column and deleted', async () => {
  await page.goto(`${hob}/#/memory/tables`);
  await page.getByText('No tables yet.').waitFor();
  await press('New table');
  await field('Name').first().fill('tasks');
  const column = (n) => form().getByRole('group', { name: `Column ${n}`, exact: true });
  await column(1).getByLabel(/^Name/).fill('plant');
  await press('Add a column');
  await column(2).getByLabel(/^Name/).fill('plant');
  await column(2).getByLabel('Type').selectOption('number');
  await press('Create table');
  await form().getByText('Another column has this name.').waitFor();
  await column(2).getByLabel(/^Name/).fill('height');
  await press('Create table');
  // Tasks have tools of their own.
  await form().getByRole('alert').waitFor();
  await field('Name').first().fill('House plants');
  await press('Add a column');
  await column(3).getByLabel(/^Name/).fill('light');
  await column(3).getByLabel('Type').selectOption('select');
  await column(3).getByLabel(/^Choices/).fill('sun, shade');
  await press('Add a column');
  await column(4).getByLabel(/^Name/).fill('alive');
  await column(4).getByLabel('Type').selectOption('boolean');
  await press('Create table');
  await page.getByRole('heading', { name: 'house_plants' }).waitFor();
  await page.getByText('No rows yet.').waitFor();

  await press('Add a row');
  await field('height').fill('1.5');
  await press('Add');
  await form().getByText('This is required.').waitFor();
  await field('plant').fill('Monstera');
  await field('light').selectOption('shade');
  await field('alive').selectOption('true');
  await press('Add');
  const rows = page.locator('.grid tbody tr');
  await rows.first().waitFor();
  assert.match((await rows.first().innerText()).replace(/\s+/g, ' '), /Monstera 1\.5 shade yes/);
  await call('batch_add_custom_records', { table: 'house_plants', records: [{ plant: 'Basil', height: 0.2, alive: false }, { plant: 'Palm', height: 3 }] });
  await rows.nth(2).waitFor();
  const plants = () => page.locator('.grid tbody tr td:first-child').allInnerTexts();
  await press('Sort by height');
  await page.locator('th[aria-sort="ascending"]').waitFor();
  await page.waitForFunction(() => document.querySelector('.grid tbody td')?.textContent === 'Basil');
  await becomes(() => plants(), ['Basil', 'Monstera', 'Palm']);
  await press('Sort by height');
  await page.waitForFunction(() => document.querySelector('.grid tbody td')?.textContent === 'Palm');
  const sieve = page.getByRole('group', { name: 'Filter' });
  await sieve.getByLabel('Column').selectOption('height');
  await sieve.getByLabel('Comparison').selectOption('gte');
  await sieve.getByLabel('Value').fill('1.5');
  await page.waitForFunction(() => document.querySelectorAll('.grid tbody tr').length === 2);
  await sieve.getByLabel('Column').selectOption('');
  await search('Search this table').fill('basil');
  await page.waitForFunction(() => document.querySelectorAll('.grid tbody tr').length === 1);
  await press('Edit: Basil');
  await field('height').fill('tall');
  await press('Save');
  await form().getByText('Enter a number.').waitFor();
  await field('height').fill('');
  await field('alive').selectOption('');
  await press('Save');
  await heard('“Basil” saved.').waitFor();
  const { records } = await call('search_custom_records', { table: 'house_plants', query: 'basil' });
  assert.deepEqual([records[0].data.height, records[0].data.alive], [null, null]);
  await press('Delete: Basil');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Yes, delete it' }).click();
  await page.getByText('Nothing matches.').waitFor();
  await search('Search this table').fill('');

  await press('Edit table');
  await press('Add a column');
  await column(1).getByLabel(/^Name/).fill('pot');
  await press('Save');
  await page.getByRole('button', { name: 'Sort by pot' }).waitFor();
  await press('Delete table');
  await page.getByRole('alertdialog', { name: 'Delete the table house_plants and its 2 rows for good?' }).getByRole('button', { name: 'Yes, delete all of it' }).click();
  await page.getByText('No tables yet.').waitFor();
  await page.goto(`${hob}/#/memory/tables/house_plants`);
  await page.getByRole('alert').waitFor();
});

test('the search over everything finds the lists and what is in them', async () => {
  await call('add_task', { title: 'Sharpen the skates' });
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Find anything' }).fill('skates');
  await page.getByRole('option', { name: /Sharpen the skates Tasks/ }).click();
  await line('Sharpen the skates').waitFor();
  await becomes(() => search('Search tasks').inputValue(), 'Sharpen the skates');
  await search('Search tasks').fill('');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Find anything' }).fill('calendar');
  await page.getByRole('option', { name: /^Calendar/ }).click();
  await page.getByRole('grid').waitFor();
  assert.deepEqual(problems, []);
});
