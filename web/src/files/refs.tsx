// Paths as tools write them ("notes/a.txt", "household:/list.md"), as links into the Files room.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Spot } from './api';
import { fileHref, folderHref, partsOf } from './paths';
import { places, renewPlaces } from './use-places';

/** Where such a path leads; `null` while the places are not known, or where there is none of that name. */
export function spotOf(path: string): Spot | null {
  const all = places.value;
  const [, named = '', inside = path] = /^([^/:]+):\/?(.*)$/.exec(path) ?? [];
  const bare = named ? inside : path.replace(/^\/workspace\/?/, '').replace(/^\/places\/[^/]+\/?/, '');
  const wanted = named || /^\/places\/([^/]+)/.exec(path)?.[1] || '';
  const place = wanted ? all?.find(({ id, name }) => id === wanted || name.toLowerCase() === wanted.toLowerCase()) : all?.[0];
  if (!place || (!wanted && path.startsWith('/') && !path.startsWith('/workspace'))) return null;
  const parts = partsOf(bare).filter((part) => part !== '.');
  return parts.includes('..') ? null : { place: place.id, path: parts.join('/') };
}

export function FileRef({ path, isFolder = false, children }: { path: string; isFolder?: boolean; children?: string }): JSX.Element {
  useEffect(() => {
    if (!places.value) void renewPlaces();
  }, []);
  const at = spotOf(path);
  const label = children ?? path;
  return at ? <a href={isFolder || !at.path ? folderHref(at) : fileHref(at)}>{label}</a> : <span>{label}</span>;
}
