// How a program is doing, in words.
import { duration } from '../text';
import { processes as words } from '../text/processes';
import type { Process } from './api';

export function statusWords({ status, exitCode }: Pick<Process, 'status' | 'exitCode'>): string {
  if (status !== 'exited') return words.status[status] ?? status;
  return exitCode ? words.failed(exitCode) : words.done;
}

export const failed = ({ status, exitCode }: Pick<Process, 'status' | 'exitCode'>): boolean => status !== 'running' && status !== 'stopped' && (status !== 'exited' || !!exitCode);

/** How long it has run, or ran. */
export const ran = ({ startedAt, endedAt }: Process, now = Date.now()): string => duration(Math.max(0, (endedAt ?? now) - startedAt));
