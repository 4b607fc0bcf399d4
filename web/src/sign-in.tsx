// Sign-in with name and password, or with a token.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import * as api from './api';
import { Door, refusalFor, Trouble, useWait, type Refusal } from './door';
import { Field } from './form';
import { PasswordField } from './password';
import { badToken, text } from './text';

export function SignIn({ note, onDone }: { note?: string | undefined; onDone: () => Promise<void> }): JSX.Element {
  const [byToken, setByToken] = useState(false);
  const [person, setPerson] = useState('');
  const [password, setPassword] = useState('');
  const [token, setToken] = useState('');
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState('');
  const [problem, setProblem] = useState<Refusal | null>(null);
  const [wait, startWait] = useWait();
  const nameField = useRef<HTMLInputElement>(null);
  const passwordField = useRef<HTMLInputElement>(null);
  const tokenField = useRef<HTMLInputElement>(null);
  const secret = byToken ? tokenField : passwordField;

  useLayoutEffect(() => (byToken ? tokenField : nameField).current?.focus(), [byToken]);

  const typed = (set: (value: string) => void) => (value: string) => {
    set(value);
    setWrong('');
    setProblem(null);
  };

  const submit = async () => {
    if (busy || wait) return;
    if (!byToken && !person.trim()) return nameField.current?.focus();
    if (!(byToken ? token.trim() : password)) return secret.current?.focus();
    setBusy(true);
    setWrong('');
    setProblem(null);
    try {
      await api.signIn(byToken ? { token: token.trim() } : { person: person.trim(), password });
      await onDone();
    } catch (cause) {
      if (cause instanceof api.Refused && cause.status === 401) setWrong(byToken ? badToken : text.password.wrongPair);
      else setProblem(refusalFor(cause));
      startWait(cause);
      if (cause instanceof api.Refused) secret.current?.select();
    } finally {
      setBusy(false);
    }
  };

  return (
    <Door title={text.signIn.title} why={note ?? text.signIn.why} busy={busy} onSubmit={() => void submit()}>
      {byToken ? (
        <Field key="token" label={text.signIn.token} error={wrong}>
          {(wired) => (
            <>
              <input
                {...wired}
                ref={tokenField}
                class="code"
                type="password"
                value={token}
                autocomplete="off"
                spellcheck={false}
                aria-describedby={[wrong ? '' : `${wired.id}-words`, wired['aria-describedby'] ?? ''].filter(Boolean).join(' ')}
                onInput={(event) => typed(setToken)(event.currentTarget.value)}
              />
              {!wrong && (
                <p class="help below" id={`${wired.id}-words`}>{text.signIn.how} <code>{text.signIn.command}</code></p>
              )}
            </>
          )}
        </Field>
      ) : (
        <>
          <Field key="person" label={text.signIn.person}>
            {(wired) => (
              <input
                {...wired}
                ref={nameField}
                value={person}
                autocomplete="username"
                autocapitalize="words"
                spellcheck={false}
                onInput={(event) => typed(setPerson)(event.currentTarget.value)}
              />
            )}
          </Field>
          <PasswordField
            label={text.signIn.password}
            value={password}
            error={wrong}
            field={passwordField}
            onInput={typed(setPassword)}
          />
        </>
      )}
      <Trouble told={problem} />
      {!problem?.instead && (
        <button class="go" aria-disabled={busy || wait > 0}>
          {wait ? text.signIn.wait(wait) : busy ? text.signIn.going : text.signIn.go}
        </button>
      )}
      <button
        type="button"
        class="plain other"
        onClick={() => {
          setByToken(!byToken);
          setWrong('');
          setProblem(null);
        }}
      >
        {byToken ? text.signIn.usePassword : text.signIn.useToken}
      </button>
    </Door>
  );
}
