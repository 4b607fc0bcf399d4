// The people of this Hob: their roles and passwords, added and removed.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Confirm, Notice, SelectField, TextField } from '../form';
import { long, PasswordField, SHORTEST } from '../password';
import { facts, text, trouble } from '../text';
import { arrival as arrivalText } from '../text/arrival';
import { InviteLink } from './invite';
import * as arrival from '../arrival/api';
import { Edit, Part, LoadState, SaveRow, useAction, useHouse, useRead, type ListProps } from './part';
import { day } from './units';

const words = text.device.people;
const invited = arrivalText.invite;

export function roleName(role: string): string {
  return text.device.roles.find((one) => one.value === role)?.label ?? role;
}

export function RoleField({ value, onInput, disabled = false }: { value: api.Role; onInput: (value: api.Role) => void; disabled?: boolean }): JSX.Element {
  const says = text.device.roles.find((one) => one.value === value)?.says ?? '';
  return <SelectField label={words.role} help={`${roleName(value)}: ${says}.`} value={value} options={text.device.roles} disabled={disabled} onInput={onInput} />;
}

interface FormProps {
  /** The person being edited; none for a new one. */
  person?: api.Person;
  onDone: (person: api.Person) => void;
  onCancel: () => void;
  onRemove?: () => void;
}

function PersonForm({ person, onDone, onCancel, onRemove }: FormProps): JSX.Element {
  const [name, setName] = useState(person?.name ?? '');
  const [role, setRole] = useState<api.Role>(person?.role ?? 'member');
  const [password, setPassword] = useState('');
  const [wrong, setWrong] = useState<{ name?: string; password?: string }>({});
  const field = useRef<HTMLInputElement>(null);
  const act = useAction();
  const put = <V extends string>(set: (value: V) => void) => (value: V) => {
    set(value);
    setWrong({});
    act.clear();
  };
  const save = async () => {
    if (!name.trim()) return setWrong({ name: words.needName });
    if (password && long(password) < SHORTEST) return setWrong({ password: text.password.short(long(password)) }), field.current?.focus();
    const given = { name: name.trim(), role, ...(password && { password }) };
    if (!person) return void (await act.run(async () => onDone(await api.addPerson(given))));
    const change: Parameters<typeof api.changePerson>[1] = {
      ...(given.name !== person.name && { name: given.name }),
      ...(role !== person.role && { role }),
      ...(password && { password }),
    };
    if (!Object.keys(change).length) return onCancel();
    await act.run(async () => onDone(await api.changePerson(person.id, change)));
  };
  return (
    <Edit label={person ? text.device.changeOf(person.name) : words.add} onSubmit={() => void save()} onCancel={onCancel}>
      <TextField label={words.name} error={wrong.name} value={name} onInput={put(setName)} />
      {!person?.owner && <RoleField value={role} onInput={put<api.Role>(setRole)} />}
      <PasswordField
        fresh
        label={words.password}
        help={person ? words.freshHelp : words.passwordHelp}
        value={password}
        error={wrong.password}
        field={field}
        onInput={put(setPassword)}
      />
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <div class="with-remove">
        <SaveRow busy={act.busy} save={person ? text.device.save : words.add} saving={person ? text.device.saving : words.adding} onCancel={onCancel} />
        {onRemove && person && !person.owner && <button type="button" class="quiet bad" aria-label={words.remove(person.name)} onClick={onRemove}>{words.removeYes}</button>}
      </div>
    </Edit>
  );
}

interface RowProps {
  person: api.Person;
  /** The invitation made on this page; its link is shown only now. */
  invitation: arrival.Invitation | undefined;
  device: api.Device | null;
  onInvite: () => Promise<void>;
  onChanged: (person: api.Person) => void;
  onGone: () => void;
}

