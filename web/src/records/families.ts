// The kinds of records: their tools, their fields, how they are narrowed, and how one of them looks in a line.
import { records as words } from '../text/records';
import { birthday, near, nearDay, plusDays, span, today, wall } from './days';
import { listOf, numberOf, textOf, type Entry, type Facts, type Family, type Field, type Filter, type Way } from './kinds';
import { amount } from './amounts';

type Table = Record<string, string>;

const pairs = (table: Table) => Object.entries(table);
const ways = (name: string, table: Table): Way[] => pairs(table).map(([value, label]) => ({ value, label, args: { [name]: value } }));
const every: Way = { value: '', label: words.all, args: {} };
const any = (label: string): Way => ({ ...every, label });
const flag = (name: string, label: string, only: string): Filter => ({ name, label, ways: [every, { value: 'yes', label: only, args: { [name]: true } }] });

const title = (label: string): Field => ({ name: 'title', kind: 'line', label, required: true });
const description: Field = { name: 'description', kind: 'area', label: words.fields.description };
const category: Field = { name: 'category', kind: 'line', label: words.fields.category };
const tags: Field = { name: 'tags', kind: 'tags', label: words.fields.tags, help: words.tagsHelp };
const shared: Field = { name: 'shared', kind: 'switch', label: words.share };
const rare = (field: Field): Field => ({ ...field, rare: true });

const named = (name: string) => (entry: Entry) => textOf(entry, name) || words.unnamed;
const picked = (entry: Entry, name: string) => {
  const value = textOf(entry, name);
  return value ? { words: value, pick: { name, value } } : '';
};
const sharedFact = (entry: Entry) => entry['shared'] === true && words.shared;

function dueFact(entry: Entry): Facts[number] {
  const due = near(entry['dueDate']);
  if (!due) return '';
  return entry['overdue'] === true ? { words: words.tasks.overdue(due), bad: true } : words.tasks.due(due);
}

export const tasks: Family = {
  section: 'tasks',
  plural: 'tasks',
  tools: { list: 'list_tasks', add: 'add_task', update: 'update_task', remove: 'delete_task' },
  which: 'taskId',
  topics: ['tasks:changed'],
  words: words.tasks.words,
  fields: [
    title(words.tasks.title),
    { name: 'dueDate', kind: 'moment', label: words.fields.due },
    { ...category, label: words.tasks.list, help: words.tasks.listHelp },
    rare({ name: 'priority', kind: 'choice', label: words.fields.priority, options: pairs(words.tasks.priorities), begin: 'normal' }),
    { name: 'status', kind: 'choice', label: words.fields.status, options: pairs(words.tasks.statuses), laterOnly: true, rare: true },
    rare({ name: 'notes', kind: 'area', label: words.fields.notes }),
    rare(shared),
  ],
  filters: [
    { name: 'status', label: words.tasks.statusLabel, ways: [any(words.tasks.statusAny), ...ways('status', words.tasks.statuses)] },
    {
      name: 'due',
      label: words.tasks.dueLabel,
      ways: [
        any(words.tasks.dueAny),
        { value: 'overdue', label: words.tasks.dueBy.overdue, args: () => ({ dueBefore: plusDays(today(), -1), status: 'pending' }) },
        { value: 'today', label: words.tasks.dueBy.today, args: () => ({ dueBefore: today() }) },
        { value: 'week', label: words.tasks.dueBy.week, args: () => ({ dueBefore: plusDays(today(), 7) }) },
      ],
    },
  ],
  title: named('title'),
  over: (entry) => entry['status'] === 'completed' || entry['status'] === 'cancelled',
  facts: (entry) => {
    const status = textOf(entry, 'status');
    const priority = textOf(entry, 'priority');
    return [
      status === 'completed' ? words.tasks.doneAt(near(entry['completedAt'])) : dueFact(entry),
      (status === 'in_progress' || status === 'cancelled') && (words.tasks.statuses[status] ?? status).toLowerCase(),
      priority !== 'normal' && { words: (words.tasks.priorities[priority] ?? priority).toLowerCase(), pick: { name: 'priority', value: priority } },
      picked(entry, 'category'),
      sharedFact(entry),
    ];
  },
  body: (entry) => textOf(entry, 'notes'),
};

