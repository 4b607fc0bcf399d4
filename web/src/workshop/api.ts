// Command-line tools, programs with a key, and command tools.
import type { ToolRun } from '../api';
import { call as typed } from '../http';

// UNTYPED
const call = typed as unknown as <T>(operation: string, params?: { path?: object; query?: object; body?: unknown }, options?: { timeoutMs?: number }) => Promise<T>;

/** Looking for versions, installing and trying take their time. */
const WORK_MS = 10 * 60_000;

export type Risk = 'low' | 'medium' | 'high' | 'critical';
export type Policy = 'allowed' | 'prompt' | 'blocked';

export interface CliTool {
  name: string;
  title: string;
  about: string;
  category: string;
  riskLevel: Risk;
  policy: Policy;
  installed: boolean;
  version?: string | null;
  /** `system`, or `hob` where Hob installed it. */
  source?: string | null;
  npxPackage?: string | null;
  hosts: string[];
  writes: boolean;
  custom: boolean;
}

export interface CliSettings {
  policy?: Policy;
  title?: string;
  category?: string;
  riskLevel?: Risk;
  about?: string;
  program?: string;
  package?: string;
  hosts?: string[];
  writes?: boolean;
}

export const cliTools = () => call<{ tools: CliTool[] }>('GET /api/v1/cli-tools', undefined, { timeoutMs: WORK_MS });
export const setCliTool = (name: string, body: CliSettings) => call<CliTool>('PUT /api/v1/cli-tools/{name}', { path: { name }, body });
export const unsetCliTool = (name: string) => call<unknown>('DELETE /api/v1/cli-tools/{name}', { path: { name } });
export const uninstall = (name: string) => call<unknown>('DELETE /api/v1/cli-tools/{name}/installation', { path: { name } }, { timeoutMs: WORK_MS });

export type Files = 'none' | 'read' | 'write';

export interface Binary {
  name: string;
  preset?: string | null;
  path?: string | null;
  secretsSet: string[];
  settings: Record<string, string>;
  commands: string[];
  permitted: string[];
  denyArgs: string[];
  denyVerbose: string[];
  timeoutSeconds: number;
  tips: string;
  hosts: string[];
  files: Files;
  members: boolean;
  enabled: boolean;
  problem?: string | null;
}

export interface Preset {
  name: string;
  title: string;
  secrets: string[];
  settings: string[];
  hosts: string[];
  workspace: Files;
  timeoutSeconds: number;
  denyArgs: string[];
  denyVerbose: string[];
  tips: string;
  commands: string[];
}

export interface BinarySettings {
  preset?: string;
  path?: string;
  /** Those left out stay. */
  secrets?: Record<string, string>;
  settings: Record<string, string>;
  commands?: string[];
  denyArgs?: string[];
  denyVerbose?: string[];
  timeoutSeconds?: number;
  tips?: string;
  hosts?: string[];
  files?: Files;
  members: boolean;
  enabled: boolean;
}

export const binaries = () => call<{ binaries: Binary[]; presets: Preset[] }>('GET /api/v1/credentialed-binaries');
export const setBinary = (name: string, body: BinarySettings) => call<Binary>('PUT /api/v1/credentialed-binaries/{name}', { path: { name }, body });
export const removeBinary = (name: string) => call<unknown>('DELETE /api/v1/credentialed-binaries/{name}', { path: { name } });

export interface CommandTool {
  id: string;
  name: string;
  description: string;
  parameters: object;
  command: string;
  workingDir: string;
  timeoutSeconds: number;
  envNames: string[];
  network: boolean;
  status: 'active' | 'disabled' | 'pending_approval' | 'rejected';
  requiresApproval: boolean;
  createdBy: 'user' | 'llm';
  version: number;
  usageCount: number;
  updatedAt: string;
}

export interface CommandDraft {
  name: string;
  description: string;
  parameters: object;
  command: string;
  workingDir: string;
  timeoutSeconds: number;
  env?: Record<string, string>;
  network: boolean;
  requiresApproval: boolean;
}

/** `null` removes a variable. */
export type CommandChange = Omit<CommandDraft, 'env'> & { env?: Record<string, string | null> };

export const commandTools = () => call<{ tools: CommandTool[] }>('GET /api/v1/command-tools');
export const createCommandTool = (body: CommandDraft) => call<CommandTool>('POST /api/v1/command-tools', { body });
export const changeCommandTool = (which: string, body: CommandChange) => call<CommandTool>('PATCH /api/v1/command-tools/{id}', { path: { id: which }, body });
export const deleteCommandTool = (which: string) => call<unknown>('DELETE /api/v1/command-tools/{id}', { path: { id: which } });
export const decideCommandTool = (which: string, what: 'enable' | 'disable' | 'approve' | 'reject') => call<CommandTool>(`POST /api/v1/command-tools/{id}/${what}`, { path: { id: which } });
export const tryCommandTool = (draft: CommandDraft, given: unknown) => call<ToolRun>('POST /api/v1/command-tools/try', { body: { ...draft, arguments: given } }, { timeoutMs: WORK_MS });
