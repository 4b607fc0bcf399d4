// A folder: where it is, what is in it, and everything that can be done there.
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Confirm, Notice } from '../form';
import { Bring, Fresh } from '../icons';
import { go } from '../rooms';
import { sentence } from '../text';
import { files as words } from '../text/files';
import { makeFolder, saveText, type Entry, type Place, type Spot } from './api';
import { Crumbs } from './crumbs';
import { openInEditor } from './file';
import { fileHref, folderHref, parentOf, partsOf, within } from './paths';
import { NameForm } from './name-form';
import { Picker } from './picker';
import { Row, type Doing } from './row';
import { addUploads } from './uploads';
import { isTaken, useFolder } from './use-folder';
import { saidOf, useOperations } from './use-operations';
import { placeName } from './use-places';

interface Props {
  at: Spot;
  place: Place;
  /** This person may change what is here. */
  writable: boolean;
  /** This person may change something somewhere, so that they may copy from here. */
  writer: boolean;
}

type Making = 'folder' | 'file' | '';

const links = (box: HTMLElement | null) => [...(box?.querySelectorAll<HTMLElement>('.file-link') ?? [])];

export function FolderView({ at, place, writable, writer }: Props): JSX.Element {
  const state = useFolder(at, place.available);
  const [making, setMaking] = useState<Making>('');
  const [doing, setDoing] = useState<{ path: string; what: Doing } | null>(null);
  const [picked, setPicked] = useState<Set<string> | null>(null);
  const [many, setMany] = useState<'move' | 'copy' | 'delete' | ''>('');
  const [said, setSaid] = useState('');
  const work = useOperations();
  const list = useRef<HTMLUListElement>(null);
  const input = useRef<HTMLInputElement>(null);
  /** The path whose row has the focus after the next load. */
  const wanted = useRef('');
  const entries = state.folder?.entries ?? [];
  const key = `${at.place}\n${at.path}`;

  useEffect(() => {
    setMaking('');
    setDoing(null);
    setPicked(null);
    setMany('');
    setSaid('');
    work.clear();
  }, [key]);

  useLayoutEffect(() => {
    if (!wanted.current || !state.folder) return;
    const row = links(list.current).find((link) => link.closest<HTMLElement>('[data-path]')?.dataset['path'] === wanted.current);
    if (row) wanted.current = '';
    row?.focus();
  }, [state.folder]);

  /** The button or row that the focus returns to after a form. */
  const back = (path: string) => requestAnimationFrame(() => list.current?.querySelector<HTMLElement>(`[data-path="${CSS.escape(path)}"] [data-menu]`)?.focus());
  const act = (path: string, what: Doing | '') => {
    setSaid('');
    setDoing(what ? { path, what } : null);
    if (!what) back(path);
  };
  const changed = (words: string, focus = '') => {
    setSaid(words);
    setDoing(null);
    wanted.current = focus;
    void state.renew();
  };
  /** The row that takes the focus when these are gone. */
  const neighbour = (gone: Set<string>) => {
    const first = entries.findIndex((entry) => gone.has(entry.path));
    return (entries.slice(first).find((entry) => !gone.has(entry.path)) ?? entries.slice(0, first).reverse().find((entry) => !gone.has(entry.path)))?.path ?? '';
  };
  const end = (words: string, gone: Set<string>) => {
    setPicked(null);
    setMany('');
    changed(words, neighbour(gone));
  };
  const transfer = async (how: 'move' | 'copy', those: Entry[], to: Spot) => {
    const done = await work.transfer(how, those, at.place, to);
    end(saidOf(how, done, partsOf(to.path).at(-1) ?? placeName(to.place)), how === 'move' ? new Set(those.map(({ path }) => path)) : new Set());
  };
  const remove = async (those: Entry[]) => {
    const done = await work.remove(those, at.place);
    end(done ? words.removed(done) : '', new Set(those.map(({ path }) => path)));
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const all = links(list.current);
    const here = all.findIndex((link) => link === document.activeElement);
    if (here < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const entry = entries.find(({ path }) => path === all[here]?.closest<HTMLElement>('[data-path]')?.dataset['path']);
    const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to !== undefined) all[Math.max(0, Math.min(all.length - 1, to))]?.focus();
    else if (event.key === 'Backspace' && at.path) location.hash = folderHref({ place: at.place, path: parentOf(at.path) });
    else if (event.key === 'F2' && writable && entry) act(entry.path, 'rename');
    else if (event.key === 'Delete' && writable && entry) act(entry.path, 'delete');
    else if (event.key === ' ' && picked && entry) pick(entry.path);
    else return;
    event.preventDefault();
  };
  const pick = (path: string) => setPicked((old) => {
    const next = new Set(old);
    if (!next.delete(path)) next.add(path);
    return next;
  });

  const busy = work.progress !== null;
  const chosen = entries.filter(({ path }) => picked?.has(path));
  const acted = doing && (doing.what === 'move' || doing.what === 'copy') ? entries.find(({ path }) => path === doing.path) : undefined;
  const stopPicking = () => (setPicked(null), setMany(''));
  return (
    <>
      {at.path && <Crumbs at={at} name={place.name} />}
      {!place.available ? (
        <Notice quiet>{place.reason ? sentence(place.reason) : words.notThere(place.name)}</Notice>
      ) : (
        <>
          {(writable || writer) && (
            <div class="file-tools">
              {writable && (
                <>
                  <button type="button" onClick={() => input.current?.click()}><Bring />{words.upload}</button>
                  <input
                    ref={input}
                    type="file"
                    multiple
                    hidden
                    onChange={(event) => {
                      addUploads(at, [...(event.currentTarget.files ?? [])].map((file) => ({ file, path: file.name })));
                      event.currentTarget.value = '';
                    }}
                  />
                  <button type="button" class="quiet" aria-expanded={making === 'folder'} onClick={() => setMaking('folder')}><Fresh />{words.newFolder}</button>
                  <button type="button" class="quiet" aria-expanded={making === 'file'} onClick={() => setMaking('file')}><Fresh />{words.newFile}</button>
                </>
              )}
              {entries.length > 1 && <button type="button" class="quiet" aria-pressed={picked !== null} onClick={() => (picked ? stopPicking() : (setDoing(null), setPicked(new Set())))}>{picked ? words.selectDone : words.select}</button>}
            </div>
          )}
          {making && (
            <NameForm
              key={making}
              label={making === 'folder' ? words.newFolder : words.newFile}
              yes={words.create}
              onCancel={() => setMaking('')}
              onSave={async (name) => {
                const fresh = { place: at.place, path: within(at.path, name) };
                if (making === 'folder') {
                  if (await isTaken(fresh)) return words.taken(name);
                  await makeFolder(fresh);
                  setMaking('');
                  changed(words.folderMade(name), fresh.path);
                } else {
                  await saveText(fresh, '', null);
                  openInEditor(fresh);
                  location.hash = fileHref(fresh);
                }
                return '';
              }}
            />
          )}
          {picked && (
            <div class="picked-bar" role="group" aria-label={words.doingsLabel}>
              <p role="status">{words.selected(chosen.length)}</p>
              <div class="buttons">
                {writable && <button type="button" aria-disabled={!chosen.length || busy} onClick={() => chosen.length && !busy && setMany('move')}>{words.move}</button>}
                <button type="button" aria-disabled={!chosen.length || busy} onClick={() => chosen.length && !busy && setMany('copy')}>{words.copy}</button>
                {writable && <button type="button" class="bad" aria-disabled={!chosen.length || busy} onClick={() => chosen.length && !busy && setMany('delete')}>{words.remove}</button>}
              </div>
            </div>
          )}
          {picked && many === 'delete' && chosen.length > 0 && (
            <Confirm title={words.removeAskMany(chosen.length)} yes={words.remove} busy={busy} onYes={() => void remove(chosen)} onNo={() => setMany('')}>
              <p class="small soft">{words.removeWhy}</p>
            </Confirm>
          )}
          {picked && (many === 'move' || many === 'copy') && chosen.length > 0 && (
            <Picker how={many} entries={chosen} from={at} busy={busy} onPick={(to) => void transfer(many, chosen, to)} onCancel={() => setMany('')} />
          )}
          {acted && doing && (
            <Picker how={doing.what === 'move' ? 'move' : 'copy'} entries={[acted]} from={at} busy={busy} onPick={(to) => void transfer(doing.what === 'move' ? 'move' : 'copy', [acted], to)} onCancel={() => act(acted.path, '')} />
          )}
          {work.progress && !work.clash && <p class="soft small" role="status">{words.working(work.progress.done, work.progress.all)}</p>}
          {work.clash && (
            <div class="confirm" role="group" aria-label={words.clash(work.clash.name)}>
              <p class="question">{words.clash(work.clash.name)}</p>
              <div class="buttons">
                <button type="button" onClick={() => work.decide('both')}>{words.keepBoth}</button>
                <button type="button" onClick={() => work.decide('replace')}>{words.replace}</button>
                <button type="button" class="quiet" onClick={() => work.decide('skip')}>{words.skip}</button>
              </div>
            </div>
          )}
          {(work.problem || state.problem) && <Notice bad>{work.problem || state.problem}</Notice>}
          {state.gone && at.path && <p><button type="button" onClick={() => go('files', ['in', at.place], true)}>{words.back(place.name)}</button></p>}
          <p class={said ? 'small said' : 'unseen'} role="status">{said}</p>
          {!state.folder && !state.problem && <p class="soft nothing">{words.loading}</p>}
          {state.folder && !entries.length && (
            <div class="nothing">
              <p>{words.emptyFolder}</p>
              <p class="soft small">{writable ? words.emptyHow : place.readOnly ? words.emptyReadOnly : ''}</p>
            </div>
          )}
          <ul class="file-list" aria-label={words.entries} ref={list} onKeyDown={onKeyDown}>
            {entries.map((entry) => (
              <Row
                key={entry.path}
                entry={entry}
                place={at.place}
                writable={writable}
                writer={writer}
                doing={doing?.path === entry.path ? doing.what : ''}
                onDo={(what) => act(entry.path, what)}
                onChanged={changed}
                onDelete={() => void remove([entry])}
                busy={busy}
                picked={picked && picked.has(entry.path)}
                onPick={() => pick(entry.path)}
              />
            ))}
          </ul>
          {entries.length > 1 && <p class="soft small file-keys">{words.keys}</p>}
          {state.folder?.more && <p class="read-on"><button type="button" aria-disabled={state.growing} onClick={() => void state.grow()}>{state.growing ? words.moreLoading : words.more}</button></p>}
        </>
      )}
    </>
  );
}
