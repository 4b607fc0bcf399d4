// One search over everything: rooms, devices, pins, tools, memories, files, conversations. `/` or Ctrl+K opens it from anywhere.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import * as api from './api';
import './find.css';
import { search } from './files/api';
import { entryHref, parentOf } from './files/paths';
import { placeName, places, renewPlaces } from './files/use-places';
import { HEADER } from './home/header';
import { Close, Find } from './icons';
import { stateWords, thingsIn } from './home/things/thing';
import { SECTIONS, type Section } from './memory/sections';
import { href, ICONS, ROOMS, type Room } from './rooms';
import { facts, text, when } from './text';
import { allTools } from './tools/use-tools';

interface Hit {
  key: string;
  title: string;
  /** A secondary text. */
  more?: string | undefined;
  room: Room;
  to: string;
}

type Group = 'rooms' | 'things' | 'pins' | 'tools' | 'memories' | 'files' | 'lists' | 'conversations';
type Source = (query: string) => Promise<Hit[]> | Hit[];

const DEBOUNCE_MS = 180;
/** How many of a kind are shown; of the rooms all. */
const FEW = 5;
/** Search by meaning needs a few letters. */
const MEANING = 3;

const has = (query: string, ...words: (string | undefined)[]) => {
  const there = words.join(' ').toLowerCase();
  return query.toLowerCase().split(/\s+/).every((part) => there.includes(part));
};

/** The lists are searched in one call, after typing pauses. */
const LISTS: { tool: string; plural: string; section: Section; args?: object; name?: string; at?: (found: Listed) => string }[] = [
  { tool: 'list_tasks', plural: 'tasks', section: 'tasks' },
  { tool: 'list_notes', plural: 'notes', section: 'notes' },
  { tool: 'list_calendar_events', plural: 'events', section: 'calendar', args: { startDate: '1970-01-01' }, at: (found) => String(found['startTime']).slice(0, 10) },
  { tool: 'list_contacts', plural: 'contacts', section: 'contacts', name: 'name' },
  { tool: 'list_bookmarks', plural: 'bookmarks', section: 'bookmarks' },
  { tool: 'query_expenses', plural: 'expenses', section: 'money', name: 'description', at: (found) => String(found['date']).slice(0, 7) },
];
const LISTS_REST_MS = 350;
const EACH = 3;

type Listed = Record<string, unknown> & { id: string };

let newest = '';

async function inLists(query: string): Promise<Hit[]> {
  newest = query;
  await new Promise((done) => setTimeout(done, LISTS_REST_MS));
  if (newest !== query) return [];
  const operations = LISTS.map(({ tool, args }) => ({ tool, args: { ...args, search: query, limit: EACH } }));
  const { results } = (await api.execute('batch_use_tool', { operations })).result;
  return LISTS.flatMap(({ plural, section, name = 'title', at }, n) =>
    (results[n]?.result?.[plural] ?? []).map((found): Hit => {
      const title = String(found[name] ?? '');
      return { key: `list-${found.id}`, title, more: text.memoryRoom.sections[section], room: 'memory', to: href('memory', section, at?.(found) ?? title) };
    }));
}

/** The parts of the Memory room that match. */
const sections = (query: string): Hit[] =>
  SECTIONS.filter((section) => has(query, text.memoryRoom.sections[section], text.memoryRoom.sectionWords[section]))
    .map((section) => ({ key: section, title: text.memoryRoom.sections[section], more: text.memoryRoom.sectionWords[section], room: 'memory', to: href('memory', section) }));

/** The pages of the Device room that match. */
const pages = (query: string): Hit[] =>
  Object.entries(text.find.pages).filter(([, [title, more]]) => has(query, title, more))
    .map(([page, [title = '', more]]) => ({ key: `page-${page}`, title, more, room: 'device', to: href('device', page) }));

