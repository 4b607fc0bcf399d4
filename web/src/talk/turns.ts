// The turns of a conversation, built the same way from a live stream and from stored messages.
import type { ChatEvent, StoredFile, Message, ToolResult } from '../api';
import { sentence } from '../text';

export interface Call {
  id: string;
  name: string;
  args: unknown;
  ended: boolean;
  result?: unknown;
  say?: string | null | undefined;
  isError: boolean;
  ms?: number | undefined;
}

/** A text of Hob's and the calls after it. */
export interface Step {
  words: string;
  calls: Call[];
  /** Calls followed the text: the next text begins a new step. */
  shut: boolean;
  /** Messages sent meanwhile that no call here shows. */
  notes?: string[];
}

export type TurnState = 'running' | 'done' | 'stopped' | 'failed';

export interface Turn {
  key: string;
  asked: string;
  /** Attachments of the message. */
  files?: StoredFile[] | undefined;
  /** Media that Hob created. */
  media?: StoredFile[] | undefined;
  /** How many earlier messages were summarized before this turn. */
  compacted?: number | undefined;
  runId?: string | undefined;
  /** The message it answers after others were answered: its run was suspended meanwhile. */
  about?: string | undefined;
  /** Its last stored message, for branching. */
  lastId?: string | undefined;
  steps: Step[];
  state: TurnState;
  thinking: boolean;
  model?: string | undefined;
  trouble?: string;
  /** The connection broke after the run began: the device has more of it. */
  broken?: boolean;
  /** The suspended run waits for these questions. */
  waiting?: string[];
  at?: string | number | undefined;
}

let serial = 0;

export function ask(asked: string, files?: StoredFile[]): Turn {
  return { key: `turn-${++serial}`, asked, ...(files?.length && { files }), steps: [], state: 'running', thinking: false };
}

/** The turn after an event; the argument is not changed. */
export function applyEvent(turn: Turn, event: ChatEvent): Turn {
  switch (event.type) {
    case 'run':
      return { ...turn, runId: event.runId, model: event.model ?? turn.model };
    case 'message':
      return { ...turn, thinking: false, steps: addNote(turn.steps, event.text) };
    case 'media':
      return { ...turn, media: withMedia(turn.media, [event]) };
    case 'compacted':
      return { ...turn, compacted: event.messages ?? 0 };
    case 'thinking':
      return turn.thinking ? turn : { ...turn, thinking: true };
    case 'text':
      return event.delta ? { ...turn, thinking: false, steps: addWords(turn.steps, event.delta) } : turn;
    case 'tool_start':
      return { ...turn, thinking: false, steps: addCall(turn.steps, start(event.callId, event.name, event.arguments)) };
    case 'tool_end':
      return { ...turn, steps: endCall(turn.steps, event) };
    case 'done': {
      // The page itself says that Hob is waiting.
      if (event.waiting?.length) return { ...turn, state: 'done', thinking: false, waiting: event.waiting, model: event.model ?? turn.model };
      const media = withMedia(turn.media, event.media ?? []);
      const unsaid = event.response && !turn.steps.some((step) => step.words.trim());
      return {
        ...turn,
        state: 'done',
        thinking: false,
        ...(media && { media }),
        model: event.model ?? turn.model,
        steps: endAll(unsaid ? addWords(turn.steps, event.response ?? '') : turn.steps),
      };
    }
    case 'error':
      return { ...turn, state: 'failed', thinking: false, trouble: sentence(event.message), steps: endAll(turn.steps) };
    default:
      return turn; // Events of later versions.
  }
}

export function stop(turn: Turn): Turn {
  const { trouble: _, ...rest } = turn;
  return { ...rest, state: 'stopped', thinking: false, steps: endAll(turn.steps) };
}

function start(id: string, name: string, args: unknown): Call {
  return { id, name, args, ended: false, isError: false };
}

function addWords(steps: Step[], delta: string): Step[] {
  const last = steps.at(-1);
  // Text after calls without text goes above them, in the same step.
  if (!last || last.shut) return [...steps, { words: delta, calls: [], shut: false }];
  return [...steps.slice(0, -1), { ...last, words: last.words + delta }];
}

function addCall(steps: Step[], call: Call): Step[] {
  const last = steps.at(-1);
  // Messages and questions keep their place; only plain calls move under the text that follows.
  const { name } = intendedCall(call);
  const shut = name === 'send_message' || name in ASKING;
  if (!last) return [{ words: '', calls: [call], shut }];
  return [...steps.slice(0, -1), { ...last, calls: [...last.calls, call], shut: shut || last.shut || last.words !== '' }];
}

/** The intended call: some go through a tool that calls others by name. */
export function intendedCall(call: Call): { name: string; args: Record<string, unknown> } {
  const args = object(parsed(call.args));
  const inner = call.name === 'use_tool' ? args['tool_name'] ?? args['tool'] ?? args['toolName'] ?? args['name'] : undefined;
  if (typeof inner !== 'string') return { name: call.name, args };
  return { name: inner, args: object(parsed(args['args'] ?? args['arguments'] ?? args['parameters'])) };
}

/** The tools that are shown as a card. */
export const ASKING: Record<string, 'ask' | 'blocks' | 'component'> = { ask_user: 'ask', render_blocks: 'blocks', render_and_wait: 'component' };

const object = (value: unknown): Record<string, unknown> =>
  (value && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : {});

