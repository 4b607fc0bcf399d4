// The timers of the household, as the device last said, and the time by its clock.
import { computed, signal } from '@preact/signals';
import * as api from '../api';

export interface Timer {
  id: string;
  /** Empty where it has none. */
  name: string;
  /** `Pizza timer`, or `10 minute timer`. */
  title: string;
  state: 'running' | 'paused' | 'ringing';
  durationSeconds: number;
  remainingSeconds: number;
  /** When it is due, or was; not while paused. */
  endsAt?: string;
  late?: boolean;
}

/** What an event or a result says: a timer, or that one has ended. */
type Said = Omit<Timer, 'state'> & { state: string; now?: string };

export const timers = signal<Timer[]>([]);
/** Whether they have been read; before that, nothing is known of any. */
export const timersKnown = signal(false);
export const ringing = computed(() => timers.value.filter(({ state }) => state === 'ringing'));
/** The time by the device's clock, in milliseconds; moves while a timer runs. */
export const deviceNow = signal(Date.now());
/** The timers that a card in the conversation shows right now. */
export const inCards = signal<ReadonlySet<string>>(new Set());

/** How far the clock of the device is ahead of this page's steady one. */
let offset = Date.now() - performance.now();
let measured = false;

const steady = () => offset + performance.now();

/** Every reading is a little old when it arrives: the one that is furthest ahead is the best. */
function hearClock(now: string | undefined, anew: boolean): void {
  const at = Date.parse(now ?? '');
  if (Number.isNaN(at)) return;
  const fresh = at - performance.now();
  offset = anew || !measured ? fresh : Math.max(offset, fresh);
  measured = true;
  deviceNow.value = steady();
}

export const isTimer = (one: unknown): one is Said =>
  typeof (one as Said | null)?.id === 'string' && typeof (one as Said).state === 'string' && typeof (one as Said).durationSeconds === 'number';
const lives = (one: Said): one is Said & Timer => one.state === 'running' || one.state === 'paused' || one.state === 'ringing';

/** Takes in one timer: an event, or the result of a call. */
export function hearTimer(said: unknown): void {
  if (!isTimer(said)) return;
  turn++;
  hearClock(said.now, false);
  const others = timers.value.filter(({ id }) => id !== said.id);
  if (!lives(said)) timers.value = others;
  else if (others.length === timers.value.length) timers.value = [...others, said];
  else timers.value = timers.value.map((one) => (one.id === said.id ? said : one));
}

let turn = 0;

/** Reads all of them anew; false where the device is out of reach. */
export async function readTimers(): Promise<boolean> {
  const mine = ++turn;
  try {
    const { result } = await api.execute('list_timers');
    const { timers: all, now } = result as { timers?: unknown[]; now?: string };
    if (mine !== turn) return true;
    hearClock(now, true);
    timers.value = (all ?? []).filter(isTimer).filter(lives);
    timersKnown.value = true;
  } catch (cause) {
    return !(cause instanceof api.Unreachable);
  }
  return true;
}

/** The time that is left, in milliseconds; negative where it should have rung. */
export const leftMs = (timer: Timer): number =>
  (timer.state === 'running' ? Date.parse(timer.endsAt ?? '') - deviceNow.value : timer.state === 'paused' ? 1000 * timer.remainingSeconds : 0);

/** `3:07`, `1:02:09`. */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const two = (n: number) => String(n).padStart(2, '0');
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/** A timer that should have rung this long ago, by now, is looked at again. */
const OVERDUE_MS = 1500;
const AGAIN_MS = 3000;
let looked = -Infinity;

/** Moves the time on. Where the device does not say that a timer rings, it is asked; out of reach, the page rings by itself. */
export async function tick(): Promise<void> {
  deviceNow.value = steady();
  const overdue = () => timers.value.filter((one) => one.state === 'running' && leftMs(one) < -OVERDUE_MS);
  if (!overdue().length || performance.now() - looked < AGAIN_MS) return;
  looked = performance.now();
  if (await readTimers()) return;
  const over = new Set(overdue().map(({ id }) => id));
  timers.value = timers.value.map((one) => (over.has(one.id) ? { ...one, state: 'ringing' } : one));
}

/** Calls a timer's tool, and takes in what it says. */
export async function act(tool: string, timer: Timer, more: object = {}): Promise<void> {
  try {
    hearTimer((await api.execute(tool, { timer: timer.id, ...more })).result);
  } catch (cause) {
    // It has ended meanwhile, or the device is away, which the page says.
    if (cause instanceof api.Refused && cause.status === 404) timers.value = timers.value.filter(({ id }) => id !== timer.id);
    else if (cause instanceof api.Refused) await readTimers();
    else if (!(cause instanceof api.Unreachable)) throw cause;
  }
}
