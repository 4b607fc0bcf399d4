// The record families: their tools, fields, filters, and how a record reads in one line.
import { records as words } from '../text/records';
import { birthday, relativeTime, relativeDay, plusDays, span, today, wall } from './days';
import type { Schema } from '../forms/schema';
import { goal, moment, tags as tagLine } from './customs';
import { listOf, numberOf, textOf, type Entry, type Facts, type Family, type Filter, type Way } from './kinds';
import { amount } from './amounts';

type Table = Record<string, string>;

const pairs = (table: Table) => Object.entries(table);
const ways = (name: string, table: Table): Way[] => pairs(table).map(([value, label]) => ({ value, label, args: { [name]: value } }));
const every: Way = { value: '', label: words.all, args: {} };
const any = (label: string): Way => ({ ...every, label });
const flag = (name: string, label: string, only: string): Filter => ({ name, label, ways: [every, { value: 'yes', label: only, args: { [name]: true } }] });

/** Common fields, by their label. */
const line = (title: string, description = ''): Schema => ({ title, description, format: 'line' });
const area = (title: string): Schema => ({ title, format: 'textarea' });
const rare = (schema: Schema): Schema => ({ ...schema, rare: true });
const at = (title: string, description = ''): Schema => ({ title, description, custom: moment });
const category = line(words.fields.category);
const tags: Schema = { title: words.fields.tags, description: words.tagsHelp, custom: tagLine };
const shared: Schema = { title: words.share, rare: true };

const named = (name: string) => (entry: Entry) => textOf(entry, name) || words.unnamed;
const picked = (entry: Entry, name: string) => {
  const value = textOf(entry, name);
  return value ? { words: value, pick: { name, value } } : '';
};
/** Of others' records, the line says whose they are. */
const sharedFact = (entry: Entry) => entry['shared'] === true && !entry['sharedBy'] && words.shared;

