// Whether the device can be reached: any failed request says it is away; /healthz is asked until it is back.
import { signal } from '@preact/signals';

const FIRST_MS = 1000;
const LONGEST_MS = 10_000;
const TIMEOUT_MS = 5000;

/** Whether the device is out of reach. */
export const deviceAway = signal(false);

let wait = FIRST_MS;
let timer: ReturnType<typeof setTimeout> | undefined;

async function isHome(): Promise<boolean> {
  try {
    const answer = await fetch('/healthz', { cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MS) });
    return answer.ok;
  } catch {
    return false;
  }
}

/** Called when a request did not reach the device. */
export function reportUnreachable(): void {
  if (deviceAway.value) return;
  deviceAway.value = true;
  wait = FIRST_MS;
  timer = setTimeout(() => void checkReachable(), wait);
}

/** Asks once, now, and keeps asking while there is no answer. */
export async function checkReachable(): Promise<void> {
  clearTimeout(timer);
  deviceAway.value = !(await isHome());
  if (!deviceAway.value) return;
  clearTimeout(timer);
  timer = setTimeout(() => void checkReachable(), wait);
  wait = Math.min(wait * 1.6, LONGEST_MS);
}

/** Resolves while the device is within reach, or when it is again. */
export function untilReachable(): Promise<void> {
  return new Promise((resolve) => {
    const stop = deviceAway.subscribe((away) => {
      if (away) return;
      resolve();
      // The first call comes before `stop` is set.
      queueMicrotask(() => stop());
    });
  });
}

addEventListener('online', () => void checkReachable());
addEventListener('offline', () => void checkReachable());
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) void checkReachable();
});
