// When a schedule is due, as a field.
import type { JSX } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import * as api from '../api';
import { Field, optionsOf, SelectField, TextField, FieldError } from '../form';
import { schedules as words } from '../text/schedules';
import type { Custom, Draft } from '../forms/schema';
import { dateOf, plusDays, relativeTime, startOfWeek, today, weekdayName } from './days';
import { BEGIN, draftOf, formatSchedule, type StoredChoice, type WhenDraft } from './schedule-when';

interface Props {
  when: WhenDraft;
  error: string | undefined;
  onInput: (when: WhenDraft) => void;
}

/** The days of the week by their numbers, beginning with the one a week begins with here. */
function weekOptions(): { value: string; label: string }[] {
  const from = startOfWeek(today());
  return [0, 1, 2, 3, 4, 5, 6].map((n) => plusDays(from, n)).map((day) => ({ value: String(dateOf(day).getDay()), label: weekdayName(day, 'long') }));
}

const monthdays = (last: boolean) => [
  ...Array.from({ length: 31 }, (_, n) => ({ value: String(n + 1), label: String(n + 1) })),
  ...(last ? [{ value: '-1', label: words.lastDay }] : []),
];

const months = () => Array.from({ length: 12 }, (_, n) => ({ value: String(n + 1), label: new Date(2028, n, 1, 12).toLocaleDateString([], { month: 'long' }) }));

/** How long typing rests before the preview is read. */
const REST_MS = 250;

/** The sentence of what is chosen, and its next times, as Hob reads them. */
function Preview({ when }: { when: WhenDraft }): JSX.Element {
  const { text: schedule, problem } = formatSchedule(when);
  const [told, setTold] = useState<{ schedule: string; text: string; next: string[] } | null>(null);
  useEffect(() => {
    if (problem) return;
    let current = true;
    const timer = setTimeout(() => {
      api.previewSchedule(schedule, when.zone || undefined).then(
        ({ text, next }) => current && setTold({ schedule, text, next }),
        // What is wrong is said when it is saved.
        () => current && setTold(null),
      );
    }, REST_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [schedule, problem, when.zone]);
  const fits = told && !problem && told.schedule === schedule;
  return (
    <p class="soft small preview" role="status">
      {fits ? <><span class="preview-when">{words.preview(told.text)}</span> {words.nextTimes(told.next.map(relativeTime))}</> : ''}
    </p>
  );
}

export function WhenFields({ when, error, onInput }: Props): JSX.Element {
  const put = (change: Partial<WhenDraft>) => onInput({ ...when, ...change });
  const { kind } = when;
  return (
    <>
      <SelectField label={words.when} value={kind} options={optionsOf(words.whens)} onInput={(value) => put({ kind: value })} />
      {kind === 'weekly' && <Weekdays chosen={when.weekdays} error={when.weekdays.length ? undefined : error} onInput={(weekdays) => put({ weekdays })} />}
      <div class="pair">
        {kind === 'nth' && (
          <>
            <SelectField label={words.which} value={when.nth} options={words.nths} onInput={(nth) => put({ nth })} />
            <SelectField label={words.weekday} value={when.weekday} options={weekOptions()} onInput={(weekday) => put({ weekday })} />
          </>
        )}
        {(kind === 'monthly' || kind === 'yearly') && (
          <SelectField label={words.monthday} value={when.monthday} options={monthdays(kind === 'monthly')} error={kind === 'yearly' && when.time ? error : undefined} onInput={(monthday) => put({ monthday })} />
        )}
        {kind === 'yearly' && <SelectField label={words.month} value={when.month} options={months()} onInput={(month) => put({ month })} />}
        {kind !== 'interval' && kind !== 'once' && kind !== 'cron' && (
          <Time label={words.time} value={when.time} error={when.time ? undefined : error} onInput={(time) => put({ time })} />
        )}
        {kind === 'interval' && (
          <>
            <Field required label={words.every} error={error}>
              {(wired) => <input {...wired} class="number" inputmode="numeric" value={when.every} autocomplete="off" onInput={(event) => put({ every: event.currentTarget.value })} />}
            </Field>
            <SelectField label={words.unit} value={when.unit} options={optionsOf(words.units)} onInput={(unit) => put({ unit })} />
          </>
        )}
        {kind === 'once' && <Once when={when} error={error} onInput={put} />}
      </div>
      {kind === 'cron' && <TextField required code label={words.cron} help={words.cronHelp} value={when.cron} error={error} onInput={(cron) => put({ cron })} />}
      <Preview when={when} />
    </>
  );
}

function Time({ label, value, error, onInput }: { label: string; value: string; error: string | undefined; onInput: (time: string) => void }): JSX.Element {
  return (
    <Field required label={label} error={error}>
      {(wired) => <input {...wired} class="when" type="time" value={value} onInput={(event) => onInput(event.currentTarget.value)} />}
    </Field>
  );
}

function Once({ when, error, onInput }: { when: WhenDraft; error: string | undefined; onInput: (change: Partial<WhenDraft>) => void }): JSX.Element {
  const id = useId();
  return (
    <div class="field" role="group" aria-labelledby={id} aria-describedby={error ? `${id}-error` : undefined}>
      <span class="label" id={id}>{words.at}</span>
      <span class="moment">
        <input class="when" type="date" max="9999-12-31" aria-label={words.atDay} aria-invalid={error ? true : undefined} value={when.day} onInput={(event) => onInput({ day: event.currentTarget.value })} />
        <input class="when" type="time" aria-label={words.atTime} aria-invalid={error ? true : undefined} value={when.at} onInput={(event) => onInput({ at: event.currentTarget.value })} />
      </span>
      {error && <FieldError id={id} words={error} />}
    </div>
  );
}

/** The days of the week, beginning with the one a week begins with here. */
function Weekdays({ chosen, error, onInput }: { chosen: number[]; error: string | undefined; onInput: (days: number[]) => void }): JSX.Element {
  const from = startOfWeek(today());
  const days = [0, 1, 2, 3, 4, 5, 6].map((n) => plusDays(from, n));
  const toggle = (n: number) => onInput(chosen.includes(n) ? chosen.filter((one) => one !== n) : [...chosen, n]);
  return (
    <div class="field" role="group" aria-label={words.weekdays}>
      <span class="label" aria-hidden="true">{words.weekdays}</span>
      <span class="chips">
        {days.map((day) => {
          const n = new Date(`${day}T12:00`).getDay();
          return <button key={n} type="button" class="chip" aria-pressed={chosen.includes(n)} onClick={() => toggle(n)}><span class="unseen">{weekdayName(day, 'long')}</span><span aria-hidden="true">{weekdayName(day, 'short')}</span></button>;
        })}
      </span>
      {error && <FieldError words={error} />}
    </div>
  );
}

/** A schedule as it is stored. */
export interface StoredWhen {
  choice: StoredChoice | null;
  written: string;
  zone: string;
}

export const scheduleWhen: Custom = {
  begin: (given) => {
    const { choice, written, zone } = (given ?? {}) as Partial<StoredWhen>;
    return (given ? draftOf(choice, written ?? '', zone) : BEGIN) as unknown as Draft;
  },
  read: (draft, _, path, problems) => {
    const { text, problem } = formatSchedule(draft as unknown as WhenDraft);
    if (problem) problems[path] = problem;
    return text;
  },
  Component: ({ draft, onInput, problems, path }) => (
    <WhenFields when={draft as unknown as WhenDraft} error={problems[path]} onInput={(when) => onInput(when as unknown as Draft)} />
  ),
};