function Row({ person, invitation, device, onInvite, onChanged, onGone }: RowProps): JSX.Element {
  const { session } = useHouse();
  const [open, setOpen] = useState<'' | 'change' | 'remove'>('');
  const act = useAction();
  const self = person.id === session.user;
  const remove = async () => {
    if (await act.run(() => api.removePerson(person.id))) onGone();
  };
  return (
    <li>
      <div class="row">
        <div>
          <p><strong>{person.name}</strong> <span class="soft">{facts(roleName(person.role), person.owner && words.owner, self && words.you)}</span></p>
          <p class="soft small">
            {person.hasPassword ? words.withPassword : person.invitedUntil ? invited.waits(day(person.invitedUntil)) : words.withToken}
            {person.createdAt ? `, ${words.since(day(person.createdAt))}` : ''}
          </p>
        </div>
        {!person.hasPassword && !person.owner && !open && (
          <button type="button" class="small" aria-disabled={act.busy} aria-label={invited.makeFor(person.name)} onClick={() => void act.run(onInvite)}>{invited.make}</button>
        )}
        {!self && !open && (
          <button type="button" class="small" data-back aria-label={text.device.changeOf(person.name)} onClick={() => setOpen('change')}>{text.device.change}</button>
        )}
      </div>
      {act.problem && !open && <Notice bad>{act.problem}</Notice>}
      {invitation && !person.hasPassword && !open && <InviteLink person={person.name} home={session.home.name || session.name} invitation={invitation} device={device} />}
      {open === 'change' && (
        <PersonForm
          person={person}
          onCancel={() => setOpen('')}
          onRemove={() => setOpen('remove')}
          onDone={(fresh) => {
            setOpen('');
            onChanged(fresh);
          }}
        />
      )}
      {open === 'remove' && (
        <Confirm title={words.removeAsk(person.name)} yes={words.removeYes} busy={act.busy} onYes={() => void remove()} onNo={() => setOpen('')}>
          <p class="small">{words.removeWhat}</p>
          {act.problem && <Notice bad>{act.problem}</Notice>}
        </Confirm>
      )}
    </li>
  );
}

export function People({ round, onChanged }: ListProps): JSX.Element {
  const read = useRead(api.people, round);
  const [adding, setAdding] = useState(false);
  const [done, setDone] = useState('');
  const device = useRead(api.device);
  const [links, setLinks] = useState<Record<string, arrival.Invitation>>({});
  // A token is no person: names that only tokens have are under Tokens.
  const all = read.data?.people.filter(({ program }) => !program);
  const invite = async (id: string) => {
    const made = await arrival.invite(id);
    setLinks((all) => ({ ...all, [id]: made }));
    await read.again();
  };
  const why = (
    <>
      {text.device.roles.map((role) => (
        <span class="role" key={role.value}><b>{role.label}</b> {role.says}.</span>
      ))}
    </>
  );
  return (
    <Part id="people" title={words.title} why={why}>
      <LoadState of={read} />
      {all && (
        <ul class="rows">
          {all.map((person) => (
            <Row
              key={person.id}
              person={person}
              invitation={links[person.id]}
              device={device.data}
              onInvite={() => invite(person.id)}
              onChanged={(fresh) => read.set({ count: all.length, people: all.map((old) => (old.id === fresh.id ? { ...old, ...fresh } : old)) })}
              onGone={() => {
                read.set({ count: all.length - 1, people: all.filter((old) => old.id !== person.id) });
                onChanged();
              }}
            />
          ))}
        </ul>
      )}
      {done && !adding && <Notice>{done}</Notice>}
      {all && adding && (
        <PersonForm
          onCancel={() => setAdding(false)}
          onDone={(fresh) => {
            setAdding(false);
            setDone(fresh.hasPassword ? words.added(fresh.name) : words.addedBare(fresh.name));
            read.set({ count: all.length + 1, people: [...all, fresh] });
            // Without a password they need a link.
            if (!fresh.hasPassword) void invite(fresh.id).catch((cause) => setDone(trouble(cause)));
          }}
        />
      )}
      {all && !adding && <div class="buttons"><button type="button" data-back onClick={() => (setAdding(true), setDone(''))}>{words.add}</button></div>}
    </Part>
  );
}
