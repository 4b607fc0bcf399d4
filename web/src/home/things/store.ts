// The things that are on screen: each with its own signal, so that an event draws one card and not all of them; and the commands to
// them, shown at once and taken back where the device refuses.
import { batch, signal, type Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import * as api from '../../api';
import { useLive } from '../../live';
import { sentence, trouble } from '../../text';
import { things as words } from '../../text/things';
import { expected, stateWords, thingIn, type Command, type State, type Thing } from './thing';
import { countUse } from './used';

export interface Known {
  readonly thing: Signal<Thing>;
  /** What a command leads to, until the device says what came of it. */
  readonly ahead: Signal<State | null>;
  readonly busy: Signal<boolean>;
  /** Why the last command did not work. */
  readonly problem: Signal<string>;
  /** Whether the problem is only that it has not said yet what came of the last command. */
  late: boolean;
  /** Calls under way, the last command, and when something was last heard of it. */
  calls: number;
  turn: number;
  heard: number;
}

const all = new Map<string, Known>();

/** The most that are remembered; those on screen are far fewer. */
const MOST = 3000;
/** How long a command's outcome is waited for before the thing is read again. */
const SETTLE_MS = 2500;
/** The debounce of reading things again, and the pause after it. */
const SOON_MS = 250;
const CALM_MS = 1000;
/** More than these are read as a list. */
const FEW = 8;
/** A cover may take its time to answer. */
const CONTROL_MS = 30_000;

export const known = (address: string): Known | undefined => all.get(address);

/** The thing as it is shown: what a command leads to comes before what is known. */
export function shown(it: Known): Thing {
  const ahead = it.ahead.value;
  return ahead ? { ...it.thing.value, state: ahead } : it.thing.value;
}

/** Takes what was read; `began`: when the reading began. What was heard since is newer. */
export function put(thing: Thing, began: number): Known {
  const it = all.get(thing.address);
  if (!it) {
    if (all.size >= MOST) for (const old of [...all.keys()].slice(0, MOST / 10)) all.delete(old);
    const fresh: Known = { thing: signal(thing), ahead: signal(null), busy: signal(false), problem: signal(''), late: false, calls: 0, turn: 0, heard: 0 };
    all.set(thing.address, fresh);
    return fresh;
  }
  const newer = it.heard > began;
  it.thing.value = newer ? { ...thing, state: { ...thing.state, value: it.thing.value.state.value, active: it.thing.value.state.active } } : thing;
  if (!newer && !it.calls && it.heard) it.ahead.value = null;
  return it;
}

/** Reads one thing again. */
async function refresh(address: string): Promise<void> {
  const began = performance.now();
  try {
    const { result } = await api.execute('get_thing', { thing: address });
    const found = thingIn(result);
    if (found) put(found, began);
  } catch {
    // It is gone, or the device is away: the list is read again then.
  }
}

/** Sends a command. Its effect is shown at once, and taken back with a plain sentence where it is refused. */
export async function control(address: string, command: Command): Promise<boolean> {
  const it = all.get(address);
  if (!it) return false;
  const turn = ++it.turn;
  const began = performance.now();
  batch(() => {
    it.ahead.value = expected(shown(it), command);
    it.busy.value = true;
    it.problem.value = '';
    it.late = false;
  });
  it.calls += 1;
  countUse(address);
  try {
    await api.execute('control_thing', { thing: address, ...command }, CONTROL_MS);
    return true;
  } catch (cause) {
    batch(() => {
      if (turn === it.turn) it.ahead.value = null;
      it.late = false;
      it.problem.value = cause instanceof api.Refused ? sentence(cause.message) : trouble(cause);
    });
    return false;
  } finally {
    it.calls -= 1;
    it.busy.value = it.calls > 0;
    // It has said what came of it already, or will soon. The command that ends last is not always the one that was given last.
    if (!it.calls && it.ahead.value) {
      const last = it.turn;
      if (it.heard > began) void settle(address, it, last);
      else setTimeout(() => void settle(address, it, last), SETTLE_MS);
    }
  }
}

/** Shows the true state again, and says where it is not what the command leads to: a confirmation may never come. */
async function settle(address: string, it: Known, turn: number): Promise<void> {
  const wanted = it.ahead.value;
  if (turn !== it.turn || it.calls || !wanted) return;
  await refresh(address);
  if (turn !== it.turn || it.calls || !it.ahead.value) return;
  const is = it.thing.value;
  batch(() => {
    it.ahead.value = null;
    if (differs(wanted, is.state)) {
      it.late = true;
      it.problem.value = words.notConfirmed(stateWords(is));
    }
  });
}

/** Whether a state is another one than a command leads to; what moves may still be on its way. */
const differs = (wanted: State, is: State): boolean =>
  !/ing$/.test(wanted.value) && !/ing$/.test(is.value)
  && ((wanted.active !== null && wanted.active !== is.active) || (wanted.active !== false && wanted.level !== undefined && is.level !== undefined && Math.abs(wanted.level - is.level) > 2));

const soon = new Set<string>();
let timer: ReturnType<typeof setTimeout> | undefined;
let last = -Infinity;
let many: () => void = () => undefined;

function flush(): void {
  timer = undefined;
  last = performance.now();
  const which = [...soon];
  soon.clear();
  if (which.length > FEW) many();
  else for (const address of which) void refresh(address);
}

function refreshSoon(address: string): void {
  if (!all.has(address)) return;
  soon.add(address);
  timer ??= setTimeout(flush, Math.max(SOON_MS, last + CALM_MS - performance.now()));
}

/** Kinds whose state is all in the event. */
const PLAIN: ReadonlySet<string> = new Set(['sensor', 'contact', 'switch', 'lock', 'alarm', 'scene', 'vacuum']);

/** Keeps what is on screen current; `onMany` reads the lists again, where more has changed than is read one by one. */
export function useThingUpdates(onMany: () => void): void {
  const newest = useRef(onMany);
  newest.current = onMany;
  useEffect(() => {
    many = () => newest.current();
    return () => void (many = () => undefined);
  }, []);
  useLive(['thing:changed', 'pin:changed'], ({ topic, data }) => {
    if (topic === 'resync') return newest.current();
    if (topic === 'pin:changed') return refreshSoon(`pin:${String(data['pin'])}`);
    const it = all.get(String(data['thing']));
    if (!it) return;
    it.heard = performance.now();
    const { value, active, number } = data;
    const before = it.thing.value;
    const state: State = {
      ...before.state,
      ...(value !== undefined && { value: String(value) }), ...((typeof active === 'boolean' || active === null) && { active }), ...(typeof number === 'number' && { number }),
    };
    batch(() => {
      it.thing.value = { ...before, state };
      if (it.late) {
        it.late = false;
        it.problem.value = '';
      }
      if (!it.calls && PLAIN.has(before.kind)) it.ahead.value = null;
    });
    if (!PLAIN.has(before.kind)) refreshSoon(before.address);
  });
}
