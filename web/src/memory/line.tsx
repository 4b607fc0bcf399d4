// One memory: its text, facts and match, edited and forgotten in place.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Confirm, Notice } from '../form';
import type { Memory } from '../results';
import { text, trouble, when } from '../text';
import { Writing } from './writing';

const words = text.memoryRoom;

interface Props {
  memory: Memory;
  /** The memory in the address: it is scrolled into view. */
  sought: boolean;
  /** The tags of the current filter. */
  tags: string[];
  onTag: (tag: string) => void;
  /** Whether it is being edited. */
  onHold: (holding: boolean) => void;
  onChanged: (what: string) => void;
}

/** Memories at or above this importance are marked. */
const MATTERS = 0.8;

export function Line({ memory, sought, tags, onTag, onHold, onChanged }: Props): JSX.Element {
  const [at, setAt] = useState<'reading' | 'editing' | 'forgetting'>('reading');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const editor = useRef<HTMLButtonElement>(null);
  const forgetter = useRef<HTMLButtonElement>(null);

  const line = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (sought) line.current?.scrollIntoView({ block: 'center' });
  }, [sought]);

  const back = (to: typeof editor) => {
    setAt('reading');
    setProblem('');
    onHold(false);
    requestAnimationFrame(() => to.current?.focus());
  };

  const forget = async () => {
    setBusy(true);
    setProblem('');
    try {
      await api.execute('forget', { memoryId: memory.id });
      onChanged(words.forgotten);
    } catch (cause) {
      setProblem(refusal(cause, memory));
      setAt('reading');
    } finally {
      setBusy(false);
    }
  };

  const vouch = async () => {
    setProblem('');
    try {
      await api.execute('update_memory', { memoryId: memory.id, vouched: true });
      onChanged(words.vouched);
    } catch (cause) {
      setProblem(refusal(cause, memory));
    }
  };

  const dropEarlier = async () => {
    setProblem('');
    try {
      await api.execute('update_memory', { memoryId: memory.id, forgetEarlier: true });
      onChanged(words.changed);
    } catch (cause) {
      setProblem(refusal(cause, memory));
    }
  };

  if (at === 'editing') {
    return (
      <li>
        <Writing
          memory={memory}
          onCancel={() => back(editor)}
          onDone={() => {
            back(editor);
            onChanged(words.changed);
          }}
        />
      </li>
    );
  }
  return (
    <li ref={line} class={sought ? 'sought' : undefined}>
      <p class="content">{memory.content}</p>
      {memory.why !== undefined && <Why memory={memory} />}
      {memory.earlier && (
        <details class="small soft">
          <summary>{words.earlier(memory.earlier.length)}</summary>
          <ul>{[...memory.earlier].reverse().map((old) => <li key={old.untilMs}>{words.until(old.content, when(old.untilMs))}</li>)}</ul>
          {!memory.sharedBy && <button type="button" class="quiet" aria-label={words.about(words.dropEarlier, memory.content)} onClick={() => void dropEarlier()}>{words.dropEarlier}</button>}
        </details>
      )}
      <div class={memory.tags.length ? 'memory-foot tagged' : 'memory-foot'}>
        <p class="dotted">
          <span>{words.kind[memory.type] ?? memory.type}</span>
          <span>{when(memory.createdMs)}</span>
          {memory.importance >= MATTERS && <span>{words.important}</span>}
          {memory.sharedBy ? <span>{words.theirs(memory.sharedBy)}</span> : memory.shared && <span>{words.shared}</span>}
          {memory.fromOutside && <span title={words.outsideWhy}>{words.outside}</span>}
          {memory.uses > 0 && <span>{words.used(memory.uses)}</span>}
        </p>
        {memory.tags.length > 0 && (
          <p class="tags">
            {memory.tags.map((tag) =>
              tags.includes(tag)
                ? <span key={tag}>#{tag}</span>
                : <button key={tag} type="button" class="tag-link" aria-label={words.onlyTag(tag)} onClick={() => onTag(tag)}>#{tag}</button>)}
          </p>
        )}
        {at === 'reading' && !memory.sharedBy && (
          <div class="doings">
            {memory.fromOutside && <button type="button" class="quiet" title={words.outsideWhy} aria-label={words.about(words.vouch, memory.content)} onClick={() => void vouch()}>{words.vouch}</button>}
            <button type="button" class="quiet" ref={editor} aria-label={words.about(words.edit, memory.content)} onClick={() => (setAt('editing'), onHold(true))}>{words.edit}</button>
            <button type="button" class="quiet" ref={forgetter} aria-label={words.about(words.forget, memory.content)} onClick={() => setAt('forgetting')}>{words.forget}</button>
          </div>
        )}
      </div>
      {at === 'forgetting' && <Confirm title={words.forgetAsk} yes={words.forgetYes} busy={busy} onYes={() => void forget()} onNo={() => back(forgetter)} />}
      {problem && <Notice bad>{problem}</Notice>}
    </li>
  );
}

/** A shared memory of somebody else is read-only; the daemon then answers "not found". */
export function refusal(cause: unknown, memory: Memory): string {
  return memory.shared && cause instanceof api.Refused && cause.status === 404 ? words.notYours : trouble(cause);
}

function Why({ memory }: { memory: Memory }): JSX.Element {
  const score = Math.max(0, Math.min(1, memory.score ?? 0));
  return (
    <p class="why">
      <svg viewBox="0 0 40 4" preserveAspectRatio="none" role="img" aria-label={words.fit(score)}>
        <rect width="40" height="4" rx="2" class="all" />
        <rect width={Math.max(3, 40 * score)} height="4" rx="2" />
      </svg>
      {[memory.why, ...(memory.besides ?? [])].join(', ')}
    </p>
  );
}