/** The sources by group; pins are loaded once while the search is open. */
function sources(): Record<Group, Source> {
  let levels: Promise<Map<number, boolean>> | undefined;
  const pins = async () =>
    new Map((await api.execute('gpio_list')).result.pins.map(({ pin, high }) => [pin, high]));
  return {
    rooms: (query) =>
      ROOMS.filter((room) => has(query, text.rooms[room], text.find.rooms[room]))
        .map((room): Hit => ({ key: room, title: text.rooms[room], more: text.find.rooms[room], room, to: href(room) }))
        .concat(query ? [...sections(query), ...pages(query)] : []),

    pins: async (query) => {
      if (!query) return [];
      const wanted = HEADER.filter(({ pin, physical, bus }) =>
        pin !== undefined && has(query, text.home.pin(pin), `gpio ${pin}`, text.home.physical(physical), bus && text.home.buses[bus].short));
      if (!wanted.length) return [];
      // `17` means pin 17 before place 17.
      const exact = (pin: number) => new RegExp(`(^|\\D)${pin}$`).test(query);
      const known = await (levels ??= pins());
      return wanted
        .flatMap(({ pin, physical }) => (pin !== undefined && known.has(pin) ? [{ pin, physical }] : []))
        .sort((a, b) => Number(exact(b.pin)) - Number(exact(a.pin)))
        .map(({ pin, physical }) => ({
          key: `pin-${pin}`,
          title: text.home.pin(pin),
          more: `${text.home.physical(physical)} · ${known.get(pin) ? text.home.on : text.home.off}`,
          room: 'home',
          to: href('home', String(pin)),
        }));
    },

    things: async (query) => {
      if (query.length < MEANING) return [];
      const { result } = await api.execute('list_things', { query, limit: FEW });
      return thingsIn(result).map((thing) => ({
        key: `thing-${thing.address}`, title: thing.name, more: facts(thing.area, stateWords(thing)), room: 'home', to: href('home', 'devices', thing.address),
      }));
    },

    tools: async (query) => {
      if (!query) return [];
      const all = await allTools();
      const plain = query.toLowerCase().replaceAll(' ', '_');
      const rank = (name: string) => (name === plain ? 0 : name.startsWith(plain) ? 1 : name.includes(plain) ? 2 : 3);
      return all
        .filter((tool) => has(query, tool.name, tool.name.replaceAll('_', ' '), tool.description, ...tool.aliases))
        .sort((a, b) => rank(a.name) - rank(b.name))
        .map((tool) => ({ key: `tool-${tool.name}`, title: tool.name, more: tool.description, room: 'tools', to: href('tools', tool.name) }));
    },

    memories: async (query) => {
      if (query.length < MEANING) return [];
      const { memories } = (await api.execute('recall', { query, limit: FEW })).result;
      return memories.map((one) => ({ key: `memory-${one.id}`, title: one.content, room: 'memory', to: href('memory', one.id, query) }));
    },

    files: async (query) => {
      if (query.length < MEANING) return [];
      const [{ files }] = await Promise.all([search(query), places.value ? undefined : renewPlaces()]);
      return files.map((one) => ({
        key: `file-${one.place}-${one.path}`, title: one.name, more: [placeName(one.place), parentOf(one.path)].filter(Boolean).join(' › '), room: 'files', to: entryHref(one, one.place),
      }));
    },

    lists: (query) => (query.length < MEANING ? [] : inLists(query)),

    conversations: async (query) => {
      if (!query) return [];
      const { conversations } = await api.conversations(query, FEW);
      return conversations.map((line) => ({
        key: `talk-${line.id}`,
        title: line.title || text.menu.untitled,
        more: line.excerpt || when(line.updatedAt),
        room: 'talk',
        to: href('talk', line.id),
      }));
    },
  };
}

const ORDER: Group[] = ['rooms', 'things', 'pins', 'tools', 'memories', 'files', 'lists', 'conversations'];

