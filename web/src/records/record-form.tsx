// Writing a record: a new one, or an old one in its place.
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Buttons, Notice } from '../form';
import { Chevron } from '../icons';
import { text, trouble } from '../text';
import { records as words } from '../text/records';
import { argsOfChange, argsOfNew, draftOf, fieldIn, fresh, problemsOf, type Draft, type Problems } from './draft';
import { Fields } from './fields';
import type { Entry, Family } from './kinds';

/** What is half written stays so while one looks elsewhere: the draft of a new record, by its kind. */
const unfinished = new Map<string, Draft>();

export const forgetDrafts = () => unfinished.clear();

interface Props {
  family: Family;
  /** The one that is changed; without it a new one is made. */
  entry?: Entry;
  /** What a new one begins with. */
  begin?: Draft;
  onDone: (name: string, saved: Entry | undefined) => void;
  onCancel: () => void;
}

/** What somebody else shares is there to be read only. */
export const refusal = (cause: unknown, entry: Entry | undefined): string =>
  (entry?.['shared'] === true && cause instanceof api.Refused && cause.status === 403 ? words.notYours : trouble(cause));

/** A tool answers the record, or the record under its name. */
export function recordIn(result: unknown): Entry | undefined {
  const candidates = [result, ...(result && typeof result === 'object' ? Object.values(result) : [])];
  return candidates.find((one): one is Entry => typeof (one as Entry | null)?.id === 'string');
}

async function save(family: Family, entry: Entry | undefined, before: Draft, draft: Draft): Promise<Entry | undefined> {
  const { tools, fields, which, fixed = {}, wrap } = family;
  const given = entry ? argsOfChange(fields, before, draft, wrap ? null : '') : argsOfNew(fields.filter((field) => !field.laterOnly), draft);
  if (entry && !Object.keys(given).length) return entry;
  const said = wrap ? { [wrap]: given } : { ...given, ...(entry && family.besides?.(given)) };
  const { result } = entry ? await api.execute(tools.update, { ...fixed, [which]: entry.id, ...said }) : await api.execute(tools.add, { ...fixed, ...said });
  return recordIn(result);
}

export function RecordForm({ family, entry, begin, onDone, onCancel }: Props): JSX.Element {
  const key = `${family.section} ${JSON.stringify(family.fixed ?? {})}`;
  const fields = family.fields.filter((field) => entry || !field.laterOnly);
  const [before] = useState<Draft>(() => (entry ? draftOf(fields, entry) : { ...fresh(fields), ...begin }));
  const [draft, setDraft] = useState<Draft>(() => (entry ? before : (unfinished.get(key) ?? before)));
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<Problems>({});
  const [problem, setProblem] = useState('');
  const form = useRef<HTMLFormElement>(null);

  useLayoutEffect(() => {
    const first = form.current?.querySelector<HTMLElement>('input, textarea, select');
    first?.focus();
  }, []);

  const set = (change: Draft) => {
    const now = { ...draft, ...change };
    if (!entry) unfinished.set(key, now);
    setDraft(now);
    setProblem('');
    setRefused(Object.fromEntries(Object.entries(refused).filter(([name]) => !(name in change))));
  };

  const wrong = problemsOf(fields, draft);
  const problems = tried ? { ...refused, ...wrong } : refused;
  const toWrong = () => requestAnimationFrame(() => {
    const first = form.current?.querySelector<HTMLElement>('[aria-invalid]');
    first?.closest('details')?.setAttribute('open', '');
    first?.focus();
  });

  const submit = async (event?: Event) => {
    event?.preventDefault();
    if (busy) return;
    setTried(true);
    if (Object.keys(wrong).length) return toWrong();
    setBusy(true);
    setProblem('');
    try {
      const saved = await save(family, entry, before, draft);
      unfinished.delete(key);
      onDone(family.title(saved ?? { ...draft, id: entry?.id ?? '' }), saved);
    } catch (cause) {
      const said = refusal(cause, entry);
      const field = cause instanceof api.Refused && cause.status < 500 && cause.status !== 403 ? fieldIn(fields, draft, cause.message) : undefined;
      if (!field) return setProblem(said);
      setRefused({ [field]: said });
      toWrong();
    } finally {
      setBusy(false);
    }
  };

  const cancel = () => {
    if (!entry) unfinished.delete(key);
    onCancel();
  };
  const rare = fields.filter((field) => field.rare);
  return (
    <Frame label={entry ? words.about(words.edit, family.title(entry)) : family.words.add} form={form} onSubmit={submit} onEscape={entry ? undefined : onCancel}>
      <Fields fields={fields.filter((field) => !field.rare)} draft={draft} problems={problems} onInput={set} />
      {rare.length > 0 && (
        <Rare open={rare.some((field) => draft[field.name] !== fresh([field])[field.name])}>
          <Fields fields={rare} draft={draft} problems={problems} onInput={set} />
        </Rare>
      )}
      <Buttons>
        <button class="main" aria-disabled={busy}>{busy ? words.saving : entry ? words.save : words.add}</button>
        <button type="button" class="quiet" onClick={cancel}>{words.cancel}</button>
        <span class="soft small keys">{text.toolsRoom.keys}</span>
      </Buttons>
      {problem && <Notice bad>{problem}</Notice>}
    </Frame>
  );
}

interface FrameProps {
  label: string;
  form: { current: HTMLFormElement | null };
  onSubmit: (event?: Event) => unknown;
  /** Escape: of a new one nothing is lost by it. */
  onEscape?: (() => void) | undefined;
  children: ComponentChildren;
}

/** A form in the flow of a list; Ctrl+Enter saves from wherever one types. */
export function Frame({ label, form, onSubmit, onEscape, children }: FrameProps): JSX.Element {
  return (
    <form
      class="writing"
      ref={form}
      noValidate
      aria-label={label}
      onSubmit={onSubmit}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && onEscape) return onEscape();
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
        event.preventDefault();
        void onSubmit();
      }}
    >
      {children}
    </form>
  );
}

/** What is seldom needed, folded away until somebody wants it or something stands in it. */
export function Rare({ open, children }: { open: boolean; children: ComponentChildren }): JSX.Element {
  const [begun] = useState(open);
  return (
    <details class="rare" open={begun}>
      <summary><Chevron />{words.rare}</summary>
      <div class="fields">{children}</div>
    </details>
  );
}
