// A difference, coloured: `+` and `−` stand before the lines, so that the colour is not all that says it.
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { files as words } from '../text/files';
import { diffLines, hunksOf } from './diff';
import './diff.css';

const CLASSES = { ' ': undefined, '+': 'added', '-': 'removed' } as const;

export function DiffView({ before, after, label = words.differences }: { before: string; after: string; label?: string }): JSX.Element {
  const hunks = useMemo(() => hunksOf(diffLines(before, after)), [before, after]);
  if (!hunks.length) return <p class="soft small">{words.same}</p>;
  return (
    <pre class="diff" tabIndex={0} role="group" aria-label={label}>
      {hunks.map((hunk, n) => (
        <div key={n}>
          {hunk.skipped > 0 && <span class="hunk">{`⋯ ${words.lines(hunk.skipped)}`}</span>}
          {hunk.lines.map((line, at) => <span key={at} class={CLASSES[line.mark]}>{`${line.mark} ${line.text}`}</span>)}
        </div>
      ))}
    </pre>
  );
}

/** The class of a line of a unified diff. */
function classOf(line: string): string | undefined {
  if (/^(diff |index |--- |\+\+\+ |new file|deleted file|similarity|rename |old mode|new mode|Binary)/.test(line)) return 'file-head';
  if (line.startsWith('@@')) return 'hunk';
  return line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : undefined;
}

/** A diff as git writes it. */
export function UnifiedDiff({ diff, label = words.differences }: { diff: string; label?: string }): JSX.Element {
  return (
    <pre class="diff" tabIndex={0} role="group" aria-label={label}>
      {diff.replace(/\n$/, '').split('\n').map((line, n) => <span key={n} class={classOf(line)}>{line}</span>)}
    </pre>
  );
}
