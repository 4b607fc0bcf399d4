// A person in the lists of the Memory room: tasks, notes, contacts, bookmarks and goals, and what others see of them, against the real daemon.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { execute, iso, lists } from './lists.mjs';
import { accessible, api, becomes, counted, desktop, enter, enterAs, hob, launch, open, phone, shot, shows, visit } from './page.mjs';

let browser, context, page, problems;

before(async () => {
  browser = await launch();
  ({ context, page, problems } = await enter(browser, { size: desktop }));
});

after(async () => {
  await browser?.close();
});

const call = (tool, args = {}, who = context) => execute(who, tool, args);
const { field, form, heard, line, lines, more, press, remove, search, section } = lists(() => page);

test('the tabs lead to every part; the address keeps it, and the back button goes back', async () => {
  await page.goto(hob);
  await visit(page, 'Memory');
  for (const name of ['Lists', 'Tasks', 'Notes', 'Calendar', 'Contacts', 'Money', 'Bookmarks', 'Goals', 'Tables', 'Schedules']) {
    await section(name);
    await page.locator('.where').getByText(name, { exact: true }).waitFor();
    await becomes(() => page.evaluate(() => location.hash), `#/memory/${name.toLowerCase()}`);
    await becomes(() => page.getByRole('navigation', { name: 'Lists' }).locator('[aria-current="page"]').innerText(), name);
  }
  await page.goBack();
  await page.locator('.where').getByText('Tables', { exact: true }).waitFor();
  await section('Tasks');
  await page.reload();
  await page.getByText('Nothing to do.').waitFor();
  assert.deepEqual(problems, []);
});

test('a task is added, refused with nothing lost, ticked off, opened again, changed and deleted', async () => {
  await page.getByText('Say “add milk to the shopping list”').waitFor();
  await press('Add a task');
  await press('Add');
  await page.getByText('This is required.').waitFor();
  await field('Task').fill('Milk');
  await field('Due: time').fill('10:00');
  await press('Add');
  await page.getByText('Choose a day as well.').waitFor();
  await field('Due: day').fill(iso(1));
  await field('List').fill('shopping');
  await more();
  await field('Priority').selectOption('high');
  await field('Notes').fill('The one with the red cap');
  await press('Add');
  await heard('“Milk” added.').waitFor();
  await line('Milk').waitFor();
  await shows(() => line('Milk').innerText(), /The one with the red cap[^]*due tomorrow, 10:00[^]*high[^]*shopping/);
  const [kept] = (await call('list_tasks')).tasks;
  assert.deepEqual([kept.title, kept.category, kept.priority, kept.shared, kept.dueDate.slice(0, 16)], ['Milk', 'shopping', 'high', true, `${iso(1)}T10:00`]);

  await page.getByRole('checkbox', { name: 'Done: Milk' }).click();
  await heard('“Milk” done.').waitFor();
  await page.getByRole('checkbox', { name: 'Reopen: Milk' }).waitFor();
  assert.equal((await call('list_tasks')).tasks[0].status, 'completed');
  await page.getByRole('checkbox', { name: 'Reopen: Milk' }).click();
  await heard('“Milk” reopened.').waitFor();
  assert.equal((await call('list_tasks')).tasks[0].status, 'pending');

  await press('Edit: Milk');
  await becomes(() => field('Due: day').inputValue(), iso(1));
  await becomes(() => field('Due: time').inputValue(), '10:00');
  await field('Task').fill('Oat milk');
  await field('Due: day').fill('');
  await field('Due: time').fill('');
  await field('List').fill('');
  await field('Task').press('Control+Enter');
  await heard('“Oat milk” saved.').waitFor();
  await line('Oat milk').waitFor();
  const [now] = (await call('list_tasks')).tasks;
  assert.deepEqual([now.id, now.title, now.dueDate, now.category, now.notes], [kept.id, 'Oat milk', null, null, 'The one with the red cap']);
  await remove('Oat milk');
  assert.equal((await call('list_tasks')).count, 0);
});

