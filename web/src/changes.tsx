// The last change, with Undo: a slim line at the bottom for some seconds, in Talk above the composer.
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import * as api from './api';
import './changes.css';
import { Close } from './icons';
import { useLive } from './live';
import { keepingLastWords } from './talk/in-view';
import { text, trouble } from './text';

const words = text.changes;

/** How long it is there; while it has the focus or the pointer, it stays. */
const SHOWN_MS = 8000;
/** Between it and what is above it, in pixels. */
const GAP = 8;

interface Change {
  changeId: string;
  text: string;
}

/** A change this person made here or by talking, which can be undone. */
function changeIn(data: Record<string, unknown>): Change | undefined {
  const { changeId, text, reversible, undoes, unattended } = data;
  if (typeof changeId !== 'string' || typeof text !== 'string') return undefined;
  return reversible && !undoes && !unattended ? { changeId, text } : undefined;
}

export function Changes(): JSX.Element {
  const [change, setChange] = useState<Change | null>(null);
  const [said, setSaid] = useState('');
  const [busy, setBusy] = useState(false);
  const [held, setHeld] = useState(false);
  const box = useRef<HTMLElement>(null);
  const shown = said || change?.text || '';

  useLive(['change'], ({ topic, data }) => {
    if (topic === 'resync') return;
    const fresh = changeIn(data);
    if (fresh) {
      setSaid('');
      setChange(fresh);
    } else if (data.undoes === change?.changeId && typeof data.undoes === 'string') {
      // Undone elsewhere, or by saying so.
      setChange(null);
    }
  });

  const close = () => {
    const inside = box.current?.contains(document.activeElement);
    setChange(null);
    setSaid('');
    setHeld(false);
    if (inside) requestAnimationFrame(() => document.querySelector<HTMLElement>('#message, main h1')?.focus({ preventScroll: true }));
  };
  useEffect(() => {
    if (!shown || held || busy) return;
    const timer = setTimeout(close, SHOWN_MS);
    return () => clearTimeout(timer);
  }, [shown, held, busy]);

  // The room makes space for it at its end (`--change`).
  const there = shown !== '';
  useLayoutEffect(() => {
    const line = box.current;
    if (!line) return;
    const root = document.documentElement.style;
    const measure = () => keepingLastWords(() => root.setProperty('--change', `${line.offsetHeight + GAP}px`));
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(line);
    return () => {
      watch.disconnect();
      root.removeProperty('--change');
    };
  }, [there]);

  const undo = async () => {
    if (!change || busy) return;
    setBusy(true);
    try {
      const { say } = await api.execute('undo', { changeId: change.changeId });
      setSaid(say ?? words.undone);
    } catch (cause) {
      setSaid(trouble(cause));
    }
    setChange(null);
    setBusy(false);
  };
  return (
    <>
      <p class="unseen" role="status">{shown && (said ? said : words.withUndo(shown))}</p>
      {shown && (
        <aside
          class="change"
          aria-label={words.label}
          ref={box}
          onFocusIn={() => setHeld(true)}
          onFocusOut={() => setHeld(false)}
          onMouseEnter={() => setHeld(true)}
          onMouseLeave={() => setHeld(false)}
          onKeyDown={(event) => event.key === 'Escape' && close()}
        >
          <div class="change-line">
            <p>{shown}</p>
            {change && <button type="button" class="quiet" aria-disabled={busy} onClick={() => void undo()}>{busy ? words.undoing : words.undo}</button>}
            <button type="button" class="bare" aria-label={words.close} onClick={close}><Close /></button>
          </div>
        </aside>
      )}
    </>
  );
}
