// The records of a list: one line each, with actions, and a form in place while it is edited.
import type { ComponentChildren, JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Confirm, Notice } from '../form';
import { Bin, Pen } from '../icons';
import { records as words } from '../text/records';
import { textOf, type Entry, type Fact, type Family, type Pick } from './kinds';
import { recordIn, RecordForm, refusal } from './record-form';

/** Longer texts are folded. */
const LONG = 280;

/** What only some families have. */
export interface LineExtras {
  /** A checkbox before the title. */
  tick?: { on: (entry: Entry) => boolean; label: (entry: Entry) => string; press: (entry: Entry) => Promise<string> };
  /** Whether an entry is edited and deleted here. */
  mayChange?: (entry: Entry) => boolean;
  /** More actions, before "Edit". */
  more?: (entry: Entry, line: LineState) => ComponentChildren;
  /** Content below the line. */
  Below?: (props: { entry: Entry; line: LineState }) => JSX.Element | null;
}

export interface LineState {
  /** Whether the person may change records. */
  writer: boolean;
  busy: boolean;
  /** Runs an action; `said` is announced when it succeeds. */
  act: (what: () => Promise<unknown>, said?: string) => Promise<boolean>;
  /** Whether the content below is open. */
  open: boolean;
  setOpen: (open: boolean) => void;
}

interface Props {
  family: Family;
  entries: Entry[];
  looks?: LineExtras;
  writer: boolean;
  picks: Pick[];
  onPick?: ((pick: Pick) => void) | undefined;
  /** The record being edited, which stays in the list meanwhile; null when done. */
  onHold: (entry: Entry | null) => void;
  onChanged: (said: string) => void;
}

export function Lines({ entries, ...rest }: Props): JSX.Element {
  return (
    <ul class="records">
      {entries.map((entry) => <Line key={entry.id} entry={entry} {...rest} />)}
    </ul>
  );
}

type LineProps = Omit<Props, 'entries'> & { entry: Entry };

function Line({ family, entry, looks = {}, writer: mayWrite, picks, onPick, onHold, onChanged }: LineProps): JSX.Element {
  const [at, setAt] = useState<'reading' | 'editing' | 'deleting'>('reading');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const [open, setOpen] = useState(false);
  const [all, setAll] = useState<Entry | null>(null);
  const editor = useRef<HTMLButtonElement>(null);
  const remover = useRef<HTMLButtonElement>(null);
  const name = family.title(entry);
  // Somebody else's: only what everybody edits is offered for editing.
  const writer = mayWrite && (!entry['sharedBy'] || family.everybodys?.(entry) === true);

  const act = async (what: () => Promise<unknown>, said?: string) => {
    if (busy) return false;
    setBusy(true);
    setProblem('');
    try {
      const words = await what();
      onChanged(typeof words === 'string' ? words : (said ?? ''));
      return true;
    } catch (cause) {
      setProblem(refusal(cause, entry));
      return false;
    } finally {
      setBusy(false);
    }
  };
  const back = (to: typeof editor) => {
    setAt('reading');
    onHold(null);
    requestAnimationFrame(() => to.current?.focus());
  };
  /** Reads the whole record where the list truncated it. */
  const whole = async () => {
    if (!family.whole || entry['truncated'] !== true) return entry;
    const { result } = await api.execute(family.whole, { [family.which]: entry.id });
    const found = recordIn(result) ?? entry;
    setAll(found);
    return found;
  };
  const edit = async () => {
    setProblem('');
    try {
      onHold(await whole());
      setAt('editing');
    } catch (cause) {
      setProblem(refusal(cause, entry));
    }
  };
  const remove = async () => {
    const gone = await act(() => api.execute(family.tools.remove, { ...family.fixed, [family.which]: entry.id }), words.removed(name));
    if (!gone) back(remover);
  };

  const line: LineState = { writer, busy, act, open, setOpen };
  if (at === 'editing') {
    const done = (saved: string) => {
      back(editor);
      setAll(null);
      onChanged(words.changed(saved));
    };
    return <li><RecordForm family={family} entry={all ?? entry} onDone={done} onCancel={() => back(editor)} /></li>;
  }
  const { Below, tick } = looks;
  const shown = all?.['updatedAt'] === entry['updatedAt'] ? all : null;
  return (
    <li class={family.over?.(entry) ? 'over' : undefined}>
      <div class={tick ? 'record with-tick' : 'record'}>
        {tick && <Checkbox on={tick.on(entry)} label={tick.label(entry)} disabled={busy || !writer} onPress={() => void act(() => tick.press(entry))} />}
        <div class="record-words">
          <Title name={family.sentence?.(entry) || name} link={family.link?.(entry)} />
          <Body text={family.body?.(shown ?? entry) ?? ''} name={name} cut={entry['truncated'] === true && !shown} onWhole={() => void whole().catch((cause: unknown) => setProblem(refusal(cause, entry)))} />
          <Foot family={family} entry={entry} picks={picks} onPick={onPick} />
          {looks.more && <div class="more-doings">{looks.more(entry, line)}</div>}
        </div>
        {writer && at === 'reading' && (looks.mayChange?.(entry) ?? true) && (
          <div class="doings with-icons">
            <button type="button" class="quiet" ref={editor} aria-label={words.about(words.edit, name)} onClick={() => void edit()}><Pen /><span>{words.edit}</span></button>
            <button type="button" class="quiet" ref={remover} aria-label={words.about(words.remove, name)} onClick={() => (setProblem(''), setAt('deleting'))}><Bin /><span>{words.remove}</span></button>
          </div>
        )}
      </div>
      {at === 'deleting' && <Confirm title={family.words.removeAsk(name)} yes={words.removeYes} busy={busy} onYes={() => void remove()} onNo={() => back(remover)} />}
      {problem && <Notice bad>{problem}</Notice>}
      {Below && <Below entry={entry} line={line} />}
    </li>
  );
}

