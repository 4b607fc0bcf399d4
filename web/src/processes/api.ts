// Programs that go on after the call that started them.
import { call, type Data } from '../http';

export type Process = Data<'GET /api/v1/processes'>['processes'][number];

/** A part of its output. Offsets are bytes. */
export interface Part {
  text: string;
  from: number;
  next: number;
}

export const processes = () => call('GET /api/v1/processes');
export const process = (which: string, from?: number, limit?: number) => call('GET /api/v1/processes/{id}', { path: { id: which }, query: { from, limit } });
/** Without text its input ends. */
export const input = (which: string, text?: string) => call('POST /api/v1/processes/{id}/input', { path: { id: which }, body: text === undefined ? { close: true } : { text } });
export const stop = (which: string) => call('POST /api/v1/processes/{id}/stop', { path: { id: which } });
export const resize = (which: string, columns: number, rows: number) => call('POST /api/v1/processes/{id}/resize', { path: { id: which }, body: { columns, rows } });
