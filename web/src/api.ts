// The operations every room uses, and the types of what they take and answer, all from the API's OpenAPI document.
import { call, downloaded, id, sentBytes, streamed, uploaded, type Body, type Data } from './http';
import type { Result } from './results';

export { claim, id, Refused, session, signIn, Unreachable, whenLockedOut } from './http';

/** The daemon sends a comment at least every 15 s; three missing ones mean the connection is dead. */
const CHAT_SILENCE_MS = 50_000;
/** The event stream beats every 10 s; silence there means the device is away. */
const EVENTS_SILENCE_MS = 25_000;

export type Session = Data<'GET /api/v1/session'>;
export type Role = Session['role'];
export type ConversationLine = Data<'GET /api/v1/conversations'>['conversations'][number];
export type Conversation = Data<'GET /api/v1/conversations/{id}'>;
export type Message = Conversation['messages'][number];
export type ToolCall = NonNullable<Message['toolCalls']>[number];
export type ToolResult = NonNullable<Message['toolResults']>[number];
export type Run = Data<'GET /api/v1/runs'>['runs'][number];
export type RunDetails = Data<'GET /api/v1/runs/{id}'>;
export type Approval = Data<'GET /api/v1/approvals/{id}'>;
export type Interaction = Data<'GET /api/v1/interactions/{id}'>;
export type GraphView = Data<'GET /api/v1/graph'>;
export type Profile = Data<'GET /api/v1/profile'>;
export type Neighbour = Data<'GET /api/v1/discover'>['found'][number];
export type Person = Data<'GET /api/v1/people'>['people'][number];
export type Token = Data<'GET /api/v1/tokens'>['tokens'][number];
export type SignedIn = Data<'GET /api/v1/sessions'>['sessions'][number];
export type Device = Data<'GET /api/v1/device'>;
export type Storage = Data<'GET /api/v1/storage'>;
export type ModelInUse = Data<'GET /api/v1/model'>;
/** A tool as lists have it: the first sentence of its description, and no parameters. */
export type Tool = Omit<Data<'GET /api/v1/tools'>['tools'][number], 'aliases' | 'parameters' | 'requiresConfirmation'> & { aliases: string[] };
/** `parameters` is a JSON Schema. */
export type ToolDetails = Omit<Data<'GET /api/v1/tools/{name}'>, 'parameters'> & { parameters: object };
export type CustomTool = Data<'GET /api/v1/custom-tools/{id}'>;
export type ToolDraft = Pick<Body<'POST /api/v1/custom-tools'>, 'name' | 'description' | 'parameters' | 'code' | 'permissions'>;

/** A stored file; of one that is being sent, only part is known. */
export type StoredFile = Pick<Data<'POST /api/v1/files'>, 'id'> & Partial<Data<'POST /api/v1/files'>>;

/** A piece of a message. */
export type Part = { type: 'text'; text: string } | { type: 'image' | 'audio' | 'file'; file: string };

// Conversations and runs.

/** The conversations, newest first; with a query those whose title or messages contain it. `before`: `next` of the page before. */
export const conversations = (query = '', limit = 40, before = '') => call('GET /api/v1/conversations', { query: { limit, before, query } });
/** A conversation with its newest messages. */
export const conversation = (which: string, limit?: number) => call('GET /api/v1/conversations/{id}', { path: { id: which }, query: { limit } });
/** Older messages of a conversation; `before`: `next` of the page before. */
export const messages = (which: string, before: string, limit: number) => call('GET /api/v1/conversations/{id}/messages', { path: { id: which }, query: { before, limit } });
export const renameConversation = (which: string, title: string) => call('PATCH /api/v1/conversations/{id}', { path: { id: which }, body: { title } });
export const deleteConversation = (which: string) => call('DELETE /api/v1/conversations/{id}', { path: { id: which } });
/** A copy of a conversation, up to a message where one is named. */
export const fork = (which: string, messageId?: string) => call('POST /api/v1/conversations/{id}/fork', { path: { id: which }, body: messageId ? { messageId } : {} });
/** A whole conversation as a document that `importConversation` takes. */
export const exportConversation = (which: string) => call('GET /api/v1/conversations/{id}/export', { path: { id: which } });
export const importConversation = (document: unknown) =>
  call('POST /api/v1/conversations/import', { body: document as Body<'POST /api/v1/conversations/import'> });
