// The operations behind the pages about memory documents and skills.
import { call, id, sentBytes, type Data } from '../http';

export type FileLine = Data<'GET /api/v1/memory-documents'>['documents'][number];
export type MemoryFile = Data<'GET /api/v1/memory-documents/{path}'>;
export type SkillLine = Data<'GET /api/v1/skills'>['skills'][number];
export type Skill = Data<'GET /api/v1/skills/{name}'>;

const UPLOAD_MS = 60_000;

export const memoryFiles = () => call('GET /api/v1/memory-documents', { query: { under: 'memory/' } });
export const readFile = (path: string) => call('GET /api/v1/memory-documents/{path}', { path: { path } });
export const writeFile = (path: string, text: string, version: number | undefined, shared: boolean) =>
  call('PUT /api/v1/memory-documents/{path}', { path: { path }, body: { text, shared, ...(version !== undefined && { version }) } });
export const deleteFile = (path: string, shared: boolean) => call('DELETE /api/v1/memory-documents/{path}', { path: { path }, query: { shared } });

export const skills = () => call('GET /api/v1/skills');
export const skill = (name: string, file?: string) => call('GET /api/v1/skills/{name}', { path: { name }, query: file ? { file } : {} });
export const changeSkill = (name: string, body: { enabled?: boolean; trusted?: boolean }) => call('PATCH /api/v1/skills/{name}', { path: { name }, body });
export const deleteSkill = (name: string) => call('DELETE /api/v1/skills/{name}', { path: { name } });
export const restoreSkill = (name: string, version: number, shared: boolean) =>
  call('POST /api/v1/skills/{name}/restore', { path: { name }, body: { version, shared } });
export const installSkill = (file: Blob, shared: boolean) =>
  sentBytes('POST', `/api/v1/skills${shared ? `?shared=${id('true')}` : ''}`, file, UPLOAD_MS) as Promise<Skill>;
