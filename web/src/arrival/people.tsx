// The third step: who lives here, each with a link to join.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import * as server from '../api';
import { InviteLink } from '../device/invite';
import { LoadState, useAction, useRead } from '../device/part';
import { day } from '../device/units';
import { Notice, TextField } from '../form';
import { facts } from '../text';
import { arrival } from '../text/arrival';
import * as api from './api';
import { Ways, type StepProps } from './shell';

const words = arrival.people;
const invited = arrival.invite;
const ROLES: server.Role[] = ['member', 'admin', 'viewer'];

export function PeopleStep({ session, onDone, onPass, onBack }: StepProps): JSX.Element {
  const read = useRead(server.people);
  const device = useRead(server.device);
  const [name, setName] = useState('');
  const [wrong, setWrong] = useState('');
  const [role, setRole] = useState<server.Role>('member');
  /** The links made here, each shown only now. */
  const [links, setLinks] = useState<Record<string, api.Invitation>>({});
  const form = useRef<HTMLFormElement>(null);
  const act = useAction();
  const all = read.data?.people.filter(({ program }) => !program) ?? [];

  const show = async (person: server.Person) => {
    const made = await api.invite(person.id);
    setLinks((all) => ({ ...all, [person.id]: made }));
    await read.again();
  };
  const add = async () => {
    const given = name.trim();
    if (!given) {
      form.current?.querySelector('input')?.focus();
      return setWrong(words.needName);
    }
    await act.run(async () => {
      const fresh = await server.addPerson({ name: given, role });
      setName('');
      setRole('member');
      await show(fresh);
    });
  };
  const state = (person: server.Person) =>
    person.hasPassword ? invited.joined : person.invitedUntil ? invited.waits(day(person.invitedUntil)) : invited.bare;

  return (
    <div class="fields">
      <LoadState of={read} />
      {all.length > 0 && (
        <ul class="rows people" aria-label={words.title}>
          {all.map((person) => (
            <li key={person.id}>
              <div class="row">
                <p><b>{person.name}</b> <span class="soft small">{person.id === session.user ? words.you : facts(words.roles[person.role]?.is, state(person))}</span></p>
                {person.id !== session.user && !person.owner && !person.hasPassword && (
                  <button type="button" class="small" aria-disabled={act.busy} aria-label={`${invited.fresh}: ${person.name}`} onClick={() => void act.run(() => show(person))}>{invited.fresh}</button>
                )}
              </div>
              {links[person.id] && !person.hasPassword && (
                <InviteLink person={person.name} home={session.home.name || session.name} invitation={links[person.id] as api.Invitation} device={device.data} />
              )}
            </li>
          ))}
        </ul>
      )}
      <form
        ref={form}
        class="add-person fields"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <TextField label={words.name} error={wrong} value={name} onInput={(value) => (setName(value), setWrong(''), act.clear())} />
        <fieldset class="units roles">
          <legend>{words.may}</legend>
          {ROLES.map((one) => (
            <label key={one} class="choice">
              <input type="radio" name="role" value={one} checked={role === one} onChange={() => setRole(one)} />
              <span><b>{words.roles[one]?.label}</b> <small>{words.roles[one]?.why}</small></span>
            </label>
          ))}
        </fieldset>
        {act.problem && <Notice bad>{act.problem}</Notice>}
        <button aria-disabled={act.busy}>{act.busy ? words.adding : words.add}</button>
      </form>
      <Ways next={all.length > 1 ? words.done : words.alone} onNext={onDone} onPass={onPass} onBack={onBack} />
    </div>
  );
}