/** Adds a message, unless a call already shows the same text. */
function addNote(steps: Step[], note: string): Step[] {
  const shown = steps.some((step) => step.calls.some((call) => {
    const { name, args } = intendedCall(call);
    return name === 'send_message' && args['text'] === note;
  }));
  if (shown || !note) return steps;
  const last = steps.at(-1) ?? { words: '', calls: [], shut: false };
  return [...steps.slice(0, -1), { ...last, shut: true, notes: [...(last.notes ?? []), note] }];
}

function withMedia(before: StoredFile[] | undefined, more: StoredFile[]): StoredFile[] | undefined {
  const known = new Set(before?.map((one) => one.id));
  const fresh = more.filter((one) => one.id && !known.has(one.id)).map(({ id, name, mediaType }) => ({ id, ...(name && { name }), ...(mediaType && { mediaType }) }));
  return fresh.length ? [...(before ?? []), ...fresh] : before;
}

function endCall(steps: Step[], event: Extract<ChatEvent, { type: 'tool_end' }>): Step[] {
  const known = steps.some((step) => step.calls.some((call) => call.id === event.callId));
  const all = known ? steps : addCall(steps, start(event.callId, event.name, undefined));
  return all.map((step) => ({
    ...step,
    calls: step.calls.map((call) =>
      call.id !== event.callId
        ? call
        : { ...call, ended: true, result: event.result, say: event.say, isError: event.isError ?? false, ms: event.durationMs },
    ),
  }));
}

/** Why a call was not made: the person said no, or did not answer in time. */
export function notMade(call: Call): 'no' | 'late' | '' {
  if (!call.isError) return '';
  const why = typeof call.result === 'string' ? call.result : JSON.stringify(call.result ?? '');
  return /\bthe person was asked and said no\b/.test(why) ? 'no' : /\bnobody answered within\b|\bdid not answer in time\b/.test(why) ? 'late' : '';
}

function endAll(steps: Step[]): Step[] {
  return steps.map((step) =>
    step.calls.every((call) => call.ended)
      ? step
      : { ...step, calls: step.calls.map((call) => (call.ended ? call : { ...call, ended: true })) },
  );
}

/** All of Hob's text in a turn, for screen readers. */
export function said(turn: Turn): string {
  return turn.steps.map((step) => step.words.trim()).filter(Boolean).join('\n\n');
}

/** Builds turns from stored messages; with `running` the last is unfinished. */
export function fromMessages(id: string, messages: Message[], running = false): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    if (message.role === 'system') continue;
    if (message.role === 'user') {
      turns.push({ ...ask(message.content, message.media ?? []), key: message.id, state: 'done', at: message.createdAt, runId: message.runId, lastId: message.id });
      continue;
    }
    // A result belongs to its call, whatever was said since.
    const rest = message.toolResults?.filter((result) => {
      const at = lastAt(turns, ({ steps }) => steps.some(({ calls }) => calls.some(({ id: call }) => call === result.toolCallId)));
      if (at >= 0) turns[at] = endStored(turns[at] as Turn, result);
      return at < 0;
    });
    const left = { ...message, toolResults: rest ?? [] };
    if (!left.content && !left.toolCalls?.length && !left.toolResults.length && !left.media?.length) {
      if (message.runId === turns.at(-1)?.runId) turns.push({ ...(turns.pop() as Turn), lastId: message.id });
      continue;
    }
    turns.push(fromAnswer(answering(turns, message), left));
  }
  return turns.map((turn, n) => {
    // The same turn keeps its key when older ones come before it.
    const key = `${id}-${turn.key}`;
    if (running && n === turns.length - 1) return { ...turn, key, state: 'running' };
    return { ...turn, key, steps: endAll(turn.steps) };
  });
}

function lastAt(turns: Turn[], fits: (turn: Turn) => boolean): number {
  let at = turns.length - 1;
  while (at >= 0 && !fits(turns[at] as Turn)) at--;
  return at;
}

/** Takes out the turn that a message continues: the last one if it is of the same run, else a new one at the end. */
function answering(turns: Turn[], message: Message): Turn {
  const last = turns.at(-1);
  if (last && (!message.runId || !last.runId || last.runId === message.runId)) {
    turns.pop();
    return last;
  }
  // An answer without a message: Hob started it, or its run was suspended while others were answered.
  const about = message.runId && turns[lastAt(turns, (turn) => turn.runId === message.runId && turn.asked !== '')]?.asked;
  return { ...ask(''), key: message.id, state: 'done', at: message.createdAt, runId: message.runId, ...(about && { about }) };
}

function endStored(turn: Turn, { toolCallId: callId, name = '', content, ...rest }: ToolResult): Turn {
  return { ...turn, steps: endCall(turn.steps, { type: 'tool_end', callId, name, result: content, ...rest }) };
}

function fromAnswer(turn: Turn, message: Message): Turn {
  let next: Turn = { ...turn, lastId: message.id ?? turn.lastId, media: withMedia(turn.media, message.media ?? []) };
  if (message.role === 'assistant') {
    const words = message.content;
    const last = next.steps.at(-1);
    const gap = words && last?.words && !last.shut ? '\n\n' : '';
    if (words) next = { ...next, steps: addWords(next.steps, gap + words) };
    next = { ...next, model: message.model ?? next.model };
  }
  for (const call of message.toolCalls ?? []) {
    next = { ...next, steps: addCall(next.steps, start(call.id, call.name, parsed(call.arguments))) };
  }
  for (const result of message.toolResults ?? []) next = endStored(next, result);
  return next;
}

/** A value that may have been stored as JSON text. */
export function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}
