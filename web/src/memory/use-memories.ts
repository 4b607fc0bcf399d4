// Loads the newest memories, or search results; outdated responses are dropped.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { deviceAway } from '../away';
import { useLive } from '../live';
import type { Memory, MemoryStats } from '../results';
import { trouble } from '../text';

/** The debounce of typing. */
const REST_MS = 180;
/** The page size. */
const MOST = 50;

export interface MemoryFilter {
  query: string;
  /** '' is every kind. */
  kind: string;
  tags: string[];
}

export interface LoadedMemories {
  memories: Memory[];
  /** The filter they were loaded with. */
  wanted: MemoryFilter;
  /** False when the embedding model was unavailable. */
  byMeaning: boolean;
}

/** The tools that change memories. */
const CHANGERS = new Set(['remember', 'batch_remember', 'forget', 'update_memory', 'boost_memory']);

export function useMemories(wanted: MemoryFilter) {
  const [shown, setShown] = useState<LoadedMemories | null>(null);
  const [stats, setStats] = useState<MemoryStats | null>(null);
  const [problem, setProblem] = useState('');
  const away = deviceAway.value;
  const asked = useRef(0);
  const now = useRef(wanted);
  now.current = wanted;

  const refused = useCallback((cause: unknown) => {
    // While the device is away, the banner says so, and this is loaded again afterwards.
    setProblem(cause instanceof api.Unreachable ? '' : trouble(cause));
  }, []);

  const look = useCallback(async () => {
    const mine = ++asked.current;
    const { query, kind, tags } = now.current;
    const filter = { ...(kind && { type: kind }), ...(tags.length && { tags }), limit: MOST };
    const words = query.trim();
    try {
      const { result } = words
        ? await api.execute('recall', { query: words, ...filter })
        : await api.execute('list_memories', filter);
      if (mine !== asked.current) return;
      setShown({ memories: result.memories, wanted: { query, kind, tags }, byMeaning: result.byMeaning !== false });
      setProblem('');
    } catch (cause) {
      if (mine === asked.current) refused(cause);
    }
  }, [refused]);

  const count = useCallback(() => {
    api.execute('memory_stats').then(({ result }) => setStats(result), refused);
  }, [refused]);

  const renew = useCallback(async () => {
    count();
    await look();
  }, [count, look]);

  const first = useRef(true);
  useEffect(() => {
    // Only typing is debounced.
    const rest = first.current || !wanted.query.trim() ? 0 : REST_MS;
    first.current = false;
    const timer = setTimeout(() => void look(), rest);
    return () => clearTimeout(timer);
  }, [wanted.query, wanted.kind, wanted.tags.join('\n')]);

  const came = useRef(false);
  useEffect(() => {
    if (away) return;
    if (came.current) void renew();
    else count();
    came.current = true;
  }, [away]);

  useLive(['tool:after'], ({ topic, data }) => {
    if (topic === 'resync' || CHANGERS.has(String(data['tool']))) void renew();
  });

  return { shown, stats, problem, renew };
}
