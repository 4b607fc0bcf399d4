// Joining with an invitation: the person chooses a password and is in.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import * as server from '../api';
import { deviceAway } from '../away';
import { Door, refusalFor, Trouble, useWait, type Refusal } from '../door';
import { call, join } from '../http';
import type { JoinProps } from '../invitation';
import { long, PasswordField, SHORTEST } from '../password';
import { text } from '../text';
import { arrival } from '../text/arrival';

const words = arrival.join;

export function Join({ code, signedIn, onDone }: JoinProps): JSX.Element {
  const [about, setAbout] = useState<{ person: string; home: string } | 'over' | null>(null);
  const [password, setPassword] = useState('');
  const [short, setShort] = useState('');
  const [problem, setProblem] = useState<Refusal | null>(null);
  const [busy, setBusy] = useState(false);
  const [wait, startWait] = useWait();
  const field = useRef<HTMLInputElement>(null);
  const away = deviceAway.value;

  const refused = (cause: unknown) => {
    if (cause instanceof server.Refused && cause.code === 'no_invitation') setAbout('over');
    else setProblem(refusalFor(cause, `#join=${encodeURIComponent(code)}`));
    startWait(cause);
  };
  useEffect(() => {
    if (!away && about === null) call('POST /api/v1/join/check', { body: { code } }, { door: true }).then(setAbout, refused);
  }, [away]);

  const submit = async () => {
    if (busy || wait) return;
    if (about === 'over') return void onDone();
    if (long(password) < SHORTEST) {
      setShort(text.password.short(long(password)));
      return field.current?.focus();
    }
    setBusy(true);
    setProblem(null);
    try {
      await join({ code, password });
      await onDone();
    } catch (cause) {
      refused(cause);
    } finally {
      setBusy(false);
    }
  };

  if (about === 'over') {
    return (
      <Door title={words.over} why={words.overWhy} busy={false} onSubmit={() => void submit()}>
        <button class="go">{words.signIn}</button>
      </Door>
    );
  }
  if (!about) {
    return (
      <Door title={text.name} why={problem ? '' : words.opening} busy={!problem} onSubmit={() => undefined}>
        <Trouble told={problem} />
      </Door>
    );
  }
  return (
    <Door title={words.title(about.home)} why={words.why(about.person)} busy={busy} onSubmit={() => void submit()}>
      {signedIn && signedIn !== about.person && <p class="soft small taken">{words.taken(signedIn, about.person)}</p>}
      {/* Password managers store the new password under this name. */}
      <input hidden type="text" autocomplete="username" value={about.person} readOnly />
      <PasswordField fresh label={words.password} value={password} error={short} field={field} onInput={(value) => (setPassword(value), setShort(''))} />
      <Trouble told={problem} />
      {!problem?.instead && (
        <button class="go" aria-disabled={busy || wait > 0}>{wait ? text.signIn.wait(wait) : busy ? words.going : words.go}</button>
      )}
    </Door>
  );
}
