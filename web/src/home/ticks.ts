// Tasks that were ticked here: they stay where they are, crossed out, until the room is left or they are open again.
import { signal } from '@preact/signals';
import * as api from '../api';
import type { OpenTask } from './use-today';

interface Tick {
  task: OpenTask;
  /** When the device had it, by the page's clock; an answer asked for before does not know of it. */
  since: number;
}

export const ticked = signal<ReadonlyMap<string, Tick>>(new Map());

function put(id: string, tick: Tick | null): void {
  const next = new Map(ticked.value);
  if (tick) next.set(id, tick);
  else next.delete(id);
  ticked.value = next;
}

export const forgetTicks = () => void (ticked.value = new Map());

/** Drops those that the device says are open, in an answer to a request that began at `began`. */
export function forgetReopened(open: ReadonlySet<string>, began: number): void {
  for (const [id, { since }] of ticked.value) if (open.has(id) && since < began) put(id, null);
}

/** Ticks a task, or opens it again. Throws what the person should read. */
export async function tick(task: OpenTask): Promise<void> {
  const before = ticked.value.get(task.id) ?? null;
  put(task.id, before ? null : { task, since: Infinity });
  try {
    if (before) await api.execute('update_task', { taskId: task.id, status: 'pending' });
    else await api.execute('complete_task', { taskId: task.id });
    if (!before) put(task.id, { task, since: performance.now() });
  } catch (cause) {
    put(task.id, before);
    throw cause;
  }
}

/** By due date, those without one last; then by age. */
function order(a: OpenTask, b: OpenTask): number {
  const [one, other] = [a, b].map(({ dueDate }) => (dueDate ? Date.parse(dueDate) : Infinity)) as [number, number];
  return one === other ? (a.id < b.id ? -1 : 1) : one - other;
}

/** Open tasks, with those that were ticked here in their places. */
export function withTicked(open: readonly OpenTask[], belongs: (task: OpenTask) => boolean): OpenTask[] {
  const there = new Set(open.map(({ id }) => id));
  const crossed = [...ticked.value.values()].map(({ task }) => task).filter((task) => !there.has(task.id) && belongs(task));
  return crossed.length ? [...open, ...crossed].sort(order) : [...open];
}
