// The pending questions of the page: approvals and interactions in one store, read once, updated by events, answered from here.
import { computed, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Refused, Unreachable, type Approval, type Interaction } from './api';
import { deviceAway } from './away';
import { call, type Body } from './http';
import { useLive } from './live';

interface Known {
  /** Answered on this page. */
  mine?: boolean;
  /** The device does not know it any more. */
  gone?: boolean;
}

/** A tool call that waits for a decision. */
export type ApprovalQuestion = Approval & Known & { kind: 'approval' };
/** A question in words, blocks or a component that wait for an answer. */
export type InteractionQuestion = Interaction & Known;
export type Question = ApprovalQuestion | InteractionQuestion;

type Decision = Omit<Body<'POST /api/v1/approvals/{id}/decide'>, 'nonce'>;

const known = signal<ReadonlyMap<string, Question>>(new Map());
const askedAt = (one: Question) => (one.kind === 'approval' ? one.askedAt : one.createdAt);

export const isPending = (one: Question) => one.state === 'pending' && !one.gone;
export const isApproval = (one: Question): one is ApprovalQuestion => one.kind === 'approval';

/** The pending ones and those settled while somebody looked, oldest first. */
export const questions = computed(() => [...known.value.values()].sort((a, b) => askedAt(a) - askedAt(b)));
export const approvals = computed(() => questions.value.filter(isApproval));
export const interactions = computed(() => questions.value.filter((one): one is InteractionQuestion => !isApproval(one)));
export const pendingQuestions = computed(() => questions.value.filter(isPending));

const put = (one: Question) => void (known.value = new Map(known.value).set(one.id, one));

/** Adds a question from a run or an event. One that is settled here stays settled: events may overtake each other. */
export function receive(one: Question): void {
  const before = known.value.get(one.id);
  if (before && !isPending(before)) return;
  put({ ...before, ...one } as Question);
}

/** The run that asked. */
export const runOf = (id: string) => known.value.get(id)?.runId ?? '';

async function fetched(id: string, kind: Question['kind']): Promise<Question> {
  if (kind === 'approval') return { ...(await call('GET /api/v1/approvals/{id}', { path: { id } })), kind };
  return call('GET /api/v1/interactions/{id}', { path: { id } });
}

/** Reads one question again that is no longer in the list, or that is known by its id alone. */
async function refresh(id: string, kind: Question['kind']): Promise<void> {
  try {
    const now = await fetched(id, kind);
    put({ ...known.value.get(id), ...now } as Question);
  } catch (cause) {
    const before = known.value.get(id);
    if (before && cause instanceof Refused && cause.status === 404) put({ ...before, gone: true });
  }
}

const query = { state: 'pending', limit: 100 } as const;
const LISTS = [
  async () => (await call('GET /api/v1/approvals', { query })).approvals.map((one): Question => ({ ...one, kind: 'approval' })),
  async () => (await call('GET /api/v1/interactions', { query })).interactions as Question[],
];

async function readList(list: () => Promise<Question[]>, ofApprovals: boolean): Promise<void> {
  // A question asked during the request is missing from the answer and still pending.
  const before = questions.value.filter((one) => isPending(one) && isApproval(one) === ofApprovals);
  try {
    const now = await list();
    now.forEach(receive);
    const still = new Set(now.map((one) => one.id));
    await Promise.all(before.filter((one) => !still.has(one.id)).map((one) => refresh(one.id, one.kind)));
  } catch {
    // Away: the banner says so and the list is read again later. Refused: this person is asked nothing.
  }
}

let reading: Promise<unknown> | null = null;

/** Reads all pending questions again, one reading at a time. */
export function readQuestions(): Promise<unknown> {
  return (reading ??= Promise.all(LISTS.map((list, n) => readList(list, n === 0))).finally(() => (reading = null)));
}

/** Drops the settled ones, once the place that showed them is left. */
export function forgetSettled(): void {
  const left = [...known.value].filter(([, one]) => isPending(one));
  if (left.length !== known.value.size) known.value = new Map(left);
}

/** Sends an answer. After a refusal the question is read again: somebody else may have answered, or its time was up. */
async function settle(one: Question, send: () => Promise<Partial<Question>>): Promise<void> {
  try {
    put({ ...one, ...(await send()), mine: true } as Question);
  } catch (cause) {
    if (cause instanceof Refused && cause.status === 404) return put({ ...one, gone: true });
    if (cause instanceof Refused && cause.status === 409) {
      await refresh(one.id, one.kind);
      const now = known.value.get(one.id);
      if (now && !isPending(now)) return;
    }
    // Whether the answer arrived is known once the device is back.
    if (cause instanceof Unreachable) void readQuestions();
    throw cause;
  }
}

/** Decides an approval. Throws what the person should read. */
export const decide = (one: ApprovalQuestion, decision: Decision) =>
  settle(one, () => call('POST /api/v1/approvals/{id}/decide', { path: { id: one.id }, body: { ...decision, nonce: one.nonce } }));

/** Answers an interaction, or dismisses it with `null`. Throws what the person should read. */
export const respond = (one: InteractionQuestion, answer: Record<string, unknown> | null) => settle(one, async () => {
  const path = { id: one.id };
  const now = await (answer ? call('POST /api/v1/interactions/{id}/respond', { path, body: answer }) : call('POST /api/v1/interactions/{id}/dismiss', { path }));
  return { ...now, state: now.state === 'pending' ? (answer ? 'answered' : 'dismissed') : now.state };
});

/** Keeps the store current; mounted once. */
export function useQuestionUpdates(): void {
  const away = deviceAway.value;
  useEffect(() => {
    if (!away) void readQuestions();
  }, [away]);
  // Somebody else may sign in on this page next.
  useEffect(() => () => void (known.value = new Map()), []);
  useLive(['approval:asked', 'approval:settled', 'interaction:pending', 'interaction:ended'], ({ topic, data }) => {
    if (topic === 'resync') return void readQuestions();
    const news = data as unknown as Approval;
    const before = known.value.get(news.id);
    switch (topic) {
      // The event leaves out very long arguments.
      case 'approval:asked': return news.arguments === null ? void refresh(news.id, 'approval') : receive({ ...news, kind: 'approval' });
      case 'approval:settled': return before && isPending(before) ? put({ ...before, state: news.state, decision: news.decision ?? null } as Question) : undefined;
      case 'interaction:pending': return before ? undefined : void refresh(news.id, 'ask');
      default: return before && isPending(before) ? void refresh(news.id, before.kind) : undefined;
    }
  });
}
