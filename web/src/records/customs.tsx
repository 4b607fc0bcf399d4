// Fields of records that JSON Schema cannot describe: a day with or without a time, tags in one line, and one of the goals.
import type { JSX } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import * as api from '../api';
import { Help, RequiredMark, SelectField, TextField, FieldError } from '../form';
import type { Custom, CustomProps } from '../forms/schema';
import { text } from '../text';
import { records as words } from '../text/records';
import { wall } from './days';
import { entriesIn, textOf, type Entry } from './kinds';

const needed = (value: string, required: boolean, path: string, problems: Record<string, string>) => {
  if (!value && required) problems[path] = text.toolsRoom.wrong.needed;
  return value || undefined;
};

const about = ({ field, problems, path }: CustomProps) => ({ label: field.label, help: field.help, required: field.required, error: problems[path] });

/** A day, and a time that may stay empty: then the whole day is meant. */
function MomentField({ field, draft, onInput, problems, path }: CustomProps): JSX.Element {
  const id = useId();
  const error = problems[path];
  const [day = '', time = ''] = (draft as string).split('T');
  const described = [field.help ? `${id}-help` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ') || undefined;
  const put = (newDay: string, newTime: string) => onInput(newTime ? `${newDay}T${newTime}` : newDay);
  const invalid = error ? true : undefined;
  return (
    <div class="field" role="group" aria-labelledby={id} aria-describedby={described}>
      <span class="label" id={id}>{field.label}{field.required && <RequiredMark />}</span>
      {field.help && <Help id={id} words={field.help} />}
      <span class="moment">
        <input class="when" type="date" max="9999-12-31" value={day} aria-label={words.day(field.label)} aria-invalid={invalid} onInput={(event) => put(event.currentTarget.value, time)} />
        <input class="when" type="time" value={time} aria-label={words.time(field.label)} onInput={(event) => put(day, event.currentTarget.value)} />
      </span>
      {error && <FieldError id={id} words={error} />}
    </div>
  );
}

export const moment: Custom = {
  begin: (given) => {
    const at = wall(given);
    return at ? [at.day, at.time].filter(Boolean).join('T') : '';
  },
  read: (draft, required, path, problems) => {
    const typed = draft as string;
    if (typed.startsWith('T')) problems[path] = words.timeFirst;
    return needed(typed, required, path, problems);
  },
  Component: MomentField,
};

export const tags: Custom = {
  begin: (given) => (Array.isArray(given) ? given.join(', ') : ''),
  read: (draft) => {
    const all = new Set((draft as string).split(',').map((tag) => tag.trim().replace(/^#/, '')).filter(Boolean));
    return [...all];
  },
  Component: (props) => <TextField {...about(props)} value={props.draft as string} onInput={props.onInput} />,
};

/** How many goals the field offers. */
const GOALS = 30;

function GoalField(props: CustomProps): JSX.Element {
  const [goals, setGoals] = useState<Entry[]>([]);
  const value = props.draft as string;
  useEffect(() => {
    api.execute('list_goals', { limit: GOALS }).then(({ result }) => setGoals(entriesIn(result, 'goals')), () => undefined);
  }, []);
  const options = goals.map((goal) => ({ value: goal.id, label: textOf(goal, 'title') }));
  if (value && !goals.some((goal) => goal.id === value)) options.unshift({ value, label: words.goals.aLargerGoal });
  return <SelectField {...about(props)} value={value} options={[{ value: '', label: words.goals.alone }, ...options]} onInput={props.onInput} />;
}

export const goal: Custom = {
  begin: (given) => (typeof given === 'string' ? given : ''),
  read: (draft, required, path, problems) => needed(draft as string, required, path, problems),
  Component: GoalField,
};
