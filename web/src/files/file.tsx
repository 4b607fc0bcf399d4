// One file: shown as what it is, and edited where it is text.
import type { JSX } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Refused } from '../api';
import { deviceAway } from '../away';
import { size } from '../device/units';
import { Notice } from '../form';
import { Pen, Save } from '../icons';
import { lazy } from '../lazy';
import { useNews } from '../live';
import { go } from '../rooms';
import { facts, moment, text, trouble, when } from '../text';
import { files as words } from '../text/files';
import { bytesAt, downloadAt, textOf, type Entry, type Place, type Spot, type TextFile } from './api';
import { Crumbs } from './crumbs';
import { dropEdit, editAt, type Edit } from './edits';
import { shownAs, type Shown } from './kinds';
import { OutsideMark, VouchButton } from './outside';
import { folderHref, nameOf, parentOf, partsOf } from './paths';
import { entryAt } from './use-folder';
import { FILE_EVENTS } from './use-places';

const TextView = lazy<{ file: TextFile; name: string; language: string }>(() => import('./text-view').then((part) => part.TextView));
const Editor = lazy<{ at: Spot; file: TextFile | null; given: Edit | null; onClose: () => void }>(() => import('./editor').then((part) => part.Editor));

let editNext = '';
/** Opens a file in the editor at once: it was just made. */
export const openInEditor = (at: Spot): void => void (editNext = JSON.stringify(at));
function wantsEditor(at: Spot): boolean {
  const wanted = editNext === JSON.stringify(at);
  editNext = '';
  return wanted;
}

interface Props {
  at: Spot;
  place: Place;
  writable: boolean;
}

export function FileView({ at, place, writable }: Props): JSX.Element {
  const [entry, setEntry] = useState<Entry | null | undefined>(undefined);
  const [problem, setProblem] = useState('');
  const [said, setSaid] = useState('');
  const [forced, setForced] = useState(false);
  const [editable, setEditable] = useState(false);
  const [editing, setEditing] = useState(() => wantsEditor(at));
  const heading = useRef<HTMLHeadingElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const away = deviceAway.value;
  const name = nameOf(at.path);

  const read = useCallback(async () => {
    try {
      const found = await entryAt(at);
      if (found?.kind === 'folder') return go('files', ['in', at.place, ...partsOf(at.path)], true);
      setEntry(found);
      setProblem('');
    } catch (cause) {
      if (!(cause instanceof Refused)) return;
      if (cause.status === 404) setEntry(null);
      else setProblem(trouble(cause));
    }
  }, []);
  useEffect(() => {
    if (!away && place.available) void read();
  }, [away, place.available]);
  useNews(FILE_EVENTS, () => void read());
  useLayoutEffect(() => {
    scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }, []);

  const edit = (on: boolean) => {
    setEditing(on);
    if (!on) requestAnimationFrame(() => (opener.current ?? heading.current)?.focus());
  };
  const shown: Shown = entry ? (forced ? 'text' : shownAs(entry)) : 'none';
  const folder = { place: at.place, path: parentOf(at.path) };
  return (
    <article class="file-page">
      <Crumbs at={at} name={place.name} isFile />
      <h2 tabIndex={-1} ref={heading}>{name}</h2>
      {!place.available && <Notice quiet>{words.notThere(place.name)}</Notice>}
      {entry && (
        <p class="dotted soft small">
          <span>{facts(entry.kind !== 'file' && words.kinds[entry.kind], size(entry.size), when(entry.modified))}</span>
          {entry.outside && <OutsideMark />}
        </p>
      )}
      {problem && <Notice bad>{problem}</Notice>}
      <p class={said ? 'small said' : 'unseen'} role="status">{said}</p>
      {entry === undefined && !problem && place.available && <p class="soft nothing">{words.loading}</p>}
      {entry === null && !editAt(at) && (
        <div class="nothing">
          <p>{words.notFound}</p>
          <p><a href={folderHref(folder)}>{words.back(partsOf(folder.path).at(-1) ?? place.name)}</a></p>
        </div>
      )}
      {entry && (
        <div class="file-tools" hidden={editing}>
          {editable && <button type="button" ref={opener} onClick={() => setEditing(true)}><Pen />{words.edit}</button>}
          {entry.kind === 'file' && <a class="button" href={downloadAt(at)} download={name}><Save />{words.download}</a>}
          {shown === 'pdf' && <a class="button" href={bytesAt(at, entry.version)} target="_blank" rel="noopener">{words.pdfOpen}</a>}
          {shown === 'none' && entry.kind === 'file' && <button type="button" onClick={() => setForced(true)}>{words.asText}</button>}
          {writable && entry.outside && <VouchButton at={at} name={name} onVouched={(words) => (setSaid(words), void read())} onProblem={setProblem} />}
        </div>
      )}
      {(shown === 'text' || (entry === null && editAt(at))) && entry?.kind !== 'link' && entry?.kind !== 'other'
        ? <TextFileView key={forced ? 'forced' : 'text'} at={at} entry={entry ?? null} writable={writable} editing={editing} onEdit={edit} onEditable={setEditable} />
        : entry && <Preview at={at} entry={entry} shown={shown} />}
    </article>
  );
}

