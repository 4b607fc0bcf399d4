// The things that are on screen: each with its own signal, so that an event draws one card and not all of them; and the commands to
// them, shown at once and taken back where the device refuses.
import { batch, signal, type Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import * as api from '../../api';
import { useLive } from '../../live';
import { sentence, trouble } from '../../text';
import { expected, thingIn, type Command, type State, type Thing } from './thing';
import { countUse } from './used';

export interface Known {
  readonly thing: Signal<Thing>;
  /** What a command leads to, until the device says what came of it. */
  readonly ahead: Signal<State | null>;
  readonly busy: Signal<boolean>;
  /** Why the last command did not work. */
  readonly problem: Signal<string>;
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
    const fresh: Known = { thing: signal(thing), ahead: signal(null), busy: signal(false), problem: signal(''), calls: 0, turn: 0, heard: 0 };
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
  });
  it.calls += 1;
  countUse(address);
  try {
    await api.execute('control_thing', { thing: address, ...command }, CONTROL_MS);
    return true;
  } catch (cause) {
    batch(() => {
      if (turn === it.turn) it.ahead.value = null;
      it.problem.value = cause instanceof api.Refused ? sentence(cause.message) : trouble(cause);
    });
    return false;
  } finally {
    it.calls -= 1;
    it.busy.value = it.calls > 0;
    if (!it.calls && it.ahead.value) {
      // It has said what came of it already, or will soon.
      if (it.heard > began) void refresh(address).then(() => turn === it.turn && (it.ahead.value = null));
      else setTimeout(() => turn === it.turn && void refresh(address).then(() => turn === it.turn && (it.ahead.value = null)), SETTLE_MS);
    }
  }
}

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
      if (!it.calls && PLAIN.has(before.kind)) it.ahead.value = null;
    });
    if (!PLAIN.has(before.kind)) refreshSoon(before.address);
  });
}
