// When a schedule is due, as a field.
import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import { Field, SelectField, TextField, FieldError } from '../form';
import { schedules as words } from '../text/schedules';
import type { Custom, Draft } from '../forms/schema';
import { plusDays, startOfWeek, today, weekdayName } from './days';
import { BEGIN, parseSchedule, formatSchedule, type WhenDraft, type WhenKind } from './schedule-when';

interface Props {
  when: WhenDraft;
  error: string | undefined;
  onInput: (when: WhenDraft) => void;
}

const pairs = (table: Record<string, string>) => Object.entries(table).map(([value, label]) => ({ value, label }));

function WhenFields({ when, error, onInput }: Props): JSX.Element {
  const put = (change: Partial<WhenDraft>) => onInput({ ...when, ...change });
  const { kind } = when;
  return (
    <>
      <SelectField label={words.when} value={kind} options={pairs(words.whens)} onInput={(value) => put({ kind: value as WhenKind })} />
      {kind === 'weekly' && <Weekdays chosen={when.weekdays} error={when.weekdays.length ? undefined : error} onInput={(weekdays) => put({ weekdays })} />}
      <div class="pair">
        {kind === 'monthly' && (
          <Field required label={words.monthday} error={error}>
            {(wired) => <input {...wired} class="number" inputmode="numeric" value={when.monthday} autocomplete="off" onInput={(event) => put({ monthday: event.currentTarget.value })} />}
          </Field>
        )}
        {(kind === 'daily' || kind === 'weekly' || kind === 'monthly') && (
          <Time label={words.time} value={when.time} error={when.time ? undefined : error} onInput={(time) => put({ time })} />
        )}
        {kind === 'interval' && (
          <>
            <Field required label={words.every} error={error}>
              {(wired) => <input {...wired} class="number" inputmode="numeric" value={when.every} autocomplete="off" onInput={(event) => put({ every: event.currentTarget.value })} />}
            </Field>
            <SelectField label={words.unit} value={when.unit} options={pairs(words.units)} onInput={(unit) => put({ unit })} />
          </>
        )}
        {kind === 'once' && <Once when={when} error={error} onInput={put} />}
      </div>
      {kind === 'cron' && <TextField required code label={words.cron} help={words.cronHelp} value={when.cron} error={error} onInput={(cron) => put({ cron })} />}
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

export const scheduleWhen: Custom = {
  begin: (given) => (typeof given === 'string' ? parseSchedule(given) : BEGIN) as unknown as Draft,
  read: (draft, _, path, problems) => {
    const { text, problem } = formatSchedule(draft as unknown as WhenDraft);
    if (problem) problems[path] = problem;
    return text;
  },
  Component: ({ draft, onInput, problems, path }) => (
    <WhenFields when={draft as unknown as WhenDraft} error={problems[path]} onInput={(when) => onInput(when as unknown as Draft)} />
  ),
};
