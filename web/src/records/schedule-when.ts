// Converts between the form of a schedule's times and the text that the tools take.
import { schedules as words } from '../text/schedules';

export type WhenKind = 'daily' | 'weekly' | 'nth' | 'monthly' | 'yearly' | 'interval' | 'once' | 'cron';

/** A stored schedule as the daemon reads it. */
export type StoredChoice =
  | { kind: 'once'; day: string; time: string }
  | { kind: 'daily'; time: string }
  | { kind: 'weekly'; weekdays: number[]; time: string }
  | { kind: 'nth'; nth: number; weekday: number; time: string }
  | { kind: 'monthly'; day: number; time: string }
  | { kind: 'yearly'; month: number; day: number; time: string }
  | { kind: 'interval'; every: number; unit: string };

export interface WhenDraft {
  kind: WhenKind;
  /** "07:30" */
  time: string;
  /** 0 is Sunday, as in cron. */
  weekdays: number[];
  /** "1" to "5"; "-1" is the last. */
  nth: string;
  weekday: string;
  /** "1" to "31"; "-1" is the last. */
  monthday: string;
  month: string;
  every: string;
  unit: string;
  day: string;
  /** The time of "once". */
  at: string;
  cron: string;
  /** The time zone of a stored schedule, for the preview. */
  zone: string;
}

export const BEGIN: WhenDraft = {
  kind: 'daily', time: '07:00', weekdays: [1, 2, 3, 4, 5], nth: '1', weekday: '1', monthday: '1', month: '1', every: '15', unit: 'minutes', day: '', at: '', cron: '', zone: '',
};

/** A stored schedule as a draft; one without a choice stays as it was written. */
export function draftOf(choice: StoredChoice | null | undefined, written: string, zone = ''): WhenDraft {
  const begin = { ...BEGIN, zone };
  switch (choice?.kind) {
    case undefined: return { ...begin, kind: 'cron', cron: written };
    case 'once': return { ...begin, kind: 'once', day: choice.day, at: choice.time };
    case 'daily': return { ...begin, kind: 'daily', time: choice.time };
    case 'weekly': return { ...begin, kind: 'weekly', weekdays: choice.weekdays, time: choice.time };
    case 'nth': return { ...begin, kind: 'nth', nth: String(choice.nth), weekday: String(choice.weekday), time: choice.time };
    case 'monthly': return { ...begin, kind: 'monthly', monthday: String(choice.day), time: choice.time };
    case 'yearly': return { ...begin, kind: 'yearly', month: String(choice.month), monthday: String(choice.day), time: choice.time };
    case 'interval': return { ...begin, kind: 'interval', every: String(choice.every), unit: choice.unit };
  }
}

const clock = (time: string) => {
  const [hour = '0', minute = '0'] = time.split(':');
  return `${Number(minute)} ${Number(hour)}`;
};

/** The text for the tools; `problem` is '' when there is none. */
export function formatSchedule(when: WhenDraft): { text: string; problem: string } {
  const no = (problem: string) => ({ text: '', problem });
  const yes = (text: string) => ({ text, problem: '' });
  const at = (days: string) => (when.time ? yes(`${clock(when.time)} ${days}`) : no(words.needed));
  switch (when.kind) {
    case 'daily': return at('* * *');
    case 'weekly': return when.weekdays.length ? at(`* * ${[...when.weekdays].sort().join(',')}`) : no(words.pickDay);
    case 'nth': return at(`* * ${when.weekday}${when.nth === '-1' ? 'L' : `#${when.nth}`}`);
    case 'monthly': return at(`${when.monthday === '-1' ? 'L' : when.monthday} * *`);
    case 'yearly': {
      // A leap year has every date.
      const exists = Number(when.monthday) <= new Date(2028, Number(when.month), 0).getDate();
      return exists && Number(when.monthday) > 0 ? at(`${when.monthday} ${when.month} *`) : no(words.noSuchDay);
    }
    case 'interval': {
      const n = Number(when.every);
      return Number.isInteger(n) && n >= 1 ? yes(`every ${n} ${when.unit}`) : no(words.number);
    }
    case 'once': return when.day && when.at ? yes(`${when.day}T${when.at}`) : no(words.needed);
    case 'cron': return when.cron.trim() ? yes(when.cron.trim()) : no(words.needed);
  }
}
