// A form that Hob shows: six kinds of fields with what stands in them at first, what is needed, and what the device says is wrong.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { AreaField, Field, NumberField, SelectField, SwitchField, TextField } from '../form';
import { sentence } from '../text';
import { asks } from '../text/asks';
import { list, object, plain, type Fields } from './blocks';
import type { Reply } from './card';

const words = asks.form;

interface Asked {
  name: string;
  label: string;
  type: string;
  options: string[];
  required: boolean;
  first: unknown;
}

const asked = (field: Fields): Asked => ({
  name: plain(field['name']), label: plain(field['label']) || plain(field['name']), type: plain(field['type']),
  options: list(field['options']).map(plain), required: field['required'] === true, first: field['default'],
});

type Draft = Record<string, string | boolean>;
type Wrong = Record<string, string>;

const start = (fields: Asked[]): Draft =>
  Object.fromEntries(fields.map(({ name, type, first }) => [name, type === 'checkbox' ? first === true : plain(first)]));

/** A number as it is typed here: a comma is a point. */
const number = (typed: string) => Number(typed.trim().replace(',', '.'));

function wrongIn(fields: Asked[], draft: Draft): Wrong {
  const found: Wrong = {};
  for (const { name, type, options, required } of fields) {
    const value = draft[name];
    if (type === 'checkbox') {
      if (required && value !== true) found[name] = words.needed;
      continue;
    }
    const typed = String(value ?? '').trim();
    if (!typed) {
      if (required) found[name] = words.needed;
    } else if (type === 'number' && !Number.isFinite(number(typed))) found[name] = words.number;
    else if (type === 'date' && !/^\d{4}-\d\d-\d\d$/.test(typed)) found[name] = words.date;
    else if (type === 'select' && !options.includes(typed)) found[name] = words.option;
  }
  return found;
}

/** What is sent: an empty field that is not needed is left out. */
function given(fields: Asked[], draft: Draft): Fields {
  return Object.fromEntries(fields.flatMap(({ name, type }): [string, unknown][] => {
    const value = draft[name];
    if (type === 'checkbox') return [[name, value === true]];
    const typed = String(value ?? '');
    if (!typed.trim()) return [];
    return [[name, type === 'number' ? number(typed) : type === 'text' || type === 'textarea' ? typed : typed.trim()]];
  }));
}

export function BlockForm({ block, reply }: { block: Fields; reply?: Reply | undefined }): JSX.Element {
  const fields = list(block['fields']).map(object).map(asked);
  const [draft, setDraft] = useState<Draft>(() => start(fields));
  const [wrong, setWrong] = useState<Wrong>({});
  const form = useRef<HTMLFormElement>(null);
  const submit = plain(block['submitLabel']) || asks.send;
  const put = (name: string, value: string | boolean) => {
    setDraft({ ...draft, [name]: value });
    setWrong({ ...wrong, [name]: '' });
  };

  const showWrong = (found: Wrong) => {
    setWrong(found);
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus());
  };

  const send = async () => {
    if (!reply) return;
    const found = wrongIn(fields, draft);
    if (Object.keys(found).length) return showWrong(found);
    setWrong({});
    const refused = await reply.give({ action: 'submit', data: given(fields, draft) });
    // The device names the field: it is told beside it.
    const about = refused?.status === 422 || refused?.status === 400 ? fields.find(({ name }) => new RegExp(`(^|[^\\w])${name.replace(/\W/g, '\\$&')}($|[^\\w])`).test(refused.message)) : undefined;
    if (refused && about) showWrong({ [about.name]: sentence(refused.message) });
  };

  return (
    <form
      ref={form}
      class="fields block-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {fields.map((field) => <One key={field.name} field={field} value={draft[field.name] ?? ''} error={wrong[field.name]} disabled={!reply} onInput={(value) => put(field.name, value)} />)}
      {reply && (
        <div class="buttons"><button class="go" aria-disabled={reply.busy}>{reply.busy ? asks.sending : submit}</button></div>
      )}
    </form>
  );
}

interface OneProps {
  field: Asked;
  value: string | boolean;
  error: string | undefined;
  disabled: boolean;
  onInput: (value: string | boolean) => void;
}

function One({ field, value, error, disabled, onInput }: OneProps): JSX.Element {
  const { label, type, options, required } = field;
  const about = { label, error, required, disabled, value: String(value), onInput };
  switch (type) {
    case 'number': return <NumberField {...about} />;
    case 'textarea': return <AreaField {...about} rows={3} />;
    case 'select': return <SelectField {...about} options={[{ value: '', label: words.choose }, ...options.map((option) => ({ value: option, label: option }))]} />;
    case 'checkbox': return <SwitchField label={label} checked={value === true} disabled={disabled} onInput={onInput} {...(error && { help: error })} />;
    case 'date':
      return (
        <Field {...about}>
          {(wired) => <input {...wired} type="date" value={String(value)} disabled={disabled} onInput={(event) => onInput(event.currentTarget.value)} />}
        </Field>
      );
    default: return <TextField {...about} />;
  }
}
