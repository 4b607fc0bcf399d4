// A password field with a show button and advice on new passwords.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Field } from './form';
import { text } from './text';

/** The shortest accepted password, in characters. */
export const SHORTEST = 10;

interface Props {
  label: string;
  value: string;
  onInput: (value: string) => void;
  /** A new password. */
  fresh?: boolean;
  /** The help below an empty field; a new password has its shortest length before it. */
  help?: string;
  error?: string;
  field?: { current: HTMLInputElement | null };
}

export const long = (value: string): number => [...value].length;

/** The advice on a new password: its length first, then whether it is easy to guess. */
export function advice(value: string): string {
  const length = long(value);
  if (!length) return text.password.start;
  if (length < SHORTEST) return text.password.more(SHORTEST - length);
  const plain = value.toLowerCase();
  const few = new Set(plain).size < 6;
  const obvious = /passwor|qwert|asdf|1234|abcd|letmein|welcome/.test(plain) || /^(.{1,5})\1+$/.test(plain) || /^\d+$/.test(plain);
  if (few || obvious) return text.password.weak;
  return length < 16 ? text.password.fair : text.password.good;
}

export function PasswordField({ label, value, onInput, fresh = false, help, error, field }: Props): JSX.Element {
  const [shown, setShown] = useState(false);
  const words = fresh ? (value ? advice(value) : [text.password.start, help].filter(Boolean).join(' ')) : help;
  return (
    <Field label={label} error={error}>
      {(wired) => (
        <>
          <div class="secret">
            <input
              {...wired}
              ref={field}
              {...(shown ? { type: 'text' as const } : { type: 'password' as const })}
              value={value}
              autocomplete={fresh ? 'new-password' : 'current-password'}
              autocapitalize="off"
              spellcheck={false}
              aria-describedby={[words ? `${wired.id}-words` : '', wired['aria-describedby'] ?? ''].filter(Boolean).join(' ') || undefined}
              onInput={(event) => onInput(event.currentTarget.value)}
            />
            <button type="button" class="quiet" aria-label={shown ? text.password.hideIt : text.password.showIt} aria-pressed={shown} onClick={() => setShown(!shown)}>
              {shown ? text.password.hide : text.password.show}
            </button>
          </div>
          {words && !error && <p class="help below" id={`${wired.id}-words`}>{words}</p>}
        </>
      )}
    </Field>
  );
}