function Preview({ at, entry, shown }: { at: Spot; entry: Entry; shown: Shown }): JSX.Element {
  const [failed, setFailed] = useState(false);
  const source = bytesAt(at, entry.version);
  useEffect(() => setFailed(false), [source]);
  if (entry.kind === 'link') return <Notice quiet>{words.isLink}</Notice>;
  if (entry.kind !== 'file') return <Notice quiet>{words.special}</Notice>;
  if (failed) return <Notice quiet>{shown === 'picture' ? words.pictureFailed : words.playFailed}</Notice>;
  const fail = () => setFailed(true);
  switch (shown) {
    case 'picture': return <p class="file-picture"><img src={source} alt={entry.name} onError={fail} /></p>;
    case 'pdf': return <iframe class="file-pdf" src={source} title={words.pdf(entry.name)} />;
    case 'sound': return <audio controls preload="metadata" src={source} aria-label={entry.name} onError={fail} />;
    case 'film': return <video class="file-film" controls preload="metadata" src={source} aria-label={entry.name} onError={fail} />;
    default: return <p class="soft nothing">{words.noPreview}</p>;
  }
}

interface TextProps {
  at: Spot;
  /** `null`: it is gone, and only an edit is left. */
  entry: Entry | null;
  writable: boolean;
  editing: boolean;
  onEdit: (editing: boolean) => void;
  /** Whether the text may be edited. */
  onEditable: (editable: boolean) => void;
}

function TextFileView({ at, entry, writable, editing, onEdit, onEditable }: TextProps): JSX.Element {
  const [file, setFile] = useState<TextFile | null>(null);
  const [problem, setProblem] = useState('');
  const [kept, setKept] = useState(() => editAt(at));
  const [given, setGiven] = useState<Edit | null>(null);
  const away = deviceAway.value;
  const name = nameOf(at.path);
  const version = entry?.version ?? '';
  const [language, setLanguage] = useState('');

  const read = useCallback(async () => {
    try {
      setFile(await textOf(at));
      setProblem('');
    } catch (cause) {
      if (cause instanceof Refused) setProblem(trouble(cause));
    }
  }, []);
  // The editor follows the file by itself.
  useEffect(() => {
    if (!away && entry && (!editing || !file)) void read();
  }, [away, version, entry?.modified, editing, entry === null]);
  useEffect(() => {
    if (file) void import('./highlight').then(({ languageOf }) => setLanguage(languageOf(name, file.language)), () => undefined);
  }, [file?.language]);

  const close = () => {
    onEdit(false);
    setGiven(null);
    setKept(editAt(at));
  };
  // What was kept and is what the file says now is no edit.
  const differs = kept && (!file || kept.text !== file.text.replace(/\r\n?/g, '\n'));
  useEffect(() => {
    if (!kept || !file || differs) return;
    dropEdit(at);
    setKept(null);
  }, [kept, file]);

  const editable = writable && !!file && !!entry && !file.truncated && !differs;
  useEffect(() => onEditable(editable), [editable]);

  if (editing && (file || (!entry && given))) return <Editor at={at} file={entry && file} given={given} onClose={close} />;
  return (
    <>
      {differs && writable && (file || !entry) && (
        <div class="confirm kept" role="group" aria-label={words.kept(moment(kept.at))}>
          <p>{words.kept(moment(kept.at))}</p>
          <div class="buttons">
            <button type="button" onClick={() => (setGiven(kept), onEdit(true))}>{words.keptGoOn}</button>
            <button type="button" class="quiet" onClick={() => (dropEdit(at), setKept(null))}>{words.keptDrop}</button>
          </div>
        </div>
      )}
      {problem && entry && (
        <>
          <Notice bad>{problem}</Notice>
          <p><button type="button" onClick={() => void read()}>{text.tryAgain}</button></p>
        </>
      )}
      {!file && !problem && entry && <p class="soft nothing">{words.loading}</p>}
      {file && entry && <TextView file={file} name={name} language={language} />}
    </>
  );
}
