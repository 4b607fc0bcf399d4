// Paths inside a place, and the addresses of the Files room.
import { href } from '../rooms';
import type { Entry, Spot } from './api';

export const partsOf = (path: string): string[] => path.split('/').filter(Boolean);
export const parentOf = (path: string): string => partsOf(path).slice(0, -1).join('/');
export const nameOf = (path: string): string => partsOf(path).at(-1) ?? '';
export const within = (folder: string, name: string): string => (folder ? `${folder}/${name}` : name);

/** `#/files/in/PLACE/a/b` is a folder, `#/files/open/PLACE/a/b.txt` a file. */
export const folderHref = ({ place, path }: Spot): string => href('files', 'in', place, ...partsOf(path));
export const fileHref = ({ place, path }: Spot): string => href('files', 'open', place, ...partsOf(path));
export const entryHref = (entry: Pick<Entry, 'kind' | 'path'>, place: string): string => (entry.kind === 'folder' ? folderHref : fileHref)({ place, path: entry.path });

export type Where = { page: 'folder' | 'file'; at: Spot } | { page: 'trash' | 'places' } | { page: 'find'; query: string } | { page: 'first' };

/** What an address of the room names. */
export function whereIn([first = '', second = '', ...rest]: string[]): Where {
  const at = { place: second, path: rest.join('/') };
  if (first === 'in' && second) return { page: 'folder', at };
  if (first === 'open' && second) return at.path ? { page: 'file', at } : { page: 'folder', at };
  if (first === 'find' && second) return { page: 'find', query: second };
  if (first === 'trash' || first === 'places') return { page: first };
  return { page: 'first' };
}

const LONGEST = 255;

/** What is wrong with a name: the codes of `text/files.ts`, '' where it may be used. */
export function wrongName(name: string): 'empty' | 'slash' | 'dots' | 'long' | '' {
  if (!name.trim()) return 'empty';
  if (/[/\\]/.test(name) || [...name].some((one) => one < ' ')) return 'slash';
  if (name === '.' || name === '..') return 'dots';
  return new TextEncoder().encode(name).length > LONGEST ? 'long' : '';
}

/** "plan.txt" → "plan (2).txt", "plan (2).txt" → "plan (3).txt". */
export function nextName(name: string): string {
  const [, base = name, end = ''] = /^(.+?)((?:\.tar)?\.[A-Za-z0-9]{1,8})$/.exec(name) ?? [];
  const [, stem = base, n = '1'] = /^(.+) \((\d{1,4})\)$/.exec(base) ?? [];
  return `${stem} (${Number(n) + 1})${end}`;
}
