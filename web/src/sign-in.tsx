// Signing in with a token the device gave out.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import * as api from './api';
import { useAway } from './away';
import { Flame } from './icons';
import { badToken, text, trouble } from './text';

export function SignIn({ note, onDone }: { note?: string | undefined; onDone: () => Promise<void> }): JSX.Element {
  const [token, setToken] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const field = useRef<HTMLInputElement>(null);
  const away = useAway();

  useEffect(() => field.current?.focus(), []);

  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    if (!token.trim()) return field.current?.focus();
    setBusy(true);
    setProblem('');
    try {
      await api.signIn(token.trim());
      await onDone();
    } catch (cause) {
      setProblem(cause instanceof api.Refused && cause.status === 401 ? badToken : trouble(cause));
      field.current?.select();
    } finally {
      setBusy(false);
    }
  };

  return (
    <main class="door">
      <form class="sheet" onSubmit={submit}>
        <Flame big alive={busy} />
        <h1>{text.signIn.title}</h1>
        <p>{note ?? text.signIn.why}</p>
        <label for="token">{text.signIn.token}</label>
        <input
          id="token"
          ref={field}
          class="code"
          type="password"
          value={token}
          onInput={(event) => {
            setToken(event.currentTarget.value);
            setProblem('');
          }}
          autocomplete="current-password"
          spellcheck={false}
          aria-describedby="token-help"
          aria-invalid={problem !== ''}
        />
        <p id="token-help" class={problem ? 'problem' : 'soft'} role={problem ? 'alert' : undefined}>
          {problem || (away ? text.away : text.signIn.how)}
          {!problem && !away && <code>{text.signIn.command}</code>}
        </p>
        <button class="go" aria-disabled={busy}>{busy ? text.signIn.going : text.signIn.go}</button>
      </form>
    </main>
  );
}