test('what Hob refuses is said at its field or under the form, and nothing typed is lost', async () => {
  await press('Add a task');
  await field('Task').fill('x'.repeat(301));
  await field('List').fill('attic');
  await press('Add');
  const said = form().locator('.problem');
  await said.getByText(/300/).waitFor();
  await becomes(() => field('Task').getAttribute('aria-invalid'), 'true');
  await becomes(() => page.evaluate(() => document.activeElement?.getAttribute('aria-invalid')), 'true');
  assert.equal((await field('Task').inputValue()).length, 301);
  await shot(page, 'records-refused-field');
  await field('Task').fill('Clear out the attic');
  await page.route('**/tools/add_task/execute', (route) =>
    route.fulfill({ status: 503, json: { success: false, error: { code: 'unavailable', message: 'the disk is full: make room' } } }));
  await press('Add');
  await form().getByRole('alert').getByText('The disk is full: make room.').waitFor();
  await becomes(() => field('List').inputValue(), 'attic');
  await page.unroute('**/tools/add_task/execute');
  await page.route('**/tools/add_task/execute', (route) => route.abort());
  await press('Add');
  await form().getByRole('alert').getByText('Hob did not answer.').waitFor();
  await page.unroute('**/tools/add_task/execute');
  await page.getByText('Hob is offline; reconnecting…').waitFor({ state: 'detached' });
  // What is half written stays while one looks elsewhere.
  await section('Notes');
  await section('Tasks');
  await press('Add a task');
  await becomes(() => field('Task').inputValue(), 'Clear out the attic');
  await press('Add');
  await line('Clear out the attic').waitFor();
});

test('tasks are filtered, searched and read on, and what comes in by another door appears by itself', async () => {
  await call('batch_add_tasks', {
    tasks: [
      { title: 'Rent', dueDate: iso(-2), category: 'home', priority: 'urgent' }, { title: 'Eggs', category: 'shopping' }, { title: 'Bread', category: 'shopping' },
      { title: 'Passport', dueDate: iso(20) },
    ],
  });
  await line('Passport').waitFor();
  await shows(() => line('Rent').innerText(), /overdue since[^]*urgent/);
  await page.getByRole('combobox', { name: 'Due' }).selectOption('overdue');
  await line('Eggs').waitFor({ state: 'detached' });
  await counted(lines(), 1);
  await page.getByRole('combobox', { name: 'Due' }).selectOption('');
  await line('Eggs').getByRole('button', { name: 'Only shopping' }).click();
  await line('Rent').waitFor({ state: 'detached' });
  await counted(lines(), 2);
  await search('Search tasks').fill('bre');
  await line('Eggs').waitFor({ state: 'detached' });
  await heard('1 found').waitFor();
  // What was looked for stays while one is in another part.
  await section('Notes');
  await section('Tasks');
  await line('Bread').waitFor();
  await counted(lines(), 1);
  await press('Remove the filter shopping');
  await search('Search tasks').fill('nothing like it');
  await page.getByText('Nothing matches.').waitFor();
  await press('Clear');
  await line('Rent').waitFor();
  await page.getByRole('combobox', { name: 'Status filter' }).selectOption('completed');
  await page.getByText('Nothing matches.').waitFor();
  await page.getByRole('combobox', { name: 'Status filter' }).selectOption('');

  await call('batch_add_tasks', { tasks: Array.from({ length: 40 }, (_, n) => ({ title: `Nail ${n}`, category: 'nails' })) });
  await page.getByRole('button', { name: 'Show more' }).waitFor();
  await counted(lines(), 30);
  await press('Show more');
  await page.waitForFunction(() => document.querySelectorAll('.records > li').length === 45);
  await counted(page.getByRole('button', { name: 'Show more' }), 0);
  const ids = (await call('list_tasks', { category: 'nails', limit: 50 })).tasks.map((task) => task.id);
  for (const taskId of ids) await call('delete_task', { taskId });
  // Each deletion draws the list anew; the next test needs one that is at rest.
  await counted(lines(), 5);
});

