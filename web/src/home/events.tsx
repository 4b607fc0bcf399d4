// What comes next: events, those in progress first, and reminders.
import type { JSX } from 'preact';
import { dateOf, wall, type Day } from '../records/days';
import { href } from '../rooms';
import { facts } from '../text';
import { today as words } from '../text/today';
import { dayWords, nowMs, whenWords } from './clock';
import { Nothing, Part } from './part';
import type { Glance, NextEvent, Reminder } from './use-today';

function timesOf(event: NextEvent, today: string, started: boolean): string {
  const [start, end] = [wall(event.startTime), wall(event.endTime)];
  if (!start) return '';
  if (event.isAllDay) return end && end.day > start.day ? facts(started ? '' : dayWords(start.day, today), words.until(dayWords(end.day, today))) : facts(dayWords(start.day, today), words.allDay);
  if (started) return facts(words.inProgress, end && words.until(end.day === today ? end.time : whenWords(event.endTime, today)));
  const span = end && end.day === start.day && end.time !== start.time ? `${start.time} – ${end.time}` : start.time;
  return facts(dayWords(start.day, today), span);
}

interface LineProps {
  to: string;
  day: Day;
  title: string;
  about: string;
  started?: boolean;
}

function Line({ to, day, title, about, started = false }: LineProps): JSX.Element {
  const date = dateOf(day);
  return (
    <li class={started ? 'day-event on-now' : 'day-event'}>
      <a href={to}>
        <span class="day-leaf" aria-hidden="true">
          <small>{date.toLocaleDateString([], { month: 'short' })}</small>
          <b>{date.getDate()}</b>
        </span>
        <span class="event-words">
          <b>{title}</b>
          <small>{about}</small>
        </span>
      </a>
    </li>
  );
}

function EventLine({ event, today, now }: { event: NextEvent; today: Day; now: number }): JSX.Element {
  const day = wall(event.startTime)?.day ?? today;
  const started = event.isAllDay ? day < today : Date.parse(event.startTime) <= now;
  const about = facts(timesOf(event, today, started), event.location, event.sharedBy && words.by(event.sharedBy));
  return <Line to={href('memory', 'calendar', day)} day={day} title={event.title} about={about} started={started} />;
}

function ReminderLine({ reminder, today }: { reminder: Reminder; today: Day }): JSX.Element {
  const about = facts(whenWords(reminder.at, today), reminder.repeats ? words.reminderAgain : words.reminder);
  return <Line to={href('memory', 'schedules')} day={wall(reminder.at)?.day ?? today} title={reminder.text} about={about} />;
}

interface Props {
  glance: Glance;
  /** The household's day. */
  today: Day;
  onSay: (words: string) => void;
}

export function ComingUp({ glance, today, onSay }: Props): JSX.Element | null {
  const { events, reminders } = glance.today;
  if (!events && !reminders) return null;
  const now = nowMs(glance.clock);
  const isOver = (event: NextEvent) => !event.isAllDay && Math.max(Date.parse(event.endTime), Date.parse(event.startTime)) <= now;
  const lines = [
    ...(events?.events ?? []).filter((event) => !isOver(event)).map((event) => ({ at: wall(event.startTime), line: <EventLine key={event.id} event={event} today={today} now={now} /> })),
    ...(reminders?.reminders ?? []).map((reminder) => ({ at: wall(reminder.at), line: <ReminderLine key={reminder.id} reminder={reminder} today={today} /> })),
  ];
  const place = ({ at }: (typeof lines)[number]) => (at ? `${at.day}${at.time}` : '');
  // A stable order: of two at one time, the event comes first.
  lines.sort((a, b) => (place(a) < place(b) ? -1 : place(a) > place(b) ? 1 : 0));
  return (
    <Part name="next" title={words.next} link={lines.length ? { to: href('memory', 'calendar'), words: words.moreEvents } : undefined}>
      {lines.length ? <ul class="events">{lines.map(({ line }) => line)}</ul> : <Nothing why={words.nothingNext} idea={words.nextIdea} onSay={onSay} />}
    </Part>
  );
}