function dueFact(entry: Entry): Facts[number] {
  const due = relativeTime(entry['dueDate']);
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
  fields: {
    title: line(words.tasks.title),
    dueDate: at(words.fields.due),
    category: line(words.tasks.list, words.tasks.listHelp),
    priority: { title: words.fields.priority, labels: words.tasks.priorities, rare: true },
    status: { title: words.fields.status, labels: words.tasks.statuses, default: 'pending', rare: true },
    notes: rare(area(words.fields.notes)),
    shared,
  },
  filters: [
    { name: 'status', label: words.tasks.statusLabel, ways: [any(words.tasks.statusAny), ...ways('status', words.tasks.statuses)] },
    {
      name: 'due',
      label: words.tasks.dueLabel,
      ways: [
        any(words.tasks.dueAny),
        { value: 'overdue', label: words.tasks.dueBy.overdue, args: { overdue: true } },
        { value: 'today', label: words.tasks.dueBy.today, args: () => ({ dueBefore: today() }) },
        { value: 'week', label: words.tasks.dueBy.week, args: () => ({ dueBefore: plusDays(today(), 7) }) },
      ],
    },
  ],
  title: named('title'),
  everybodys: (entry) => textOf(entry, 'category') !== '',
  over: (entry) => entry['status'] === 'completed' || entry['status'] === 'cancelled',
  facts: (entry) => {
    const status = textOf(entry, 'status');
    const priority = textOf(entry, 'priority');
    return [
      status === 'completed' ? words.tasks.doneAt(relativeTime(entry['completedAt'])) : dueFact(entry),
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
  fields: {
    title: line(words.fields.title),
    content: area(words.notes.content),
    category: rare(category),
    tags: rare(tags),
    isPinned: { title: words.notes.pin, rare: true },
    shared,
  },
  filters: [flag('isPinned', words.notes.pinnedLabel, words.notes.pinnedOnly)],
  title: named('title'),
  facts: (entry) => [
    entry['isPinned'] === true && words.notes.pinned,
    relativeTime(entry['createdAt']),
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
  fields: {
    title: line(words.calendar.title),
    startTime: at(words.calendar.start, words.calendar.startHelp),
    endTime: at(words.calendar.end, words.calendar.endHelp),
    location: line(words.calendar.location),
    reminder: { title: words.calendar.reminder, enum: [0, 10, 30, 60, 1440], labels: words.calendar.reminders, other: (value) => words.calendar.minutesBefore(Number(value)) },
    description: rare(area(words.fields.description)),
    category: rare(category),
    shared,
  },
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
  // Without this, a day alone would keep the event's old time.
  send: (values, _, entry) => {
    const { startTime } = values;
    return entry && typeof startTime === 'string' ? { ...values, isAllDay: !startTime.includes('T') } : values;
  },
};

export const contacts: Family = {
  section: 'contacts',
  plural: 'contacts',
  tools: { list: 'list_contacts', add: 'add_contact', update: 'update_contact', remove: 'delete_contact' },
  which: 'contactId',
  topics: ['contacts:changed'],
  words: words.contacts.words,
  fields: {
    name: line(words.contacts.name),
    phone: { title: words.contacts.phone, format: 'tel' },
    email: { title: words.contacts.email, format: 'email' },
    relationship: line(words.contacts.relationship, words.contacts.relationshipHelp),
    birthday: rare(line(words.contacts.birthday, words.contacts.birthdayHelp)),
    company: rare(line(words.contacts.company)),
    jobTitle: rare(line(words.contacts.jobTitle)),
    address: rare(area(words.contacts.address)),
    notes: rare(area(words.fields.notes)),
    isFavorite: { title: words.contacts.favourite, rare: true },
    shared,
  },
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
      born && words.contacts.born(birthday(born), wall(entry['nextBirthday']) ? relativeDay(textOf(entry, 'nextBirthday')) : ''),
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
  fields: {
    url: { title: words.bookmarks.url, format: 'uri' },
    title: line(words.bookmarks.title, words.bookmarks.titleHelp),
    tags,
    description: rare(area(words.fields.description)),
    category: rare(category),
    isFavorite: { title: words.bookmarks.favourite, rare: true },
    shared,
  },
  filters: [flag('isFavorite', words.bookmarks.which, words.bookmarks.favourites)],
  title: (entry) => textOf(entry, 'title') || textOf(entry, 'url'),
  link: (entry) => textOf(entry, 'url'),
  facts: (entry) => [
    textOf(entry, 'url').replace(/^https?:\/\/(www\.)?/, '').replace(/\/$/, ''),
    relativeTime(entry['createdAt']),
    picked(entry, 'category'),
    entry['isFavorite'] === true && words.bookmarks.favourite.toLowerCase(),
    sharedFact(entry),
  ],
  tags: (entry) => listOf(entry, 'tags'),
  body: (entry) => textOf(entry, 'description'),
};

function goalDue(entry: Entry): Facts[number] {
  const due = relativeTime(entry['dueDate']);
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
  fields: {
    title: line(words.goals.title),
    description: area(words.fields.description),
    dueDate: at(words.fields.due),
    priority: { title: words.fields.priority, description: words.goals.priorityHelp, rare: true },
    status: { title: words.fields.status, labels: words.goals.statuses, default: 'active', rare: true },
    progress: { title: words.goals.progress, description: words.goals.progressHelp, default: 0, rare: true },
    category: rare(category),
    parentId: { title: words.goals.parent, custom: goal, rare: true },
    notes: rare(area(words.fields.notes)),
    shared,
  },
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
  fields: {
    amount: { title: words.money.amount },
    description: line(words.money.description),
    category: { title: words.fields.category, labels: words.money.categories, default: 'food' },
    date: { title: words.money.date, format: 'date', needed: true },
    currency: rare(line(words.money.currency, words.money.currencyHelp)),
    paymentMethod: rare(line(words.money.payment)),
    tags: rare(tags),
    notes: rare(area(words.fields.notes)),
    shared,
  },
  begin: () => ({ date: today() }),
  filters: [],
  title: named('description'),
  facts: (entry) => {
    const sort = textOf(entry, 'category');
    return [
      { words: amount(numberOf(entry, 'amount') ?? 0, textOf(entry, 'currency')), main: true },
      relativeTime(entry['date']),
      sort && { words: words.money.categories[sort] ?? sort, pick: { name: 'category', value: sort } },
      textOf(entry, 'paymentMethod'),
      sharedFact(entry),
    ];
  },
  tags: (entry) => listOf(entry, 'tags'),
  tagsAsList: true,
  body: (entry) => textOf(entry, 'notes'),
};
