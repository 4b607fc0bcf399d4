// The trash: what was deleted in the last 30 days, to restore or to delete for good.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { useAction, useRead } from '../device/part';
import { size } from '../device/units';
import { Confirm, Notice } from '../form';
import { useNews } from '../live';
import { facts, when } from '../text';
import { files as words } from '../text/files';
import { emptyTrash, restore, trash, type Trashed } from './api';
import { iconOf } from './kinds';
import { parentOf } from './paths';
import { FILE_EVENTS, placeName } from './use-places';

export function Trash({ writer }: { writer: boolean }): JSX.Element {
  const read = useRead(trash);
  const act = useAction();
  const [asking, setAsking] = useState(false);
  const [said, setSaid] = useState('');
  const room = useRef<HTMLDivElement>(null);
  useNews(FILE_EVENTS, () => void read.again());

  const done = async (words: string) => {
    setSaid(words);
    setAsking(false);
    await read.again();
    // The line of the button is gone.
    requestAnimationFrame(() => room.current?.focus({ preventScroll: true }));
  };
  const bring = async (one: Trashed) => {
    setSaid('');
    if (await act.run(() => restore(one.id))) await done(words.restored(one.name));
  };
  const empty = async () => {
    setSaid('');
    if (await act.run(emptyTrash)) await done(words.emptied);
    else setAsking(false);
  };
  const all = read.data?.entries;
  return (
    <div class="trash" ref={room} tabIndex={-1} aria-label={words.trash} role="group">
      <p class="soft small">{words.trashWhy}</p>
      <p class={said ? 'small said' : 'unseen'} role="status">{said}</p>
      {(act.problem || read.problem) && <Notice bad>{act.problem || read.problem}</Notice>}
      {!all && !read.problem && <p class="soft nothing">{words.loading}</p>}
      {all?.length === 0 && <p class="soft nothing">{words.trashEmpty}</p>}
      <ul class="file-list">
        {all?.map((one) => {
          const Icon = iconOf(one);
          return (
            <li class="file" key={one.id}>
              <div class="file-line">
                <span class="file-link">
                  <Icon />
                  <span class="file-words">
                    <span class="file-name">{one.name}</span>
                    <small>{facts(words.from([placeName(one.place), parentOf(one.path)].filter(Boolean).join(' › ')), one.kind === 'file' && size(one.size), words.deleted(when(one.deletedAt)))}</small>
                  </span>
                </span>
                {writer && <button type="button" class="quiet" aria-disabled={act.busy} aria-label={words.restoreOne(one.name)} onClick={() => void bring(one)}>{words.restore}</button>}
              </div>
            </li>
          );
        })}
      </ul>
      {writer && !!all?.length && (asking ? (
        <Confirm title={words.emptyAsk} yes={words.emptyYes} busy={act.busy} onYes={() => void empty()} onNo={() => setAsking(false)}>
          <p class="small soft">{words.emptyWhy}</p>
        </Confirm>
      ) : <p class="read-on"><button type="button" class="quiet" onClick={() => setAsking(true)}>{words.empty}</button></p>)}
    </div>
  );
}
