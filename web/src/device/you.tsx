// The current person: name, role, password and autonomy.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Notice, TextField } from '../form';
import { long, PasswordField, SHORTEST } from '../password';
import { text } from '../text';
import { Autonomy } from './autonomy';
import { Edit, Part, SaveRow, useAction, useHouse } from './part';

const words = text.device.you;

function Rename({ onDone, onCancel }: { onDone: () => void; onCancel: () => void }): JSX.Element {
  const { session } = useHouse();
  const [name, setName] = useState(session.person);
  const [wrong, setWrong] = useState('');
  const act = useAction();
  const save = async () => {
    if (!name.trim()) return setWrong(words.needName);
    if (await act.run(() => api.changePerson(session.user, { name: name.trim() }))) onDone();
  };
  return (
    <Edit label={words.rename} onSubmit={() => void save()} onCancel={onCancel}>
      <TextField label={words.name} autocomplete="username" error={wrong || act.problem} value={name} onInput={(value) => (setName(value), setWrong(''), act.clear())} />
      <SaveRow busy={act.busy} save={text.device.save} onCancel={onCancel} />
    </Edit>
  );
}

function Password({ onDone, onCancel }: { onDone: () => void; onCancel: () => void }): JSX.Element {
  const { session } = useHouse();
  const [current, setCurrent] = useState('');
  const [fresh, setFresh] = useState('');
  const [wrong, setWrong] = useState<{ current?: string; fresh?: string }>({});
  const currentField = useRef<HTMLInputElement>(null);
  const freshField = useRef<HTMLInputElement>(null);
  const act = useAction((cause) => {
    if (!(cause instanceof api.Refused) || cause.code !== 'wrong_password') return undefined;
    setWrong({ current: text.password.wrong });
    currentField.current?.select();
    return '';
  });
  const put = (set: (value: string) => void) => (value: string) => {
    set(value);
    setWrong({});
    act.clear();
  };
  const save = async () => {
    if (session.hasPassword && !current) return setWrong({ current: words.needCurrent }), currentField.current?.focus();
    if (long(fresh) < SHORTEST) return setWrong({ fresh: text.password.short(long(fresh)) }), freshField.current?.focus();
    const change = { password: fresh, ...(session.hasPassword && { currentPassword: current }) };
    if (await act.run(() => api.changePerson(session.user, change))) onDone();
  };
  return (
    <Edit label={session.hasPassword ? words.changePassword : words.setPassword} onSubmit={() => void save()} onCancel={onCancel}>
      {/* Password managers store the new password under this name. */}
      <input hidden type="text" autocomplete="username" value={session.person} readOnly />
      {session.hasPassword && (
        <PasswordField label={words.current} value={current} onInput={put(setCurrent)} error={wrong.current} field={currentField} />
      )}
      <PasswordField fresh label={words.fresh} value={fresh} onInput={put(setFresh)} error={wrong.fresh} field={freshField} />
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <SaveRow busy={act.busy} save={text.device.save} onCancel={onCancel} />
    </Edit>
  );
}

export function You(): JSX.Element {
  const { session, onChanged } = useHouse();
  const [open, setOpen] = useState<'' | 'name' | 'password'>('');
  const [done, setDone] = useState('');
  const role = text.device.roles.find((one) => one.value === session.role);

  const finish = (said: string) => () => {
    setOpen('');
    setDone(said);
    onChanged();
  };

  return (
    <Part id="you" title={words.title}>
      <p class="say">{words.is(session.person, role?.label.toLowerCase() ?? session.role, role?.says ?? '')}</p>
      {!session.hasPassword && !open && <p class="soft small">{words.noPassword}</p>}
      {done && !open && <Notice>{done}</Notice>}
      {open === 'name' && <Rename onDone={finish(words.renamed)} onCancel={() => setOpen('')} />}
      {open === 'password' && <Password onDone={finish(words.changed)} onCancel={() => setOpen('')} />}
      {!open && (
        <div class="buttons">
          <button type="button" data-back onClick={() => (setOpen('password'), setDone(''))}>
            {session.hasPassword ? words.changePassword : words.setPassword}
          </button>
          <button type="button" onClick={() => (setOpen('name'), setDone(''))}>{words.rename}</button>
        </div>
      )}
      <Autonomy />
    </Part>
  );
}
