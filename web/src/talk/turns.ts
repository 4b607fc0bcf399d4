// What one exchange looks like on screen, grown the same way from a live stream or from stored messages.
import type { ChatEvent, Message, ToolCall } from '../api';
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

/** Some words of Hob and, under them, what it did. */
export interface Step {
  words: string;
  calls: Call[];
  /** Work followed the words: what is said next begins a new step. */
  shut: boolean;
}

export type TurnState = 'running' | 'done' | 'stopped' | 'failed';

export interface Turn {
  key: string;
  asked: string;
  steps: Step[];
  state: TurnState;
  thinking: boolean;
  model?: string | undefined;
  trouble?: string;
  /** The line broke after the run began: what is stored on the device is more than what is here. */
  broken?: boolean;
  /** The run rests until these approvals are answered; then it goes on by itself. */
  waiting?: string[];
  at?: string | number | undefined;
}

let serial = 0;

export function ask(asked: string): Turn {
  return { key: `turn-${++serial}`, asked, steps: [], state: 'running', thinking: false };
}

/** The turn after one event; the turn given is never changed. */
export function grow(turn: Turn, event: ChatEvent): Turn {
  switch (event.type) {
    case 'run':
      return { ...turn, model: event.model ?? turn.model };
    case 'thinking':
      return turn.thinking ? turn : { ...turn, thinking: true };
    case 'text':
      return event.delta ? { ...turn, thinking: false, steps: addWords(turn.steps, event.delta) } : turn;
    case 'tool_start':
      return { ...turn, thinking: false, steps: addCall(turn.steps, start(event.callId, event.name, event.arguments)) };
    case 'tool_end':
      return { ...turn, steps: endCall(turn.steps, event) };
    case 'done': {
      // The page says itself that Hob waits, as long as it does.
      if (event.waiting?.length) return { ...turn, state: 'done', thinking: false, waiting: event.waiting, model: event.model ?? turn.model };
      const unsaid = event.response && !turn.steps.some((step) => step.words.trim());
      return {
        ...turn,
        state: 'done',
        thinking: false,
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
  // Words after bare work go above it, in the same step.
  if (!last || last.shut) return [...steps, { words: delta, calls: [], shut: false }];
  return [...steps.slice(0, -1), { ...last, words: last.words + delta }];
}

function addCall(steps: Step[], call: Call): Step[] {
  const last = steps.at(-1);
  if (!last) return [{ words: '', calls: [call], shut: false }];
  return [...steps.slice(0, -1), { ...last, calls: [...last.calls, call], shut: last.words !== '' }];
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

function endAll(steps: Step[]): Step[] {
  return steps.map((step) =>
    step.calls.every((call) => call.ended)
      ? step
      : { ...step, calls: step.calls.map((call) => (call.ended ? call : { ...call, ended: true })) },
  );
}

/** Everything Hob said in a turn, for readers and for the live region. */
export function said(turn: Turn): string {
  return turn.steps.map((step) => step.words.trim()).filter(Boolean).join('\n\n');
}

/** Stored messages as turns: all that follows a user's message is one answer. With `running` the last is not over yet. */
export function fromMessages(id: string, messages: Message[], running = false): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    if (message.role === 'system') continue;
    if (message.role === 'user') {
      turns.push({ ...ask(plain(message.content)), state: 'done', at: message.createdAt });
      continue;
    }
    // An answer without a question: something Hob began by itself.
    if (!turns.length) turns.push({ ...ask(''), state: 'done', at: message.createdAt });
    const last = turns.length - 1;
    turns[last] = fromAnswer(turns[last] as Turn, message);
  }
  return turns.map((turn, n) => {
    const key = `${id}-${n}`;
    if (running && n === turns.length - 1) return { ...turn, key, state: 'running' };
    return { ...turn, key, steps: endAll(turn.steps) };
  });
}

function fromAnswer(turn: Turn, message: Message): Turn {
  let next = turn;
  if (message.role === 'assistant') {
    const words = plain(message.content);
    const last = next.steps.at(-1);
    const gap = words && last?.words && !last.shut ? '\n\n' : '';
    if (words) next = { ...next, steps: addWords(next.steps, gap + words) };
    next = { ...next, model: message.model ?? next.model };
  }
  for (const call of message.toolCalls ?? []) {
    next = { ...next, steps: addCall(next.steps, start(call.id, call.name, given(call))) };
  }
  for (const result of message.toolResults ?? []) {
    const { toolCallId: callId, name = '', content, ...rest } = result;
    next = { ...next, steps: endCall(next.steps, { type: 'tool_end', callId, name, result: content, ...rest }) };
  }
  return next;
}

function given(call: ToolCall): unknown {
  return parsed(call.arguments);
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

function plain(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) => (part && typeof part === 'object' && 'text' in part ? String(part.text) : ''))
    .filter(Boolean)
    .join('\n');
}
