// The day at a glance, as the device tells it: read once, again after events, and when something on it begins, ends or is due.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { deviceAway } from '../away';
import { call, Refused, type Data } from '../http';
import { useNews } from '../live';
import { plusDays } from '../records/days';
import { trouble } from '../text';
import { houseClock, houseTime, nowMs, type HouseClock } from './clock';
import { forgetReopened } from './ticks';

export type Today = Data<'GET /api/v1/today'>;
export type OpenTask = NonNullable<Today['tasks']>['tasks'][number];
export type OpenList = NonNullable<Today['lists']>['lists'][number];
export type Reminder = NonNullable<Today['reminders']>['reminders'][number];
export type NextEvent = NonNullable<Today['events']>['events'][number];

export interface Glance {
  today: Today;
  clock: HouseClock;
}

export interface TodayState {
  /** null until the device has answered. */
  glance: Glance | null;
  problem: string;
  renew: () => Promise<void>;
}

/** The longest wait of a browser's timer, in milliseconds. */
const LONGEST_MS = 2 ** 31 - 1;
/** A moment is looked at this long after it came. */
const AFTER_MS = 500;

/** What was shown last, until it is read anew. */
let last: Glance | null = null;

/** When the next thing of the day begins, ends or is due, or the day is over; in milliseconds by the device's clock. */
function nextMoment({ today, clock }: Glance): number {
  const times = [
    ...(today.tasks?.tasks ?? []).map(({ dueDate }) => dueDate),
    ...(today.events?.events ?? []).filter(({ isAllDay }) => !isAllDay).flatMap(({ startTime, endTime }) => [startTime, endTime]),
    ...(today.reminders?.reminders ?? []).map(({ at }) => at),
    // Midnight; where clocks change in that night it comes an hour off, and the next look corrects it.
    `${plusDays(houseTime(clock).day, 1)}T00:00:00${today.now.slice(-6)}`,
  ];
  const now = nowMs(clock);
  return Math.min(...times.filter((time): time is string => !!time && time.includes('T')).map(Date.parse).filter((at) => at > now));
}

export function useToday(): TodayState {
  const [glance, setGlance] = useState(last);
  const [problem, setProblem] = useState('');
  const away = deviceAway.value;
  const turn = useRef(0);

  const renew = useCallback(async () => {
    const mine = ++turn.current;
    const began = performance.now();
    try {
      const today = await call('GET /api/v1/today');
      if (mine !== turn.current) return;
      last = { today, clock: houseClock(today.now, today.zone) };
      const open = [...(today.tasks?.tasks ?? []), ...(today.lists?.lists ?? []).flatMap(({ items }) => items)];
      forgetReopened(new Set(open.map(({ id }) => id)), began);
      setGlance(last);
      setProblem('');
    } catch (cause) {
      if (mine === turn.current && cause instanceof Refused) setProblem(trouble(cause)); // Away: the banner says so.
    }
  }, []);

  useEffect(() => {
    if (!away) void renew();
  }, [away]);
  useNews(['tasks:changed', 'calendar:changed', 'schedules:changed', 'schedule:ran'], () => void renew());
  useEffect(() => {
    if (!glance) return;
    const wait = nextMoment(glance) - nowMs(glance.clock) + AFTER_MS;
    const timer = setTimeout(() => void renew(), Math.min(wait, LONGEST_MS));
    return () => clearTimeout(timer);
  }, [glance]);
  return { glance, problem, renew };
}
