// What Hob asks or shows and waits for (questions, blocks, components), on the whole page: read once, kept true by the line of events, answered from here.
import { useEffect, useState } from 'preact/hooks';
import { call, id, Refused, Unreachable } from './api';
import { useAway } from './away';
import { useLive } from './live';

/** What waits for a person's word. Times are milliseconds since 1970. */
export interface Interaction {
  id: string;
  kind: 'ask' | 'blocks' | 'component';
  state: 'pending' | 'answered' | 'dismissed' | 'expired';
  runId?: string | null;
  conversationId?: string | null;
  question?: string | null;
  options?: string[] | null;
  title?: string | null;
  blocks?: unknown[] | null;
  component?: string | null;
  code?: string | null;
  props?: unknown;
  createdAt?: number;
  expiresAt?: number | null;
  answer?: unknown;
  /** Answered on this page. */
  mine?: boolean;
  /** Hob knows nothing of it any more. */
  gone?: boolean;
}

const at = (which: string, what = '') => `/api/v1/interactions/${id(which)}${what}`;
const pending = () => call<{ interactions: Interaction[] }>('GET', '/api/v1/interactions?state=pending&limit=100');
const one = (which: string) => call<Interaction>('GET', at(which));

let known = new Map<string, Interaction>();
let reading: Promise<void> | null = null;
const watching = new Set<() => void>();

function put(it: Interaction): void {
  known = new Map(known).set(it.id, it);
  for (const look of watching) look();
}

export const isOpen = (it: Interaction) => it.state === 'pending' && !it.gone;

/** One that came in with a run or over the line. What has ended here stays so: news may overtake each other. */
export function heardOf(it: Interaction): void {
  const before = known.get(it.id);
  if (before && !isOpen(before)) return;
  put({ createdAt: Date.now(), ...before, ...it });
}

/** The run that asked. */
export const runOf = (which: string) => known.get(which)?.runId ?? '';

/** How one stands that is not in the list of those that wait, or that is known by its id alone. */
async function look(which: string): Promise<void> {
  try {
    const mine = known.get(which)?.mine;
    put({ ...known.get(which), ...(await one(which)), ...(mine && { mine }) });
  } catch (cause) {
    const before = known.get(which);
    if (before && cause instanceof Refused && cause.status === 404) put({ ...before, gone: true });
  }
}

async function readAll(): Promise<void> {
  // What is asked while this is on its way is not in the answer, and not gone for that.
  const before = [...known.values()].filter(isOpen).map((it) => it.id);
  try {
    const { interactions } = await pending();
    interactions.forEach(heardOf);
    const still = new Set(interactions.map((it) => it.id));
    await Promise.all(before.filter((which) => !still.has(which)).map(look));
  } catch {
    // While Hob is away the banner says so, and this is asked again; a Hob that refuses asks this person nothing.
  }
}

/** Reads them anew, once at a time. */
export function readInteractions(): Promise<void> {
  return (reading ??= readAll().finally(() => (reading = null)));
}

/** Forgets those that have ended: the place where they stood is left. */
export function forgetEnded(): void {
  const left = [...known].filter(([, it]) => isOpen(it));
  if (left.length === known.size) return;
  known = new Map(left);
  for (const look of watching) look();
}

/** Answers one, or with `null` puts it aside. Throws what the person has to be told. */
export async function respond(it: Interaction, given: object | null): Promise<void> {
  try {
    const ended = given === null ? await call<Partial<Interaction>>('POST', at(it.id, '/dismiss')) : await call<Partial<Interaction>>('POST', at(it.id, '/respond'), given);
    put({ ...it, answer: given, ...ended, state: ended.state && ended.state !== 'pending' ? ended.state : given ? 'answered' : 'dismissed', mine: true });
  } catch (cause) {
    if (cause instanceof Refused && cause.status === 404) return put({ ...it, gone: true });
    if (cause instanceof Refused && cause.status === 409) {
      await look(it.id);
      const now = known.get(it.id);
      if (now && !isOpen(now)) return;
    }
    // Whether it arrived is known once Hob is back.
    if (cause instanceof Unreachable) void readInteractions();
    throw cause;
  }
}

/** Keeps them true: once for the page. */
export function useInteractionsRead(): void {
  const away = useAway();
  useEffect(() => {
    if (!away) void readInteractions();
  }, [away]);
  // The next who signs in on this page is perhaps somebody else.
  useEffect(() => () => void (known = new Map()), []);
  useLive(['interaction:pending', 'interaction:ended'], ({ topic, data }) => {
    if (topic === 'resync') return void readInteractions();
    const which = String(data['id']);
    const before = known.get(which);
    // The line tells only that there is one.
    if (topic === 'interaction:pending') return before ? undefined : void look(which);
    if (before && isOpen(before)) void look(which);
  });
}

/** Those that wait and those that ended while one looked, in the order in which they came. */
export function useInteractions(): Interaction[] {
  const [, again] = useState(0);
  useEffect(() => {
    const look = () => again((n) => n + 1);
    watching.add(look);
    look();
    return () => void watching.delete(look);
  }, []);
  return [...known.values()].sort((a, b) => (a.createdAt ?? 0) - (b.createdAt ?? 0));
}