/** A checkbox whose label covers the line. */
export function Checkbox({ on, label, disabled, onPress }: { on: boolean; label: string; disabled: boolean; onPress: () => void }): JSX.Element {
  return (
    <label class="tick">
      <input type="checkbox" checked={on} disabled={disabled} aria-label={label} onChange={onPress} />
    </label>
  );
}

function Title({ name, link }: { name: string; link: string | undefined }): JSX.Element {
  // Only web addresses become links.
  const safe = link && /^https?:\/\//i.test(link);
  return <p class="record-title">{safe ? <a href={link} target="_blank" rel="noopener noreferrer">{name}</a> : name}</p>;
}

function Body({ text, name, cut, onWhole }: { text: string; name: string; cut: boolean; onWhole: () => void }): JSX.Element | null {
  const [open, setOpen] = useState(false);
  if (!text) return null;
  const long = cut || text.length > LONG || text.split('\n').length > 5;
  const press = () => {
    if (!open && cut) onWhole();
    setOpen(!open);
  };
  return (
    <>
      <p class={long && !open ? 'record-body clamped' : 'record-body'}>{text}</p>
      {long && (
        <button type="button" class="quiet unfold" aria-expanded={open} aria-label={words.about(open ? words.notes.less : words.notes.whole, name)} onClick={press}>
          {open ? words.notes.less : words.notes.whole}
        </button>
      )}
    </>
  );
}

function Foot({ family, entry, picks, onPick }: { family: Family; entry: Entry; picks: Pick[]; onPick: Props['onPick'] }): JSX.Element | null {
  const by = textOf(entry, 'sharedBy');
  const via = textOf(entry, 'via');
  // A token is no person: what it added under its own name was added by nobody else.
  const whose = by && (!family.everybodys?.(entry) ? words.theirs(by) : by !== via && words.addedBy(by));
  const facts = [...family.facts(entry), whose, via && words.via(via)].filter(Boolean).map((fact) => (typeof fact === 'string' ? { words: fact } : fact as Fact));
  const tags = (family.tags?.(entry) ?? []).map((tag): Fact => ({ words: `#${tag}`, pick: { name: 'tag', value: tag } }));
  if (!facts.length && !tags.length) return null;
  return (
    <p class="dotted">
      {[...facts, ...tags].map((fact) => {
        const { pick } = fact;
        const there = !pick || !onPick || picks.some((one) => one.name === pick.name && one.value === pick.value);
        return (
          <span key={fact.words} class={fact.bad ? 'bad-fact' : fact.main ? 'main-fact' : undefined}>
            {there ? fact.words : <button type="button" class="tag-link" aria-label={words.only(fact.words)} onClick={() => onPick(pick)}>{fact.words}</button>}
          </span>
        );
      })}
    </p>
  );
}
