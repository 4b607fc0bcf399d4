// The controls of a form, one for each shape of field.
import type { JSX } from 'preact';
import { AreaField, Field as Labelled, Help, ListField, RequiredMark, NumberField, SelectField, SwitchField, TextField, FieldError } from '../form';
import { Close, Fresh } from '../icons';
import { text } from '../text';
import { blank } from './draft';
import { label, range, type Draft, type Field, type Group, type GroupDraft, type Option, type Problems, type Shape } from './schema';

interface FieldsProps {
  group: Group;
  draft: GroupDraft;
  onInput: (draft: GroupDraft) => void;
  problems: Problems;
  path?: string;
  disabled?: boolean;
}

export function Fields(props: FieldsProps): JSX.Element {
  return <div class="fields"><EachField {...props} /></div>;
}

/** The fields without a box around them. */
export function EachField({ group, draft, onInput, problems, path = '', disabled = false }: FieldsProps): JSX.Element {
  return (
    <>
      {group.fields.map((field) => (
        <One
          key={field.name}
          field={field}
          draft={draft[field.name] ?? ''}
          onInput={(value) => onInput({ ...draft, [field.name]: value })}
          problems={problems}
          path={path ? `${path}.${field.name}` : field.name}
          disabled={disabled}
        />
      ))}
    </>
  );
}

interface OneProps {
  field: Field;
  draft: Draft;
  onInput: (draft: Draft) => void;
  problems: Problems;
  path: string;
  disabled: boolean;
}

function One({ field, draft, onInput, problems, path, disabled }: OneProps): JSX.Element {
  const { shape } = field;
  const about = { label: field.label, help: field.help, error: problems[path], required: field.required, disabled };
  switch (shape.kind) {
    case 'text':
      return shape.long
        ? <AreaField {...about} value={draft as string} onInput={onInput} code={shape.code} rows={shape.code ? 6 : 2} />
        : <TextField {...about} {...(shape.input && { type: shape.input })} code={shape.code || shape.input === 'url'} value={draft as string} onInput={onInput} />;
    case 'date':
      return (
        <Labelled {...about}>
          {(wired) => <input {...wired} class="when" type="date" max="9999-12-31" value={draft as string} disabled={disabled} onInput={(event) => onInput(event.currentTarget.value)} />}
        </Labelled>
      );
    case 'custom':
      return <shape.custom.Component field={field} draft={draft} onInput={onInput} problems={problems} path={path} />;
    case 'secret':
      return <TextField {...about} type="password" code value={draft as string} onInput={onInput} />;
    case 'number':
      return <NumberField {...about} help={withRange(field)} whole={shape.whole} value={draft as string} onInput={onInput} />;
    case 'flag':
      return shape.three
        ? <SelectField {...about} value={draft as string} onInput={onInput} options={YES_NO} />
        : <SwitchField label={field.label} help={problems[path] ?? field.help} disabled={disabled} checked={draft === true} onInput={onInput} />;
    case 'choice':
      return <SelectField {...about} value={draft as string} onInput={onInput} options={choices(shape, field, draft as string)} />;
    case 'several':
      return <Several field={field} options={shape.options} chosen={draft as string[]} onInput={onInput} error={problems[path]} />;
    case 'list':
      return <ListField {...about} values={draft as string[]} onInput={onInput} />;
    case 'rows':
      return <Rows field={field} shape={shape} rows={draft as GroupDraft[]} onInput={onInput} problems={problems} path={path} />;
    case 'group':
      return (
        <fieldset>
          <legend>{field.label}{field.required && <RequiredMark />}</legend>
          {field.help && <Help words={field.help} />}
          <div class="under"><Fields group={shape} draft={draft as GroupDraft} onInput={onInput} problems={problems} path={path} /></div>
        </fieldset>
      );
    case 'json':
      return <AreaField {...about} code value={draft as string} onInput={onInput} placeholder={text.toolsRoom.json} />;
  }
}

const YES_NO = [
  { value: '', label: text.toolsRoom.unsaid },
  { value: 'true', label: text.toolsRoom.yes },
  { value: 'false', label: text.toolsRoom.no },
];

function choices({ options, schema }: Extract<Shape, { kind: 'choice' }>, field: Field, draft: string): { value: string; label: string }[] {
  const all = options.map((option) => ({ value: option.key, label: option.label }));
  if (draft && !options.some((option) => option.key === draft)) all.push({ value: draft, label: schema.other?.(draft) ?? draft });
  // With a default, something is always chosen.
  const open = field.default === undefined || field.default === null;
  return open || !draft ? [{ value: '', label: schema.labels?.[''] ?? text.toolsRoom.unsaid }, ...all] : all;
}

/** The help of a number, and its bounds where the help does not speak of them. */
function withRange(field: Field): string {
  const bounds = field.shape.kind === 'number' ? range(field.shape.schema) : '';
  const told = field.shape.kind === 'number' && [field.shape.schema.minimum, field.shape.schema.maximum]
    .every((bound) => bound === undefined || field.help.includes(String(bound)));
  return bounds && !told ? [field.help, bounds].filter(Boolean).join(' ') : field.help;
}

interface SeveralProps {
  field: Field;
  options: Option[];
  chosen: string[];
  onInput: (chosen: string[]) => void;
  error: string | undefined;
}

/** Any of a few: each with its own switch. */
function Several({ field, options, chosen, onInput, error }: SeveralProps): JSX.Element {
  const set = (key: string, on: boolean) => onInput(on ? [...chosen, key] : chosen.filter((one) => one !== key));
  return (
    <fieldset class="several">
      <legend>{field.label}{field.required && <RequiredMark />}</legend>
      {field.help && <Help words={field.help} />}
      {options.map(({ key, label: name }) => <SwitchField key={key} label={name} checked={chosen.includes(key)} onInput={(on) => set(key, on)} />)}
      {error && <FieldError words={error} />}
    </fieldset>
  );
}

interface RowsProps {
  field: Field;
  shape: Extract<Shape, { kind: 'rows' }>;
  rows: GroupDraft[];
  onInput: (rows: GroupDraft[]) => void;
  problems: Problems;
  path: string;
}

/** Several of the same: a small form each. */
function Rows({ field, shape, rows, onInput, problems, path }: RowsProps): JSX.Element {
  const one = single(label(field.name));
  return (
    <fieldset>
      <legend>{field.label}{field.required && <RequiredMark />}</legend>
      {field.help && <Help words={field.help} />}
      <ol>
        {rows.map((row, n) => (
          <li key={n} class="under">
            <div class="nth">
              <span class="soft small">{one} {n + 1}</span>
              <button
                type="button"
                class="bare"
                aria-label={text.form.removeNth(one, n + 1)}
                onClick={() => onInput(rows.filter((_, at) => at !== n))}
              >
                <Close />
              </button>
            </div>
            <Fields
              group={shape.item}
              draft={row}
              onInput={(changed) => onInput(rows.map((old, at) => (at === n ? changed : old)))}
              problems={problems}
              path={`${path}.${n}`}
            />
          </li>
        ))}
      </ol>
      <button type="button" class="quiet" onClick={() => onInput([...rows, blank(shape.item) as GroupDraft])}>
        <Fresh />{rows.length ? text.form.another : text.toolsRoom.addOne}
      </button>
      {problems[path] && <FieldError words={problems[path]} />}
    </fieldset>
  );
}

/** "Memories" → "Memory"; what is not plainly a plural stays. */
function single(many: string): string {
  if (many.endsWith('ies')) return `${many.slice(0, -3)}y`;
  return many.endsWith('s') && !many.endsWith('ss') ? many.slice(0, -1) : many;
}
