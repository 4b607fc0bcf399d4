// What Hob knows about the current person: each entry with its source, to be changed and deleted.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import * as api from '../api';
import { Notice, SelectField, TextField } from '../form';
import { useLive } from '../live';
import { facts, text } from '../text';
import { Edit, LoadState, Part, SaveRow, useAction, useRead } from './part';
import { day } from './units';

const words = text.profile;

type Entry = api.Profile['facts'][number];
type Keyed = 'identity' | 'style';
type Listed = 'facts' | 'preferences' | 'interests' | 'goals' | 'instructions';
const KEYED: Keyed[] = ['identity', 'style'];
const LISTED: Listed[] = ['facts', 'preferences', 'interests', 'goals', 'instructions'];

function from(entry: Entry): string {
  const sure = entry.confidence < 1 && words.sure(Math.round(entry.confidence * 100));
  return facts(words.sources[entry.source], sure, day(entry.updatedAt), entry.fromOutside && words.outside);
}

function Row({ entry, label, onChanged }: { entry: Entry; label: string; onChanged: (profile: api.Profile) => void }): JSX.Element {
  const [editing, setEditing] = useState(false);
  const [value, setValue] = useState(entry.value);
  const act = useAction();
  const send = (patch: Parameters<typeof api.changeProfile>[0]) => act.run(async () => {
    onChanged(await api.changeProfile(patch));
    setEditing(false);
  });
  if (editing) {
    return (
      <li>
        <Edit label={words.change(label || entry.value)} onSubmit={() => void send({ change: [{ id: entry.id, value }] })} onCancel={() => setEditing(false)}>
          <TextField label={label || words.value} error={act.problem} value={value} onInput={(now) => (setValue(now), act.clear())} />
          <SaveRow busy={act.busy} save={text.device.save} onCancel={() => setEditing(false)} />
        </Edit>
      </li>
    );
  }
  return (
    <li>
      <div class="row">
        <div>
          <p>{label && <span class="soft">{label}: </span>}<strong>{entry.value}</strong></p>
          <p class="soft small">{from(entry)}</p>
          {entry.quote && <p class="soft small">{words.quote(entry.quote)}</p>}
        </div>
        <div class="buttons">
          {entry.fromOutside && (
            <button type="button" class="small" aria-disabled={act.busy} onClick={() => void send({ change: [{ id: entry.id, value: entry.value }] })}>{words.confirm}</button>
          )}
          <button type="button" class="small" data-back aria-label={words.change(label || entry.value)} onClick={() => (setValue(entry.value), setEditing(true))}>{text.device.change}</button>
          <button type="button" class="small" aria-label={words.removeOf(label || entry.value)} aria-disabled={act.busy} onClick={() => void send({ remove: [entry.id] })}>{words.remove}</button>
        </div>
      </div>
      {act.problem && <Notice bad>{act.problem}</Notice>}
    </li>
  );
}

function Add({ onDone, onCancel }: { onDone: (profile: api.Profile) => void; onCancel: () => void }): JSX.Element {
  const [what, setWhat] = useState('preferredName');
  const [value, setValue] = useState('');
  const [wrong, setWrong] = useState('');
  const act = useAction();
  const save = async () => {
    if (!value.trim()) return setWrong(words.needValue);
    const section = LISTED.find((one) => one === what);
    const patch = section ? { add: [{ section, value: value.trim() }] } : { set: { [what]: value.trim() } };
    await act.run(async () => onDone(await api.changeProfile(patch)));
  };
  const options = [
    ...Object.entries(words.keys).map(([key, label]) => ({ value: key, label })),
    ...LISTED.map((section) => ({ value: section, label: words.one[section] })),
  ];
  return (
    <Edit label={words.add} onSubmit={() => void save()} onCancel={onCancel}>
      <SelectField label={words.what} value={what} options={options} onInput={setWhat} />
      <TextField label={words.value} help={words.helps[what]} error={wrong || act.problem} value={value} onInput={(now) => (setValue(now), setWrong(''), act.clear())} />
      <SaveRow busy={act.busy} save={words.add} onCancel={onCancel} />
    </Edit>
  );
}

export function AboutYou(): JSX.Element {
  const read = useRead(api.profile);
  const [adding, setAdding] = useState(false);
  useLive(['profile:changed'], () => void read.again());
  const now = read.data;
  const sections = now ? [...KEYED, ...LISTED].filter((section) => now[section].length > 0) : [];
  const names: Record<string, string> = words.keys;
  return (
    <Part id="about-you" title={words.title} why={words.why}>
      <LoadState of={read} />
      {now && !sections.length && <p class="soft">{words.empty}</p>}
      {now && sections.map((section) => (
        <section key={section} aria-label={words.sections[section]}>
          <h3>{words.sections[section]}</h3>
          <ul class="rows">
            {now[section].map((entry) => (
              <Row key={entry.id} entry={entry} label={(entry.key && names[entry.key]) || ''} onChanged={read.set} />
            ))}
          </ul>
        </section>
      ))}
      {adding ? (
        <Add onDone={(profile) => (read.set(profile), setAdding(false))} onCancel={() => setAdding(false)} />
      ) : (
        now && <div class="buttons"><button type="button" data-back onClick={() => setAdding(true)}>{words.add}</button></div>
      )}
    </Part>
  );
}
