// The way to a folder or file, each part a link.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { files as words } from '../text/files';
import type { Spot } from './api';
import { folderHref, partsOf } from './paths';

/** `name` is the place's; of a file, whose name stands below, the way ends with its folder. */
export function Crumbs({ at, name, isFile = false }: { at: Spot; name: string; isFile?: boolean }): JSX.Element {
  const row = useRef<HTMLElement>(null);
  const parts = isFile ? partsOf(at.path).slice(0, -1) : partsOf(at.path);
  useLayoutEffect(() => {
    // A long way shows its end.
    if (row.current) row.current.scrollLeft = row.current.scrollWidth;
  }, [at.path]);
  return (
    <nav class="crumbs" aria-label={words.parts} ref={row}>
      <ol>
        {[name, ...parts].map((label, n) => (
          <li key={n}>
            {n === parts.length && !isFile
              ? <span aria-current="page">{label}</span>
              : <a href={folderHref({ place: at.place, path: parts.slice(0, n).join('/') })}>{label}</a>}
          </li>
        ))}
      </ol>
    </nav>
  );
}