export const notes: Family = {
  section: 'notes',
  plural: 'notes',
  tools: { list: 'list_notes', add: 'add_note', update: 'update_note', remove: 'delete_note' },
  which: 'noteId',
  topics: ['notes:changed'],
  words: words.notes.words,
  fields: [
    title(words.fields.title),
    { name: 'content', kind: 'area', label: words.notes.content, required: true },
    rare(category),
    rare(tags),
    rare({ name: 'isPinned', kind: 'switch', label: words.notes.pin }),
    rare(shared),
  ],
  filters: [flag('isPinned', words.notes.pinnedLabel, words.notes.pinnedOnly)],
  title: named('title'),
  facts: (entry) => [
    entry['isPinned'] === true && words.notes.pinned,
    near(entry['createdAt']),
    picked(entry, 'category'),
    sharedFact(entry),
  ],
  tags: (entry) => listOf(entry, 'tags'),
  body: (entry) => textOf(entry, 'content'),
  whole: 'get_note',
};

export const events: Family = {
  section: 'calendar',
  plural: 'events',
  tools: { list: 'list_calendar_events', add: 'add_calendar_event', update: 'update_calendar_event', remove: 'delete_calendar_event' },
  which: 'eventId',
  topics: ['calendar:changed'],
  words: words.calendar.words,
  fields: [
    title(words.calendar.title),
    { name: 'startTime', kind: 'moment', label: words.calendar.start, help: words.calendar.startHelp, required: true },
    { name: 'endTime', kind: 'moment', label: words.calendar.end, help: words.calendar.endHelp },
    { name: 'location', kind: 'line', label: words.calendar.location },
    {
      name: 'reminder', kind: 'choice', label: words.calendar.reminder, whole: true, other: (value) => words.calendar.minutesBefore(Number(value)),
      options: ['', '0', '10', '30', '60', '1440'].map((value) => [value, words.calendar.reminders[value] ?? value] as const),
    },
    rare(description),
    rare(category),
    rare(shared),
  ],
  filters: [],
  title: named('title'),
  facts: (entry) => {
    const reminder = numberOf(entry, 'reminder');
    return [
      span(entry['startTime'], entry['endTime'], entry['isAllDay'] === true),
      textOf(entry, 'location'),
      reminder !== null && words.calendar.remindedBefore(reminder),
      picked(entry, 'category'),
      sharedFact(entry),
    ];
  },
  body: (entry) => textOf(entry, 'description'),
  // A day alone would keep the time the event had.
  besides: ({ startTime }) => (typeof startTime === 'string' ? { isAllDay: !startTime.includes('T') } : {}),
};

export const contacts: Family = {
  section: 'contacts',
  plural: 'contacts',
  tools: { list: 'list_contacts', add: 'add_contact', update: 'update_contact', remove: 'delete_contact' },
  which: 'contactId',
  topics: ['contacts:changed'],
  words: words.contacts.words,
  fields: [
    { name: 'name', kind: 'line', label: words.contacts.name, required: true },
    { name: 'phone', kind: 'line', label: words.contacts.phone, type: 'tel' },
    { name: 'email', kind: 'line', label: words.contacts.email, type: 'email' },
    { name: 'relationship', kind: 'line', label: words.contacts.relationship, help: words.contacts.relationshipHelp },
    rare({ name: 'birthday', kind: 'line', label: words.contacts.birthday, help: words.contacts.birthdayHelp }),
    rare({ name: 'company', kind: 'line', label: words.contacts.company }),
    rare({ name: 'jobTitle', kind: 'line', label: words.contacts.jobTitle }),
    rare({ name: 'address', kind: 'area', label: words.contacts.address }),
    rare({ name: 'notes', kind: 'area', label: words.fields.notes }),
    rare({ name: 'isFavorite', kind: 'switch', label: words.contacts.favourite }),
    rare(shared),
  ],
  filters: [flag('isFavorite', words.contacts.which, words.contacts.favourites)],
  title: named('name'),
  facts: (entry) => {
    const born = textOf(entry, 'birthday');
    return [
      textOf(entry, 'phone'),
      textOf(entry, 'email'),
      textOf(entry, 'jobTitle'),
      picked(entry, 'company'),
      picked(entry, 'relationship'),
      born && words.contacts.born(birthday(born), wall(entry['nextBirthday']) ? nearDay(textOf(entry, 'nextBirthday')) : ''),
      entry['isFavorite'] === true && words.contacts.favourite.toLowerCase(),
      sharedFact(entry),
    ];
  },
  body: (entry) => [textOf(entry, 'address'), textOf(entry, 'notes')].filter(Boolean).join('\n'),
};

