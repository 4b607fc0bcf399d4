// Loads a list of records: on mount, when its arguments change, page by page, and after change events.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { deviceAway } from '../away';
import { useNews } from '../live';
import { trouble } from '../text';
import { entriesIn, type Entry } from './kinds';

/** The debounce of typing. */
const REST_MS = 250;
/** The page size. */
const PAGE = 30;

export interface Source {
  tool: string;
  /** The property of the result that holds the list. */
  plural: string;
  topics: readonly string[];
  /** The page size, and how many are loaded at first. */
  page?: number;
  first?: number;
}

export interface LoadedList {
  entries: Entry[];
  more: boolean;
  /** The last result, with its totals. */
  result: Record<string, unknown>;
  /** The arguments they were loaded with. */
  args: object;
}

export interface List {
  shown: LoadedList | null;
  problem: string;
  /** The next page is loading. */
  growing: boolean;
  grow: () => Promise<void>;
  /** Reloads as many as are loaded. */
  renew: () => Promise<void>;
}

/** Loads pages after `before` until there are `wanted` or no more. */
async function read({ tool, plural, page = PAGE }: Source, args: object, wanted: number, before: Entry[] = []): Promise<LoadedList> {
  let entries = before;
  for (;;) {
    const limit = Math.min(page, wanted - entries.length);
    const { result } = await api.execute(tool, { ...args, limit, ...(entries.length && { offset: entries.length }) }) as api.ToolRun<Record<string, unknown>>;
    const found = entriesIn(result, plural);
    // A record added meanwhile shifts the offsets.
    const there = new Set(entries.map((entry) => entry.id));
    const fresh = found.filter((entry) => !there.has(entry.id));
    entries = [...entries, ...fresh];
    const more = result['hasMore'] === true;
    if (!more || !fresh.length || entries.length >= wanted) return { entries, more, result, args };
  }
}

/** `slow`: typed text, which is debounced. `off`: load nothing. */
export function useList(source: Source, args: object, slow = '', off = false): List {
  const [shown, setShown] = useState<LoadedList | null>(null);
  const [problem, setProblem] = useState('');
  const [growing, setGrowing] = useState(false);
  const away = deviceAway.value;
  const asked = useRef(0);
  const began = useRef(0);
  const first = source.first ?? source.page ?? PAGE;
  const size = useRef(first);
  const now = useRef({ source, args, shown });
  now.current = { source, args, shown };

  const look = useCallback(async (before?: Entry[]) => {
    const mine = ++asked.current;
    began.current = performance.now();
    try {
      const found = await read(now.current.source, now.current.args, size.current, before);
      if (mine !== asked.current) return;
      setShown(found);
      setProblem('');
    } catch (cause) {
      // While the device is away, the banner says so, and the list is reloaded afterwards.
      if (mine === asked.current) setProblem(cause instanceof api.Unreachable ? '' : trouble(cause));
    }
  }, []);
  const renew = useCallback(() => look(), [look]);

  const grow = async () => {
    setGrowing(true);
    const { shown: there, source: from } = now.current;
    size.current = (there?.entries.length ?? 0) + (from.page ?? PAGE);
    await look(there?.entries);
    setGrowing(false);
  };

  const key = JSON.stringify([source.tool, args]);
  const typed = useRef(slow);
  useEffect(() => {
    if (off) return;
    size.current = first;
    const rest = slow && slow !== typed.current ? REST_MS : 0;
    typed.current = slow;
    const timer = setTimeout(() => void look(), rest);
    return () => clearTimeout(timer);
  }, [key, off]);

  const came = useRef(false);
  useEffect(() => {
    if (away) return;
    if (came.current && !off) void look();
    came.current = true;
  }, [away]);

  useEffect(() => () => void asked.current++, []);

  // A load that began after the event includes it already.
  useNews(source.topics, (heard) => {
    if (!off && began.current < heard) void look();
  });

  return { shown, problem, growing, grow, renew };
}
