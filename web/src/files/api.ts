// The files of the workspace: places, folders, contents, uploads and the trash.
import { call, id, sentBytes, uploaded, type Body, type Data } from '../http';

export type Place = Data<'GET /api/v1/workspace/places'>['places'][number];
export type NewPlace = Body<'POST /api/v1/workspace/places'>;
export type Listing = Data<'GET /api/v1/workspace/list'>;
export type Entry = Listing['entries'][number];
export type TextFile = Data<'GET /api/v1/workspace/text'>;
export type Trashed = Data<'GET /api/v1/workspace/trash'>['entries'][number];
export type Found = Data<'GET /api/v1/workspace/search'>['files'][number];

/** What names a file or folder. */
export interface Spot {
  place: string;
  path: string;
}

/** Deleting a deep folder, and copying a large one, take as long as the disk needs. */
const WORK_MS = 10 * 60_000;

export const places = () => call('GET /api/v1/workspace/places');
export const addPlace = (body: NewPlace) => call('POST /api/v1/workspace/places', { body });
export const removePlace = (which: string) => call('DELETE /api/v1/workspace/places/{id}', { path: { id: which } });
export const list = ({ place, path }: Spot, offset: number, limit: number) => call('GET /api/v1/workspace/list', { query: { place, path, offset, limit } });
export const textOf = ({ place, path }: Spot) => call('GET /api/v1/workspace/text', { query: { place, path } });
export const makeFolder = (at: Spot) => call('POST /api/v1/workspace/folders', { body: at });
export const move = (from: Spot, to: Spot, overwrite = false) =>
  call('POST /api/v1/workspace/move', { body: { ...from, toPlace: to.place, toPath: to.path, overwrite } }, { timeoutMs: WORK_MS });
export const copy = (from: Spot, to: Spot, overwrite = false) =>
  call('POST /api/v1/workspace/copy', { body: { ...from, toPlace: to.place, toPath: to.path, overwrite } }, { timeoutMs: WORK_MS });
export const remove = (at: Spot) => call('POST /api/v1/workspace/delete', { body: at }, { timeoutMs: WORK_MS });
export const vouch = (at: Spot) => call('POST /api/v1/workspace/vouch', { body: at });
export const trash = () => call('GET /api/v1/workspace/trash');
export const restore = (which: string) => call('POST /api/v1/workspace/trash/{id}/restore', { path: { id: which } }, { timeoutMs: WORK_MS });
export const emptyTrash = () => call('POST /api/v1/workspace/trash/empty', { body: {} }, { timeoutMs: WORK_MS });
export const search = (query: string) => call('GET /api/v1/workspace/search', { query: { query } });

const query = ({ place, path }: Spot) => `place=${id(place)}&path=${id(path)}`;
/** Where the bytes of a file are; `version` gets around the browser's copy of an older one. */
export const bytesAt = (at: Spot, version?: string | null) => `/api/v1/workspace/file?${query(at)}${version ? `&v=${id(version)}` : ''}`;
export const downloadAt = (at: Spot) => `/api/v1/workspace/file?${query(at)}&download=1`;

/** Saves text of a person: over the version it was read in, or as a file that is not there yet. */
export const saveText = (at: Spot, text: string, version: string | null) =>
  sentBytes('PUT', `${bytesAt(at)}&own=1`, new Blob([text], { type: 'text/plain' }), WORK_MS, version === null ? { 'if-none-match': '*' } : { 'if-match': `"${version}"` }) as Promise<Entry>;

/** Uploads a file; without `overwrite` it has to be a new name. */
export const upload = (at: Spot, file: File, overwrite: boolean, onProgress: (part: number) => void, signal: AbortSignal) =>
  uploaded(bytesAt(at), file, onProgress, signal, overwrite ? {} : { 'if-none-match': '*' }, 'PUT') as Promise<Entry>;
