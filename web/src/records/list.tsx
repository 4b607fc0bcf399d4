// The list of a record family: searched, filtered, added to, edited in place, and loaded page by page.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Notice } from '../form';
import { Fresh } from '../icons';
import { records as words } from '../text/records';
import { argsOf, EVERYTHING, Filters, isFiltered, type ListFilter } from './filters';
import type { Entry, Family, Pick } from './kinds';
import { Lines, type LineExtras } from './lines';
import { RecordForm } from './record-form';
import { useList, type LoadedList } from './use-list';

/** The filters of each list, kept while another is open. */
const before = new Map<string, ListFilter>();

export const forgetWanted = () => before.clear();

/** `search`: the search in the address, which replaces the kept filters. */
export function useWanted(key: string, search = ''): [ListFilter, (change: Partial<ListFilter>) => void] {
  const asked = useRef(search);
  const [wanted, setWanted] = useState<ListFilter>(() => (search ? { ...EVERYTHING, search } : (before.get(key) ?? EVERYTHING)));
  const want = (change: Partial<ListFilter>) => setWanted((old) => {
    const now = { ...old, ...change };
    before.set(key, now);
    return now;
  });
  if (asked.current !== search) {
    asked.current = search;
    if (search) want({ ...EVERYTHING, search });
  }
  return [wanted, want];
}

interface AdderProps {
  add: string;
  /** The form, until it is saved or cancelled. */
  form: (end: { onDone: (name: string, saved?: Entry) => void; onCancel: () => void }) => JSX.Element;
  onAdded: (said: string, saved?: Entry) => void;
}

/** A button that opens the form, and has the focus again afterwards. */
export function Adder({ add, form, onAdded }: AdderProps): JSX.Element {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    requestAnimationFrame(() => button.current?.focus());
  };
  if (!open) return <button type="button" class="quiet add" ref={button} onClick={() => setOpen(true)}><Fresh />{add}</button>;
  return form({
    onCancel: close,
    onDone: (name, saved) => {
      close();
      onAdded(words.added(name), saved);
    },
  });
}

/** Keeps the record being edited in the list, whatever is reloaded meanwhile. */
export const withEdited = (entries: Entry[], held: Entry | null): Entry[] =>
  (held && !entries.some((entry) => entry.id === held.id) ? [held, ...entries] : entries);

export const samePick = (a: Pick, b: Pick) => a.name === b.name && a.value === b.value;

interface Props {
  family: Family;
  looks?: LineExtras;
  writer: boolean;
  /** The search in the address: `#/memory/tasks/milk`. */
  search?: string | undefined;
}

export function RecordList({ family, looks, writer, search }: Props): JSX.Element {
  const [wanted, want] = useWanted(family.section, search);
  const [announced, setAnnounced] = useState('');
  const [held, setHeld] = useState<Entry | null>(null);
  const { tools, plural, topics } = family;
  const list = useList({ tool: tools.list, plural, topics }, argsOf(family, wanted), wanted.search.trim());
  const { shown, problem } = list;

  const changed = (words: string) => {
    setAnnounced(words);
    void list.renew();
  };
  const pick = (one: Pick) => want({ picks: [...wanted.picks.filter((other) => other.name !== one.name), one] });
  const entries = withEdited(shown?.entries ?? [], held);
  return (
    <>
      <Filters family={family} wanted={wanted} onWant={(change) => (want(change), setAnnounced(''))} />
      {writer && <Adder add={family.words.add} form={(end) => <RecordForm family={family} {...end} />} onAdded={changed} />}
      <Announcement words={announced} shown={shown} looking={wanted.search.trim() !== ''} />
      {problem && <Notice bad>{problem}</Notice>}
      {!shown && !problem && <p class="soft nothing">{words.loading}</p>}
      <Lines family={family} entries={entries} {...(looks && { looks })} writer={writer} picks={wanted.picks} onPick={pick} onHold={setHeld} onChanged={changed} />
      {shown && !entries.length && <Nothing narrow={isFiltered(wanted)} words={family.words} />}
      {shown?.more && <More busy={list.growing} onPress={() => void list.grow()} />}
    </>
  );
}

/** Announces an action or the number of results. */
export function Announcement({ words: said, shown, looking }: { words: string; shown: LoadedList | null; looking: boolean }): JSX.Element {
  return <p class="unseen" role="status">{said || (looking && shown ? words.found(shown.entries.length, shown.more) : '')}</p>;
}

export function Nothing({ narrow, words: own }: { narrow: boolean; words: { none: string; teach: string } }): JSX.Element {
  if (narrow) return <p class="soft nothing">{words.noMatch}</p>;
  return (
    <div class="nothing">
      <p>{own.none}</p>
      <p class="soft small">{own.teach}</p>
    </div>
  );
}

export function More({ busy, onPress }: { busy: boolean; onPress: () => void }): JSX.Element {
  return <p class="read-on"><button type="button" aria-disabled={busy} onClick={() => !busy && onPress()}>{busy ? words.moreLoading : words.more}</button></p>;
}
