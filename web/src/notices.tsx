// Notices: a small card over any room, until it is dismissed here or elsewhere.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import * as api from './api';
import { deviceAway } from './away';
import { Chevron, Close } from './icons';
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

/** The most notices loaded. */
const MOST = 50;
/** A longer one, in characters, is a line that opens. */
const SHORT = 140;

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

/** Keeps the notices current, and shows them; not where the room shows all of them (`listed`). */
export function Notices({ listed }: { listed: boolean }): JSX.Element {
  useNoticeUpdates();
  const box = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
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
      {shown && (
        <aside class="notices" aria-label={words.label}>
          {all.length === 1 && shown.text.length <= SHORT
            ? <NoticeLine key={shown.id} notice={shown} onDrop={drop} />
            : <Folded all={all} open={open} onOpen={setOpen} onDrop={drop} />}
        </aside>
      )}
    </div>
  );
}

/** Several notices, or a long one, in one line that opens. */
function Folded({ all, open, onOpen, onDrop }: { all: Notice[]; open: boolean; onOpen: (open: boolean) => void; onDrop: (which: string) => void }): JSX.Element {
  const [newest] = all;
  return (
    <div class="notice-fold">
      <div class="notice-head">
        <button type="button" class="quiet" aria-expanded={open} onClick={() => onOpen(!open)}>
          {all.length > 1 && <b>{words.count(all.length)}</b>}
          <span>{open ? '' : newest?.text}</span>
          <Chevron />
        </button>
        {all.length > 1
          ? <button type="button" class="quiet" aria-label={words.dismissAll(all.length)} onClick={() => onDrop('all')}>{words.dismissAllShort}</button>
          : <button type="button" class="bare" aria-label={words.dismissOne(newest?.title || newest?.text || '')} onClick={() => newest && onDrop(newest.id)}><Close /></button>}
      </div>
      {open && <ul>{all.map((notice) => <li key={notice.id}><NoticeLine notice={notice} onDrop={onDrop} /></li>)}</ul>}
    </div>
  );
}

/** A notice with what can be done about it. */
export function NoticeLine({ notice, onDrop }: { notice: Notice; onDrop: (which: string) => void }): JSX.Element {
  const { id, title, createdAt, document } = notice;
  return (
    <div class="notice-card">
      <div>
        {title && title !== notice.text && <p class="notice-title">{title}</p>}
        <p class="notice-text">{notice.text}</p>
        <p class="dotted">
          {createdAt && <span>{when(createdAt)}</span>}
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
