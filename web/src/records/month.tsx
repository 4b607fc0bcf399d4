// A month sheet: a cell per day with its events, navigated with the arrow keys.
import type { JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { records as words } from '../text/records';
import { dateOf, firstOfMonth, lastOfMonth, longDay, monthName, plusDays, plusMonths, startOfWeek, today, wall, weekdayName, type Day } from './days';
import { textOf, type Entry } from './kinds';

/** How many events a cell names. */
const NAMED = 3;
/** Longer events are shown only on their first days. */
const LONGEST_DAYS = 366;

/** The first and last day on a month's sheet. */
export function sheet(day: Day): { from: Day; to: Day } {
  return { from: startOfWeek(firstOfMonth(day)), to: plusDays(startOfWeek(lastOfMonth(day)), 6) };
}

/** The days of an event; one that ends at midnight is not on the following day. */
export function daysOf(event: Entry): Day[] {
  const start = wall(event['startTime']);
  if (!start) return [];
  const end = wall(event['endTime']) ?? start;
  const last = end.time === '00:00' && event['isAllDay'] !== true && end.day > start.day ? plusDays(end.day, -1) : end.day;
  const days = [start.day];
  for (let day = start.day; day < last && days.length < LONGEST_DAYS;) days.push((day = plusDays(day, 1)));
  return days;
}

export function byDay(events: Entry[]): Map<Day, Entry[]> {
  const found = new Map<Day, Entry[]>();
  for (const event of events) for (const day of daysOf(event)) found.set(day, [...(found.get(day) ?? []), event]);
  return found;
}

/** "14:30 Dentist"; on its later days, and all day, the name alone. */
function inShort(event: Entry, day: Day): string {
  const start = wall(event['startTime']);
  return [event['isAllDay'] !== true && start?.day === day && start.time, textOf(event, 'title')].filter(Boolean).join(' ');
}

interface Props {
  /** The selected day; its month is shown. */
  at: Day;
  events: Entry[];
  onGo: (day: Day) => void;
}

const WEEK = [0, 1, 2, 3, 4, 5, 6];

export function Month({ at, events, onGo }: Props): JSX.Element {
  const { from, to } = sheet(at);
  const days = useMemo(() => byDay(events), [events]);
  const grid = useRef<HTMLTableElement>(null);
  const walked = useRef(false);
  const weeks: Day[] = [];
  for (let day = from; day <= to; day = plusDays(day, 7)) weeks.push(day);

  useLayoutEffect(() => {
    if (!walked.current) return;
    walked.current = false;
    grid.current?.querySelector<HTMLElement>(`[data-day="${at}"]`)?.focus({ preventScroll: true });
  }, [at]);

  const onKeyDown = (event: KeyboardEvent) => {
    const to = {
      ArrowLeft: plusDays(at, -1), ArrowRight: plusDays(at, 1), ArrowUp: plusDays(at, -7), ArrowDown: plusDays(at, 7),
      Home: startOfWeek(at), End: plusDays(startOfWeek(at), 6), PageUp: plusMonths(at, -1), PageDown: plusMonths(at, 1),
    }[event.key];
    if (!to || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    walked.current = true;
    onGo(to);
  };

  return (
    <table class="month" role="grid" aria-label={monthName(at)} aria-describedby="month-keys" ref={grid} onKeyDown={onKeyDown}>
      <thead>
        <tr>
          {WEEK.map((n) => {
            const day = plusDays(from, n);
            return <th key={n} scope="col" abbr={weekdayName(day, 'long')}><span class="narrow-day">{weekdayName(day, 'narrow')}</span><span class="short-day">{weekdayName(day, 'short')}</span></th>;
          })}
        </tr>
      </thead>
      <tbody>
        {weeks.map((week) => (
          <tr key={week}>
            {WEEK.map((n) => {
              const day = plusDays(week, n);
              return <Cell key={day} day={day} at={at} events={days.get(day) ?? []} onGo={onGo} />;
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Cell({ day, at, events, onGo }: { day: Day; at: Day; events: Entry[]; onGo: (day: Day) => void }): JSX.Element {
  const names = events.map((event) => inShort(event, day));
  const rest = names.length - NAMED;
  const marks = [day.slice(0, 7) !== at.slice(0, 7) && 'outside', day === today() && 'now'].filter(Boolean).join(' ');
  return (
    <td role="gridcell" aria-selected={day === at} class={marks || undefined}>
      <button
        type="button"
        data-day={day}
        tabIndex={day === at ? 0 : -1}
        aria-current={day === today() ? 'date' : undefined}
        onClick={() => onGo(day)}
      >
        <span class="unseen">{words.calendar.day(longDay(day), rest > 0 ? [...names.slice(0, NAMED), words.calendar.andMore(rest)] : names)}</span>
        {/* The rest is decorative. */}
        <span class="number" aria-hidden="true">{dateOf(day).getDate()}</span>
        {names.slice(0, NAMED).map((name, n) => <span key={n} class="event" aria-hidden="true">{name}</span>)}
        {rest > 0 && <span class="event rest" aria-hidden="true">{words.calendar.andMore(rest)}</span>}
        {names.length > 0 && <span class="dots" aria-hidden="true">{names.slice(0, NAMED).map((_, n) => <i key={n} />)}</span>}
      </button>
    </td>
  );
}
