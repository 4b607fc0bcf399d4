// Everything the page says to Hob over HTTP: the envelope, the calls, and the streams of one run and of all that happens.
import { lost } from './away';
import type { Interaction } from './interactions';
import type { Approval } from './policy';
import { serverEvents } from './sse';

const PATIENCE_MS = 20_000;
/** The daemon sends a comment line at least every 15 s; three missed ones mean the line is dead. */
const SILENCE_MS = 50_000;
/** The stream of all that happens beats every 10 s: what is dead there says that the device is away. */
const LIVE_SILENCE_MS = 25_000;

/** Hob answered, and the answer is no: `message` is a sentence for the person. */
export class Refused extends Error {
  /** `retryAfter`: in how many seconds asking again makes sense, where Hob says so. */
  constructor(readonly status: number, readonly code: string, message: string, readonly retryAfter?: number) {
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
  model?: string;
  /** What every call that changes something must carry; kept in this file. */
  csrfToken?: string;
  hasPassword?: boolean;
}

export interface ConversationLine {
  id: string;
  title?: string | null;
  updatedAt?: string | number;
  messageCount?: number;
  /** Where a search found its words. */
  excerpt?: string | null;
  /** The conversation it was made from. */
  forkedFrom?: string | null;
}

/** A file that is kept on the device. */
export interface Kept {
  id: string;
  name?: string;
  mediaType?: string;
  size?: number;
}

/** A piece of a message. */
export type Part = { type: 'text'; text: string } | { type: 'image' | 'audio' | 'file'; file: string };

export interface RunLine {
  id: string;
  conversationId: string;
  startedAt?: number;
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
  id?: string;
  runId?: string;
  role: 'user' | 'assistant' | 'tool' | 'system';
  content: unknown;
  /** What came with the words: pictures, sounds, files. */
  parts?: unknown;
  media?: unknown;
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
  /** `queued`: it waits until the conversation is free; its steps follow. */
  | { type: 'run'; runId: string; conversationId: string; model?: string; queued?: boolean }
  | { type: 'thinking'; text: string }
  | { type: 'text'; delta: string }
  | { type: 'tool_start'; callId: string; name: string; arguments: unknown }
  | { type: 'tool_end'; callId: string; name: string; result: unknown; say?: string | null; isError?: boolean; durationMs?: number }
  | ({ type: 'approval' } & Approval)
  | { type: 'ask'; id: string; question: string; options?: string[]; expiresAt?: number | null }
  | ({ type: 'ui' } & Pick<Interaction, 'id' | 'title' | 'blocks' | 'component' | 'code' | 'props' | 'expiresAt'> & { kind: 'blocks' | 'component' })
  | { type: 'message'; text: string }
  | ({ type: 'media' } & Kept)
  | { type: 'compacted'; messages?: number; summaryLength?: number }
  /** `waiting`: the approvals and questions a run rests for; it goes on by itself once they are answered. */
  | { type: 'done'; response?: string; conversationId?: string; runId?: string; model?: string; waiting?: string[]; media?: Kept[] }
  | { type: 'error'; code: string; message: string };

interface Envelope {
  success?: boolean;
  data?: unknown;
  error?: { code?: string; message?: string };
}

let csrf = '';
let lockedOut: () => void = () => undefined;

/** What to do when Hob answers that nobody is signed in any more, whatever was asked. */
export function whenLockedOut(act: () => void): void {
  lockedOut = act;
}

async function send(method: string, path: string, body: unknown, signal: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { accept: 'application/json' };
  const init: RequestInit = { method, signal, cache: 'no-store', headers };
  if (method !== 'GET' && csrf) headers['x-csrf-token'] = csrf;
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    headers['content-type'] = 'application/json';
    headers['accept'] = 'application/json, text/event-stream';
  }
  try {
    return await fetch(path, init);
  } catch (cause) {
    if (!(cause instanceof DOMException && cause.name === 'AbortError')) lost();
    throw new Unreachable('no answer', { cause });
  }
}

/** What an answer holds. At the doors, being a stranger is nothing to be told. */
async function open(answer: Response, door = false): Promise<unknown> {
  let envelope: Envelope;
  try {
    envelope = (await answer.json()) as Envelope;
  } catch (cause) {
    // A proxy or a half-started daemon answers without an envelope.
    lost();
    throw new Unreachable('not an answer of Hob', { cause });
  }
  if (answer.ok && envelope.success !== false) return envelope.data;
  const code = envelope.error?.code ?? 'unknown';
  if (!door && /^un(authorized|claimed)$/.test(code)) lockedOut();
  const wait = Number(answer.headers.get('retry-after')) || undefined;
  throw new Refused(answer.status, code, envelope.error?.message ?? '', wait);
}

async function once<T>(method: string, path: string, body?: unknown, door = false): Promise<T> {
  return (await open(await send(method, path, body, AbortSignal.timeout(PATIENCE_MS)), door)) as T;
}

/** Whether the token was of an earlier session (another tab signed in anew) and there is a fresh one to try with. */
async function renewed(cause: unknown): Promise<boolean> {
  if (!(cause instanceof Refused) || cause.code !== 'csrf') return false;
  const before = csrf;
  await session();
  return csrf !== before;
}

/** Asks once, and once more where the token was of an earlier session. */
export async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  try {
    return await once<T>(method, path, body);
  } catch (cause) {
    if (!(await renewed(cause))) throw cause;
    return once<T>(method, path, body);
  }
}

