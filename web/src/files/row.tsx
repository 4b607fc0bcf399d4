// A file or folder in its folder: its name, a few facts, and what can be done with it.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { size } from '../device/units';
import { Confirm, Notice } from '../form';
import { More } from '../icons';
import { facts, when } from '../text';
import { files as words } from '../text/files';
import { downloadAt, move, type Entry, type Spot } from './api';
import { moveEdits } from './edits';
import { iconOf } from './kinds';
import { NameForm } from './name-form';
import { OutsideMark, VouchButton } from './outside';
import { entryHref, parentOf, within } from './paths';
import { isTaken } from './use-folder';

export type Doing = 'menu' | 'rename' | 'move' | 'copy' | 'delete';

interface Props {
  entry: Entry;
  place: string;
  /** It may be changed. */
  writable: boolean;
  /** This person may copy it somewhere. */
  writer: boolean;
  doing: Doing | '';
  onDo: (what: Doing | '') => void;
  onChanged: (said: string, renamed?: string) => void;
  onDelete: () => void;
  busy: boolean;
  /** While several are chosen: whether it is among them. */
  picked: boolean | null;
  onPick: () => void;
}

export function Row({ entry, place, writable, writer, doing, onDo, onChanged, onDelete, busy, picked, onPick }: Props): JSX.Element {
  const [problem, setProblem] = useState('');
  const at: Spot = { place, path: entry.path };
  const Icon = iconOf(entry);
  const isFile = entry.kind === 'file';
  const rename = async (name: string) => {
    const to = { place, path: within(parentOf(entry.path), name) };
    if (await isTaken(to)) return words.taken(name);
    await move(at, to);
    moveEdits(at, to);
    onChanged(words.renamed(name), to.path);
    return '';
  };
  return (
    <li class={picked ? 'file picked' : 'file'} data-path={entry.path}>
      <div class="file-line">
        {picked !== null && (
          <label class="file-pick"><input type="checkbox" checked={picked} aria-label={words.pick(entry.name)} onChange={onPick} /></label>
        )}
        <a class="file-link" href={entryHref(entry, place)}>
          <Icon />
          <span class="file-words">
            <span class="file-name">{entry.name}</span>
            <small>
              {facts(entry.kind !== 'file' && entry.kind !== 'folder' && words.kinds[entry.kind], isFile && size(entry.size), when(entry.modified))}
            </small>
          </span>
          {entry.outside && <OutsideMark />}
        </a>
        {picked === null && (isFile || writer) && (
          <button type="button" class="bare" data-menu aria-expanded={doing !== ''} aria-label={words.doings(entry.name)} onClick={() => (setProblem(''), onDo(doing ? '' : 'menu'))}><More /></button>
        )}
      </div>
      {doing === 'menu' && (
        <div class="file-doings" role="group" aria-label={words.doings(entry.name)}>
          {isFile && <a class="button" href={downloadAt(at)} download={entry.name}>{words.download}</a>}
          {writable && <button type="button" onClick={() => onDo('rename')}>{words.rename}</button>}
          {writable && <button type="button" onClick={() => onDo('move')}>{words.move}</button>}
          {writer && <button type="button" onClick={() => onDo('copy')}>{words.copy}</button>}
          {writable && entry.outside && <VouchButton at={at} name={entry.name} onVouched={(said) => onChanged(said)} onProblem={setProblem} />}
          {writable && <button type="button" class="bad" onClick={() => onDo('delete')}>{words.remove}</button>}
        </div>
      )}
      {doing === 'rename' && <NameForm label={words.renameTo(entry.name)} begin={entry.name} renames yes={words.rename} onSave={rename} onCancel={() => onDo('')} />}
      {doing === 'delete' && (
        <Confirm title={words.removeAsk(entry.name)} yes={words.remove} busy={busy} onYes={onDelete} onNo={() => onDo('')}>
          <p class="small soft">{words.removeWhy}</p>
        </Confirm>
      )}
      {problem && <Notice bad>{problem}</Notice>}
    </li>
  );
}
