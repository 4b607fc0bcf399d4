// Days and times in the household's time zone: values are read as written, whatever this browser's clock says.
import { dayAt } from '../clock';
import { records as words } from '../text/records';

/** A day, "2026-11-20". */
export type Day = string;

interface Wall {
  day: Day;
  /** "14:30"; '' for a whole day. */
  time: string;
}

const MOMENT = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2}))?/;

export function wall(value: unknown): Wall | null {
  const found = typeof value === 'string' ? MOMENT.exec(value) : null;
  return found && { day: `${found[1]}-${found[2]}-${found[3]}`, time: found[4] ? `${found[4]}:${found[5]}` : '' };
}

/** Noon of a day, so that daylight saving cannot move it to another. */
export function dateOf(day: Day): Date {
  const [year = 1970, month = 1, date = 1] = day.split('-').map(Number);
  const at = new Date(2000, 0, 1, 12);
  at.setFullYear(year, month - 1, date);
  return at;
}

const two = (n: number) => String(n).padStart(2, '0');

const dayOf = (date: Date): Day => `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
export const today = (): Day => dayAt();

export function plusDays(day: Day, n: number): Day {
  const date = dateOf(day);
  date.setDate(date.getDate() + n);
  return dayOf(date);
}

/** The same day of another month, or its last. */
export function plusMonths(day: Day, n: number): Day {
  const date = dateOf(day);
  const wanted = date.getDate();
  date.setDate(1);
  date.setMonth(date.getMonth() + n);
  date.setDate(Math.min(wanted, daysIn(dayOf(date))));
  return dayOf(date);
}

export function daysIn(day: Day): number {
  const date = dateOf(day);
  date.setDate(1);
  date.setMonth(date.getMonth() + 1);
  date.setDate(0);
  return date.getDate();
}

export const firstOfMonth = (day: Day): Day => `${day.slice(0, 8)}01`;
export const lastOfMonth = (day: Day): Day => `${day.slice(0, 8)}${two(daysIn(day))}`;

/** Which day a week begins with here: 1 is Monday, 7 is Sunday. */
function weekStart(): number {
  try {
    const locale = new Intl.Locale(navigator.language) as Intl.Locale & { weekInfo?: { firstDay: number }; getWeekInfo?: () => { firstDay: number } };
    return (locale.getWeekInfo?.() ?? locale.weekInfo)?.firstDay ?? 1;
  } catch {
    return 1;
  }
}

/** The first day of the week a day is in. */
export function startOfWeek(day: Day): Day {
  const weekday = dateOf(day).getDay() || 7;
  return plusDays(day, -((weekday - weekStart() + 7) % 7));
}

const show = (day: Day, how: Intl.DateTimeFormatOptions) => dateOf(day).toLocaleDateString([], how);

export const monthName = (day: Day) => show(day, { month: 'long', year: 'numeric' });
export const longDay = (day: Day) => show(day, { weekday: 'long', day: 'numeric', month: 'long', ...(day.slice(0, 4) !== today().slice(0, 4) && { year: 'numeric' }) });
export const weekdayName = (day: Day, how: 'long' | 'short' | 'narrow') => show(day, { weekday: how });

/** "today", "tomorrow", "Fri 27 Nov", "3 Oct 2024". */
export function relativeDay(day: Day): string {
  const now = today();
  if (day === now) return words.today;
  if (day === plusDays(now, 1)) return words.tomorrow;
  if (day === plusDays(now, -1)) return words.yesterday;
  if (day.slice(0, 4) !== now.slice(0, 4)) return show(day, { day: 'numeric', month: 'short', year: 'numeric' });
  return show(day, { weekday: 'short', day: 'numeric', month: 'short' });
}

/** "today", "tomorrow, 14:30"; anything that is no time is returned unchanged. */
export function relativeTime(value: unknown): string {
  const at = wall(value);
  if (!at) return typeof value === 'string' ? value : '';
  return at.time ? `${relativeDay(at.day)}, ${at.time}` : relativeDay(at.day);
}

/** "14:30 – 15:30", "all day", "today, 22:00 – tomorrow, 02:00". */
export function span(from: unknown, to: unknown, allDay: boolean): string {
  const [start, end] = [wall(from), wall(to)];
  if (!start) return '';
  if (allDay) return end && end.day > start.day ? `${relativeDay(start.day)} – ${relativeDay(end.day)}` : words.allDay;
  if (!end || (end.day === start.day && end.time === start.time)) return start.time;
  return end.day === start.day ? `${start.time} – ${end.time}` : `${relativeTime(from)} – ${relativeTime(to)}`;
}

/** A birthday, with or without its year ("--10-03"): "3 October". */
export function birthday(value: string): string {
  const day = value.replace(/^--/, '2000-');
  return wall(day) ? show(day, { day: 'numeric', month: 'long', ...(value.startsWith('--') ? {} : { year: 'numeric' }) }) : value;
}