/** Through a door; keeps the token a session answers with. */
async function entered(method: string, path: string, body?: unknown): Promise<Session> {
  const found = await once<Session>(method, path, body, true);
  csrf = found.csrfToken ?? '';
  return found;
}

/** A value as a part of a path or of a query. */
export const id = encodeURIComponent;

export const session = () => entered('GET', '/api/v1/session');
export const claim = (code: string, person?: string, password?: string) =>
  entered('POST', '/api/v1/claim', { code, person, password });
export const signIn = (who: { token: string } | { person: string; password: string }) =>
  entered('POST', '/api/v1/session', who);
export const signOut = () => call<unknown>('DELETE', '/api/v1/session');
/** The conversations, newest first; with a query those whose title or messages have it. */
export const conversations = (query = '', limit = 40, offset = 0) =>
  call<{ count: number; conversations: ConversationLine[] }>(
    'GET', `/api/v1/conversations?limit=${limit}&offset=${offset}${query && `&query=${id(query)}`}`,
  );
export const conversation = (which: string) => call<Conversation>('GET', `/api/v1/conversations/${id(which)}`);
export const deleteConversation = (which: string) => call<unknown>('DELETE', `/api/v1/conversations/${id(which)}`);
/** A new conversation with what was said in this one, up to a message where one is named. */
export const fork = (which: string, messageId?: string) =>
  call<ConversationLine>('POST', `/api/v1/conversations/${id(which)}/fork`, messageId ? { messageId } : {});
/** All of a conversation as a document that `importConversation` takes. */
export const exportConversation = (which: string) => call<{ title?: string | null }>('GET', `/api/v1/conversations/${id(which)}/export`);
export const importConversation = (document: unknown) => call<ConversationLine>('POST', '/api/v1/conversations/import', document);
/** The runs of a conversation that are under way; one that rests until it is answered is not. */
export const runs = async (conversationId: string) => {
  const found = await call<{ runs: (RunLine & { state?: string })[] }>('GET', `/api/v1/runs?conversationId=${id(conversationId)}`);
  const under = found.runs.filter(({ state }) => state === undefined || state === 'running' || state === 'queued');
  // The one that is answered comes before those that wait for it.
  return { runs: under.sort((a, b) => Number(a.state === 'queued') - Number(b.state === 'queued')) };
};
export const cancel = (runId: string) => call<unknown>('POST', `/api/v1/runs/${id(runId)}/cancel`);

