// Loads a folder: page by page, anew after changes, and what is known of a single file.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Refused } from '../api';
import { deviceAway } from '../away';
import { useNews } from '../live';
import { trouble } from '../text';
import { list, type Entry, type Spot } from './api';
import { nameOf, parentOf } from './paths';
import { FILE_EVENTS } from './use-places';

/** How many a page has. */
const PAGE = 200;
/** The most the device lists at once, and how many such pages are searched for one file. */
const MOST = 1000;
const SEARCHED = 20;

export interface Folder {
  entries: Entry[];
  more: boolean;
}

async function read(at: Spot, wanted: number): Promise<Folder> {
  const entries: Entry[] = [];
  for (;;) {
    const page = await list(at, entries.length, PAGE);
    entries.push(...page.entries);
    const more = page.total > entries.length;
    if (!more || !page.entries.length || entries.length >= wanted) return { entries, more };
  }
}

export interface FolderState {
  folder: Folder | null;
  problem: string;
  /** The folder is gone. */
  gone: boolean;
  growing: boolean;
  grow: () => Promise<void>;
  renew: () => Promise<void>;
}

/** The folder at `at`; `on` is false where its place is not available. */
export function useFolder(at: Spot, on: boolean): FolderState {
  const key = `${at.place}\n${at.path}`;
  const [state, setState] = useState<{ key: string; folder: Folder | null; problem: string; gone: boolean }>({ key, folder: null, problem: '', gone: false });
  const [growing, setGrowing] = useState(false);
  const away = deviceAway.value;
  const asked = useRef(0);
  const size = useRef(PAGE);
  const now = useRef({ at, key });
  now.current = { at, key };

  const renew = useCallback(async () => {
    const mine = ++asked.current;
    const { at: from, key: of } = now.current;
    try {
      const folder = await read(from, size.current);
      if (mine === asked.current) setState({ key: of, folder, problem: '', gone: false });
    } catch (cause) {
      if (mine !== asked.current || !(cause instanceof Refused)) return;
      setState((old) => ({ key: of, folder: cause.status === 404 || old.key !== of ? null : old.folder, problem: trouble(cause), gone: cause.status === 404 }));
    }
  }, []);
  const grow = async () => {
    setGrowing(true);
    size.current += PAGE;
    await renew();
    setGrowing(false);
  };
  useEffect(() => {
    size.current = PAGE;
    if (!away && on) void renew();
  }, [key, away, on]);
  useEffect(() => () => void asked.current++, []);
  useNews(FILE_EVENTS, () => void (on && renew()));
  const shown = state.key === key ? state : { folder: null, problem: '', gone: false };
  return { ...shown, growing, grow, renew };
}

/** What the folder of a file says of it; `null` where it is not in there. */
export async function entryAt(at: Spot): Promise<Entry | null> {
  const folder = { place: at.place, path: parentOf(at.path) };
  const name = nameOf(at.path);
  for (let page = 0, offset = 0; page < SEARCHED; page++) {
    const { entries, total } = await list(folder, offset, MOST);
    const found = entries.find((entry) => entry.name === name);
    if (found) return found;
    offset += entries.length;
    if (!entries.length || offset >= total) return null;
  }
  return null;
}

/** Whether there is something of this name: the device would put a file into a folder that is called so. */
export const isTaken = async (at: Spot): Promise<boolean> => (await entryAt(at)) !== null;

/** The names in a folder. */
export async function namesIn(folder: Spot): Promise<Set<string>> {
  const names = new Set<string>();
  for (let page = 0, offset = 0; page < SEARCHED; page++) {
    const { entries, total } = await list(folder, offset, MOST);
    for (const { name } of entries) names.add(name);
    offset += entries.length;
    if (!entries.length || offset >= total) break;
  }
  return names;
}
