// The event stream of the device: one for the page, reconnected with the events it missed.
import { useEffect, useRef } from 'preact/hooks';
import * as api from './api';
import { untilReachable, checkReachable } from './away';

/** A hidden page closes its stream after this; browsers allow six connections to a host. */
const UNSEEN_MS = 30_000;
const FIRST_MS = 500;
const LONGEST_MS = 10_000;
/** The retry delay after a refusal. */
const LATER_MS = 60_000;

let held = false;
/** Whether a hidden page keeps its stream too: a timer has to ring. */
export const holdLine = (hold: boolean): void => void (held = hold);

type Handler = (event: api.DeviceEvent) => void;

const handlers = new Set<Handler>();

const sleep = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

function seen(): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener('visibilitychange', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
  });
}

function tell(event: api.DeviceEvent): void {
  for (const handler of [...handlers]) handler(event);
}

/** Keeps the stream open until `over`. */
async function keep(over: AbortSignal): Promise<void> {
  let last: number | undefined;
  let wait = FIRST_MS;
  while (!over.aborted) {
    await seen();
    await untilReachable();
    if (over.aborted) return;
    const line = new AbortController();
    const hangUp = () => line.abort();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onSeen = () => {
      clearTimeout(timer);
      if (document.hidden) timer = setTimeout(() => held || hangUp(), UNSEEN_MS);
    };
    over.addEventListener('abort', hangUp);
    document.addEventListener('visibilitychange', onSeen);
    try {
      const opened = () => {
        wait = FIRST_MS;
        // What was read before the stream opened may be outdated.
        if (last === undefined) tell({ seq: 0, topic: 'resync', data: {} });
      };
      for await (const event of api.deviceEvents(last, line, opened)) {
        if (event.seq) last = event.seq;
        tell(event);
      }
    } catch (cause) {
      if (cause instanceof api.Refused) wait = LATER_MS;
    } finally {
      clearTimeout(timer);
      over.removeEventListener('abort', hangUp);
      document.removeEventListener('visibilitychange', onSeen);
    }
    if (over.aborted) return;
    if (!document.hidden && wait < LATER_MS) await checkReachable();
    await sleep(wait);
    wait = Math.min(wait * 2, LONGEST_MS);
  }
}

/** Keeps the stream open while mounted; used once. */
export function useLine(): void {
  useEffect(() => {
    const over = new AbortController();
    void keep(over.signal);
    return () => over.abort();
  }, []);
}

/** Calls `handler` for events of these topics, and for `resync`, after which everything has to be read again. */
export function useLive(topics: readonly string[], handler: Handler): void {
  const newest = useRef(handler);
  newest.current = handler;
  const key = topics.join(' ');
  useEffect(() => {
    const wanted = new Set([...key.split(' '), 'resync']);
    const hear: Handler = (event) => {
      if (wanted.has(event.topic)) newest.current(event);
    };
    handlers.add(hear);
    return () => void handlers.delete(hear);
  }, [key]);
}

/** The debounce of events, and the longest pause between reads. */
const SETTLE_MS = 300;
const CALM_MS = 10_000;

/**
 * Calls `read` soon after events of these topics (and after a resync), with when the last of them was heard: for what is read anew
 * by a call of its own. A device on which something happens all the time is not asked all the time.
 */
export function useNews(topics: readonly string[], read: (heard: number) => void): void {
  const newest = useRef(read);
  newest.current = read;
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const pace = useRef({ gap: SETTLE_MS, last: -Infinity, heard: 0 });
  useEffect(() => () => clearTimeout(timer.current), []);
  useLive(topics, () => {
    const it = pace.current;
    it.heard = performance.now();
    if (timer.current !== undefined) return;
    it.gap = it.heard - it.last > CALM_MS ? SETTLE_MS : Math.min(2 * it.gap, CALM_MS);
    timer.current = setTimeout(() => {
      timer.current = undefined;
      it.last = performance.now();
      newest.current(it.heard);
    }, Math.max(SETTLE_MS, it.last + it.gap - it.heard));
  });
}
