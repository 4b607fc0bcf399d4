// The bin: what was deleted in the last 30 days, by kind, to bring back or to delete for good.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Confirm, Notice } from '../form';
import { useNews } from '../live';
import { text, trouble, when } from '../text';

const words = text.bin;

interface Deleted {
  id: string;
  kind: string;
  title: string;
  list?: string | null;
  deletedAt: string;
}

const LISTED = 50;

export function Bin({ writer }: { writer: boolean }): JSX.Element {
  const [found, setFound] = useState<{ deleted: Deleted[]; hasMore: boolean } | null>(null);
  const [problem, setProblem] = useState('');
  const [said, setSaid] = useState('');
  const [kind, setKind] = useState('');
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const [shown, setShown] = useState(LISTED);
  const room = useRef<HTMLDivElement>(null);

  const read = async () => {
    try {
      const all: Deleted[] = [];
      let more = true;
      while (more && all.length < shown) {
        const { result } = (await api.execute('list_deleted', { limit: LISTED, offset: all.length })) as { result: { deleted: Deleted[]; hasMore: boolean } };
        all.push(...result.deleted);
        more = result.hasMore && result.deleted.length > 0;
      }
      setFound({ deleted: all, hasMore: more });
      setProblem('');
    } catch (cause) {
      setProblem(trouble(cause));
    }
  };
  useEffect(() => void read(), [shown]);
  useNews(['change'], () => void read());

  const act = async (work: () => Promise<{ say?: string | null }>) => {
    if (busy) return;
    setBusy(true);
    try {
      setSaid((await work()).say ?? '');
      setProblem('');
    } catch (cause) {
      setProblem(trouble(cause));
    }
    setAsking(false);
    await read();
    setBusy(false);
    // The line of the button is gone.
    requestAnimationFrame(() => room.current?.focus({ preventScroll: true }));
  };
  const kinds = [...new Set(found?.deleted.map((one) => one.kind))].sort();
  const lines = found?.deleted.filter((one) => !kind || one.kind === kind) ?? [];
  return (
    <div class="bin" ref={room} tabIndex={-1} aria-label={words.label}>
      <p class="soft small">{words.about}</p>
      {kinds.length > 1 && (
        <div class="chips" role="group" aria-label={words.kindLabel}>
          {['', ...kinds].map((one) => (
            <button key={one} type="button" class="chip" aria-pressed={kind === one} onClick={() => setKind(one)}>{one ? words.kind(one) : words.all}</button>
          ))}
        </div>
      )}
      <p class={said ? 'small' : 'unseen'} role="status">{said}</p>
      {problem && <Notice bad>{problem}</Notice>}
      {!found && !problem && <p class="soft nothing">{words.loading}</p>}
      {found && !lines.length && <p class="soft nothing">{words.none}</p>}
      <ul class="memories">
        {lines.map((one) => (
          <li key={one.id} class="memory-foot">
            <div>
              <p class="content">{one.title}</p>
              <p class="dotted soft small"><span>{words.kind(one.kind)}</span>{one.list && <span>{one.list}</span>}<span>{words.deleted(when(one.deletedAt))}</span></p>
            </div>
            {writer && (
              <button type="button" class="quiet" aria-disabled={busy} aria-label={words.restoreOne(one.title)} onClick={() => void act(() => api.execute('restore_deleted', { id: one.id }))}>
                {words.restore}
              </button>
            )}
          </li>
        ))}
      </ul>
      {found?.hasMore && <p class="read-on"><button type="button" onClick={() => setShown(shown + LISTED)}>{words.more}</button></p>}
      {writer && !!found?.deleted.length && (asking ? (
        <Confirm title={words.emptyAsk} yes={words.emptyYes} busy={busy} onYes={() => void act(() => api.execute('empty_bin'))} onNo={() => setAsking(false)}>
          {words.emptyWhy}
        </Confirm>
      ) : (
        <p class="read-on"><button type="button" class="quiet" onClick={() => setAsking(true)}>{words.empty}</button></p>
      ))}
    </div>
  );
}
