// A task with a box to tick.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Refused } from '../http';
import { wall } from '../records/days';
import { facts, trouble } from '../text';
import { today as words } from '../text/today';
import { talk } from '../text/talk';
import { dayWords, whenWords } from './clock';
import { tick, ticked } from './ticks';
import type { OpenTask } from './use-today';

interface Props {
  task: OpenTask;
  /** The household's day. */
  today: string;
  /** Whether the person may change records. */
  writer: boolean;
  /** Whether its list is named. */
  withList?: boolean;
  onSaid: (said: string) => void;
}

function about(task: OpenTask, today: string, withList: boolean): string {
  const due = task.dueDate ?? '';
  const at = wall(due);
  const when = task.overdue && at && at.day < today ? words.overdueSince(dayWords(at.day, today)) : due && whenWords(due, today);
  const weight = task.priority === 'urgent' ? words.urgent : task.priority === 'high' && words.high;
  return facts(when, weight, withList && task.category, task.sharedBy && words.by(task.sharedBy));
}

export function TaskRow({ task, today, writer, withList = false, onSaid }: Props): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const done = ticked.value.has(task.id);
  const press = async () => {
    if (busy) return;
    setBusy(true);
    setProblem('');
    try {
      await tick(task);
      onSaid(done ? words.unticked(task.title) : words.ticked(task.title));
    } catch (cause) {
      setProblem(cause instanceof Refused && cause.status === 404 ? talk.card.gone : trouble(cause));
    }
    setBusy(false);
  };
  const small = about(task, today, withList);
  return (
    <li class={done ? 'over' : task.overdue ? 'late' : undefined}>
      <label class="task">
        <input type="checkbox" checked={done} disabled={!writer || !task.changeable} aria-busy={busy} onChange={() => void press()} />
        <span>
          {task.title}
          {small && <small>{task.overdue && !done && <b>{words.overdue} </b>}{small}</small>}
        </span>
      </label>
      {problem && <p class="small problem" role="alert">{problem}</p>}
    </li>
  );
}
