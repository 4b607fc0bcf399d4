// Files by their names, in every place.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Refused } from '../api';
import { size } from '../device/units';
import { Notice } from '../form';
import { facts, trouble, when } from '../text';
import { files as words } from '../text/files';
import { search, type Found } from './api';
import { iconOf } from './kinds';
import { OutsideMark } from './outside';
import { entryHref, parentOf } from './paths';
import { placeName } from './use-places';

/** The debounce of typing. */
const REST_MS = 250;

export function FindFiles({ query }: { query: string }): JSX.Element {
  const [found, setFound] = useState<{ of: string; files: Found[]; truncated: boolean } | null>(null);
  const [problem, setProblem] = useState('');
  const turn = useRef(0);
  useEffect(() => {
    const mine = ++turn.current;
    const timer = setTimeout(() => {
      search(query).then(
        ({ files, truncated }) => {
          if (mine !== turn.current) return;
          setFound({ of: query, files, truncated });
          setProblem('');
        },
        (cause: unknown) => mine === turn.current && cause instanceof Refused && setProblem(trouble(cause)),
      );
    }, found ? REST_MS : 0);
    return () => clearTimeout(timer);
  }, [query]);
  useEffect(() => () => void turn.current++, []);
  const files = found?.files ?? [];
  return (
    <>
      <p class="unseen" role="status">{found?.of === query ? words.hits(files.length) : ''}</p>
      {problem && <Notice bad>{problem}</Notice>}
      {!found && !problem && <p class="soft nothing">{words.searching}</p>}
      {found && !files.length && <p class="soft nothing">{words.noHits(found.of)}</p>}
      <ul class="file-list" aria-label={words.search}>
        {files.map((one) => {
          const Icon = iconOf(one);
          return (
            <li class="file" key={`${one.place}:${one.path}`}>
              <div class="file-line">
                <a class="file-link" href={entryHref(one, one.place)}>
                  <Icon />
                  <span class="file-words">
                    <span class="file-name">{one.name}</span>
                    <small>{facts([placeName(one.place), parentOf(one.path)].filter(Boolean).join(' › '), one.kind === 'file' && size(one.size), when(one.modified))}</small>
                  </span>
                  {one.outside && <OutsideMark />}
                </a>
              </div>
            </li>
          );
        })}
      </ul>
      {found?.truncated && <p class="soft small">{words.hitsMost(files.length)}</p>}
    </>
  );
}