export const bookmarks: Family = {
  section: 'bookmarks',
  plural: 'bookmarks',
  tools: { list: 'list_bookmarks', add: 'add_bookmark', update: 'update_bookmark', remove: 'delete_bookmark' },
  which: 'bookmarkId',
  topics: ['bookmarks:changed'],
  words: words.bookmarks.words,
  fields: [
    { name: 'url', kind: 'line', label: words.bookmarks.url, type: 'url', required: true },
    { name: 'title', kind: 'line', label: words.bookmarks.title, help: words.bookmarks.titleHelp },
    tags,
    rare(description),
    rare(category),
    rare({ name: 'isFavorite', kind: 'switch', label: words.bookmarks.favourite }),
    rare(shared),
  ],
  filters: [flag('isFavorite', words.bookmarks.which, words.bookmarks.favourites)],
  title: (entry) => textOf(entry, 'title') || textOf(entry, 'url'),
  link: (entry) => textOf(entry, 'url'),
  facts: (entry) => [
    textOf(entry, 'url').replace(/^https?:\/\/(www\.)?/, '').replace(/\/$/, ''),
    near(entry['createdAt']),
    picked(entry, 'category'),
    entry['isFavorite'] === true && words.bookmarks.favourite.toLowerCase(),
    sharedFact(entry),
  ],
  tags: (entry) => listOf(entry, 'tags'),
  body: (entry) => textOf(entry, 'description'),
};

function goalDue(entry: Entry): Facts[number] {
  const due = near(entry['dueDate']);
  if (!due) return '';
  return entry['overdue'] === true ? { words: words.tasks.overdue(due), bad: true } : words.goals.due(due);
}

export const goals: Family = {
  section: 'goals',
  plural: 'goals',
  tools: { list: 'list_goals', add: 'create_goal', update: 'update_goal', remove: 'delete_goal' },
  which: 'goalId',
  topics: ['goals:changed', 'goal-steps:changed'],
  words: words.goals.words,
  fields: [
    title(words.goals.title),
    description,
    { name: 'dueDate', kind: 'moment', label: words.fields.due },
    rare({ name: 'priority', kind: 'number', label: words.fields.priority, help: words.goals.priorityHelp, begin: '5', whole: true, least: 1, most: 10 }),
    { name: 'status', kind: 'choice', label: words.fields.status, options: pairs(words.goals.statuses), laterOnly: true, rare: true },
    { name: 'progress', kind: 'number', label: words.goals.progress, help: words.goals.progressHelp, begin: '0', laterOnly: true, rare: true, least: 0, most: 100 },
    rare(category),
    rare({ name: 'parentId', kind: 'goal', label: words.goals.parent }),
    { name: 'notes', kind: 'area', label: words.fields.notes, laterOnly: true, rare: true },
    rare(shared),
  ],
  filters: [{ name: 'status', label: words.goals.statusLabel, ways: [any(words.goals.statusAny), ...ways('status', words.goals.statuses)] }],
  title: named('title'),
  over: (entry) => entry['status'] === 'completed' || entry['status'] === 'abandoned',
  facts: (entry) => {
    const status = textOf(entry, 'status');
    const priority = numberOf(entry, 'priority');
    return [
      status !== 'active' && (words.goals.statuses[status] ?? status).toLowerCase(),
      goalDue(entry),
      priority !== null && priority !== 5 && words.goals.priority(priority),
      picked(entry, 'category'),
      sharedFact(entry),
    ];
  },
  body: (entry) => [textOf(entry, 'description'), textOf(entry, 'notes')].filter(Boolean).join('\n'),
};

export const expenses: Family = {
  section: 'money',
  plural: 'expenses',
  tools: { list: 'query_expenses', add: 'add_expense', update: 'update_expense', remove: 'delete_expense' },
  which: 'expenseId',
  topics: ['expenses:changed'],
  words: words.money.words,
  fields: [
    { name: 'amount', kind: 'number', label: words.money.amount, required: true },
    { name: 'description', kind: 'line', label: words.money.description, required: true },
    { name: 'category', kind: 'choice', label: words.fields.category, options: pairs(words.money.categories), begin: 'food' },
    { name: 'date', kind: 'day', label: words.money.date, begin: 'today', required: true },
    { name: 'currency', kind: 'line', label: words.money.currency, help: words.money.currencyHelp, rare: true },
    rare({ name: 'paymentMethod', kind: 'line', label: words.money.payment }),
    rare(tags),
    rare({ name: 'notes', kind: 'area', label: words.fields.notes }),
    rare(shared),
  ],
  filters: [],
  title: named('description'),
  facts: (entry) => {
    const sort = textOf(entry, 'category');
    return [
      { words: amount(numberOf(entry, 'amount') ?? 0, textOf(entry, 'currency')), main: true },
      near(entry['date']),
      sort && { words: words.money.categories[sort] ?? sort, pick: { name: 'category', value: sort } },
      textOf(entry, 'paymentMethod'),
      sharedFact(entry),
    ];
  },
  tags: (entry) => listOf(entry, 'tags'),
  tagsAsList: true,
  body: (entry) => textOf(entry, 'notes'),
};
