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

export function PeopleStep({ session, onDone, onPass, onBack }: StepProps): JSX.Element {
  const read = useRead(server.people);
  const device = useRead(server.device);
  const [name, setName] = useState('');
  const [wrong, setWrong] = useState('');
  const [link, setLink] = useState<{ id: string; person: string; invitation: api.Invitation } | null>(null);
  const form = useRef<HTMLFormElement>(null);
  const act = useAction();
  const all = read.data?.people.filter(({ program }) => !program) ?? [];

  const show = async (person: server.Person) => {
    setLink({ id: person.id, person: person.name, invitation: await api.invite(person.id) });
    await read.again();
  };
  const add = async () => {
    const given = name.trim();
    if (!given) {
      form.current?.querySelector('input')?.focus();
      return setWrong(words.needName);
    }
    await act.run(async () => {
      const fresh = await server.addPerson({ name: given, role: 'member' });
      setName('');
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
                <p><b>{person.name}</b> <span class="soft small">{person.id === session.user ? words.you : facts(state(person))}</span></p>
                {person.id !== session.user && !person.owner && !person.hasPassword && (
                  <button type="button" class="small" aria-disabled={act.busy} aria-label={`${invited.fresh}: ${person.name}`} onClick={() => void act.run(() => show(person))}>{invited.fresh}</button>
                )}
              </div>
              {link?.id === person.id && <InviteLink person={link.person} home={session.home.name || session.name} invitation={link.invitation} device={device.data} />}
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
        <TextField label={words.name} help={words.role} error={wrong} value={name} onInput={(value) => (setName(value), setWrong(''), act.clear())} />
          {act.problem && <Notice bad>{act.problem}</Notice>}
        <button aria-disabled={act.busy}>{act.busy ? words.adding : words.add}</button>
      </form>
      <Ways next={all.length > 1 ? words.done : words.alone} onNext={onDone} onPass={onPass} onBack={onBack} />
    </div>
  );
}
