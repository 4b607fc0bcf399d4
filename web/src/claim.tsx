// The first screen of a new device: one code, one button.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import * as api from './api';
import { useAway } from './away';
import { Flame } from './icons';
import { text, trouble } from './text';

/** The claim code in a fragment, a pasted link or plain text typed by hand; '' when there is none. */
export function codeIn(value: string): string {
  const found = /#claim=([^&\s]*)/.exec(value)?.[1];
  if (found === undefined) return '';
  try {
    return decodeURIComponent(found).trim().toUpperCase();
  } catch {
    return found;
  }
}

export function Claim({ onDone, onClaimed }: { onDone: () => Promise<void>; onClaimed: () => void }): JSX.Element {
  const [code, setCode] = useState(() => codeIn(location.hash));
  const [linked, setLinked] = useState(code !== '');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const [taken, setTaken] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const away = useAway();

  useEffect(() => {
    (linked ? button : field).current?.focus();
    const again = () => {
      const fresh = codeIn(location.hash);
      if (!fresh) return;
      setCode(fresh);
      setLinked(true);
      setProblem('');
    };
    addEventListener('hashchange', again);
    return () => removeEventListener('hashchange', again);
  }, []);

  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    if (!code.trim()) return field.current?.focus();
    setBusy(true);
    setProblem('');
    try {
      await api.claim(code.trim());
      await onDone();
    } catch (cause) {
      setProblem(trouble(cause));
      if (cause instanceof api.Refused && cause.code === 'already_claimed') setTaken(true);
      else if (cause instanceof api.Refused) field.current?.select();
    } finally {
      setBusy(false);
    }
  };

  return (
    <main class="door">
      <form class="sheet" onSubmit={submit}>
        <Flame big alive={busy} />
        <h1>{text.claim.title}</h1>
        <p>{text.claim.why}</p>
        <label for="code">{text.claim.code}</label>
        <input
          id="code"
          ref={field}
          class="code"
          value={code}
          onInput={(event) => {
            const typed = event.currentTarget.value;
            setCode(codeIn(typed) || typed.toUpperCase());
            setLinked(false);
            setProblem('');
          }}
          autocomplete="one-time-code"
          autocapitalize="characters"
          spellcheck={false}
          aria-describedby="code-help"
          aria-invalid={problem !== ''}
        />
        <p id="code-help" class={problem ? 'problem' : 'soft'} role={problem ? 'alert' : undefined}>
          {problem || (away ? text.away : linked ? text.claim.fromLink : text.claim.typeIt)}
        </p>
        {taken ? (
          <button type="button" class="go" onClick={onClaimed}>{text.signIn.go}</button>
        ) : (
          <button ref={button} class="go" aria-disabled={busy}>{busy ? text.claim.going : text.claim.go}</button>
        )}
      </form>
    </main>
  );
}