/** Opens a stream and yields its events, until `silence` passes without a sign of life; throws `Refused` or `Unreachable`. */
async function* streamed(method: string, path: string, body: unknown, abort: AbortController, silence: number, opened?: () => void) {
  let watchdog = setTimeout(() => abort.abort(), silence);
  const heard = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => abort.abort(), silence);
  };
  try {
    const answer = await send(method, path, body, abort.signal);
    if (!answer.headers.get('content-type')?.startsWith('text/event-stream') || !answer.body) {
      await open(answer);
      throw new Unreachable('no stream');
    }
    opened?.();
    yield* serverEvents(answer.body, heard);
  } catch (cause) {
    throw cause instanceof Refused || cause instanceof Unreachable ? cause : new Unreachable('the line broke', { cause });
  } finally {
    clearTimeout(watchdog);
  }
}

function parsed<T>(data: string): T | null {
  try {
    return JSON.parse(data) as T;
  } catch {
    return null;
  }
}

/** Sends one message and yields what happens until the run ends; with `queue` it may wait for its turn. Throws `Refused` or `Unreachable`. */
export async function* chat(message: string | Part[], conversationId: string, abort: AbortController, queue = false): AsyncGenerator<ChatEvent> {
  const body = { message, ...(conversationId && { conversationId }), stream: true, ...(queue && { whileBusy: 'queue' }) };
  for (let tries = 0; ; tries++) {
    try {
      for await (const event of streamed('POST', '/api/v1/chat', body, abort, SILENCE_MS)) {
        const data = parsed<object>(event.data);
        if (data) yield { ...data, type: event.type } as ChatEvent;
      }
      return;
    } catch (cause) {
      if (tries > 0 || !(await renewed(cause))) throw cause;
    }
  }
}

/** Something that happened on the device. */
export interface Happening {
  seq: number;
  /** `pin:changed`, `run:ended`, …; `resync`: more than can be told, read everything anew. */
  topic: string;
  data: Record<string, unknown>;
}

/** All that happens from now on, or from just after event `after`. `opened` is called once the device listens to us. */
export async function* happenings(after: number | undefined, abort: AbortController, opened: () => void): AsyncGenerator<Happening> {
  const path = after === undefined ? '/api/v1/events' : `/api/v1/events?after=${after}`;
  for await (const event of streamed('GET', path, undefined, abort, LIVE_SILENCE_MS, opened)) {
    if (event.type === 'resync') {
      yield { seq: 0, topic: 'resync', data: {} };
      continue;
    }
    const happened = parsed<Happening>(event.data);
    if (happened) yield { ...happened, topic: happened.topic ?? event.type, data: happened.data ?? {} };
  }
}

/** Where a kept file is read. */
export const fileAt = (which: string) => `/api/v1/files/${id(which)}`;
export const dropFile = (which: string) => call<unknown>('DELETE', fileAt(which));

/** Sends a file to be kept; `onPart` hears which part of it has left, from 0 to 1. Only the older way of asking tells that. */
async function sendFile(path: string, file: File, onPart: (part: number) => void, signal: AbortSignal): Promise<unknown> {
  const answer = await new Promise<Response>((resolve, reject) => {
    const request = new XMLHttpRequest();
    const lose = () => reject(new Unreachable('no answer'));
    request.open('POST', path);
    request.setRequestHeader('accept', 'application/json');
    request.setRequestHeader('content-type', file.type || 'application/octet-stream');
    if (csrf) request.setRequestHeader('x-csrf-token', csrf);
    request.upload.onprogress = (event) => event.lengthComputable && onPart(event.loaded / event.total);
    request.onload = () => resolve(new Response(request.responseText, { status: request.status, headers: { 'retry-after': request.getResponseHeader('retry-after') ?? '' } }));
    request.onerror = () => (lost(), lose());
    request.onabort = lose;
    signal.addEventListener('abort', () => request.abort());
    request.send(file);
  });
  return open(answer);
}

