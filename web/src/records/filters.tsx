// The filters of a list: a search field, rows of choices, and values picked from its lines.
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { Close, Find } from '../icons';
import { records as words } from '../text/records';
import type { Family, Filter, Pick } from './kinds';

/** The filters in use. */
export interface ListFilter {
  search: string;
  /** The choice in use, by filter. */
  ways: Record<string, string>;
  picks: Pick[];
}

export const EVERYTHING: ListFilter = { search: '', ways: {}, picks: [] };

export const isFiltered = (wanted: ListFilter) => wanted.search.trim() !== '' || wanted.picks.length > 0 || Object.values(wanted.ways).some(Boolean);

/** The arguments for the list's tool. */
export function argsOf(family: Family, wanted: ListFilter): object {
  const args: Record<string, unknown> = {};
  // The first filter wins where two set the same argument.
  for (const filter of [...family.filters].reverse()) {
    const way = filter.ways.find((one) => one.value === wanted.ways[filter.name]);
    Object.assign(args, typeof way?.args === 'function' ? way.args() : way?.args);
  }
  for (const { name, value } of wanted.picks) {
    if (name === 'tag' && family.tagsAsList) args['tags'] = [value];
    else args[name] = value;
  }
  const search = wanted.search.trim();
  return { ...family.fixed, ...args, ...(search && { search }) };
}

interface Props {
  family: Family;
  wanted: ListFilter;
  onWant: (change: Partial<ListFilter>) => void;
}

export function Filters({ family, wanted, onWant }: Props): JSX.Element {
  const { search } = family.words;
  return (
    <>
      {search && <Searcher label={search} value={wanted.search} onInput={(value) => onWant({ search: value })} />}
      {family.filters.length > 0 && (
        <div class="filters">
          {family.filters.map((filter) => (
            <Ways key={filter.name} filter={filter} value={wanted.ways[filter.name] ?? ''} onInput={(value) => onWant({ ways: { ...wanted.ways, [filter.name]: value } })} />
          ))}
        </div>
      )}
      <Picks picks={wanted.picks} onDrop={(dropped) => onWant({ picks: wanted.picks.filter((pick) => pick !== dropped) })} />
    </>
  );
}

export function Searcher({ label, value, onInput }: { label: string; value: string; onInput: (value: string) => void }): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  return (
    <div class="searcher" role="search">
      <Find />
      <input
        ref={field}
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        autocomplete="off"
        enterkeyhint="search"
        onInput={(event) => onInput(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && value && (event.preventDefault(), onInput(''))}
      />
      {value && <button type="button" class="bare" aria-label={words.clear} onClick={() => (onInput(''), field.current?.focus())}><Close /></button>}
    </div>
  );
}

/** As many as fit side by side on a phone. */
const FEW = 3;

/** A few choices are buttons, more are a select. */
function Ways({ filter, value, onInput }: { filter: Filter; value: string; onInput: (value: string) => void }): JSX.Element {
  if (filter.ways.length > FEW) {
    return (
      <select class="chip" aria-label={filter.label} value={value} onChange={(event) => onInput(event.currentTarget.value)}>
        {filter.ways.map((way) => <option key={way.value} value={way.value}>{way.label}</option>)}
      </select>
    );
  }
  return (
    <div class="chips" role="group" aria-label={filter.label}>
      {filter.ways.map((way) => (
        <button key={way.value} type="button" class="chip" aria-pressed={way.value === value} onClick={() => onInput(way.value)}>{way.label}</button>
      ))}
    </div>
  );
}

/** Pressing a pick removes it. */
export function Picks({ picks, onDrop }: { picks: Pick[]; onDrop: (pick: Pick) => void }): JSX.Element | null {
  if (!picks.length) return null;
  return (
    <div class="chips">
      {picks.map((pick) => (
        <button key={`${pick.name} ${pick.value}`} type="button" class="chip" aria-pressed="true" aria-label={words.notOnly(pick.value)} onClick={() => onDrop(pick)}>
          {pick.name === 'tag' ? `#${pick.value}` : pick.value}<Close />
        </button>
      ))}
    </div>
  );
}
