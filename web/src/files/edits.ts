// Text that is being edited and not saved, kept in this browser: a tab that closes or a device that is away loses nothing.
import { device, put, take } from '../storage';
import type { Spot } from './api';

export interface Edit {
  text: string;
  /** The version of the file it was begun in; `null` for one that is not there yet. */
  version: string | null;
  at: number;
}

const PREFIX = 'hob.edit:';
/** How many are kept, and how long; the oldest ones give way. */
const MOST = 20;
const KEPT_MS = 30 * 86_400_000;

let person = '';
/** Whose edits they are: people share browsers. */
export const editsOf = (user: string): void => void (person = user);

const keyOf = ({ place, path }: Spot) => `${PREFIX}${JSON.stringify([person, place, path])}`;

function read(key: string): Edit | null {
  try {
    const found: unknown = JSON.parse(take(device, key) || 'null');
    if (!found || typeof found !== 'object') return null;
    const { text, version, at } = found as Partial<Edit>;
    return typeof text === 'string' && typeof at === 'number' ? { text, version: typeof version === 'string' ? version : null, at } : null;
  } catch {
    return null;
  }
}

function keys(): string[] {
  try {
    return Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
  } catch {
    return [];
  }
}

/** Removes edits that are old or too many, and one more where `room` is needed. */
function tidy(room: boolean): boolean {
  const all = keys().map((key) => ({ key, at: read(key)?.at ?? 0 })).sort((a, b) => b.at - a.at);
  const stale = all.filter(({ at }, n) => n >= MOST || at < Date.now() - KEPT_MS);
  const oldest = room && !stale.length ? all.slice(-1) : [];
  for (const { key } of [...stale, ...oldest]) put(device, key, '');
  return stale.length + oldest.length > 0;
}

export const editAt = (at: Spot): Edit | null => read(keyOf(at));
export const dropEdit = (at: Spot): void => void put(device, keyOf(at), '');

/** Keeps an edit; answers whether the browser took it. */
export function keepEdit(at: Spot, text: string, version: string | null): boolean {
  const value = JSON.stringify({ text, version, at: Date.now() } satisfies Edit);
  tidy(false);
  if (put(device, keyOf(at), value)) return true;
  // Full: the oldest gives way, but never this one's former text.
  const former = take(device, keyOf(at));
  const roomy = keys().length > (former ? 1 : 0) && tidy(true);
  return roomy && put(device, keyOf(at), value);
}

/** A file was renamed or moved: its edit goes along. */
export function moveEdits(from: Spot, to: Spot): void {
  for (const key of keys()) {
    let named: unknown;
    try {
      named = JSON.parse(key.slice(PREFIX.length));
    } catch {
      continue;
    }
    const [user, place, path] = Array.isArray(named) ? named : [];
    if (user !== person || place !== from.place || typeof path !== 'string') continue;
    if (path !== from.path && !path.startsWith(`${from.path}/`)) continue;
    const value = take(device, key);
    put(device, keyOf({ place: to.place, path: to.path + path.slice(from.path.length) }), value);
    put(device, key, '');
  }
}
