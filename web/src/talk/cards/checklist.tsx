// Tasks as a checklist: ticked and opened again here, and kept as they are now, whoever ticks them elsewhere.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import * as api from '../../api';
import { Notice } from '../../form';
import { useNews } from '../../live';
import { relativeTime } from '../../records/days';
import { facts, trouble } from '../../text';
import { talk } from '../../text/talk';
import { list, object, words, type Fields } from './read';

const texts = talk.card;

/** The most tasks that are read to know how they stand, and how many a card shows at first. */
const READ = 200;
const SHOWN = 12;

/** How the tasks stand now, by id: read once for all cards. */
const now = signal<ReadonlyMap<string, string>>(new Map());
let reading: Promise<void> | null = null;

async function readAll(): Promise<void> {
  try {
    const { result } = await api.execute('list_tasks', { limit: READ });
    now.value = new Map([...now.value, ...list(object(result)['tasks']).map(object).map((task) => [words(task['id']), words(task['status'])] as const)]);
  } catch {
    // The device is away, or this person may not read tasks: the card shows how they stood.
  }
}

const refresh = () => (reading ??= readAll().finally(() => (reading = null)));

function Item({ task }: { task: Fields }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const id = words(task['id']);
  const title = words(task['title']) || texts.untitled;
  const status = now.value.get(id) ?? words(task['status']);
  const done = status === 'completed';
  const tick = async () => {
    if (busy) return;
    setBusy(true);
    setProblem('');
    const before = now.value;
    now.value = new Map(before).set(id, done ? 'pending' : 'completed');
    try {
      await (done ? api.execute('update_task', { taskId: id, status: 'pending' }) : api.execute('complete_task', { taskId: id }));
    } catch (cause) {
      now.value = new Map(now.value).set(id, status);
      setProblem(cause instanceof api.Refused && cause.status === 404 ? texts.gone : trouble(cause));
    }
    setBusy(false);
  };
  const due = task['dueDate'] ? texts.due(relativeTime(task['dueDate'])) : '';
  const about = facts(status === 'cancelled' && texts.cancelled, !done && due, !done && task['overdue'] === true && texts.overdue);
  return (
    <li class={done || status === 'cancelled' ? 'over' : undefined}>
      <label>
        <input type="checkbox" checked={done} disabled={status === 'cancelled'} aria-busy={busy} onChange={() => void tick()} />
        <span>{title}{about && <small>{about}</small>}</span>
      </label>
      {problem && <Notice bad>{problem}</Notice>}
    </li>
  );
}

export function Checklist({ tasks }: { tasks: Fields[] }): JSX.Element {
  const [whole, setWhole] = useState(false);
  useEffect(() => void refresh(), []);
  useNews(['tasks:changed'], () => void refresh());
  const shown = whole || tasks.length <= SHOWN + 1 ? tasks : tasks.slice(0, SHOWN);
  const categories = new Set(tasks.map((task) => words(task['category'])));
  const [category = ''] = categories.size === 1 ? categories : [];
  return (
    <section class="card checklist" aria-label={category || texts.tasks}>
      {category && <p class="card-title">{category}</p>}
      <ul>{shown.map((task) => <Item key={words(task['id'])} task={task} />)}</ul>
      {shown.length < tasks.length && <button type="button" class="quiet" onClick={() => setWhole(true)}>{texts.all(tasks.length)}</button>}
    </section>
  );
}