export function Finder({ onClose }: { onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const asked = useRef<Record<Group, Source>>(undefined);
  const [query, setQuery] = useState('');
  const [found, setFound] = useState<Partial<Record<Group, Hit[]>>>({});
  const [looking, setLooking] = useState(false);
  const [at, setAt] = useState(0);

  useEffect(() => dialog.current?.showModal(), []);

  useEffect(() => {
    const all = (asked.current ??= sources());
    const words = query.trim();
    let over = false;
    const ask = async () => {
      const first = ORDER.map(async (group) => {
        // A source that fails is left out.
        const hits = await Promise.resolve(all[group](words)).catch(() => []);
        if (!over) setFound((old) => ({ ...old, [group]: hits.slice(0, group === 'rooms' ? ROOMS.length : FEW) }));
      });
      await Promise.all(first);
      if (!over) setLooking(false);
    };
    setLooking(words !== '');
    const timer = setTimeout(() => void ask(), words ? DEBOUNCE_MS : 0);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [query]);

  const hits = ORDER.flatMap((group) => found[group] ?? []);
  const chosen = Math.min(at, hits.length - 1);

  useEffect(() => {
    document.getElementById(`hit-${chosen}`)?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);

  const open = (hit: Hit | undefined) => {
    if (!hit) return;
    dialog.current?.close();
    location.hash = hit.to;
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const count = hits.length;
    const to = { ArrowDown: chosen + 1, ArrowUp: chosen - 1 + count }[event.key];
    if (to !== undefined && count) setAt(to % count);
    else if (event.key === 'Enter' && !event.isComposing) open(hits[chosen]);
    else return;
    event.preventDefault();
  };

  let n = -1;
  return (
    <dialog
      ref={dialog}
      class="find"
      aria-label={text.find.title}
      onClose={onClose}
      onClick={(event) => event.target === event.currentTarget && event.currentTarget.close()}
    >
      <div class="find-inside">
        <div class="find-field">
          <Find />
          <input
            type="text"
            role="combobox"
            aria-label={text.find.title}
            aria-expanded={hits.length > 0}
            aria-controls="find-list"
            aria-autocomplete="list"
            aria-activedescendant={hits.length ? `hit-${chosen}` : undefined}
            placeholder={text.find.placeholder}
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            enterkeyhint="go"
            value={query}
            onInput={(event) => {
              setQuery(event.currentTarget.value);
              setAt(0);
            }}
            onKeyDown={onKeyDown}
          />
          <button type="button" class="bare" aria-label={text.menu.close} onClick={() => dialog.current?.close()}><Close /></button>
        </div>
        <div id="find-list" class="find-list" role="listbox" aria-label={text.find.results}>
          {ORDER.map((group) => {
            const own = found[group] ?? [];
            return own.length > 0 && (
              <div key={group} role="group" aria-labelledby={`find-${group}`}>
                <p id={`find-${group}`} role="presentation">{text.find.groups[group]}</p>
                {own.map((hit) => {
                  const Icon = ICONS[hit.room];
                  const here = ++n;
                  return (
                    <div
                      key={hit.key}
                      id={`hit-${here}`}
                      class="hit"
                      role="option"
                      aria-selected={here === chosen}
                      onClick={() => open(hit)}
                      onPointerMove={() => setAt(here)}
                    >
                      <Icon />
                      <span>{hit.title}</span>
                      {hit.more && <small>{hit.more}</small>}
                    </div>
                  );
                })}
              </div>
            );
          })}
        </div>
        <p class="soft small find-note" role="status">
          {!hits.length && query.trim() && (looking ? text.find.looking : text.find.nothing(query.trim()))}
          {hits.length > 0 && query.trim() && !looking && <span class="unseen">{text.find.count(hits.length)}</span>}
        </p>
        <p class="find-keys soft" aria-hidden="true">{text.find.keys}</p>
      </div>
    </dialog>
  );
}
