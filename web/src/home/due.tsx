// The tasks that are due: overdue ones, today's, and those of the coming days.
import type { JSX } from 'preact';
import { wall } from '../records/days';
import { href } from '../rooms';
import { today as words } from '../text/today';
import { Nothing, Part } from './part';
import { TaskRow } from './task-row';
import { withTicked } from './ticks';
import type { Glance } from './use-today';

interface Props {
  due: NonNullable<Glance['today']['tasks']>;
  today: string;
  writer: boolean;
  onSay: (words: string) => void;
  onSaid: (said: string) => void;
}

export function Due({ due, today, writer, onSay, onSaid }: Props): JSX.Element {
  const tasks = withTicked(due.tasks, (task) => wall(task.dueDate) !== null);
  return (
    <Part name="due" title={words.due} link={tasks.length ? { to: href('memory', 'tasks'), words: words.moreTasks } : undefined}>
      {tasks.length > 0
        ? <ul class="tasks">{tasks.map((task) => <TaskRow key={task.id} task={task} today={today} writer={writer} withList onSaid={onSaid} />)}</ul>
        : <Nothing why={words.nothingDue} idea={words.dueIdea} onSay={onSay} />}
    </Part>
  );
}
