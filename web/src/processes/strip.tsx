// The programs that run, above the composer of Talk and in Today: a line that leads to them.
import type { JSX } from 'preact';
import { Chevron } from '../icons';
import { href } from '../rooms';
import { processes as words } from '../text/processes';
import { processHref, StopButton, useSeconds } from './line';
import { isRunning, known } from './state';
import { ran } from './words';

/** `rows`: each has a line of its own. */
export function RunningPrograms({ rows = false }: { rows?: boolean }): JSX.Element | null {
  const all = known.value?.filter(isRunning) ?? [];
  useSeconds(all.length > 0);
  const [first] = all;
  if (!first) return null;
  if (rows) {
    return (
      <ul class="processes" aria-label={words.title}>
        {all.map((one) => (
          <li key={one.id} class="process alive">
            <span class="dot" />
            <a href={processHref(one.id)} aria-label={words.watchOne(one.title)}><b>{one.title}</b><small>{ran(one)}</small></a>
            <StopButton process={one} small />
          </li>
        ))}
      </ul>
    );
  }
  return (
    <p class="programs-strip">
      <a href={all.length === 1 ? processHref(first.id) : href('device', 'programs')}>
        <span class="dot" />
        <b>{all.length === 1 ? words.one : words.many(all.length)}</b>
        <span>{first.title}</span>
        <span class="programs-time">{ran(first)}</span>
        <Chevron />
      </a>
    </p>
  );
}
