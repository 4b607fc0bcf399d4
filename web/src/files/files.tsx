// The Files room: the places a person has, their folders and files, uploads, and the trash.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Notice } from '../form';
import { Close, Find } from '../icons';
import { lazy } from '../lazy';
import { go, href, type RoomProps } from '../rooms';
import { text } from '../text';
import { files as words } from '../text/files';
import { Top } from '../top';
import type { Place } from './api';
import { DropZone } from './drop';
import { editsOf } from './edits';
import { FileView } from './file';
import { FindFiles } from './find-files';
import { FolderView } from './folder';
import { folderHref, parentOf, partsOf, whereIn, type Where } from './paths';
import { Quota } from './quota';
import { UploadList } from './upload-list';
import { placesProblem, renewPlaces, usePlaces } from './use-places';
import './files.css';

const Trash = lazy<{ writer: boolean }>(() => import('./trash').then((part) => part.Trash));
const Folders = lazy<{ places: Place[]; admin: boolean }>(() => import('./folders').then((part) => part.Folders));

function Tabs({ places, where }: { places: Place[]; where: Where }): JSX.Element {
  const row = useRef<HTMLElement>(null);
  const here = 'at' in where ? where.at.place : where.page;
  useLayoutEffect(() => {
    const box = row.current;
    const tab = box?.querySelector<HTMLElement>('[aria-current]');
    // Scrolls the row, not the page.
    if (box && tab) box.scrollLeft = tab.offsetLeft - (box.clientWidth - tab.offsetWidth) / 2;
  }, [here]);
  return (
    <nav class="tabs" aria-label={words.placesLabel} ref={row}>
      {places.map((place) => (
        <a key={place.id} href={folderHref({ place: place.id, path: '' })} aria-current={here === place.id ? 'page' : undefined}>{place.name}</a>
      ))}
      <a href={href('files', 'trash')} aria-current={here === 'trash' ? 'page' : undefined}>{words.trash}</a>
      <a href={href('files', 'places')} aria-current={here === 'places' ? 'page' : undefined}>{words.places}</a>
    </nav>
  );
}

/** The search field; what is typed is in the address, so that Back leads out of it. */
function Search({ where, back }: { where: Where; back: string }): JSX.Element {
  const query = where.page === 'find' ? where.query : '';
  const field = useRef<HTMLInputElement>(null);
  const from = useRef(back);
  if (where.page !== 'find') from.current = back;
  const clear = () => {
    location.hash = from.current;
    field.current?.focus();
  };
  return (
    <div class="searcher" role="search">
      <Find />
      <input
        ref={field}
        type="search"
        aria-label={words.search}
        placeholder={words.searchHint}
        value={query}
        autocomplete="off"
        enterkeyhint="search"
        onInput={(event) => {
          const typed = event.currentTarget.value;
          if (typed.trim()) go('files', ['find', typed], where.page === 'find');
          else clear();
        }}
        onKeyDown={(event) => event.key === 'Escape' && query && (event.preventDefault(), clear())}
      />
      {query && <button type="button" class="bare" aria-label={words.clear} onClick={clear}><Close /></button>}
    </div>
  );
}

export function Files({ session, path }: RoomProps): JSX.Element {
  editsOf(session.user);
  const places = usePlaces();
  const asked = whereIn(path);
  const first = places?.[0];
  const where: Where = asked.page === 'first' && first ? { page: 'folder', at: { place: first.id, path: '' } } : asked;
  const writer = session.role !== 'viewer';
  const at = 'at' in where ? where.at : null;
  const place = at && places?.find((one) => one.id === at.place);
  const writable = writer && !!place && !place.readOnly;
  const folder = at && { place: at.place, path: where.page === 'file' ? parentOf(at.path) : at.path };
  const name = (folder && partsOf(folder.path).at(-1)) || place?.name || '';
  const subtitle = place?.name ?? (where.page === 'trash' ? words.trash : where.page === 'places' ? words.places : where.page === 'find' ? words.search : '');
  const problem = placesProblem.value;

  const part = () => {
    if (problem && !places) {
      return (
        <>
          <Notice bad>{problem}</Notice>
          <p><button type="button" onClick={() => void renewPlaces()}>{text.tryAgain}</button></p>
        </>
      );
    }
    if (!places) return <p class="soft nothing">{words.loading}</p>;
    switch (where.page) {
      case 'trash': return <Trash writer={writer} />;
      case 'places': return <Folders places={places} admin={session.role === 'admin'} />;
      case 'find': return <FindFiles query={where.query.trim()} />;
      case 'first': return <p class="soft nothing">{words.noPlaces}</p>;
      default: {
        if (!at || !place) return <Notice quiet>{words.unknownPlace}</Notice>;
        if (where.page === 'file') return <FileView key={`${at.place}\n${at.path}`} at={at} place={place} writable={writable} />;
        return (
          <>
            <FolderView at={at} place={place} writable={writable} writer={writer} />
            <Quota place={place} />
          </>
        );
      }
    }
  };
  return (
    <main class="room memory files">
      <Top title={text.rooms.files} where={subtitle} />
      <DropZone into={writable && place.available ? folder : null} name={name}>
        <div class="memory-inside">
          <Tabs places={places ?? []} where={where} />
          <div class="memory-part">
            {where.page !== 'file' && !!places?.length && <Search where={where} back={at ? folderHref(at) : href('files')} />}
            <UploadList />
            {part()}
          </div>
        </div>
      </DropZone>
    </main>
  );
}
