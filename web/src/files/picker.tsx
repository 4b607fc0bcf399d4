// Chooses the folder that files are moved or copied to.
import type { JSX } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Notice, SelectField } from '../form';
import { Chevron, FolderIcon, Fresh, Up } from '../icons';
import { files as words } from '../text/files';
import { makeFolder, type Entry, type Spot } from './api';
import { NameForm } from './name-form';
import { parentOf, partsOf, within } from './paths';
import { isTaken, useFolder } from './use-folder';
import { placeOf, places } from './use-places';

interface Props {
  how: 'move' | 'copy';
  entries: Entry[];
  from: Spot;
  busy: boolean;
  onPick: (to: Spot) => void;
  onCancel: () => void;
}

export function Picker({ how, entries, from, busy, onPick, onCancel }: Props): JSX.Element {
  const [at, setAt] = useState(from);
  const [making, setMaking] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const place = placeOf(at.place);
  const there = useFolder(at, place?.available ?? false);
  useLayoutEffect(() => {
    box.current?.focus({ preventScroll: true });
    box.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  // The place of a writer: where they begin is not always where they may put something.
  useEffect(() => {
    const first = places.value?.find((one) => !one.readOnly && one.available);
    if (place?.readOnly && first) setAt({ place: first.id, path: '' });
  }, []);

  const isInside = entries.some((entry) => entry.kind === 'folder' && from.place === at.place && (at.path === entry.path || at.path.startsWith(`${entry.path}/`)));
  const isSame = how === 'move' && at.place === from.place && at.path === from.path;
  const hint = place?.readOnly ? words.pickReadOnly : place && !place.available ? words.notThere(place.name) : isInside ? words.pickInside : isSame ? words.pickSame : '';
  const folders = there.folder?.entries.filter((entry) => entry.kind === 'folder') ?? [];
  const name = partsOf(at.path).at(-1) ?? place?.name ?? '';
  const open = (to: Spot) => {
    setAt(to);
    setMaking(false);
    box.current?.focus({ preventScroll: true });
  };
  return (
    <div
      class="confirm picker"
      role="group"
      aria-labelledby={id}
      ref={box}
      tabIndex={-1}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Escape') onCancel();
      }}
    >
      <p class="question" id={id}>{words.pickTitle[how]}</p>
      <SelectField
        label={words.pickPlace}
        value={at.place}
        options={(places.value ?? []).map((one) => ({ value: one.id, label: one.name }))}
        onInput={(to) => setAt({ place: to, path: '' })}
      />
      <p class="picker-at">
        {at.path && <button type="button" class="quiet" onClick={() => open({ place: at.place, path: parentOf(at.path) })}><Up />{words.pickUp}</button>}
        <b>{name}</b>
      </p>
      {there.problem && <Notice bad>{there.problem}</Notice>}
      <ul class="picker-list" aria-label={words.pickFolders}>
        {folders.map((folder) => (
          <li key={folder.path}>
            <button type="button" onClick={() => open({ place: at.place, path: folder.path })}><FolderIcon /><span>{folder.name}</span><Chevron /></button>
          </li>
        ))}
      </ul>
      {there.folder && !folders.length && <p class="soft small">{words.pickNone}</p>}
      {making && (
        <NameForm
          label={words.newFolder}
          yes={words.create}
          onCancel={() => setMaking(false)}
          onSave={async (fresh) => {
            const made = { place: at.place, path: within(at.path, fresh) };
            if (await isTaken(made)) return words.taken(fresh);
            await makeFolder(made);
            open(made);
            return '';
          }}
        />
      )}
      {hint && <p class="soft small" role="status">{hint}</p>}
      <div class="buttons">
        <button type="button" class="main" aria-disabled={busy || hint !== ''} onClick={() => !busy && !hint && onPick(at)}>{words.pickHere[how]}</button>
        {!making && !place?.readOnly && <button type="button" onClick={() => setMaking(true)}><Fresh />{words.newFolder}</button>}
        <button type="button" class="quiet" onClick={onCancel}>{words.cancel}</button>
      </div>
    </div>
  );
}