/** The runs of a conversation that are under way, the running one first. */
export const activeRuns = async (conversationId: string) => {
  const { runs } = await call('GET /api/v1/runs', { query: { conversationId, state: 'running,queued' } });
  return runs.filter(({ state }) => state === 'running' || state === 'queued').sort((a, b) => Number(a.state === 'queued') - Number(b.state === 'queued'));
};
export const cancel = (runId: string) => call('POST /api/v1/runs/{id}/cancel', { path: { id: runId } });

/** What a chat stream sends; the OpenAPI document names these events without describing them. */
export type ChatEvent =
  /** `queued`: the run waits until the conversation is free. */
  | { type: 'run'; runId: string; conversationId: string; model?: string; queued?: boolean }
  | { type: 'thinking'; text: string }
  | { type: 'text'; delta: string }
  | { type: 'tool_start'; callId: string; name: string; arguments: unknown }
  | { type: 'tool_end'; callId: string; name: string; result: unknown; say?: string | null; isError?: boolean; durationMs?: number }
  | ({ type: 'approval' } & Approval)
  | { type: 'ask'; id: string; question: string; options?: string[]; expiresAt?: number }
  | ({ type: 'ui'; id: string; kind: 'blocks' | 'component'; expiresAt?: number } & Partial<Pick<Interaction, 'title' | 'blocks' | 'component' | 'code' | 'props'>>)
  | { type: 'message'; text: string }
  | ({ type: 'media' } & StoredFile)
  | { type: 'compacted'; messages?: number; summaryLength?: number }
  /** `waiting`: the approvals and questions a suspended run waits for. */
  | { type: 'done'; response?: string; conversationId?: string; runId?: string; model?: string; waiting?: string[]; media?: StoredFile[] }
  | { type: 'error'; code: string; message: string };

function parsed<T>(data: string): T | null {
  try {
    return JSON.parse(data) as T;
  } catch {
    return null;
  }
}

/** Sends a message and yields events until its run ends; with `queue` it may wait for its turn. Throws `Refused` or `Unreachable`. */
export async function* chat(message: string | Part[], conversationId: string, abort: AbortController, queue = false): AsyncGenerator<ChatEvent> {
  const body: Body<'POST /api/v1/chat'> = { message, ...(conversationId && { conversationId }), stream: true, ...(queue && { whileBusy: 'queue' as const }) };
  for await (const event of streamed('POST /api/v1/chat', { body }, abort, CHAT_SILENCE_MS)) {
    const data = parsed<object>(event.data);
    if (data) yield { ...data, type: event.type } as ChatEvent;
  }
}

/** An event of the device's event stream. */
export interface DeviceEvent {
  seq: number;
  /** `pin:changed`, `run:ended`, …; `resync`: events were missed, so read everything again. */
  topic: string;
  data: Record<string, unknown>;
}

/** All events from now on, or after event `after`; `opened` is called once the stream is open. */
export async function* deviceEvents(after: number | undefined, abort: AbortController, opened: () => void): AsyncGenerator<DeviceEvent> {
  for await (const event of streamed('GET /api/v1/events', { query: { after } }, abort, EVENTS_SILENCE_MS, opened)) {
    if (event.type === 'resync') {
      yield { seq: 0, topic: 'resync', data: {} };
      continue;
    }
    const received = parsed<DeviceEvent>(event.data);
    if (received) yield { ...received, topic: received.topic ?? event.type, data: received.data ?? {} };
  }
}

// Files.

/** The address of a stored file. */
export const fileAt = (which: string) => `/api/v1/files/${id(which)}`;
export const deleteFile = (which: string) => call('DELETE /api/v1/files/{id}', { path: { id: which } });

export async function upload(file: File, onProgress: (fraction: number) => void, signal: AbortSignal): Promise<StoredFile> {
  return (await uploaded(`/api/v1/files?name=${id(file.name)}`, file, onProgress, signal)) as StoredFile;
}

