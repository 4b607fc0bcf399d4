// The places with how full they are; an admin adds folders of the device and removes them.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Edit, SaveRow, useAction } from '../device/part';
import { Confirm, ListField, Notice, SwitchField, TextField } from '../form';
import { Fresh } from '../icons';
import { facts, sentence } from '../text';
import { files as words } from '../text/files';
import { addPlace, removePlace, type Place } from './api';
import { folderHref } from './paths';
import { Quota } from './quota';
import { renewPlaces } from './use-places';

/** Paths begin with it. */
const NAME = /^[a-z0-9][a-z0-9-]{1,31}$/;

function Row({ place, admin, onSaid }: { place: Place; admin: boolean; onSaid: (words: string) => void }): JSX.Element {
  const [asking, setAsking] = useState(false);
  const act = useAction();
  const drop = async () => {
    if (!(await act.run(() => removePlace(place.id)))) return;
    onSaid(words.dropped(place.name));
    await renewPlaces();
  };
  return (
    <li>
      <div class="place-row">
        <div>
          <p><a href={folderHref({ place: place.id, path: '' })}>{place.name}</a></p>
          <p class="soft small">{facts(words.kind[place.kind], place.readOnly && words.readOnly, place.kind === 'added' && !place.trusted && words.untrusted, !place.available && words.unavailable)}</p>
          {place.path && <p class="soft small"><code>{place.path}</code></p>}
          {!place.available && place.reason && <p class="soft small">{sentence(place.reason)}</p>}
        </div>
        {admin && place.removable && !asking && <button type="button" class="quiet" aria-label={words.dropOne(place.name)} onClick={() => setAsking(true)}>{words.removePlace}</button>}
      </div>
      <Quota place={place} />
      {asking && (
        <Confirm title={words.dropPlaceAsk(place.name)} yes={words.removePlace} busy={act.busy} onYes={() => void drop()} onNo={() => setAsking(false)}>
          <p class="small soft">{words.dropPlaceWhy}</p>
          {act.problem && <Notice bad>{act.problem}</Notice>}
        </Confirm>
      )}
    </li>
  );
}

function AddForm({ onDone, onCancel }: { onDone: (name: string) => void; onCancel: () => void }): JSX.Element {
  const [name, setName] = useState('');
  const [path, setPath] = useState('');
  const [readOnly, setReadOnly] = useState(true);
  const [adminsOnly, setAdminsOnly] = useState(false);
  const [trusted, setTrusted] = useState(false);
  const [denied, setDenied] = useState<string[]>([]);
  const [wrong, setWrong] = useState<{ name?: string; path?: string }>({});
  const act = useAction();
  const save = async () => {
    if (!NAME.test(name.trim())) return setWrong({ name: words.addNameWrong });
    if (!path.trim().startsWith('/')) return setWrong({ path: words.addPathWrong });
    const deny = denied.map((one) => one.trim()).filter(Boolean);
    if (await act.run(() => addPlace({ name: name.trim(), path: path.trim(), readOnly, deny, adminsOnly, trusted }))) onDone(name.trim());
  };
  return (
    <Edit label={words.add} onSubmit={() => void save()} onCancel={onCancel}>
      <TextField required label={words.addName} help={words.addNameHelp} value={name} error={wrong.name} onInput={(value) => (setName(value), setWrong({}))} />
      <TextField required code label={words.addPath} help={words.addPathHelp} value={path} error={wrong.path} onInput={(value) => (setPath(value), setWrong({}))} />
      <SwitchField label={words.addReadOnly} help={words.addReadOnlyHelp} checked={readOnly} onInput={setReadOnly} />
      <SwitchField label={words.addAdmins} checked={adminsOnly} onInput={setAdminsOnly} />
      <SwitchField label={words.addTrusted} help={words.addTrustedHelp} checked={trusted} onInput={setTrusted} />
      <ListField label={words.addDenied} help={words.addDeniedHelp} values={denied} onInput={setDenied} />
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <SaveRow busy={act.busy} save={words.add} saving={words.adding} onCancel={onCancel} />
    </Edit>
  );
}

export function Folders({ places, admin }: { places: Place[]; admin: boolean }): JSX.Element {
  const [adding, setAdding] = useState(false);
  const [said, setSaid] = useState('');
  return (
    <div class="folders">
      <p class="soft small">{words.placesWhy}</p>
      <p class={said ? 'small said' : 'unseen'} role="status">{said}</p>
      <ul class="place-rows">{places.map((place) => <Row key={place.id} place={place} admin={admin} onSaid={setSaid} />)}</ul>
      {adding && (
        <AddForm
          onCancel={() => setAdding(false)}
          onDone={(name) => {
            setAdding(false);
            setSaid(words.added(name));
            void renewPlaces();
          }}
        />
      )}
      {admin && !adding && <div class="buttons"><button type="button" onClick={() => (setAdding(true), setSaid(''))}><Fresh />{words.add}</button></div>}
    </div>
  );
}
