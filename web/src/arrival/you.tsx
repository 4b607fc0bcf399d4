// The first step: the person's name and a password, or a plain warning what happens without one.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Copy } from '../copy';
import { Notice, TextField } from '../form';
import { long, PasswordField, SHORTEST } from '../password';
import { text } from '../text';
import { arrival } from '../text/arrival';
import { useAction } from '../device/part';
import { Ways, type StepProps } from './shell';

const words = arrival.you;
/** The name Hob gives its owner. */
const UNNAMED = 'owner';

function Command(): JSX.Element {
  const shown = useRef<HTMLElement>(null);
  return (
    <div class="command">
      <code ref={shown}>{words.command}</code>
      <Copy value={words.command} label={words.copy} shown={shown} />
    </div>
  );
}

export function You({ session, onDone, onPass, onBack, onChanged }: StepProps): JSX.Element {
  const [name, setName] = useState(session.person === UNNAMED ? '' : session.person);
  const [password, setPassword] = useState('');
  const [wrong, setWrong] = useState<{ name?: string; password?: string }>({});
  /** Leaving without a password is asked about once: to go on, or to pass over. */
  const [bare, setBare] = useState<'' | 'next' | 'pass'>('');
  const passwordField = useRef<HTMLInputElement>(null);
  const act = useAction();

  const put = (set: (value: string) => void) => (value: string) => {
    set(value);
    setWrong({});
    act.clear();
  };

  const save = async (without = false) => {
    const given = name.trim();
    if (!given && !without) {
      document.getElementById('arrival-you')?.querySelector('input')?.focus();
      return setWrong({ name: words.needName });
    }
    if (password && long(password) < SHORTEST) return setWrong({ password: text.password.short(long(password)) }), passwordField.current?.focus();
    if (!password && !session.hasPassword && !without) return setBare('next');
    const change = { ...(given && given !== session.person && { name: given }), ...(password && { password }) };
    const went = await act.run(async () => {
      if (!Object.keys(change).length) return;
      await api.changePerson(session.user, change);
      await onChanged();
    });
    if (went) onDone();
    else setBare('');
  };
  const pass = () => (session.hasPassword ? onPass() : setBare('pass'));

  if (bare) {
    return (
      <div class="bare-choice" role="group" aria-label={words.bareTitle}>
        <h2 tabIndex={-1} ref={(heading) => heading?.focus({ preventScroll: true })}>{words.bareTitle}</h2>
        <p>{words.bare}</p>
        <Command />
        {act.problem && <Notice bad>{act.problem}</Notice>}
        <div class="buttons">
          <button type="button" class="main" onClick={() => (setBare(''), requestAnimationFrame(() => passwordField.current?.focus()))}>{words.choose}</button>
          <button type="button" class="quiet" aria-disabled={act.busy} onClick={() => (bare === 'pass' ? onPass() : void save(true))}>{words.without}</button>
        </div>
      </div>
    );
  }
  return (
    <form
      id="arrival-you"
      class="fields"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <TextField label={words.name} autocomplete="username" error={wrong.name} value={name} onInput={put(setName)} />
      {session.hasPassword
        ? <p class="soft">{words.hasPassword}</p>
        : <PasswordField fresh label={words.password} help={words.passwordWhy} value={password} error={wrong.password} field={passwordField} onInput={put(setPassword)} />}
      <details class="recovery">
        <summary>{words.lost}</summary>
        <p class="soft small">{words.way}</p>
        <Command />
      </details>
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <Ways busy={act.busy} onPass={pass} onBack={onBack} />
    </form>
  );
}
