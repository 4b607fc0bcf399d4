// How the lists of the Memory room look: filled, with forms that are wrong, on a phone and on a desktop, light and dark, and very narrow.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { execute, iso, lists } from './lists.mjs';
import { accessible, desktop, enter, fits, hob, launch, schemes, shot, sizes } from './page.mjs';

let browser, context, page;

before(async () => {
  browser = await launch();
  ({ context, page } = await enter(browser, { size: desktop }));
});

after(async () => {
  await browser?.close();
});

const call = (tool, args = {}, who = context) => execute(who, tool, args);
const { form, line, press } = lists(() => page);

/** A house with something in every list. */
async function furnish() {
  await call('add_contact', { name: 'Anna Berger', phone: '0664 1234567', email: 'anna@example.org', birthday: '--10-03', relationship: 'sister' });
  await call('add_bookmark', { url: 'https://example.org/boiler/manual', title: 'Boiler manual', tags: ['house'] });
  await call('batch_add_tasks', {
    tasks: [
      { title: 'Pay the rent', dueDate: iso(-2), category: 'home', priority: 'urgent' }, { title: 'Oat milk', category: 'shopping', shared: true },
      { title: 'Call the plumber about the boiler in the cellar, which makes a noise when it starts and another one when it stops', dueDate: `${iso(1)}T09:30`, notes: 'Ask for Mr Novak.\nThe number is on the boiler.' },
      { title: 'Sweep the yard' },
    ],
  });
  await call('complete_task', { taskId: 'Sweep the yard' });
  await call('add_note', { title: 'Roof', content: 'The roof was mended. '.repeat(60), tags: ['house', 'roof'], category: 'house' });
  const on = (days, time) => `${iso(days)}${time ? `T${time}` : ''}`;
  await call('batch_add_calendar_events', {
    events: [
      { title: 'Dentist', startTime: on(0, '15:00'), location: 'Ring 4', reminder: 60 }, { title: 'Holidays', startTime: on(2), endTime: on(6) },
      { title: 'School play', startTime: on(2, '18:00') }, { title: 'Piano', startTime: on(2, '10:00') }, { title: 'Dinner with Anna and Ben', startTime: on(2, '20:00') },
    ],
  });
  await call('batch_add_expenses', {
    expenses: [[312.4, 'food', 'Week shopping'], [148, 'transport', 'Tickets'], [820, 'housing', 'Rent'], [75.9, 'subscription', 'Music'], [55, 'other', 'Present']].map(([amount, category, description], n) =>
      ({ amount, currency: 'EUR', category, description, date: `${iso(0).slice(0, 8)}${String(1 + 3 * n).padStart(2, '0')}`, tags: ['house'], paymentMethod: 'card' })),
  });
  const { id } = await call('create_goal', { title: 'Learn the piano', description: 'Enough for Christmas.', priority: 8, dueDate: '2027-12-01' });
  await call('decompose_goal', { goalId: id, steps: ['Find a teacher', { title: 'Practise every day', description: 'Half an hour is enough.' }, { title: 'Read music', type: 'goal' }] });
  await call('complete_step', { stepId: 'Find a teacher', result: 'Tuesday evenings' });
  await call('create_custom_table', {
    table: 'plants', description: 'What grows in the house.',
    columns: [{ name: 'plant', type: 'text', required: true }, { name: 'height_cm', type: 'number' }, { name: 'watered', type: 'date' }, { name: 'alive', type: 'boolean' }, { name: 'where_it_stands', type: 'text' }],
  });
  await call('batch_add_custom_records', {
    table: 'plants',
    records: [{ plant: 'Monstera', height_cm: 82.5, watered: iso(-1), alive: true, where_it_stands: 'in the hall, beside the door' }, { plant: 'Basil', height_cm: 12, alive: false }],
  });
}

/** Each part, where it is, and what stands there when it is ready. */
const PARTS = [
  ['tasks', 'Pay the rent', 'Add a task'], ['notes', 'Roof', 'Add a note'], ['calendar', 'Dentist', 'Add an event'], ['contacts', 'Anna Berger', 'Add a contact'],
  ['money', 'Week shopping', 'Add an expense'], ['bookmarks', 'Boiler manual', 'Add a bookmark'], ['goals', 'Learn the piano', 'Set a goal'],
];

test('something in every list', furnish);

for (const [name, size] of Object.entries(sizes)) {
  for (const scheme of schemes) {
    test(`the lists fit and read well: ${name}, ${scheme}`, async () => {
      const it = await enter(browser, { size, scheme });
      const look = async (what) => {
        await accessible(it.page, `${what}, ${name}, ${scheme}`);
        await fits(it.page, size, what);
        await shot(it.page, `records-${what}-${name}-${scheme}`);
      };
      for (const [part, words, add] of PARTS) {
        await it.page.goto(`${hob}/#/memory/${part}`);
        await line(words, it.page).waitFor();
        if (part === 'money') await it.page.locator('.shares li').first().waitFor();
        await look(part);
        await press(add, it.page);
        await form(it.page).locator('details.rare > summary').click();
        await press('Add', it.page);
        await form(it.page).locator('.problem').first().waitFor();
        await look(`${part}-form`);
        await press('Cancel', it.page);
      }
      await press('Steps 1/2: Learn the piano', it.page);
      await it.page.getByText('Practise every day').waitFor();
      await look('goals-steps');
      await it.page.getByRole('button', { name: 'Delete: Learn the piano' }).click();
      await look('goals-delete');
      await it.page.goto(`${hob}/#/memory/tables`);
      await it.page.getByRole('link', { name: /plants/ }).waitFor();
      await look('tables');
      await press('New table', it.page);
      await press('Add a column', it.page);
      await press('Create table', it.page);
      await look('tables-form');
      await it.page.goto(`${hob}/#/memory/tables/plants`);
      await it.page.locator('.grid tbody tr').nth(1).waitFor();
      await look('table');
      await press('Edit: Monstera', it.page);
      await look('table-form');
      assert.deepEqual(it.problems, []);
      await it.context.close();
    });
  }
}

test('at twice the size, and on a narrow phone, nothing is cut off', async () => {
  for (const size of [{ width: 640, height: 400 }, { width: 320, height: 568 }]) {
    const it = await enter(browser, { size });
    for (const [part, words] of [...PARTS, ['tables', 'plants'], ['tables/plants', 'Monstera']]) {
      await it.page.goto(`${hob}/#/memory/${part}`);
      await it.page.locator('.lists').getByText(words).first().waitFor();
      await fits(it.page, size, `${part} at ${size.width}`);
      if (part === 'tables/plants') break;
      const add = it.page.locator('.lists .add').first();
      await add.click();
      await fits(it.page, size, `${part} at ${size.width}, its form`);
    }
    await it.context.close();
  }
});
