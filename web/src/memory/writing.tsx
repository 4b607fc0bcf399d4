// The form of a memory: a new one, or an existing one in its place.
import type { JSX } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { AreaField, Buttons, Notice, SelectField, SwitchField, TextField } from '../form';
import type { Memory } from '../results';
import { text, trouble } from '../text';
import { refusal } from './line';

const words = text.memoryRoom;
/** The longest memory, in characters. */
const LONGEST = 8000;

interface Props {
  memory?: Memory;
  onDone: () => void;
  onCancel: () => void;
}

interface Draft {
  content: string;
  type: string;
  importance: number;
  tags: string;
  shared: boolean;
}

const BEGIN: Draft = { content: '', type: 'fact', importance: 0.5, tags: '', shared: false };

/** An unfinished memory is kept while another place is open. */
let unfinished: Draft = BEGIN;

export function Writing({ memory, onDone, onCancel }: Props): JSX.Element {
  const [draft, setDraft] = useState<Draft>(() => (memory ? { ...memory, tags: memory.tags.join(', ') } : unfinished));
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const form = useRef<HTMLFormElement>(null);
  const id = useId();

  useLayoutEffect(() => {
    const area = form.current?.querySelector('textarea');
    area?.focus();
    area?.setSelectionRange(area.value.length, area.value.length);
  }, []);

  const set = (change: Partial<Draft>) => {
    const now = { ...draft, ...change };
    if (!memory) unfinished = now;
    setDraft(now);
    setProblem('');
  };

  const length = [...draft.content.trim()].length;
  const wrong = !length ? words.needed : length > LONGEST ? words.long(LONGEST, length) : '';

  const submit = async (event?: Event) => {
    event?.preventDefault();
    if (busy) return;
    setTried(true);
    if (wrong) return form.current?.querySelector('textarea')?.focus();
    setBusy(true);
    setProblem('');
    const { content, type, importance, shared } = draft;
    const tags = [...new Set(draft.tags.split(',').map((tag) => tag.trim().replace(/^#/, '')).filter(Boolean))];
    try {
      if (memory) await api.execute('update_memory', { memoryId: memory.id, ...changes(memory, { content: content.trim(), type, importance, tags, shared }) });
      else await api.execute('remember', { content: content.trim(), type, importance, tags, shared });
      if (!memory) unfinished = BEGIN;
      onDone();
    } catch (cause) {
      if (cause instanceof NothingNew) return onCancel();
      setProblem(memory ? refusal(cause, memory) : trouble(cause));
    } finally {
      setBusy(false);
    }
  };

  return (
    <form
      class="writing"
      ref={form}
      noValidate
      aria-label={memory ? words.edit : words.add}
      onSubmit={submit}
      onKeyDown={(event) => {
        // A new memory keeps its draft; an edit is not discarded by Escape.
        if (event.key === 'Escape' && !memory) return onCancel();
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
        event.preventDefault();
        void submit();
      }}
    >
      <AreaField label={words.content} value={draft.content} error={tried ? wrong : ''} onInput={(content) => set({ content })} />
      <div class="pair">
        <SelectField
          label={words.kindLabel}
          value={draft.type}
          options={Object.entries(words.kind).map(([value, label]) => ({ value, label }))}
          onInput={(type) => set({ type })}
        />
        <div class="field">
          <label for={id}>{words.importance}</label>
          <div class="weigh">
            <input
              id={id}
              type="range"
              min="0"
              max="1"
              step="0.05"
              value={draft.importance}
              aria-valuetext={words.importanceWord(draft.importance)}
              onInput={(event) => set({ importance: Number(event.currentTarget.value) })}
            />
            <span class="soft small">{words.importanceWord(draft.importance)}</span>
          </div>
        </div>
      </div>
      <TextField label={words.tags} help={words.tagsHelp} value={draft.tags} onInput={(tags) => set({ tags })} />
      <SwitchField label={words.share} checked={draft.shared} onInput={(shared) => set({ shared })} />
      <Buttons>
        <button class="main" aria-disabled={busy}>{busy ? words.saving : memory ? words.save : words.remember}</button>
        <button type="button" class="quiet" onClick={onCancel}>{words.cancel}</button>
      </Buttons>
      {problem && <Notice bad>{problem}</Notice>}
    </form>
  );
}

class NothingNew extends Error {}

/** The changed fields: only those are sent. */
function changes(old: Memory, now: Pick<Memory, 'content' | 'type' | 'importance' | 'tags' | 'shared'>): object {
  const changed = Object.entries(now).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(old[key as keyof Memory]));
  if (!changed.length) throw new NothingNew();
  return Object.fromEntries(changed);
}
