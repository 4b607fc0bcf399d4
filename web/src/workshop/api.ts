// Command-line tools, coding agents, programs with a key, and command tools.
import type { ToolRun } from '../api';
import { call, type Body, type Data } from '../http';

/** Looking for versions, installing and trying take their time. */
const WORK_MS = 10 * 60_000;

export type CliTool = Data<'GET /api/v1/cli-tools'>['tools'][number];
export type CliSettings = Body<'PUT /api/v1/cli-tools/{name}'>;
export type Risk = CliTool['riskLevel'];
export type Policy = CliTool['policy'];

export const cliTools = () => call('GET /api/v1/cli-tools', undefined, { timeoutMs: WORK_MS });
export const setCliTool = (name: string, body: CliSettings) => call('PUT /api/v1/cli-tools/{name}', { path: { name }, body });
export const unsetCliTool = (name: string) => call('DELETE /api/v1/cli-tools/{name}', { path: { name } });
export const uninstall = (name: string) => call('DELETE /api/v1/cli-tools/{name}/installation', { path: { name } }, { timeoutMs: WORK_MS });

export type CodingAgent = Data<'GET /api/v1/coding-agents'>['agents'][number];
export type AgentSettings = Body<'PUT /api/v1/coding-agents/{name}'>;

/** Hob asks each for its version. */
export const codingAgents = () => call('GET /api/v1/coding-agents', undefined, { timeoutMs: WORK_MS });
/** Variables that are left out stay. */
export const setCodingAgent = (name: string, body: AgentSettings) => call('PUT /api/v1/coding-agents/{name}', { path: { name }, body });
export const unsetCodingAgent = (name: string) => call('DELETE /api/v1/coding-agents/{name}', { path: { name } });

export type Binary = Data<'GET /api/v1/credentialed-binaries'>['binaries'][number];
export type Preset = Data<'GET /api/v1/credentialed-binaries'>['presets'][number];
export type BinarySettings = Body<'PUT /api/v1/credentialed-binaries/{name}'>;

export const binaries = () => call('GET /api/v1/credentialed-binaries');
/** Secrets that are left out stay. */
export const setBinary = (name: string, body: BinarySettings) => call('PUT /api/v1/credentialed-binaries/{name}', { path: { name }, body });
export const removeBinary = (name: string) => call('DELETE /api/v1/credentialed-binaries/{name}', { path: { name } });

export type CommandTool = Omit<Data<'GET /api/v1/command-tools'>['tools'][number], 'parameters'> & { parameters: object };
export type CommandDraft = Body<'POST /api/v1/command-tools'>;
/** A variable that is `null` is removed; those that are not named stay. */
export type CommandChange = Body<'PATCH /api/v1/command-tools/{id}'>;

export const commandTools = async () => (await call('GET /api/v1/command-tools')).tools as CommandTool[];
export const createCommandTool = (body: CommandDraft) => call('POST /api/v1/command-tools', { body });
export const changeCommandTool = (which: string, body: CommandChange) => call('PATCH /api/v1/command-tools/{id}', { path: { id: which }, body });
export const deleteCommandTool = (which: string) => call('DELETE /api/v1/command-tools/{id}', { path: { id: which } });
export const decideCommandTool = (which: string, what: 'enable' | 'disable' | 'approve' | 'reject') => call(`POST /api/v1/command-tools/{id}/${what}`, { path: { id: which } });
export const tryCommandTool = (draft: CommandDraft, given: unknown) => call('POST /api/v1/command-tools/try', { body: { ...draft, arguments: given } }, { timeoutMs: WORK_MS }) as Promise<ToolRun>;
