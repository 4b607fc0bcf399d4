// Converts between the form of a schedule's times and the text that the tools take.
import { schedules as words } from '../text/schedules';
import { wall } from './days';

export type WhenKind = 'daily' | 'weekly' | 'monthly' | 'interval' | 'once' | 'cron';

export interface WhenDraft {
  kind: WhenKind;
  /** "07:30" */
  time: string;
  /** 0 is Sunday, as in cron. */
  weekdays: number[];
  monthday: string;
  every: string;
  unit: string;
  day: string;
  /** The time of "once". */
  at: string;
  cron: string;
}

export const BEGIN: WhenDraft = { kind: 'daily', time: '07:00', weekdays: [1, 2, 3, 4, 5], monthday: '1', every: '15', unit: 'minutes', day: '', at: '', cron: '' };

const two = (n: string) => n.padStart(2, '0');

/** "1,3,5", "1-5" → the days; null where a form cannot show it. */
function weekdaysIn(text: string): number[] | null {
  const found = new Set<number>();
  for (const part of text.split(',')) {
    const range = /^([0-7])(?:-([0-7]))?$/.exec(part);
    if (!range) return null;
    const [from, to] = [Number(range[1]), Number(range[2] ?? range[1])];
    for (let day = from; day <= to; day++) found.add(day % 7);
  }
  return found.size ? [...found].sort() : null;
}

/** A cron pattern that the form can show. */
function cronIn(text: string): Partial<WhenDraft> | null {
  const found = /^(\d{1,2}) (\d{1,2}) (\*|\d{1,2}) \* (\*|[0-7,-]+)$/.exec(text);
  if (!found) return null;
  const [, minute = '', hour = '', monthday = '', weekday = ''] = found;
  const time = `${two(hour)}:${two(minute)}`;
  if (monthday !== '*') return weekday === '*' ? { kind: 'monthly', monthday, time } : null;
  if (weekday === '*') return { kind: 'daily', time };
  const weekdays = weekdaysIn(weekday);
  return weekdays && { kind: 'weekly', weekdays, time };
}

/** A stored schedule as a draft. */
export function parseSchedule(written: string): WhenDraft {
  const text = written.trim();
  const interval = /^every (\d+) (second|minute|hour|day)s?$/i.exec(text);
  if (interval) return { ...BEGIN, kind: 'interval', every: interval[1] ?? '', unit: `${interval[2]?.toLowerCase()}s` };
  const once = wall(text);
  if (once?.time) return { ...BEGIN, kind: 'once', day: once.day, at: once.time };
  return { ...BEGIN, kind: 'cron', ...(cronIn(text) ?? { cron: text }) };
}

const clock = (time: string) => {
  const [hour = '0', minute = '0'] = time.split(':');
  return `${Number(minute)} ${Number(hour)}`;
};

/** The text for the tools; `problem` is '' when there is none. */
export function formatSchedule(when: WhenDraft): { text: string; problem: string } {
  const no = (problem: string) => ({ text: '', problem });
  const yes = (text: string) => ({ text, problem: '' });
  switch (when.kind) {
    case 'daily': return when.time ? yes(`${clock(when.time)} * * *`) : no(words.needed);
    case 'weekly':
      if (!when.weekdays.length) return no(words.pickDay);
      return when.time ? yes(`${clock(when.time)} * * ${[...when.weekdays].sort().join(',')}`) : no(words.needed);
    case 'monthly': {
      const day = Number(when.monthday);
      if (!Number.isInteger(day) || day < 1 || day > 31) return no(words.monthdayWrong);
      return when.time ? yes(`${clock(when.time)} ${day} * *`) : no(words.needed);
    }
    case 'interval': {
      const n = Number(when.every);
      return Number.isInteger(n) && n >= 1 ? yes(`every ${n} ${when.unit}`) : no(words.number);
    }
    case 'once': return when.day && when.at ? yes(`${when.day}T${when.at}`) : no(words.needed);
    case 'cron': return when.cron.trim() ? yes(when.cron.trim()) : no(words.needed);
  }
}
