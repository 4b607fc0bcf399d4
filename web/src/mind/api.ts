// What the pages about Hob's mind ask over HTTP: models and their cost, the documents it goes by, its runs.
import { call, id } from '../api';

export interface ModelTerms {
  fallback: string[];
  /** Nobody chose those: their keys are in the environment. */
  automaticFallback?: boolean;
  strategy: string;
  preferReflex: boolean;
  /** US dollars; null is any amount. */
  dailyBudget: number | null;
}

export interface Provider {
  id: string;
  name: string;
  url: string;
  defaultUrl: string;
  needsKey: boolean;
  hasKey: boolean;
  local: boolean;
  keyFrom?: 'environment' | 'page' | null;
  keyHint?: string;
}

export interface ProviderChange {
  url?: string;
  /** '' forgets it; left out it stays. */
  key?: string;
}

export interface Tried {
  ok: boolean;
  models: string[];
  message: string;
}

export interface KnownModel {
  /** As provider/name. */
  model: string;
  name: string;
  context: number;
  output: number;
  /** US dollars for a million tokens. */
  inputPrice: number | null;
  outputPrice: number | null;
  tools: boolean;
  images: boolean;
  audio: boolean;
  files: boolean;
}

export interface Use {
  requests: number;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  cost: number;
}

export interface Usage {
  today: { cost: number; tokens: number; requests: number; budget: number | null; left: number | null };
  days: (Use & { date: string; models: (Use & { model: string; unpriced?: number })[] })[];
}

export const adjust = (terms: Partial<ModelTerms>) => call<ModelTerms>('PATCH', '/api/v1/model', terms);
export const providers = () => call<{ providers: Provider[] }>('GET', '/api/v1/providers');
export const changeProvider = (which: string, change: ProviderChange) => call<Provider>('PUT', `/api/v1/providers/${id(which)}`, change);
export const tryProvider = (which: string, change: ProviderChange) => call<Tried>('POST', `/api/v1/providers/${id(which)}/try`, change);
export const models = () => call<{ models: KnownModel[]; source: string; updatedAt?: number | null }>('GET', '/api/v1/models');
export const refreshModels = () => call<{ models: number; source: string }>('POST', '/api/v1/models/refresh', {});
export const usage = () => call<Usage>('GET', '/api/v1/usage?days=30');

export interface DocumentLine {
  name: string;
  title: string;
  about: string;
  version: number;
  length: number;
  updatedAt?: number | null;
}

export interface Document {
  name: string;
  text: string;
  version: number;
  updatedAt?: number | null;
  /** What Hob goes by where nobody wrote one. */
  builtIn?: string | null;
}

export interface Version {
  version: number;
  at: number;
  by: string;
  /** Who wrote it, or in whose name Hob did. */
  person?: string;
  operation: string;
  length?: number;
  text?: string;
}

const at = (name: string, what = '') => `/api/v1/documents/${id(name)}${what}`;

export const documents = () => call<{ documents: DocumentLine[] }>('GET', '/api/v1/documents');
export const readDocument = (name: string) => call<Document>('GET', at(name));
export const writeDocument = (name: string, text: string, version?: number) => call<Document>('PUT', at(name), { text, ...(version !== undefined && { version }) });
export const history = (name: string, limit: number, offset = 0) => call<{ count: number; versions: Version[] }>('GET', at(name, `/history?limit=${limit}&offset=${offset}`));
export const version = (name: string, which: number) => call<Version & { text: string }>('GET', at(name, `/history/${which}`));
export const rollback = (name: string, which: number, current?: number) =>
  call<Document>('POST', at(name, '/rollback'), { version: which, ...(current !== undefined && { current }) });

export interface Prompt {
  prompt: string;
  sections: { name: string; length: number; shown: boolean }[];
  length: number;
  tokens: number;
}

export const prompt = (message: string) => call<Prompt>('GET', `/api/v1/prompt${message && `?message=${id(message)}`}`);

export interface Run {
  id: string;
  conversationId?: string | null;
  state: string;
  startedAt: number;
  endedAt?: number | null;
  model?: string;
  channel?: string;
  turns?: number;
  toolCalls?: number;
  usage?: Record<string, number> | null;
  cost?: number | null;
  error?: { code: string; message: string } | null;
  resumed?: number;
  steps?: RunStep[];
  routing?: Routing | null;
}

/** Which models were tried, and why one of them answered. */
export interface Routing {
  model?: string | null;
  reason?: string;
  attempts?: { model: string; outcome: string; error?: string | null; durationMs?: number }[];
}

export interface RunStep {
  kind: string;
  at?: number;
  text?: string;
  content?: unknown;
  model?: string;
  callId?: string;
  name?: string;
  arguments?: unknown;
  state?: string;
  isError?: boolean;
  durationMs?: number;
}

export const runs = (state: string, limit: number, offset = 0) =>
  call<{ count: number; runs: Run[] }>('GET', `/api/v1/runs?limit=${limit}&offset=${offset}${state && `&state=${id(state)}`}`);
export const run = (which: string) => call<Run>('GET', `/api/v1/runs/${id(which)}`);
export const resume = (which: string) => call<unknown>('POST', `/api/v1/runs/${id(which)}/resume`);
