// HTTP to the daemon: typed operations, their envelope, the CSRF token, uploads and event streams.
import { reportUnreachable } from './away';
import type { Operations } from './openapi';
import { serverEvents } from './sse';

const TIMEOUT_MS = 20_000;

/** The daemon answered with an error; `message` is a sentence for the person. */
export class Refused extends Error {
  /** `retryAfter`: seconds to wait before another attempt, where the daemon says so. */
  constructor(readonly status: number, readonly code: string, message: string, readonly retryAfter?: number) {
    super(message);
  }
}

/** The daemon did not answer, or the connection broke. */
export class Unreachable extends Error {}

interface Envelope {
  success?: boolean;
  data?: unknown;
  error?: { code?: string; message?: string };
}

export type Operation = keyof Operations;
/** What the operation answers. */
export type Data<O extends Operation> = Operations[O]['data'];
/** The JSON body the operation takes. */
export type Body<O extends Operation> = Operations[O] extends { body: infer B } ? B : never;
type Params<O extends Operation> = Omit<Operations[O], 'data'>;

interface AnyParams {
  path?: Record<string, string | number>;
  query?: Record<string, unknown>;
  body?: unknown;
}

interface Options {
  timeoutMs?: number;
  /** A sign-in or claim: an unauthorized answer is expected. */
  door?: boolean;
}

let csrf = '';
let lockedOut: () => void = () => undefined;

/** Sets what happens when any request finds that the session is over. */
export function whenLockedOut(act: () => void): void {
  lockedOut = act;
}

/** Encodes a value for a path or query. */
export const id = encodeURIComponent;

/** The method and address of an operation; empty query values are left out. */
function addressed(operation: string, { path = {}, query = {} }: AnyParams): [method: string, address: string] {
  const [method = '', template = ''] = operation.split(' ');
  const address = template.replace(/\{(\w+)\}/g, (_, name: string) => id(String(path[name])));
  const search = Object.entries(query)
    .filter(([, value]) => value !== undefined && value !== null && value !== '' && value !== false)
    .map(([name, value]) => `${name}=${id(String(value))}`);
  return [method, search.length ? `${address}?${search.join('&')}` : address];
}

async function send(method: string, address: string, body: unknown, signal: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { accept: 'application/json' };
  const init: RequestInit = { method, signal, cache: 'no-store', headers };
  if (method !== 'GET' && csrf) headers['x-csrf-token'] = csrf;
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    headers['content-type'] = 'application/json';
    headers['accept'] = 'application/json, text/event-stream';
  }
  try {
    return await fetch(address, init);
  } catch (cause) {
    if (!(cause instanceof DOMException && cause.name === 'AbortError')) reportUnreachable();
    throw new Unreachable('no answer', { cause });
  }
}

/** Reads the envelope; throws `Refused` or `Unreachable`. */
async function open(answer: Response, door = false): Promise<unknown> {
  let envelope: Envelope;
  try {
    envelope = (await answer.json()) as Envelope;
  } catch (cause) {
    // A proxy or a half-started daemon answers without an envelope.
    reportUnreachable();
    throw new Unreachable('not an answer of Hob', { cause });
  }
  if (answer.ok && envelope.success !== false) return envelope.data;
  const code = envelope.error?.code ?? 'unknown';
  if (!door && /^un(authorized|claimed)$/.test(code)) lockedOut();
  const retryAfter = Number(answer.headers.get('retry-after')) || undefined;
  throw new Refused(answer.status, code, envelope.error?.message ?? '', retryAfter);
}

/** Whether the CSRF token belonged to an earlier session (another tab signed in) and has been renewed. */
async function renewed(cause: unknown): Promise<boolean> {
  if (!(cause instanceof Refused) || cause.code !== 'csrf') return false;
  const before = csrf;
  await session();
  return csrf !== before;
}

/** Runs a request, and once more if its CSRF token had to be renewed. */
async function retried<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (cause) {
    if (!(await renewed(cause))) throw cause;
    return request();
  }
}

async function once(operation: string, params: AnyParams, { timeoutMs = TIMEOUT_MS, door = false }: Options): Promise<unknown> {
  const [method, address] = addressed(operation, params);
  return open(await send(method, address, params.body, AbortSignal.timeout(timeoutMs)), door);
}

/** Calls an operation of the API. Throws `Refused` or `Unreachable`. */
export async function call<O extends Operation>(operation: O, ...[params, options = {}]: {} extends Params<O> ? [params?: Params<O>, options?: Options] : [params: Params<O>, options?: Options]): Promise<Data<O>> {
  return (await retried(() => once(operation, (params ?? {}) as AnyParams, options))) as Data<O>;
}

