// What one types into, for each kind of field.
import type { JSX } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import * as api from '../api';
import { AreaField, Field as Labelled, Help, Needed, NumberField, SelectField, SwitchField, TextField, Wrong } from '../form';
import { records as words } from '../text/records';
import type { Draft, Problems } from './draft';
import { entriesIn, textOf, type Entry, type Field } from './kinds';

interface Props {
  fields: readonly Field[];
  draft: Draft;
  problems: Problems;
  onInput: (change: Draft) => void;
}

export function Fields({ fields, draft, problems, onInput }: Props): JSX.Element {
  return (
    <>
      {fields.map((field) => (
        <One key={field.name} field={field} value={draft[field.name] ?? ''} error={problems[field.name]} onInput={(value) => onInput({ [field.name]: value })} />
      ))}
    </>
  );
}

interface OneProps {
  field: Field;
  value: string | boolean;
  error: string | undefined;
  onInput: (value: string | boolean) => void;
}

function One({ field, value, error, onInput }: OneProps): JSX.Element {
  const typed = String(value);
  const about = { label: field.label, help: field.help, error, required: field.required === true, value: typed, onInput };
  switch (field.kind) {
    case 'switch': return <SwitchField label={field.label} {...(field.help && { help: field.help })} checked={value === true} onInput={onInput} />;
    case 'area': return <AreaField {...about} />;
    case 'json': return <AreaField {...about} code />;
    case 'number': return <NumberField {...about} whole={field.whole === true} />;
    case 'choice': return <SelectField {...about} options={optionsOf(field, typed)} />;
    case 'flag': return <SelectField {...about} options={FLAG} />;
    case 'goal': return <GoalField field={field} value={typed} error={error} onInput={onInput} />;
    case 'day': return <DayField field={field} value={typed} error={error} onInput={onInput} />;
    case 'moment': return <MomentField field={field} value={typed} error={error} onInput={onInput} />;
    default: return <TextField {...about} {...(field.type && { type: field.type })} code={field.type === 'url'} />;
  }
}

const FLAG = [{ value: '', label: words.unset }, { value: 'true', label: words.tables.yes }, { value: 'false', label: words.tables.no }];

function optionsOf(field: Field, value: string): { value: string; label: string }[] {
  const all = (field.options ?? []).map(([one, label]) => ({ value: one, label }));
  if (all.some((option) => option.value === value)) return all;
  return [...all, { value, label: value ? (field.other?.(value) ?? value) : words.unset }];
}

type TimeProps = Omit<OneProps, 'value'> & { value: string };

function DayField({ field, value, error, onInput }: TimeProps): JSX.Element {
  return (
    <Labelled label={field.label} help={field.help} error={error} required={field.required === true}>
      {(wired) => <input {...wired} class="when" type="date" max="9999-12-31" value={value} onInput={(event) => onInput(event.currentTarget.value)} />}
    </Labelled>
  );
}

/** A day, and a time that may stay empty: then the whole day is meant. */
function MomentField({ field, value, error, onInput }: TimeProps): JSX.Element {
  const id = useId();
  const [day = '', time = ''] = value.split('T');
  const described = [field.help ? `${id}-help` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ') || undefined;
  const put = (newDay: string, newTime: string) => onInput(newTime ? `${newDay}T${newTime}` : newDay);
  return (
    <div class="field" role="group" aria-labelledby={id} aria-describedby={described}>
      <span class="label" id={id}>{field.label}{field.required && <Needed />}</span>
      {field.help && <Help id={id} words={field.help} />}
      <span class="moment">
        <input
          class="when"
          type="date"
          max="9999-12-31"
          value={day}
          aria-label={words.day(field.label)}
          aria-invalid={error ? true : undefined}
          onInput={(event) => put(event.currentTarget.value, time)}
        />
        <input class="when" type="time" value={time} aria-label={words.time(field.label)} onInput={(event) => put(day, event.currentTarget.value)} />
      </span>
      {error && <Wrong id={id} words={error} />}
    </div>
  );
}

/** So many goals can be chosen from. */
const GOALS = 30;

/** One of the goals there are. */
function GoalField({ field, value, error, onInput }: TimeProps): JSX.Element {
  const [goals, setGoals] = useState<Entry[]>([]);
  useEffect(() => {
    api.execute('list_goals', { limit: GOALS }).then(({ result }) => setGoals(entriesIn(result, 'goals')), () => undefined);
  }, []);
  const options = goals.map((goal) => ({ value: goal.id, label: textOf(goal, 'title') }));
  if (value && !goals.some((goal) => goal.id === value)) options.unshift({ value, label: words.goals.aLargerGoal });
  return <SelectField label={field.label} value={value} error={error} options={[{ value: '', label: words.goals.alone }, ...options]} onInput={onInput} />;
}
