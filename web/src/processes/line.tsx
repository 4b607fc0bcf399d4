// A program as a line: its title, how it does, and Stop.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useAction } from '../device/part';
import { Notice } from '../form';
import { href } from '../rooms';
import { facts, when } from '../text';
import { processes as words } from '../text/processes';
import * as api from './api';
import { isRunning, renewProcesses } from './state';
import { failed, ran, statusWords } from './words';
import './processes.css';

export const processHref = (id: string): string => href('device', 'programs', id);

/** The clock of running programs. */
export function useSeconds(on: boolean): void {
  const [, tick] = useState(0);
  useEffect(() => {
    if (!on) return;
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [on]);
}

export function StopButton({ process, small = false }: { process: api.Process; small?: boolean }): JSX.Element {
  const act = useAction();
  const stop = () => void act.run(() => api.stop(process.id)).then(() => renewProcesses());
  return (
    <>
      <button type="button" class={small ? 'small' : undefined} aria-label={words.stopOne(process.title)} aria-disabled={act.busy} onClick={stop}>{act.busy ? words.stopping : words.stop}</button>
      {act.problem && <Notice bad>{act.problem}</Notice>}
    </>
  );
}

export function Line({ process }: { process: api.Process }): JSX.Element {
  const running = isRunning(process);
  useSeconds(running);
  return (
    <li class={running ? 'process alive' : failed(process) ? 'process bad' : 'process'}>
      <span class="dot" />
      <a href={processHref(process.id)}>
        <b>{process.title || process.command}</b>
        <small>{facts(words.kinds[process.kind] ?? process.kind, statusWords(process), ran(process), !running && when(process.endedAt ?? process.startedAt))}</small>
      </a>
      {running && <StopButton process={process} small />}
    </li>
  );
}
