// What waits for this person's decision, on the whole page: read once, kept true by the line of events, answered from here.
import { useEffect, useState } from 'preact/hooks';
import { Refused, Unreachable } from './api';
import { useAway } from './away';
import { useLive } from './live';
import * as policy from './policy';
import type { Approval } from './policy';

/** An approval, and what this page knows of its end. */
export interface Asked extends Approval {
  /** Answered on this page. */
  mine?: boolean;
  /** Hob knows nothing of it any more. */
  gone?: boolean;
}

let known = new Map<string, Asked>();
let reading: Promise<void> | null = null;
const watching = new Set<() => void>();

function tell(): void {
  for (const look of watching) look();
}

function put(asked: Asked): void {
  known = new Map(known).set(asked.id, asked);
  tell();
}

export const isPending = (asked: Asked) => asked.state === 'pending' && !asked.gone;

/** One that came in with a run or over the line. What is settled here already stays so: news may overtake each other. */
export function heard(asked: Approval): void {
  const before = known.get(asked.id);
  if (before && !isPending(before)) return;
  put({ ...before, ...asked });
}

/** How one stands that is not in the list of those that wait any more. */
async function look(which: string): Promise<void> {
  const before = known.get(which);
  if (!before) return;
  try {
    put({ ...before, ...(await policy.approval(which)) });
  } catch (cause) {
    if (cause instanceof Refused && cause.status === 404) put({ ...before, gone: true });
  }
}

async function readAll(): Promise<void> {
  // What is asked while this is on its way is not in the answer, and not gone for that.
  const before = [...known.values()].filter(isPending).map((one) => one.id);
  try {
    const { approvals } = await policy.pending();
    approvals.forEach(heard);
    const still = new Set(approvals.map((one) => one.id));
    await Promise.all(before.filter((one) => !still.has(one)).map(look));
  } catch {
    // While Hob is away the banner says so, and this is asked again; a Hob that refuses has nothing to be decided here.
  }
}

/** Reads them anew, once at a time. */
export function readApprovals(): Promise<void> {
  return (reading ??= readAll().finally(() => (reading = null)));
}

/** Forgets those that are settled: the place where they stood is left. */
export function forgetSettled(): void {
  const left = [...known].filter(([, one]) => isPending(one));
  if (left.length === known.size) return;
  known = new Map(left);
  tell();
}

/** Answers one. What is refused is looked at: somebody else may have answered, or nobody in time. Throws what the person has to be told. */
export async function answer(asked: Asked, given: Omit<policy.Answer, 'nonce'>): Promise<void> {
  try {
    const settled = await policy.decide(asked.id, { ...given, nonce: asked.nonce });
    put({ ...asked, ...settled, mine: true });
  } catch (cause) {
    if (cause instanceof Refused && cause.status === 404) return put({ ...asked, gone: true });
    if (cause instanceof Refused && cause.status === 409) {
      await look(asked.id);
      const now = known.get(asked.id);
      if (now && !isPending(now)) return;
    }
    // Whether it arrived is known once Hob is back.
    if (cause instanceof Unreachable) void readApprovals();
    throw cause;
  }
}

/** Keeps them true: once for the page. */
export function useApprovalsRead(): void {
  const away = useAway();
  useEffect(() => {
    if (!away) void readApprovals();
  }, [away]);
  // The next who signs in on this page is perhaps somebody else.
  useEffect(() => () => void (known = new Map()), []);
  useLive(['approval:asked', 'approval:settled'], ({ topic, data }) => {
    if (topic === 'resync') return void readApprovals();
    const news = data as unknown as Approval;
    // What is very long is not told over the line.
    if (topic === 'approval:asked') return news.arguments === null ? void look(news.id) : heard(news);
    const before = known.get(news.id);
    if (before && isPending(before)) put({ ...before, state: news.state, decision: news.decision ?? null });
  });
}

/** Those that wait and those that were settled while one looked, in the order in which they were asked. */
export function useApprovals(): Asked[] {
  const [, look] = useState(0);
  useEffect(() => {
    const again = () => look((n) => n + 1);
    watching.add(again);
    again();
    return () => void watching.delete(again);
  }, []);
  return [...known.values()].sort((a, b) => a.askedAt - b.askedAt);
}