test('the focus goes on to the next line when one is deleted', async () => {
  await search('Search tasks').fill('');
  const names = await lines().locator('.record-title').allInnerTexts();
  await page.getByRole('button', { name: `Delete: ${names[1]}`, exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('alertdialog').getByRole('button', { name: 'No', exact: true }).waitFor();
  await page.waitForFunction(() => document.activeElement?.closest('[role=alertdialog]') && document.activeElement.textContent === 'No');
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  await line(names[1]).waitFor({ state: 'detached' });
  await page.waitForFunction((name) => document.activeElement?.closest('.records > li')?.textContent?.includes(name), names[2]);
});

test('a note is written, found, shortened in the list, read and changed as a whole', async () => {
  await section('Notes');
  await page.getByText('No notes yet.').waitFor();
  await press('Add a note');
  await field('Title').fill('Paint');
  await field('Text').fill('The hall is RAL 9010');
  await more();
  await field('Tags').fill('house, #paint');
  await form().getByRole('switch', { name: 'Pin to the top' }).click();
  await press('Add');
  await line('Paint').waitFor();
  const long = `${'The roof was mended. '.repeat(60)}The end.`;
  await call('add_note', { title: 'Roof', content: long });
  await line('Roof').waitFor();
  await shows(() => lines().first().innerText(), /Paint[^]*pinned[^]*#house[^]*#paint/);
  assert.doesNotMatch(await line('Roof').innerText(), /The end\./);
  await line('Roof').getByRole('button', { name: 'Show all: Roof' }).click();
  await line('Roof').getByText('The end.').waitFor();
  await line('Roof').getByRole('button', { name: 'Show less: Roof' }).click();
  await press('Edit: Roof');
  await becomes(() => field('Text').inputValue(), long.trimEnd());
  await field('Title').fill('The roof');
  await press('Save');
  await line('The roof').waitFor();
  const { notes } = await call('list_notes', { search: 'roof' });
  assert.equal((await call('get_note', { noteId: notes[0].id })).content, long);
  await line('Paint').getByRole('button', { name: 'Only #paint' }).click();
  await line('The roof').waitFor({ state: 'detached' });
  await press('Remove the filter paint');
  await page.getByRole('group', { name: 'Filter' }).getByRole('button', { name: 'Pinned' }).click();
  await line('The roof').waitFor({ state: 'detached' });
  await page.getByRole('group', { name: 'Filter' }).getByRole('button', { name: 'All' }).click();
  await search('Search notes').fill('mended');
  await line('Paint').waitFor({ state: 'detached' });
  await remove('The roof');
  await search('Search notes').fill('');
});

test('a contact is added with a wrong address first, changed, made a favourite and deleted', async () => {
  await section('Contacts');
  await press('Add a contact');
  await field('Name').fill('Anna Berger');
  await field('Email').fill('anna at home');
  await field('Phone').fill('0664 1234567');
  await press('Add');
  await form().locator('.field', { has: page.getByLabel('Email') }).locator('.problem').waitFor();
  await becomes(() => field('Phone').inputValue(), '0664 1234567');
  await field('Email').fill('anna@example.org');
  await more();
  await field('Birthday').fill('--10-03');
  await press('Add');
  await line('Anna Berger').waitFor();
  await shows(() => line('Anna Berger').innerText(), /0664 1234567[^]*anna@example\.org[^]*birthday 3 October, next/);
  await call('add_contact', { name: 'Ben', company: 'Novak' });
  await line('Ben').waitFor();
  await press('Edit: Ben');
  await form().getByRole('switch', { name: 'Favourite' }).click();
  await press('Save');
  await heard('“Ben” saved.').waitFor();
  await page.getByRole('group', { name: 'Filter' }).getByRole('button', { name: 'Favourites' }).click();
  await line('Anna').waitFor({ state: 'detached' });
  await line('Ben').getByRole('button', { name: 'Only Novak' }).click();
  await page.getByRole('group', { name: 'Filter' }).getByRole('button', { name: 'All' }).click();
  await press('Remove the filter Novak');
  await search('Search contacts').fill('berger');
  await line('Ben').waitFor({ state: 'detached' });
  await search('Search contacts').fill('');
  await remove('Ben');
});

test('a bookmark leads outside in a tab of its own, and only to the web', async () => {
  await section('Bookmarks');
  await press('Add a bookmark');
  await field('Address').fill('javascript:alert(1)');
  await press('Add');
  await form().locator('.problem').first().waitFor();
  await field('Address').fill('https://example.org/boiler/manual');
  await field('Tags').fill('house');
  await press('Add');
  const link = page.locator('.records a').first();
  await link.waitFor();
  assert.deepEqual(await link.evaluate((a) => [a.href, a.target, a.rel]), ['https://example.org/boiler/manual', '_blank', 'noopener noreferrer']);
  const name = await link.innerText();
  await press(`Edit: ${name}`);
  await field('Title').fill('Boiler manual');
  await press('Save');
  await line('Boiler manual').waitFor();
  await call('add_bookmark', { url: 'https://example.org/garden', title: 'Garden' });
  await line('Garden').waitFor();
  await line('Boiler manual').getByRole('button', { name: 'Only #house' }).click();
  await line('Garden').waitFor({ state: 'detached' });
  await press('Remove the filter house');
  await search('Search bookmarks').fill('garden');
  await line('Boiler').waitFor({ state: 'detached' });
  await remove('Garden');
  await search('Search bookmarks').fill('');
});

test('a goal has steps: added, ticked, opened again, and when all are done it is asked whether it is reached', async () => {
  await section('Goals');
  await press('Set a goal');
  await field('Goal').fill('Learn Italian');
  await field('Description').fill('Enough for a holiday');
  await more();
  await field('Priority').fill('12');
  await press('Add');
  await form().getByText('Enter 10 or less.').waitFor();
  await field('Priority').fill('8');
  await press('Add');
  await line('Learn Italian').waitFor();
  await press('Steps: Learn Italian');
  await page.getByText('No steps yet.').waitFor();
  const step = page.getByLabel('Next step');
  await step.fill('Find a course');
  await step.press('Enter');
  await page.getByRole('checkbox', { name: 'Done: Find a course' }).waitFor();
  await step.fill('Learn 100 words');
  await press('Add step');
  await page.getByRole('checkbox', { name: 'Done: Learn 100 words' }).waitFor();
  await page.getByRole('checkbox', { name: 'Done: Find a course' }).click();
  await line('Learn Italian').getByText('50 %').waitFor();
  await page.getByRole('button', { name: 'Steps 1/2: Learn Italian' }).waitFor();
  await page.getByRole('checkbox', { name: 'Reopen: Find a course' }).click();
  await line('Learn Italian').getByText('0 %', { exact: true }).waitFor();
  await page.getByRole('checkbox', { name: 'Done: Find a course' }).click();
  await page.getByRole('checkbox', { name: 'Done: Learn 100 words' }).click();
  await press('Yes, goal reached');
  await line('Learn Italian').getByText('reached', { exact: true }).waitFor();
  assert.equal((await call('list_goals')).goals[0].status, 'completed');
  await call('create_goal', { title: 'Run 10 km' });
  await line('Run 10 km').waitFor();
  await press('Edit: Run 10 km');
  await form().locator('summary').click();
  await field('Part of').selectOption({ label: 'Learn Italian' });
  await press('Save');
  await heard('“Run 10 km” saved.').waitFor();
  await page.getByRole('group', { name: 'Steps: Learn Italian' }).getByText('Run 10 km').waitFor();
  await page.getByRole('combobox', { name: 'Status filter' }).selectOption('active');
  await line('Learn Italian').waitFor({ state: 'detached' });
  await page.getByRole('combobox', { name: 'Status filter' }).selectOption('');
  await remove('Run 10 km');
});

test('what is private is shown to nobody else; what is shared can be read and not changed', async () => {
  await call('add_task', { title: 'A secret present' });
  await call('add_task', { title: 'Water the plants', shared: true });
  await api(context, 'POST', '/api/v1/people', { name: 'Jonas', role: 'member', password: 'told at breakfast' });
  const other = await open(browser, { size: desktop });
  await api(other.context, 'POST', '/api/v1/session', { person: 'Jonas', password: 'told at breakfast' });
  await other.page.goto(`${hob}/#/memory/tasks`);
  await line('Water the plants', other.page).waitFor();
  await counted(line('A secret present', other.page), 0);
  // Offered only where it works.
  await counted(other.page.getByRole('button', { name: 'Delete: Water the plants' }), 0);
  await counted(other.page.getByRole('button', { name: 'Edit: Water the plants' }), 0);
  // Shared no longer, it goes from the page of the others by itself.
  await call('update_task', { taskId: 'Water the plants', shared: false });
  await line('Water the plants', other.page).waitFor({ state: 'detached' });
  for (const part of ['notes', 'calendar', 'contacts', 'money', 'bookmarks', 'goals']) {
    await other.page.goto(`${hob}/#/memory/${part}`);
    await other.page.locator('.nothing:not(:has-text("Looking"))').waitFor();
    await counted(lines(other.page), 0, part);
  }
  assert.deepEqual(other.problems, []);
  await other.context.close();
});

test('a list that is told of change after change does not ask without end', async () => {
  await page.goto(`${hob}/#/memory/notes`);
  await line('Paint').waitFor();
  let asked = 0;
  await page.route('**/tools/list_notes/execute', (route) => {
    asked += 1;
    return route.continue();
  });
  for (let n = 0; n < 40; n += 1) {
    await call('update_note', { noteId: 'Paint', content: `The hall is RAL ${9000 + n}` });
    await page.waitForTimeout(100);
  }
  await line('RAL 9039').waitFor();
  assert.ok(asked >= 2 && asked <= 8, `${asked} readings for 40 changes`);
  await page.unroute('**/tools/list_notes/execute');
});

test('when the lists do not arrive, the page says so', async () => {
  const it = await enter(browser, { size: phone });
  await it.page.route('**/assets/records-*.js', (route) => route.abort());
  await it.page.goto(`${hob}/#/memory/tasks`);
  await it.page.getByText('This part of the page could not be loaded.').waitFor();
  await accessible(it.page, 'lists that did not arrive');
  await it.page.unroute('**/assets/records-*.js');
  await press('Reload the page', it.page);
  await it.page.locator('.lists').waitFor();
  await it.context.close();
});

test('the first load is light: the lists come when they are opened', async () => {
  const it = await enter(browser, { size: phone });
  const files = [];
  it.page.on('request', (request) => files.push(new URL(request.url()).pathname));
  await it.page.goto(hob);
  await it.page.getByRole('textbox', { name: 'Message' }).waitFor();
  assert.equal(files.filter((file) => file.includes('records')).length, 0, files.join(' '));
  await it.page.goto(`${hob}/#/memory/tasks`);
  await it.page.locator('.lists').waitFor();
  assert.ok(files.some((file) => /records-.*\.js/.test(file)) && files.some((file) => /records-.*\.css/.test(file)), files.join(' '));
  await it.context.close();
});

test('whoever may only look has nothing to press', async () => {
  const viewer = await enterAs(browser, 'viewer', { size: phone });
  for (const part of ['tasks', 'calendar', 'money', 'goals', 'tables']) {
    await viewer.page.goto(`${hob}/#/memory/${part}`);
    await viewer.page.locator('.lists').waitFor();
    await viewer.page.waitForTimeout(300);
    await counted(viewer.page.getByRole('button', { name: /^(Add|Edit|Delete|Set|New table)/ }), 0, part);
  }
  assert.deepEqual(viewer.problems, []);
  await viewer.context.close();
});
