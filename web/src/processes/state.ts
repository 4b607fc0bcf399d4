// The programs that run, known in every room.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { deviceAway } from '../away';
import { useLive } from '../live';
import { processes as read, type Process } from './api';

/** Those of this person, newest first; `null` before they were read. */
export const known = signal<Process[] | null>(null);
export const isRunning = ({ status }: Process): boolean => status === 'running';

let turn = 0;

export async function renewProcesses(): Promise<void> {
  const mine = ++turn;
  try {
    const { processes } = await read();
    if (mine === turn) known.value = processes;
  } catch {
    // Away: the banner says so. Refused: this person has no programs to see.
  }
}

/** Follows which programs run; used once. */
export function useProcessWatch(): void {
  const away = deviceAway.value;
  useEffect(() => {
    if (!away) void renewProcesses();
  }, [away]);
  useLive(['process:output', 'process:ended', 'run:ended'], ({ topic, data }) => {
    // Output of a program that is known says nothing new here.
    if (topic === 'process:output' && known.value?.some((one) => one.id === data['id'] && isRunning(one))) return;
    void renewProcesses();
  });
}