/** An operation that begins or reads a session: keeps the session's CSRF token. */
async function entered(operation: Operation, body?: unknown): Promise<Data<'GET /api/v1/session'>> {
  const found = (await once(operation, { body }, { door: true })) as Data<'GET /api/v1/session'>;
  csrf = found.csrfToken;
  return found;
}

export const session = () => entered('GET /api/v1/session');
export const claim = (body: Body<'POST /api/v1/claim'>) => entered('POST /api/v1/claim', body);
export const join = (body: Body<'POST /api/v1/join'>) => entered('POST /api/v1/join', body);
export const signIn = (body: { token: string } | { person: string; password: string }) => entered('POST /api/v1/session', body);

/** Opens an event stream and yields its events; ends it after `silenceMs` without data. Throws `Refused` or `Unreachable`. */
export async function* streamed(operation: Operation, params: AnyParams, abort: AbortController, silenceMs: number, opened?: () => void) {
  let watchdog = setTimeout(() => abort.abort(), silenceMs);
  const heard = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => abort.abort(), silenceMs);
  };
  const [method, address] = addressed(operation, params);
  try {
    const answer = await retried(async () => {
      const response = await send(method, address, params.body, abort.signal);
      if (response.headers.get('content-type')?.startsWith('text/event-stream') && response.body) return response.body;
      await open(response);
      throw new Unreachable('no stream');
    });
    opened?.();
    yield* serverEvents(answer, heard);
  } catch (cause) {
    throw cause instanceof Refused || cause instanceof Unreachable ? cause : new Unreachable('the connection broke', { cause });
  } finally {
    clearTimeout(watchdog);
  }
}

/** Sends bytes to an address, and reads the answer. Throws `Refused` or `Unreachable`. */
export function sentBytes(method: 'POST' | 'PUT', address: string, bytes: Blob, timeoutMs: number, more: Record<string, string> = {}): Promise<unknown> {
  return retried(async () => {
    const headers = { accept: 'application/json', 'content-type': 'application/octet-stream', ...more, ...(csrf && { 'x-csrf-token': csrf }) };
    let answer: Response;
    try {
      answer = await fetch(address, { method, headers, body: bytes, cache: 'no-store', signal: AbortSignal.timeout(timeoutMs) });
    } catch (cause) {
      // A file that changed since it was chosen cannot be read; the device is not to blame.
      if (cause instanceof DOMException && cause.name === 'NotReadableError') throw cause;
      reportUnreachable();
      throw new Unreachable('no answer', { cause });
    }
    return open(answer);
  });
}

/** Uploads a file; `onProgress` gets the fraction sent, which only XMLHttpRequest reports. */
export function uploaded(address: string, file: File, onProgress: (fraction: number) => void, signal: AbortSignal, headers: Record<string, string> = {}, method: 'POST' | 'PUT' = 'POST'): Promise<unknown> {
  return retried(async () => open(await new Promise<Response>((resolve, reject) => {
    const request = new XMLHttpRequest();
    const lose = () => reject(new Unreachable('no answer'));
    request.open(method, address);
    request.setRequestHeader('accept', 'application/json');
    request.setRequestHeader('content-type', file.type || 'application/octet-stream');
    if (csrf) request.setRequestHeader('x-csrf-token', csrf);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
    request.onload = () => resolve(new Response(request.responseText, { status: request.status, headers: { 'retry-after': request.getResponseHeader('retry-after') ?? '' } }));
    request.onerror = () => (reportUnreachable(), lose());
    request.onabort = lose;
    signal.addEventListener('abort', () => request.abort());
    if (signal.aborted) return lose();
    request.send(file);
  })));
}

/** Downloads what an operation answers, with the file name the daemon gives it. */
export function downloaded(operation: Operation, fallbackName: string, timeoutMs: number, body?: unknown): Promise<{ file: Blob; name: string }> {
  const [method, address] = addressed(operation, {});
  return retried(async () => {
    const answer = await send(method, address, body, AbortSignal.timeout(timeoutMs));
    if (!answer.ok) await open(answer);
    const name = /filename="?([^";]+)/.exec(answer.headers.get('content-disposition') ?? '')?.[1] ?? fallbackName;
    try {
      return { file: await answer.blob(), name };
    } catch (cause) {
      throw new Unreachable('the connection broke', { cause });
    }
  });
}
