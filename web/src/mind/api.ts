// The operations behind the pages about models, documents and runs.
import { call, type Body, type Data } from '../http';
import type { ModelInUse, Run, RunDetails } from '../api';

export type ModelTerms = Pick<ModelInUse, 'fallback' | 'automaticFallback' | 'strategy' | 'preferReflex' | 'dailyBudget'>;
export type Provider = Data<'GET /api/v1/providers'>['providers'][number];
export type ProviderChange = Body<'PUT /api/v1/providers/{id}'>;
export type ProviderTest = Data<'POST /api/v1/providers/{id}/try'>;
export type ModelServer = FoundServers['servers'][number];
export type FoundServers = Data<'POST /api/v1/model-servers/find'>;
export type KnownModel = Data<'GET /api/v1/models'>['models'][number];
export type Usage = Data<'GET /api/v1/usage'>;
export type Document = Data<'GET /api/v1/documents/{name}'>;
export type DocumentLine = Data<'GET /api/v1/documents'>['documents'][number];
export type Version = Data<'GET /api/v1/documents/{name}/history'>['versions'][number];
export type RunStep = RunDetails['steps'][number];
export type Routing = NonNullable<RunDetails['routing']>;
export type { Run } from '../api';

export const adjust = (body: Body<'PATCH /api/v1/model'>) => call('PATCH /api/v1/model', { body });
export const providers = () => call('GET /api/v1/providers');
export const changeProvider = (id: string, body: ProviderChange) => call('PUT /api/v1/providers/{id}', { path: { id }, body });
export const testProvider = (id: string, body: ProviderChange) => call('POST /api/v1/providers/{id}/try', { path: { id }, body });
/** A first answer may need the model to be loaded. */
const ANSWER_MS = 110_000;
/** Tests a provider with a real answer; an empty `model` is the one Hob suggests. */
export const tryModel = (id: string, body: Body<'POST /api/v1/providers/{id}/try'> & { model: string }) =>
  call('POST /api/v1/providers/{id}/try', { path: { id }, body }, { timeoutMs: ANSWER_MS });
export const findServers = () => call('POST /api/v1/model-servers/find', { body: {} });
export const models = () => call('GET /api/v1/models');
export const refreshModels = () => call('POST /api/v1/models/refresh', { body: {} });
export const usage = () => call('GET /api/v1/usage', { query: { days: 30 } });

export const documents = () => call('GET /api/v1/documents');
export const readDocument = (name: string) => call('GET /api/v1/documents/{name}', { path: { name } });
export const writeDocument = (name: string, text: string, version?: number) =>
  call('PUT /api/v1/documents/{name}', { path: { name }, body: { text, ...(version !== undefined && { version }) } });
export const history = (name: string, limit: number, offset = 0) => call('GET /api/v1/documents/{name}/history', { path: { name }, query: { limit, offset } });
export const version = (name: string, which: number) => call('GET /api/v1/documents/{name}/history/{version}', { path: { name, version: String(which) } });
export const rollback = (name: string, which: number, current?: number) =>
  call('POST /api/v1/documents/{name}/rollback', { path: { name }, body: { version: which, ...(current !== undefined && { current }) } });

export const prompt = (message: string) => call('GET /api/v1/prompt', { query: { message } });

export const runs = (state: Run['state'] | '', limit: number, before?: string) =>
  call('GET /api/v1/runs', { query: { limit, before, ...(state && { state }) } });
export const run = (id: string) => call('GET /api/v1/runs/{id}', { path: { id } });
export const resume = (id: string) => call('POST /api/v1/runs/{id}/resume', { path: { id } });