async function sendRenewed(path: string, file: File, onPart: (part: number) => void, signal: AbortSignal): Promise<unknown> {
  try {
    return await sendFile(path, file, onPart, signal);
  } catch (cause) {
    if (!(await renewed(cause))) throw cause;
    return sendFile(path, file, onPart, signal);
  }
}

export async function upload(file: File, onPart: (part: number) => void, signal: AbortSignal): Promise<Kept> {
  return (await sendRenewed(`/api/v1/files?name=${id(file.name)}`, file, onPart, signal)) as Kept;
}

export interface Found {
  name: string;
  kind: string;
  host?: string;
  port?: number;
  url?: string | null;
  version?: string | null;
  claimed?: boolean | null;
  self?: boolean;
}

/** Looks around on the network; takes a second or two. `why` says why nothing could be looked for. */
export const discover = () => call<{ found: Found[]; why?: string | null }>('GET', '/api/v1/discover');

// The device, who may use it, and their keys.

export type Role = 'viewer' | 'member' | 'admin';

export interface Person {
  id: string;
  name: string;
  role: Role;
  /** The first person, who stays an admin. */
  owner: boolean;
  hasPassword: boolean;
  createdAt?: number;
}

export interface Token {
  id: string;
  name: string;
  role: Role;
  scope?: string[];
  createdAt?: number;
  expiresAt?: number | null;
}

export interface SignedIn {
  id: string;
  /** What the browser says of itself. */
  device: string;
  createdAt: number;
  expiresAt: number;
  current: boolean;
}

export interface DeviceFacts {
  id: string;
  name: string;
  version: string;
  model?: string;
  startedAt?: number;
  hostname?: string | null;
  addresses?: string[];
  tls?: { url: string; port: number; fingerprint: string } | null;
  listensOn?: string;
  claimed?: boolean;
  /** False where the name was given at the start, with --name. */
  renameable?: boolean;
}

export interface ModelChoice {
  /** "reflex", "openai/NAME" or "custom/NAME". */
  model: string;
  url?: string | null;
  hasKey?: boolean;
  from?: 'environment' | 'page' | 'file' | 'built-in';
  changeable?: boolean;
}

export interface PersonChange {
  name?: string;
  role?: string;
  password?: string;
  currentPassword?: string;
}

export interface NewToken {
  name: string;
  role: string;
  scope?: string[];
  expiresInDays?: number;
}

export const people = () => call<{ people: Person[] }>('GET', '/api/v1/people');
export const addPerson = (person: { name: string; role: string; password?: string }) => call<Person>('POST', '/api/v1/people', person);
export const changePerson = (which: string, change: PersonChange) => call<Person>('PATCH', `/api/v1/people/${id(which)}`, change);
export const removePerson = (which: string) => call<unknown>('DELETE', `/api/v1/people/${id(which)}`);
export const tokens = () => call<{ tokens: Token[] }>('GET', '/api/v1/tokens');
export const newToken = (token: NewToken) => call<{ id: string; name: string; token: string }>('POST', '/api/v1/tokens', token);
export const takeBack = (which: string) => call<unknown>('DELETE', `/api/v1/tokens/${id(which)}`);
export const sessions = () => call<{ sessions: SignedIn[] }>('GET', '/api/v1/sessions');
export const endSession = (which: string) => call<unknown>('DELETE', `/api/v1/sessions/${id(which)}`);
export const device = () => call<DeviceFacts>('GET', '/api/v1/device');
export const renameDevice = (name: string) => call<DeviceFacts>('PATCH', '/api/v1/device', { name });
export const model = () => call<ModelChoice>('GET', '/api/v1/model');
export const chooseModel = (choice: { model: string; url?: string; key?: string }) => call<ModelChoice>('PUT', '/api/v1/model', choice);

/** A copy of all data takes as long as the disk does. */
const BACKUP_MS = 15 * 60_000;