// The device, its people and their keys.

/** Scans the network; takes a second or two. */
/** A part of the knowledge graph: around an entity, of a search, or all of it. */
export const graph = (query: { entity?: string; query?: string; depth?: number }) => call('GET /api/v1/graph', { query });
export const discover = () => call('GET /api/v1/discover');
export type VoiceState = Data<'GET /api/v1/voice'>;
/** Whether there are servers that hear and speak; the device may have to look for them. */
export const voice = () => call('GET /api/v1/voice');
export type VoiceClient = Data<'GET /api/v1/voice/clients'>['clients'][number];
export const voiceClients = () => call('GET /api/v1/voice/clients');
export const decideVoiceClient = (address: string, body: Body<'PUT /api/v1/voice/clients/{address}'>) => call('PUT /api/v1/voice/clients/{address}', { path: { address }, body });
export const forgetVoiceClient = (address: string) => call('DELETE /api/v1/voice/clients/{address}', { path: { address } });
export const people = () => call('GET /api/v1/people');
export const addPerson = (body: Body<'POST /api/v1/people'>) => call('POST /api/v1/people', { body });
export const profile = () => call('GET /api/v1/profile');
export const changeProfile = (body: Body<'PATCH /api/v1/profile'>) => call('PATCH /api/v1/profile', { body });
export const changePerson = (which: string, body: Body<'PATCH /api/v1/people/{id}'>) => call('PATCH /api/v1/people/{id}', { path: { id: which }, body });
export const removePerson = (which: string) => call('DELETE /api/v1/people/{id}', { path: { id: which } });
export const tokens = () => call('GET /api/v1/tokens');
export const newToken = (body: Body<'POST /api/v1/tokens'>) => call('POST /api/v1/tokens', { body });
export const revokeToken = (which: string) => call('DELETE /api/v1/tokens/{id}', { path: { id: which } });
export const sessions = () => call('GET /api/v1/sessions');
export const signOut = () => call('DELETE /api/v1/session');
export const endSession = (which: string) => call('DELETE /api/v1/sessions/{id}', { path: { id: which } });
export const device = () => call('GET /api/v1/device');
export const storage = () => call('GET /api/v1/storage');
export const renameDevice = (name: string) => call('PATCH /api/v1/device', { body: { name } });
export const model = () => call('GET /api/v1/model');
/** Asks the servers of the models in use whether they are there. */
export const checkModel = () => call('POST /api/v1/model/check', { body: {} });
export const chooseModel = (body: Body<'PUT /api/v1/model'>) => call('PUT /api/v1/model', { body });

/** Copying all data takes as long as the disk needs. */
const BACKUP_MS = 15 * 60_000;

/** A copy of all data; with a passphrase encrypted, and with the keys to other services. */
export const backup = (passphrase = '', files = true) => downloaded('POST /api/v1/backup', 'backup.hob', BACKUP_MS, { files, ...(passphrase && { passphrase }) });
export const backupSize = () => call('GET /api/v1/backup/size');
export type Backups = Data<'GET /api/v1/backup'>;
export const backups = () => call('GET /api/v1/backup');
export const planBackups = (body: Body<'PUT /api/v1/backup/plan'>) => call('PUT /api/v1/backup/plan', { body });
export const runBackup = () => call('POST /api/v1/backup/run', {}, { timeoutMs: BACKUP_MS });
export const doctor = () => call('GET /api/v1/doctor');
export const support = () => downloaded('POST /api/v1/support', 'hob-support.txt', BACKUP_MS);

/** Replaces all data with a backup; Hob restarts, and this session ends. */
export async function restore(file: File, passphrase = ''): Promise<void> {
  const headers: Record<string, string> = passphrase ? { 'x-backup-passphrase': id(passphrase) } : {};
  await uploaded('/api/v1/restore', file, () => undefined, AbortSignal.timeout(BACKUP_MS), headers);
}

// Updates and the factory reset.

export type Update = Data<'GET /api/v1/update'>;
export type BundleUpload = Data<'POST /api/v1/update/uploads'>;
/** The device hashes what it has, and the disk writes, before it answers. */
const UPLOAD_MS = 120_000;
/** The channel is asked over the internet. */
const CHANNEL_MS = 60_000;

