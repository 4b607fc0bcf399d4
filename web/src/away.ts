// Whether the device can be reached: any failed request says it is away; /healthz is asked until it is back.
import { useEffect, useState } from 'preact/hooks';

const FIRST_MS = 1000;
const LONGEST_MS = 10_000;
const PATIENCE_MS = 5000;

let away = false;
let wait = FIRST_MS;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<(away: boolean) => void>();

function set(value: boolean): void {
  if (away === value) return;
  away = value;
  for (const listener of listeners) listener(value);
}

async function isHome(): Promise<boolean> {
  try {
    const answer = await fetch('/healthz', { cache: 'no-store', signal: AbortSignal.timeout(PATIENCE_MS) });
    return answer.ok;
  } catch {
    return false;
  }
}

/** Called when a request did not reach the device. */
export function lost(): void {
  if (away) return;
  set(true);
  wait = FIRST_MS;
  timer = setTimeout(() => void knock(), wait);
}

/** Asks once, now, and keeps asking while there is no answer. */
export async function knock(): Promise<void> {
  clearTimeout(timer);
  if (await isHome()) return set(false);
  set(true);
  clearTimeout(timer);
  timer = setTimeout(() => void knock(), wait);
  wait = Math.min(wait * 1.6, LONGEST_MS);
}

/** Resolves while the device is within reach, or when it is again. */
export function home(): Promise<void> {
  if (!away) return Promise.resolve();
  return new Promise((resolve) => {
    const listener = (value: boolean) => {
      if (value) return;
      listeners.delete(listener);
      resolve();
    };
    listeners.add(listener);
  });
}

export function useAway(): boolean {
  const [value, setValue] = useState(away);
  useEffect(() => {
    listeners.add(setValue);
    setValue(away);
    return () => void listeners.delete(setValue);
  }, []);
  return value;
}

addEventListener('online', () => void knock());
addEventListener('offline', () => void knock());
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) void knock();
});
