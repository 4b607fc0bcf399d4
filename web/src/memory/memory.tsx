// The Memory room: memories with search and editing, and the lists beside them.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Memory as Remembered, MemoryStats } from '../results';
import { Notice } from '../form';
import { Close, Find, Fresh } from '../icons';
import type { RoomProps } from '../rooms';
import { text } from '../text';
import { Top } from '../top';
import { lazy } from '../lazy';
import { Line } from './line';
import { Lists } from './lists';
import { sectionIn } from './sections';
import { Tabs } from './tabs';
import { useMemories, type MemoryFilter } from './use-memories';
import { Writing } from './writing';
import './memory.css';

const words = text.memoryRoom;

const Graph = lazy<{ path: string[]; writer: boolean }>(() => import('./graph/graph').then((part) => part.Graph));
const Bin = lazy<{ writer: boolean }>(() => import('./bin').then((part) => part.Bin));

/** The filter, kept while another room is open. */
let before: MemoryFilter = { query: '', kind: '', tags: [] };

const KINDS = { fact: 'facts', preference: 'preferences', event: 'events', skill: 'skills' } as const;

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-/;

/** `#/memory/ID/WORDS` is one memory among the results for WORDS, `#/memory/WORDS` all results. */
function sought(path: string[]): { id: string; query: string } {
  const [first = '', second = ''] = path;
  return ID.test(first) ? { id: first, query: second } : { id: '', query: first };
}

export function Memory({ session, path }: RoomProps): JSX.Element {
  const section = sectionIn(path);
  const [count, setCount] = useState<number>();
  return (
    <main class="room memory">
      <Top title={text.rooms.memory} where={section ? words.sections[section] : count === undefined ? undefined : words.count(count)} />
      <div class="memory-inside">
        <Tabs at={section} />
        <div class="memory-part">
          {section === 'bin' ? <Bin writer={session.role !== 'viewer'} /> : section === 'graph' ? <Graph path={path} writer={session.role !== 'viewer'} /> : section ? <Lists section={section} path={path} session={session} /> : <Memories path={path} onCount={setCount} />}
        </div>
      </div>
    </main>
  );
}

function Memories({ path, onCount }: { path: string[]; onCount: (count: number | undefined) => void }): JSX.Element {
  const { id, query } = sought(path);
  const [wanted, setWanted] = useState<MemoryFilter>(() => (path.length ? { query, kind: '', tags: [] } : before));
  const [writing, setWriting] = useState(false);
  const [said, setSaid] = useState('');
  // The memory being edited stays in the list.
  const [held, setHeld] = useState<Remembered | null>(null);
  const { shown, stats, problem, renew } = useMemories(wanted);
  const field = useRef<HTMLInputElement>(null);
  const writer = useRef<HTMLButtonElement>(null);
  const place = useRef(path);
  useEffect(() => onCount(stats?.total), [stats?.total]);

  const want = (change: Partial<MemoryFilter>) => {
    before = { ...wanted, ...change };
    setWanted(before);
  };
  if (place.current !== path) {
    place.current = path;
    if (path.length) want({ query, kind: '', tags: [] });
  }

  const close = () => {
    setWriting(false);
    requestAnimationFrame(() => writer.current?.focus());
  };
  const looking = shown?.wanted.query.trim();
  return (
    <>
      <div class="searcher" role="search">
        <Find />
        <input
          ref={field}
          type="search"
          aria-label={words.search}
          placeholder={words.placeholder}
          value={wanted.query}
          autocomplete="off"
          enterkeyhint="search"
          onInput={(event) => want({ query: event.currentTarget.value })}
          onKeyDown={(event) => event.key === 'Escape' && wanted.query && (event.preventDefault(), want({ query: '' }))}
        />
        {wanted.query && (
          <button type="button" class="bare" aria-label={words.clear} onClick={() => (want({ query: '' }), field.current?.focus())}><Close /></button>
        )}
      </div>
      {(stats?.total !== 0 || wanted.kind || wanted.tags.length > 0) && <Filters wanted={wanted} stats={stats} onInput={want} />}
      {writing ? (
        <Writing
          onCancel={close}
          onDone={() => {
            close();
            setSaid(words.remembered);
            void renew();
          }}
        />
      ) : (
        <button type="button" class="quiet add" ref={writer} onClick={() => (setWriting(true), setSaid(''))}><Fresh />{words.add}</button>
      )}
      <p class="unseen" role="status">{looking && shown ? words.found(shown.memories.length) : said}</p>
      {problem && <Notice bad>{problem}</Notice>}
      {shown && !shown.byMeaning && <Notice quiet>{words.wordsOnly}</Notice>}
      {!shown && !problem && <p class="soft nothing">{words.loading}</p>}
      {shown && (
        <ul class="memories">
          {withEdited(shown.memories, held).map((memory) => (
            <Line
              key={memory.id}
              memory={memory}
              sought={memory.id === id}
              tags={wanted.tags}
              onHold={(holding) => setHeld(holding ? memory : null)}
              onTag={(tag) => !wanted.tags.includes(tag) && want({ tags: [...wanted.tags, tag] })}
              onChanged={(what) => {
                setSaid(what);
                void renew();
                if (what === words.forgotten) field.current?.focus({ preventScroll: true });
              }}
            />
          ))}
        </ul>
      )}
      {shown && !shown.memories.length && <Nothing wanted={shown.wanted} total={stats?.total} />}
      {shown && !looking && !shown.wanted.kind && !shown.wanted.tags.length && stats && stats.total > shown.memories.length && shown.memories.length > 0 && (
        <p class="soft small nothing">{words.newest(shown.memories.length, stats.total)}</p>
      )}
    </>
  );
}

function withEdited(memories: Remembered[], held: Remembered | null): Remembered[] {
  return held && !memories.some((memory) => memory.id === held.id) ? [held, ...memories] : memories;
}

function Nothing({ wanted, total }: { wanted: MemoryFilter; total: number | undefined }): JSX.Element {
  if (wanted.query.trim()) return <p class="soft nothing">{words.noMatch}</p>;
  if (total || wanted.kind || wanted.tags.length) return <p class="soft nothing">{words.noneOfKind}</p>;
  return (
    <div class="nothing">
      <p>{words.nothing}</p>
      <p class="soft small">{words.nothingWhy}</p>
    </div>
  );
}

/** The filters by kind and tag, with counts. */
function Filters({ wanted, stats, onInput }: { wanted: MemoryFilter; stats: MemoryStats | null; onInput: (change: Partial<MemoryFilter>) => void }): JSX.Element {
  const kinds = useMemo(() => Object.entries(KINDS), []);
  const chip = (kind: string, label: string, count: number | undefined) => (
    <button key={kind} type="button" class="chip" aria-pressed={wanted.kind === kind} onClick={() => onInput({ kind })}>
      {label}{count !== undefined && <span class="count">{count}</span>}
    </button>
  );
  return (
    <div class="chips" role="group" aria-label={words.kindLabel}>
      {chip('', words.all, stats?.total)}
      {kinds.map(([kind, key]) => chip(kind, words.kinds[kind] ?? kind, stats?.[key]))}
      {wanted.tags.map((tag) => (
        <button
          key={`#${tag}`}
          type="button"
          class="chip tag"
          aria-pressed="true"
          aria-label={words.dropTag(tag)}
          onClick={() => onInput({ tags: wanted.tags.filter((one) => one !== tag) })}
        >
          #{tag}<Close />
        </button>
      ))}
    </div>
  );
}