export const update = () => call('GET /api/v1/update');
export const checkUpdate = () => call('POST /api/v1/update/check', undefined, { timeoutMs: CHANNEL_MS });
/** Installs a complete upload, or what the channel offers. */
export const installUpdate = ({ uploadId, foundId }: { uploadId?: string; foundId?: string }) =>
  call('POST /api/v1/update/install', { body: { ...(uploadId && { uploadId }), ...(foundId && { foundId }) } }, { timeoutMs: UPLOAD_MS });
export const confirmUpdate = () => call('POST /api/v1/update/confirm');
export const rollBack = () => call('POST /api/v1/update/rollback');
/** Begins an upload by the head of a bundle, or continues the one it began. */
export const beginUpload = (head: Blob) => sentBytes('POST', '/api/v1/update/uploads', head, UPLOAD_MS) as Promise<BundleUpload>;
/** The upload, and what it still needs. */
export const bundleUpload = (which: string) => call('GET /api/v1/update/uploads/{id}', { path: { id: which } }, { timeoutMs: UPLOAD_MS });
export const sendPiece = (which: string, offset: number, piece: Blob) => sentBytes('PUT', `/api/v1/update/uploads/${id(which)}?offset=${offset}`, piece, UPLOAD_MS);
export const cancelUpload = (which: string) => call('DELETE /api/v1/update/uploads/{id}', { path: { id: which } });
/** Removes everything; `name` is the device's, as it was typed. */
export const factoryReset = (name: string) => call('POST /api/v1/factory-reset', { body: { name } });

// Tools.

export type ToolRun<T = unknown> = Omit<Data<'POST /api/v1/tools/{name}/execute'>, 'result'> & { result: T };

/** Code may run for a minute and a half, after a person was asked for up to two. */
const RUN_MS = 240_000;

const run = <T extends string>(name: T, args: object, display: boolean, timeoutMs?: number) =>
  call('POST /api/v1/tools/{name}/execute', { path: { name }, body: { arguments: args as Record<string, unknown>, ...(display && { display }) } }, timeoutMs ? { timeoutMs } : {}) as Promise<ToolRun<Result<T>>>;
/** Runs a tool for the page: what it only reads to show is not in the activity. */
export const execute = <T extends string>(name: T, args: object = {}, timeoutMs?: number) => run(name, args, true, timeoutMs);
/** A call that a person asked for, which waits as long as a tool may take; the activity shows it, also if it only reads. */
export const runTool = (name: string, args: object) => run(name, args, false, RUN_MS);
/** What one chooses from to make a schedule or trigger. */
export type AutomationChoices = Data<'GET /api/v1/automation/choices'>;
export const automationChoices = () => call('GET /api/v1/automation/choices');
/** How a schedule reads, and its next times; throws `Refused` where it is none. */
export const previewSchedule = (schedule: string, timezone?: string) => call('GET /api/v1/automation/preview', { query: { schedule, timezone } });
export const tools = async () => (await call('GET /api/v1/tools')).tools.map((tool): Tool => ({ ...tool, aliases: tool.aliases ?? [] }));
export const tool = async (name: string) => (await call('GET /api/v1/tools/{name}', { path: { name } })) as ToolDetails;
export const customTools = () => call('GET /api/v1/custom-tools');
export const testTool = (draft: ToolDraft, testArguments: unknown) =>
  call('POST /api/v1/custom-tools/test', { body: { ...draft, testArguments } as Body<'POST /api/v1/custom-tools/test'> }, { timeoutMs: RUN_MS });
export const createTool = (body: ToolDraft) => call('POST /api/v1/custom-tools', { body });
export const changeTool = (which: string, body: ToolDraft) => call('PATCH /api/v1/custom-tools/{id}', { path: { id: which }, body });
export const deleteTool = (which: string) => call('DELETE /api/v1/custom-tools/{id}', { path: { id: which } });
export const decideTool = (which: string, action: 'enable' | 'disable' | 'approve' | 'reject') =>
  call(`POST /api/v1/custom-tools/{id}/${action}`, { path: { id: which } });
