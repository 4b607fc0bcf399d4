// The form controls of every room: label, control, help and problem.
import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Close, Fresh } from './icons';
import { Sentence } from './sentence';
import { text } from './text';

/** The attributes that connect a control with its label, help and problem. */
export interface ControlProps {
  id: string;
  'aria-describedby': string | undefined;
  'aria-invalid': true | undefined;
  'aria-required': true | undefined;
}

interface About {
  label: string;
  help?: string | undefined;
  /** What is wrong, as a sentence; '' or undefined when nothing is. */
  error?: string | undefined;
  required?: boolean;
}

type FieldProps = About & { children: (wired: ControlProps) => ComponentChildren };

export function Field({ label, help, error, required, children }: FieldProps): JSX.Element {
  const id = useId();
  const described = [help ? `${id}-help` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ');
  return (
    <div class="field">
      <label for={id}>{label}{required && <RequiredMark />}</label>
      {help && <Help id={id} words={help} />}
      {children({
        id,
        'aria-describedby': described || undefined,
        'aria-invalid': error ? true : undefined,
        'aria-required': required || undefined,
      })}
      {error && <FieldError id={id} words={error} />}
    </div>
  );
}

export function Help({ id, words }: { id?: string; words: string }): JSX.Element {
  return <p id={id && `${id}-help`} class="help"><Sentence words={words} /></p>;
}

export function FieldError({ id, words }: { id?: string; words: string }): JSX.Element {
  return <p id={id && `${id}-error`} class="problem small" role="alert"><Sentence words={words} /></p>;
}

/** Marks a required field. */
export function RequiredMark(): JSX.Element {
  return <span class="needed" aria-hidden="true">{text.form.needed}</span>;
}

interface Typed extends About {
  value: string;
  onInput: (value: string) => void;
  placeholder?: string | undefined;
  disabled?: boolean;
}

type InputProps = Typed & {
  type?: 'text' | 'password' | 'search' | 'url' | 'email' | 'tel';
  autocomplete?: string;
  /** For names, addresses and keys: monospaced, without spelling help. */
  code?: boolean;
  /** The id of a datalist. */
  list?: string;
};

export function TextField({ value, onInput, placeholder, disabled, type = 'text', autocomplete = 'off', code, list, ...about }: InputProps): JSX.Element {
  return (
    <Field {...about}>
      {(wired) => (
        <input
          {...wired}
          type={type as 'text'}
          class={code ? 'mono' : undefined}
          value={value}
          placeholder={placeholder}
          disabled={disabled}
          autocomplete={autocomplete}
          list={list}
          {...(code && { spellcheck: false, autocapitalize: 'off' })}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** A number as typed text, so that half a number is not lost. */
export function NumberField({ value, onInput, placeholder, disabled, whole, ...about }: Typed & { whole?: boolean }): JSX.Element {
  return (
    <Field {...about}>
      {(wired) => (
        <input
          {...wired}
          class="number"
          inputmode={whole ? 'numeric' : 'decimal'}
          value={value}
          placeholder={placeholder}
          disabled={disabled}
          autocomplete="off"
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** Grows with its text, up to half the window. */
export function AreaField({ value, onInput, placeholder, disabled, code, rows = 2, ...about }: Typed & { code?: boolean; rows?: number }): JSX.Element {
  const area = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const it = area.current;
    if (!it) return;
    it.style.height = 'auto';
    it.style.height = `${it.scrollHeight + 2}px`;
  }, [value]);
  return (
    <Field {...about}>
      {(wired) => (
        <textarea
          {...wired}
          ref={area}
          rows={rows}
          class={code ? 'mono' : undefined}
          value={value}
          placeholder={placeholder}
          disabled={disabled}
          {...(code && { spellcheck: false, autocapitalize: 'off' })}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface SelectProps<V extends string> extends About {
  value: V;
  onInput: (value: V) => void;
  options: readonly { value: V; label: string }[];
  disabled?: boolean;
}

/** The options of a table of labels. */
export const optionsOf = <V extends string>(labels: Record<V, string>) => Object.entries(labels).map(([value, label]) => ({ value: value as V, label: label as string }));

export function SelectField<V extends string>({ value, onInput, options, disabled, ...about }: SelectProps<V>): JSX.Element {
  return (
    <Field {...about}>
      {(wired) => (
        <select {...wired} value={value} disabled={disabled} onChange={(event) => onInput(event.currentTarget.value as V)}>
          {options.map((option) => <option key={option.value} value={option.value}>{option.label}</option>)}
        </select>
      )}
    </Field>
  );
}

interface SwitchProps {
  label: string;
  help?: string;
  checked: boolean;
  onInput: (checked: boolean) => void;
  disabled?: boolean;
}

/** A switch; its label is part of the touch target. */
export function SwitchField({ label, help, checked, onInput, disabled }: SwitchProps): JSX.Element {
  const id = useId();
  return (
    <div class="field">
      <label class="switch">
        <input
          type="checkbox"
          role="switch"
          checked={checked}
          disabled={disabled}
          aria-describedby={help ? `${id}-help` : undefined}
          onChange={(event) => onInput(event.currentTarget.checked)}
        />
        <span class="switch-track" aria-hidden="true" />
        <span>{label}</span>
      </label>
      {help && <Help id={id} words={help} />}
    </div>
  );
}

interface ListProps extends About {
  values: string[];
  onInput: (values: string[]) => void;
}

/** A list of short texts; Enter adds the next. */
export function ListField({ label, help, error, required, values, onInput }: ListProps): JSX.Element {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const next = useRef(-1);
  const shown = values.length ? values : [''];

  useLayoutEffect(() => {
    if (next.current < 0) return;
    box.current?.querySelectorAll('input')[next.current]?.focus();
    next.current = -1;
  });

  const put = (at: number, value: string) => onInput(shown.map((old, n) => (n === at ? value : old)));
  const add = (after: number) => {
    next.current = after + 1;
    onInput([...shown.slice(0, after + 1), '', ...shown.slice(after + 1)]);
  };
  const drop = (at: number) => {
    next.current = Math.max(0, at - 1);
    onInput(shown.filter((_, n) => n !== at));
  };

  const described = [help ? `${id}-help` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ') || undefined;
  return (
    <div class="field" role="group" aria-labelledby={id} aria-describedby={described} ref={box}>
      <span class="label" id={id}>{label}{required && <RequiredMark />}</span>
      {help && <Help id={id} words={help} />}
      <ul class="lines">
        {shown.map((value, n) => (
          <li key={n}>
            <input
              type="text"
              value={value}
              autocomplete="off"
              aria-label={text.form.nth(label, n + 1)}
              aria-invalid={error ? true : undefined}
              onInput={(event) => put(n, event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.isComposing || event.ctrlKey || event.metaKey) return;
                if (event.key === 'Enter') {
                  event.preventDefault();
                  if (value) add(n);
                } else if (event.key === 'Backspace' && !value && shown.length > 1) {
                  event.preventDefault();
                  drop(n);
                }
              }}
            />
            {shown.length > 1 && (
              <button type="button" class="bare" aria-label={text.form.removeNth(label, n + 1)} onClick={() => drop(n)}><Close /></button>
            )}
          </li>
        ))}
      </ul>
      <button type="button" class="quiet" onClick={() => add(shown.length - 1)}><Fresh />{text.form.another}</button>
      {error && <FieldError id={id} words={error} />}
    </div>
  );
}

/** The buttons under a form; the first is the main one. */
export function Buttons({ children }: { children: ComponentChildren }): JSX.Element {
  return <div class="buttons">{children}</div>;
}

/** A message: success, a problem (`bad`) or a state (`quiet`). Announced when it appears. */
export function Notice({ bad = false, quiet = false, children }: { bad?: boolean; quiet?: boolean; children: string }): JSX.Element {
  return <p class={`notice${bad ? ' problem' : quiet ? ' aside' : ''}`} role={bad ? 'alert' : 'status'}><Sentence words={children} /></p>;
}

interface ConfirmProps {
  /** The question, in plain words. */
  title: string;
  /** What will happen. */
  children?: ComponentChildren;
  yes: string;
  no?: string;
  busy?: boolean;
  onYes: () => void;
  onNo: () => void;
}

/** A confirmation in the flow of the page. "No" has the focus, and Escape is no. */
export function Confirm({ title, children, yes, no = text.form.no, busy = false, onYes, onNo }: ConfirmProps): JSX.Element {
  const id = useId();
  const card = useRef<HTMLDivElement>(null);
  const refuse = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    card.current?.scrollIntoView({ block: 'nearest' });
    refuse.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div
      class="confirm"
      role="alertdialog"
      aria-labelledby={id}
      ref={card}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        onNo();
      }}
    >
      <p class="question" id={id}>{title}</p>
      {children}
      <Buttons>
        <button type="button" class="go" aria-disabled={busy} onClick={() => !busy && onYes()}>{yes}</button>
        <button type="button" ref={refuse} onClick={onNo}>{no}</button>
      </Buttons>
    </div>
  );
}
