// What decides about calls, over HTTP: approvals, grants, autonomy, the groups of tools, the services they need, and the audit log.
import { call, id } from './api';

/** What stands before a person's decision, and how it ended. Times are milliseconds since 1970; secrets in it are scrubbed. */
export interface Approval {
  id: string;
  /** Proves that the question was seen; it goes back with the answer. */
  nonce: string;
  tool: string;
  arguments: unknown;
  /** What the tool does, in a sentence. */
  about?: string;
  risk: string;
  /** The name of the rule that asks, and why in a sentence. */
  rule: string;
  reason: string;
  /** Something from outside was read before. */
  tainted?: boolean;
  state: 'pending' | 'approved' | 'denied' | 'expired';
  decision?: Decision | null;
  userId?: string;
  runId?: string | null;
  conversationId?: string | null;
  /** The model's own id of the call. */
  toolCallId?: string | null;
  channel?: string;
  version?: number;
  /** What "always" covers unless the answer says otherwise. */
  pattern?: Pattern;
  askedAt: number;
  /** Until then the call itself waits; afterwards the run rests. */
  waitsUntil?: number;
  expiresAt?: number;
  decidedAt?: number | null;
  decidedBy?: string | null;
}

export type Decision = 'allow_once' | 'allow_always' | 'deny';

/** `"*"`: any arguments; else a value or a text with stars for each argument. */
export type Pattern = '*' | Record<string, unknown>;

export interface Answer {
  decision: Decision;
  nonce: string;
  pattern?: Pattern;
}

/** A yes that stands: it is not asked again for what its pattern covers. */
export interface Grant {
  id: string;
  tool: string;
  version: number;
  pattern: Pattern;
  createdAt: number;
  lastUsedAt?: number | null;
}

export const pending = () => call<{ approvals: Approval[] }>('GET', '/api/v1/approvals?state=pending&limit=100');
export const approval = (which: string) => call<Approval>('GET', `/api/v1/approvals/${id(which)}`);
export const decide = (which: string, answer: Answer) => call<Approval>('POST', `/api/v1/approvals/${id(which)}/decide`, answer);
export const grants = () => call<{ grants: Grant[] }>('GET', '/api/v1/grants');
export const dropGrant = (which: string) => call<unknown>('DELETE', `/api/v1/grants/${id(which)}`);

export interface Autonomy {
  level: string;
  from?: 'own' | 'household' | 'built-in';
  levels: { level: string; about: string }[];
}

export const autonomy = () => call<Autonomy>('GET', '/api/v1/autonomy');
export const setAutonomy = (level: string) => call<Autonomy>('PUT', '/api/v1/autonomy', { level });

export interface Explained {
  verdict: 'allow' | 'ask' | 'deny';
  rule: string;
  reason: string;
  trail: { rule: string; says: string }[];
}

/** What is decided when Hob itself wants to use this tool for the person who asks. */
export const explain = (tool: string) => call<Explained>('GET', `/api/v1/tools/${id(tool)}/explain?inRun=true`);

export interface Group {
  id: string;
  name: string;
  description: string;
  enabled: boolean;
  defaultEnabled: boolean;
  /** Some only gather tools of other groups under a name, and some are always on. */
  switchable: boolean;
  dependsOn: string[];
  tools: string[];
  /** Its tools that are off because another group they belong to was turned off. */
  offElsewhere: string[];
  /** What belongs to it and is not on this device. */
  missing: string[];
}

export const groups = () => call<{ groups: Group[] }>('GET', '/api/v1/tool-groups');
export const switchGroup = (which: string, enabled: boolean) => call<unknown>('PUT', `/api/v1/tool-groups/${id(which)}`, { enabled });

export interface ServiceField {
  name: string;
  label?: string;
  type: 'string' | 'number' | 'boolean' | 'url' | 'secret' | 'select';
  required: boolean;
  secret?: boolean;
  description?: string | null;
  default?: unknown;
  options?: string[] | null;
}

export interface ServiceEntry {
  label: string;
  isDefault: boolean;
  /** Without the secret ones. */
  fields: Record<string, unknown>;
  /** The names of the secret fields that are set. */
  secretsSet: string[];
  from?: 'person' | 'file';
}

export interface Service {
  name: string;
  displayName?: string;
  description?: string | null;
  category?: string | null;
  docsUrl?: string | null;
  multiEntry: boolean;
  schema: ServiceField[];
  /** Empty for viewers. */
  entries: ServiceEntry[];
  /** Told to admins. */
  neededBy: string[];
  from: 'person' | 'tool' | 'file';
}

export interface ServiceDraft {
  displayName?: string;
  description?: string;
  docsUrl?: string;
  multiEntry?: boolean;
}

/** `null` takes a field away. */
export interface EntryChange {
  label?: string;
  fields?: Record<string, unknown>;
  default?: boolean;
}

/** What people call it. */
export const nameOf = (service: Service) => service.displayName || service.name;

const serviceAt = (name: string) => `/api/v1/config-services/${id(name)}`;
const entryAt = (name: string, label: string) => `${serviceAt(name)}/entries/${id(label)}`;

export const services = () => call<{ services: Service[] }>('GET', '/api/v1/config-services');
export const defineService = (name: string, draft: ServiceDraft) => call<Service>('PUT', serviceAt(name), draft);
export const dropService = (name: string) => call<unknown>('DELETE', serviceAt(name));
export const addEntry = (name: string, entry: EntryChange & { label: string }) => call<Service>('POST', `${serviceAt(name)}/entries`, entry);
export const changeEntry = (name: string, label: string, change: EntryChange) => call<Service>('PATCH', entryAt(name, label), change);
export const dropEntry = (name: string, label: string) => call<Service>('DELETE', entryAt(name, label));

/** One call in the audit log. */
export interface AuditEntry {
  seq: number;
  at: number;
  tool: string;
  userId: string;
  /** The run it was part of: Hob made it, not a person's hand. */
  runId?: string | null;
  /** Missing when it was stopped before anything was decided. */
  verdict?: 'allow' | 'ask' | 'deny' | null;
  rule?: string;
  /** `ok`, or the code of what went wrong. */
  outcome: string;
  /** Microseconds, waiting for a person included. */
  micros: number;
}

export interface AuditQuery {
  tool: string;
  outcome: string;
  everybody: boolean;
}

/** The calls before `before`, newest first. */
export const audit = ({ tool, outcome, everybody }: AuditQuery, limit: number, before?: number | null) =>
  call<{ entries: AuditEntry[]; next: number | null }>('GET', [
    `/api/v1/audit?limit=${limit}`, before && `before=${before}`, tool && `tool=${id(tool)}`, outcome && `outcome=${id(outcome)}`, everybody && 'everybody=true',
  ].filter(Boolean).join('&'));
