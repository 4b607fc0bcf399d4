// The household's clock: its day and time as the device says them, whatever this browser's clock and time zone are.
import { useEffect, useState } from 'preact/hooks';
import { dateOf, plusDays, wall, type Day } from '../records/days';
import { records } from '../text/records';

const MINUTE_MS = 60_000;

/** What the device said of its time, and when this page heard it. */
export interface HouseClock {
  at: number;
  heard: number;
  /** Minutes ahead of UTC when it was said. */
  ahead: number;
  zone?: Intl.DateTimeFormat;
}

export interface HouseTime {
  day: Day;
  /** "07:52" */
  time: string;
}

function formatOf(zone: string | null | undefined): Intl.DateTimeFormat | undefined {
  if (!zone) return undefined;
  try {
    return new Intl.DateTimeFormat('en-CA', { timeZone: zone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' });
  } catch {
    return undefined; // A zone that this browser does not know: the offset serves until the clocks change.
  }
}

/** `now` is "2026-11-23T07:52:10+01:00". */
export function houseClock(now: string, zone: string | null | undefined): HouseClock {
  const [, sign = '+', hours = '0', minutes = '0'] = /([+-])(\d\d):(\d\d)$/.exec(now) ?? [];
  const ahead = (60 * Number(hours) + Number(minutes)) * (sign === '-' ? -1 : 1);
  const format = formatOf(zone);
  return { at: Date.parse(now), heard: performance.now(), ahead, ...(format && { zone: format }) };
}

/** Now by the device's clock, in milliseconds. */
export const nowMs = (clock: HouseClock) => clock.at + performance.now() - clock.heard;

export function houseTime(clock: HouseClock): HouseTime {
  const at = nowMs(clock);
  if (!clock.zone) {
    const local = new Date(at + clock.ahead * MINUTE_MS).toISOString();
    return { day: local.slice(0, 10), time: local.slice(11, 16) };
  }
  const part = Object.fromEntries(clock.zone.formatToParts(at).map(({ type, value }) => [type, value]));
  return { day: `${part['year']}-${part['month']}-${part['day']}`, time: `${part['hour']}:${part['minute']}` };
}

/** The household's day and time, minute by minute. */
export function useHouseTime(clock: HouseClock): HouseTime {
  const [, beat] = useState(0);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const wait = () => {
      timer = setTimeout(() => {
        beat((n) => n + 1);
        wait();
      }, MINUTE_MS - (nowMs(clock) % MINUTE_MS) + 20);
    };
    wait();
    return () => clearTimeout(timer);
  }, [clock]);
  return houseTime(clock);
}

const show = (day: Day, how: Intl.DateTimeFormatOptions) => dateOf(day).toLocaleDateString([], how);

/** "Monday, 23 November" */
export const wholeDay = (day: Day) => show(day, { weekday: 'long', day: 'numeric', month: 'long' });

/** "today", "tomorrow", "Friday", "Fri 4 Dec", "3 Oct 2024", as seen from `today`. */
export function dayWords(day: Day, today: Day): string {
  if (day === today) return records.today;
  if (day === plusDays(today, 1)) return records.tomorrow;
  if (day === plusDays(today, -1)) return records.yesterday;
  if (day > today && day < plusDays(today, 7)) return show(day, { weekday: 'long' });
  if (day.slice(0, 4) !== today.slice(0, 4)) return show(day, { day: 'numeric', month: 'short', year: 'numeric' });
  return show(day, { weekday: 'short', day: 'numeric', month: 'short' });
}

/** "today", "tomorrow, 14:30" */
export function whenWords(value: string, today: Day): string {
  const at = wall(value);
  if (!at) return '';
  return at.time ? `${dayWords(at.day, today)}, ${at.time}` : dayWords(at.day, today);
}