/** The backup, and the name Hob gives it. */
export async function backup(): Promise<{ file: Blob; name: string }> {
  const get = async () => {
    const answer = await send('POST', '/api/v1/backup', undefined, AbortSignal.timeout(BACKUP_MS));
    if (!answer.ok) await open(answer);
    const name = /filename="?([^";]+)/.exec(answer.headers.get('content-disposition') ?? '')?.[1] ?? 'backup.hob';
    try {
      return { file: await answer.blob(), name };
    } catch (cause) {
      throw new Unreachable('the line broke', { cause });
    }
  };
  try {
    return await get();
  } catch (cause) {
    if (!(await renewed(cause))) throw cause;
    return get();
  }
}

/** Puts a backup in the place of all data; Hob starts again then, and this session is over. */
export async function restore(file: File): Promise<void> {
  await sendRenewed('/api/v1/restore', file, () => undefined, AbortSignal.timeout(BACKUP_MS));
}

export interface Ran<T = unknown> {
  tool: string;
  result: T;
  say?: string | null;
  isError?: boolean;
  duration?: number;
  metadata?: unknown;
}

/** Calls a tool, as this person. */
export const execute = <T = unknown>(tool: string, args: object = {}) =>
  call<Ran<T>>('POST', `/api/v1/tools/${id(tool)}/execute`, { arguments: args });

// Tools: what there is, and what people and models made.

export interface Tool {
  name: string;
  description: string;
  /** JSON Schema. */
  parameters: object;
  category: string;
  group: string;
  risk: string;
  requiresConfirmation: boolean;
  aliases: string[];
  enabled: boolean;
}

export interface CustomTool {
  id: string;
  name: string;
  description: string;
  parameters: object;
  code: string;
  category?: string;
  status: 'active' | 'disabled' | 'pending_approval' | 'rejected';
  permissions: string[];
  requiresApproval: boolean;
  createdBy: 'user' | 'llm';
  version: number;
  usageCount: number;
  lastUsedAt?: string;
  createdAt: string;
  updatedAt: string;
}

export interface ToolDraft {
  name: string;
  description: string;
  parameters: unknown;
  code: string;
  permissions: string[];
}

/** Code may run for a minute and a half before Hob ends it, and a person may be asked for two before that. */
const RUN_MS = 240_000;

async function patiently<T>(path: string, body: unknown): Promise<T> {
  const post = async () => (await open(await send('POST', path, body, AbortSignal.timeout(RUN_MS)))) as T;
  try {
    return await post();
  } catch (cause) {
    if (!(await renewed(cause))) throw cause;
    return post();
  }
}

export const tools = () => call<{ tools: Tool[] }>('GET', '/api/v1/tools');
/** Like `execute`, for as long as a tool may take. */
export const runTool = (tool: string, args: object) => patiently<Ran>(`/api/v1/tools/${id(tool)}/execute`, { arguments: args });
export const customTools = () => call<{ tools: CustomTool[] }>('GET', '/api/v1/custom-tools');
export const testTool = (draft: ToolDraft, testArguments: unknown) => patiently<Ran>('/api/v1/custom-tools/test', { ...draft, testArguments });
export const createTool = (draft: ToolDraft) => call<CustomTool>('POST', '/api/v1/custom-tools', draft);
export const changeTool = (which: string, draft: ToolDraft) => call<CustomTool>('PATCH', `/api/v1/custom-tools/${id(which)}`, draft);
export const removeTool = (which: string) => call<unknown>('DELETE', `/api/v1/custom-tools/${id(which)}`);
export const decideTool = (which: string, what: 'enable' | 'disable' | 'approve' | 'reject') =>
  call<CustomTool>('POST', `/api/v1/custom-tools/${id(which)}/${what}`);

export interface Memory {
  id: string;
  content: string;
  type: string;
  importance: number;
  tags: string[];
  createdMs: number;
  uses: number;
  shared: boolean;
  /** It came from outside, and nobody has vouched for it. */
  fromOutside?: boolean;
  /** How well it fits a search, 0 to 1, and why it does. */
  score?: number;
  why?: string;
}
