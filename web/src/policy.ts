// What decides about tool calls: approvals, grants, autonomy, tool groups, services and the audit log.
import { call, type Body, type Data } from './http';
import type { Approval } from './api';

export type Decision = NonNullable<Approval['decision']>;

/** `"*"` covers any arguments; otherwise a value, or a text with stars, for each argument. */
export type Pattern = '*' | Record<string, unknown>;

export type Grant = Data<'GET /api/v1/grants'>['grants'][number];
export type Autonomy = Data<'GET /api/v1/autonomy'>;
export type Explained = Data<'GET /api/v1/tools/{name}/explain'>;
export type Group = Data<'GET /api/v1/tool-groups'>['groups'][number];
export type Service = Data<'GET /api/v1/config-services/{name}'>;
export type ServiceField = Service['schema'][number];
export type ServiceEntry = Service['entries'][number];
export type EntryChange = Body<'PATCH /api/v1/config-services/{name}/entries/{label}'>;
export type AuditEntry = Data<'GET /api/v1/audit'>['entries'][number];

export const grants = () => call('GET /api/v1/grants');
export const revokeGrant = (id: string) => call('DELETE /api/v1/grants/{id}', { path: { id } });
export const autonomy = () => call('GET /api/v1/autonomy');
export const setAutonomy = (level: Autonomy['level']) => call('PUT /api/v1/autonomy', { body: { level } });
/** What the policy decides when the agent calls this tool for the current person. */
export const explain = (name: string) => call('GET /api/v1/tools/{name}/explain', { path: { name }, query: { inRun: true } });
export const groups = () => call('GET /api/v1/tool-groups');
export const switchGroup = (id: string, enabled: boolean) => call('PUT /api/v1/tool-groups/{id}', { path: { id }, body: { enabled } });

export const serviceName = (service: Service) => service.displayName || service.name;

export const services = () => call('GET /api/v1/config-services');
export const defineService = (name: string, body: Body<'PUT /api/v1/config-services/{name}'>) => call('PUT /api/v1/config-services/{name}', { path: { name }, body });
export const deleteService = (name: string) => call('DELETE /api/v1/config-services/{name}', { path: { name } });
export const addEntry = (name: string, body: Body<'POST /api/v1/config-services/{name}/entries'>) => call('POST /api/v1/config-services/{name}/entries', { path: { name }, body });
export const changeEntry = (name: string, label: string, body: EntryChange) =>
  call('PATCH /api/v1/config-services/{name}/entries/{label}', { path: { name, label }, body });
export const deleteEntry = (name: string, label: string) => call('DELETE /api/v1/config-services/{name}/entries/{label}', { path: { name, label } });

export interface AuditQuery {
  tool: string;
  outcome: string;
  everybody: boolean;
}

/** The calls before `before`, newest first. */
export const audit = (filter: AuditQuery, limit: number, before?: number | null) =>
  call('GET /api/v1/audit', { query: { limit, ...(before && { before }), ...filter } });
