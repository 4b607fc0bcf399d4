// Everything the page says to Hob over HTTP: the envelope, the calls, and the event stream of one run.
import { lost } from './away';

const PATIENCE_MS = 20_000;
/** The daemon sends a comment line at least every 15 s; three missed ones mean the line is dead. */
const SILENCE_MS = 50_000;

/** Hob answered, and the answer is no: `message` is a sentence for the person. */
export class Refused extends Error {
  constructor(readonly status: number, readonly code: string, message: string) {
    super(message);
  }
}

/** Hob did not answer, or stopped in the middle. */
export class Unreachable extends Error {}

export interface Session {
  user: string;
  /** What the person is called. */
  person: string;
  role: string;
  name?: string;
  version?: string;
}

export interface ConversationLine {
  id: string;
  title?: string | null;
  updatedAt?: string | number;
  messageCount?: number;
}

export interface ToolCall {
  id: string;
  name: string;
  arguments: unknown;
}

export interface ToolResult {
  toolCallId: string;
  name?: string;
  content: unknown;
  say?: string | null;
  isError?: boolean;
  durationMs?: number;
}

export interface Message {
  role: 'user' | 'assistant' | 'tool' | 'system';
  content: unknown;
  toolCalls?: ToolCall[] | null;
  toolResults?: ToolResult[] | null;
  model?: string | null;
  createdAt?: string | number;
}

export interface Conversation {
  id: string;
  title?: string | null;
  messages: Message[];
}

export type ChatEvent =
  | { type: 'run'; runId: string; conversationId: string; model?: string }
  | { type: 'thinking'; text: string }
  | { type: 'text'; delta: string }
  | { type: 'tool_start'; callId: string; name: string; arguments: unknown }
  | { type: 'tool_end'; callId: string; name: string; result: unknown; say?: string | null; isError?: boolean; durationMs?: number }
  | { type: 'done'; response?: string; conversationId?: string; runId?: string; model?: string }
  | { type: 'error'; code: string; message: string };

interface Envelope {
  success?: boolean;
  data?: unknown;
  error?: { code?: string; message?: string };
}

async function send(method: string, path: string, body: unknown, signal: AbortSignal): Promise<Response> {
  const init: RequestInit = { method, signal, cache: 'no-store', headers: { accept: 'application/json' } };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  }
  try {
    return await fetch(path, init);
  } catch (cause) {
    if (!(cause instanceof DOMException && cause.name === 'AbortError')) lost();
    throw new Unreachable('no answer', { cause });
  }
}

async function open(answer: Response): Promise<unknown> {
  let envelope: Envelope;
  try {
    envelope = (await answer.json()) as Envelope;
  } catch (cause) {
    // A proxy or a half-started daemon answers without an envelope.
    lost();
    throw new Unreachable('not an answer of Hob', { cause });
  }
  if (answer.ok && envelope.success !== false) return envelope.data;
  throw new Refused(answer.status, envelope.error?.code ?? 'unknown', envelope.error?.message ?? '');
}

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  return (await open(await send(method, path, body, AbortSignal.timeout(PATIENCE_MS)))) as T;
}

const id = encodeURIComponent;

export const session = () => call<Session>('GET', '/api/v1/session');
export const claim = (code: string) => call<Session>('POST', '/api/v1/claim', { code });
export const signIn = (token: string) => call<unknown>('POST', '/api/v1/session', { token });
export const signOut = () => call<unknown>('DELETE', '/api/v1/session');
export const conversations = () => call<{ conversations: ConversationLine[] }>('GET', '/api/v1/conversations?limit=200');
export const conversation = (which: string) => call<Conversation>('GET', `/api/v1/conversations/${id(which)}`);
export const cancel = (runId: string) => call<unknown>('POST', `/api/v1/runs/${id(runId)}/cancel`);

/** Sends one message and yields what happens until the run ends; throws `Refused` or `Unreachable`. */
export async function* chat(message: string, conversationId: string, abort: AbortController): AsyncGenerator<ChatEvent> {
  let watchdog = setTimeout(() => abort.abort(), SILENCE_MS);
  const heard = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => abort.abort(), SILENCE_MS);
  };
  try {
    const body = conversationId ? { message, conversationId, stream: true } : { message, stream: true };
    const answer = await send('POST', '/api/v1/chat', body, abort.signal);
    if (!answer.headers.get('content-type')?.startsWith('text/event-stream') || !answer.body) {
      await open(answer);
      throw new Unreachable('no stream');
    }
    yield* events(answer.body, heard);
  } finally {
    clearTimeout(watchdog);
  }
}

/** Reads `text/event-stream`: fields, multi-line data, comments, any line ending, any split of bytes. */
async function* events(body: ReadableStream<Uint8Array>, heard: () => void): AsyncGenerator<ChatEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let buffer = '';
  let type = '';
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw new Unreachable('the line broke', { cause });
      });
      heard();
      buffer += done ? decoder.decode() : decoder.decode(value, { stream: true });
      // A carriage return at the very end may be half of a line ending: leave it for the next read.
      const held = !done && buffer.endsWith('\r') ? '\r' : '';
      const lines = (held ? buffer.slice(0, -1) : buffer).split(/\r\n|\r|\n/);
      buffer = (lines.pop() ?? '') + held;
      for (const line of lines) {
        if (line === '') {
          const event = read(type, data);
          type = '';
          data = [];
          if (event) yield event;
        } else if (line.startsWith('event:')) {
          type = line.slice(6).trim();
        } else if (line.startsWith('data:')) {
          data.push(line.slice(line[5] === ' ' ? 6 : 5));
        }
      }
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

function read(type: string, data: string[]): ChatEvent | null {
  if (!data.length) return null;
  try {
    return { ...(JSON.parse(data.join('\n')) as object), type } as ChatEvent;
  } catch {
    return null;
  }
}
