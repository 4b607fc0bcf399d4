// Notices: a small card over any room, until it is dismissed here or elsewhere.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import * as api from './api';
import { deviceAway } from './away';
import { Close } from './icons';
import { useLive, useNews } from './live';
import { rollback } from './mind/api';
import './notices.css';
import { href } from './rooms';
import { keepingLastWords } from './talk/in-view';
import { text, trouble, when } from './text';

const words = text.notices;

export interface Notice {
  id: string;
  title?: string | null;
  text: string;
  createdAt?: string;
  /** A document that Hob changed, with the new version and the one before. */
  document?: { name: string; version: number; before: number };
}

/** The most notices loaded; one is shown at a time. */
const MOST = 50;

const isNotice = (one: unknown): one is Notice => typeof (one as Notice | null)?.id === 'string' && typeof (one as Notice).text === 'string';

/** The notices that were not dismissed, the newest first. */
export const notices = signal<Notice[]>([]);
let turn = 0;

async function readNotices(): Promise<void> {
  const mine = ++turn;
  try {
    const { result } = await api.execute('list_notices', { unseen: true, limit: MOST });
    if (mine === turn) notices.value = (result.notices ?? []).filter(isNotice);
  } catch {
    // The device is away, or has no notices for this person.
  }
}

/** Dismisses one, or `all`. */
export async function dismissNotice(which: string): Promise<void> {
  const before = notices.value;
  // A pending response still includes it.
  turn++;
  notices.value = which === 'all' ? [] : before.filter((one) => one.id !== which);
  try {
    await api.execute('dismiss_notice', { noticeId: which });
  } catch (cause) {
    // A missing notice counts as dismissed; after any other error it is shown again.
    if (cause instanceof api.Refused && cause.status === 404) return;
    notices.value = [...notices.value, ...before.filter((one) => !notices.value.some((other) => other.id === one.id))];
  }
}

function useNoticeUpdates(): void {
  const away = deviceAway.value;
  useEffect(() => {
    if (!away) void readNotices();
  }, [away]);
  // Somebody else may sign in on this page next.
  useEffect(() => () => void (turn++, notices.value = []), []);
  useLive(['notice:new'], ({ topic, data }) => {
    const fresh = { ...data, createdAt: new Date().toISOString() };
    if (topic === 'resync' || !isNotice(fresh)) return;
    turn++;
    notices.value = [fresh, ...notices.value.filter((one) => one.id !== fresh.id)];
  });
  // One may be dismissed elsewhere.
  useNews(['notices:changed'], () => void readNotices());
}

/** Keeps the notices current, and shows the newest; not where the room shows all of them (`listed`). */
export function Notices({ listed }: { listed: boolean }): JSX.Element {
  useNoticeUpdates();
  const box = useRef<HTMLDivElement>(null);
  const all = notices.value;
  const newest = all[0];
  const shown = listed ? undefined : newest;

  // The room is moved down by the card's height.
  useLayoutEffect(() => {
    const card = box.current?.querySelector<HTMLElement>('.notices');
    const root = document.documentElement.style;
    const measure = () => keepingLastWords(() => root.setProperty('--notices', `${card?.offsetHeight ?? 0}px`));
    measure();
    if (!card) return;
    const watch = new ResizeObserver(measure);
    watch.observe(card);
    return () => {
      watch.disconnect();
      root.removeProperty('--notices');
    };
  }, [shown === undefined]);

  const drop = (which: string) => {
    void dismissNotice(which);
    // The focus moves to the next notice, or back into the room.
    requestAnimationFrame(() => {
      if (document.activeElement && document.activeElement !== document.body) return;
      const next = box.current?.querySelector<HTMLElement>('button') ?? document.querySelector<HTMLElement>('main h1');
      next?.focus({ preventScroll: true });
    });
  };
  return (
    <div ref={box}>
      <p class="unseen" role="status">{newest && [newest.title !== newest.text && newest.title, newest.text].filter(Boolean).join(': ')}</p>
      {shown && <Card key={shown.id} notice={shown} rest={all.length - 1} onDrop={drop} />}
    </div>
  );
}

function Card({ notice, rest, onDrop }: { notice: Notice; rest: number; onDrop: (which: string) => void }): JSX.Element {
  return <aside class="notices" aria-label={words.label}><NoticeLine notice={notice} rest={rest} onDrop={onDrop} /></aside>;
}

/** A notice with what can be done about it; `rest`: how many more there are. */
export function NoticeLine({ notice, rest = 0, onDrop }: { notice: Notice; rest?: number; onDrop: (which: string) => void }): JSX.Element {
  const { id, title, createdAt, document } = notice;
  return (
    <div class="notice-card">
      <div>
        {title && title !== notice.text && <p class="notice-title">{title}</p>}
        <p class="notice-text">{notice.text}</p>
        <p class="dotted">
          {createdAt && <span>{when(createdAt)}</span>}
          {rest > 0 && <span>{words.more(rest)}</span>}
          {rest > 0 && <button type="button" class="quiet" onClick={() => onDrop('all')}>{words.dismissAll(rest + 1)}</button>}
        </p>
        {document && <Undo change={document} onDone={() => onDrop(id)} />}
      </div>
      <button type="button" class="bare" aria-label={words.dismissOne(title || notice.text)} onClick={() => onDrop(id)}><Close /></button>
    </div>
  );
}

/** Rolls the document back, unless it has changed again since. */
function Undo({ change: { name, version, before }, onDone }: { change: NonNullable<Notice['document']>; onDone: () => void }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const undo = async () => {
    if (busy) return;
    setBusy(true);
    try {
      await rollback(name, before, version);
      onDone();
    } catch (cause) {
      setProblem(cause instanceof api.Refused && cause.status === 409 ? words.changedSince : trouble(cause));
    }
    setBusy(false);
  };
  return (
    <>
      {problem && <p class="small" role="alert">{problem}</p>}
      <p class="notice-undo">
        <button type="button" aria-disabled={busy} onClick={() => void undo()}>{busy ? words.undoing : words.undo}</button>
        <a href={href('device', 'persona', name)}>{words.look}</a>
      </p>
    </>
  );
}
