// Programs that go on after the call that started them.
import { call as typed } from '../http';

// UNTYPED
const call = typed as unknown as <T>(operation: string, params?: { path?: object; query?: object; body?: unknown }) => Promise<T>;

export interface Process {
  id: string;
  /** What started it: `command` or `coding`. */
  kind: string;
  title: string;
  command: string;
  folder: string;
  status: string;
  exitCode?: number | null;
  startedAt: number;
  endedAt?: number | null;
  /** Whether its output has sequences that colour and move text. */
  terminal: boolean;
  outside: boolean;
}

/** A part of its output. Offsets are bytes. */
export interface Part {
  text: string;
  from: number;
  next: number;
}

export const processes = () => call<{ processes: Process[] }>('GET /api/v1/processes');
export const process = (which: string, from?: number, limit?: number) => call<Process & { output: string; from: number; next: number }>('GET /api/v1/processes/{id}', { path: { id: which }, query: { from, limit } });
/** Without text its input ends. */
export const input = (which: string, text?: string) => call<unknown>('POST /api/v1/processes/{id}/input', { path: { id: which }, body: text === undefined ? { close: true } : { text } });
export const stop = (which: string) => call<unknown>('POST /api/v1/processes/{id}/stop', { path: { id: which } });
export const resize = (which: string, columns: number, rows: number) => call<unknown>('POST /api/v1/processes/{id}/resize', { path: { id: which }, body: { columns, rows } });
