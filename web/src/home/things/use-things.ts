// The lists of things: by area, by words, those that are on, page by page; and the areas with their counts.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../../api';
import { deviceAway } from '../../away';
import { trouble } from '../../text';
import { put } from './store';
import { thingIn, thingsIn, type Thing } from './thing';
import { mostUsed } from './used';

/** The page size; and the size up to which a home is shown whole. */
export const PAGE = 60;
/** Typed text is debounced. */
const REST_MS = 200;

export interface Wanted {
  query?: string;
  area?: string;
  active?: boolean;
}

export interface Shown {
  things: Thing[];
  total: number;
}

export interface ThingList {
  shown: Shown | null;
  problem: string;
  growing: boolean;
  grow: () => void;
  renew: () => void;
}

const numberIn = (result: unknown, name: string): number | undefined => {
  const found = (result as Record<string, unknown> | null)?.[name];
  return typeof found === 'number' ? found : undefined;
};

/** The most a call returns. */
const MOST = 200;

async function read({ query = '', area, active }: Wanted, limit: number): Promise<Shown> {
  const began = performance.now();
  const args = { ...(query.trim() && { query: query.trim() }), ...(area !== undefined && { area }), ...(active && { active }), details: true };
  let things: Thing[] = [];
  let total = 0;
  do {
    const { result } = await api.execute('list_things', { ...args, limit: Math.min(MOST, limit - things.length), ...(things.length && { offset: things.length }) });
    const found = thingsIn(result);
    things = [...things, ...found];
    total = found.length ? (numberIn(result, 'total') ?? things.length) : things.length;
  } while (things.length < Math.min(limit, total));
  for (const thing of things) put(thing, began);
  return { things, total };
}

/** `off`: reads nothing. */
export function useThingList(wanted: Wanted, off = false): ThingList {
  const [shown, setShown] = useState<Shown | null>(null);
  const [problem, setProblem] = useState('');
  const [growing, setGrowing] = useState(false);
  const limit = useRef(PAGE);
  const turn = useRef(0);
  const away = deviceAway.value;
  const key = JSON.stringify(wanted);
  const before = useRef('');

  const look = useCallback(async () => {
    const mine = ++turn.current;
    try {
      const found = await read(JSON.parse(key) as Wanted, limit.current);
      if (mine !== turn.current) return;
      setShown(found);
      setProblem('');
    } catch (cause) {
      if (mine === turn.current && cause instanceof api.Refused) setProblem(trouble(cause));
    } finally {
      setGrowing(false);
    }
  }, [key]);

  useEffect(() => {
    if (off || away) return;
    if (before.current !== key) limit.current = PAGE;
    const typing = before.current !== '' && before.current !== key && wanted.query;
    before.current = key;
    const timer = setTimeout(() => void look(), typing ? REST_MS : 0);
    return () => clearTimeout(timer);
  }, [key, off, away]);
  useEffect(() => () => void turn.current++, []);

  const grow = () => {
    limit.current += PAGE;
    setGrowing(true);
    void look();
  };
  return { shown, problem, growing, grow, renew: () => void (off || look()) };
}

export interface Area {
  /** '' for what has none. */
  name: string;
  count: number;
  on: number;
}

export function useAreas(): { areas: Area[] | null; renew: () => void } {
  const [areas, setAreas] = useState<Area[] | null>(null);
  const away = deviceAway.value;
  const look = useCallback(async () => {
    try {
      const { result } = await api.execute('list_areas');
      const { areas: found, unplaced } = result as { areas?: unknown; unplaced?: unknown };
      const all = (Array.isArray(found) ? found : []).map((one: Record<string, unknown>): Area => ({ name: String(one['area'] ?? ''), count: numberIn(one, 'things') ?? 0, on: numberIn(one, 'active') ?? 0 }));
      const rest = numberIn(unplaced, 'things') ?? 0;
      // A floor has its rooms, and often nothing itself.
      setAreas([...all.filter(({ count }) => count > 0), ...(rest ? [{ name: '', count: rest, on: numberIn(unplaced, 'active') ?? 0 }] : [])]);
    } catch {
      // The list of things says what is wrong.
    }
  }, []);
  useEffect(() => {
    if (!away) void look();
  }, [away]);
  return { areas, renew: () => void look() };
}

/** The most that come first. */
const FIRST = 6;

/** The most used things of this screen; those that are gone are left out. */
export function useOften(off: boolean): string[] {
  const [there, setThere] = useState<string[]>([]);
  const away = deviceAway.value;
  useEffect(() => {
    if (off || away) return;
    let current = true;
    const began = performance.now();
    const reads = mostUsed(FIRST).map(async (address) => {
      const { result } = await api.execute('get_thing', { thing: address });
      const thing = thingIn(result);
      if (!thing || thing.hidden) return '';
      put(thing, began);
      return thing.address;
    });
    void Promise.allSettled(reads).then((found) => {
      if (current) setThere(found.map((one) => (one.status === 'fulfilled' ? one.value : '')).filter(Boolean));
    });
    return () => void (current = false);
  }, [off, away]);
  return there;
}
