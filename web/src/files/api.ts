// The files of the workspace: places, folders, contents, uploads and the trash.
import { call as typed, id, sentBytes, uploaded } from '../http';

// UNTYPED
const call = typed as unknown as <T>(operation: string, params?: { path?: object; query?: object; body?: unknown }, options?: { timeoutMs?: number }) => Promise<T>;

export interface Place {
  id: string;
  name: string;
  kind: 'own' | 'household' | 'agent' | 'added';
  readOnly: boolean;
  /** Whether it is there: a USB stick may be pulled out. */
  available: boolean;
  /** Why it is not. */
  reason?: string | null;
  /** Its path on the device; for admins. */
  path?: string | null;
  /** Whether what is in it counts as the household's own words. */
  trusted: boolean;
  /** Whether an admin can remove it here. */
  removable: boolean;
  usedBytes?: number | null;
  /** Without one, only the disk limits it. */
  quotaBytes?: number | null;
}

export interface Entry {
  name: string;
  path: string;
  kind: 'file' | 'folder' | 'link' | 'other';
  size: number;
  modified: number;
  mediaType?: string | null;
  /** It came from outside, or was made from something that did, and nobody has vouched for it. */
  outside: boolean;
  version: string;
}

export interface Listing {
  entries: Entry[];
  total: number;
  /** Whether the folder has more than are read. */
  truncated: boolean;
}

export interface TextFile {
  text: string;
  encoding: string;
  language?: string | null;
  truncated: boolean;
  size: number;
  version: string;
  outside: boolean;
}

export interface Trashed {
  id: string;
  name: string;
  place: string;
  path: string;
  kind: Entry['kind'];
  size: number;
  deletedAt: number;
}

export interface Found extends Entry {
  place: string;
}

/** What names a file or folder. */
export interface Spot {
  place: string;
  path: string;
}

/** Deleting a deep folder, and copying a large one, take as long as the disk needs. */
const WORK_MS = 10 * 60_000;

export const places = () => call<{ places: Place[] }>('GET /api/v1/workspace/places');
export interface NewPlace {
  name: string;
  path: string;
  readOnly: boolean;
  /** Names that do not exist in it. */
  deny: string[];
  adminsOnly: boolean;
  trusted: boolean;
}
export const addPlace = (body: NewPlace) => call<Place>('POST /api/v1/workspace/places', { body });
export const removePlace = (which: string) => call<unknown>('DELETE /api/v1/workspace/places/{id}', { path: { id: which } });
export const list = ({ place, path }: Spot, offset: number, limit: number) => call<Listing>('GET /api/v1/workspace/list', { query: { place, path, offset, limit } });
export const textOf = ({ place, path }: Spot) => call<TextFile>('GET /api/v1/workspace/text', { query: { place, path } });
export const makeFolder = (at: Spot) => call<unknown>('POST /api/v1/workspace/folders', { body: at });
export const move = (from: Spot, to: Spot, overwrite = false) =>
  call<unknown>('POST /api/v1/workspace/move', { body: { ...from, toPlace: to.place, toPath: to.path, overwrite } }, { timeoutMs: WORK_MS });
export const copy = (from: Spot, to: Spot, overwrite = false) =>
  call<unknown>('POST /api/v1/workspace/copy', { body: { ...from, toPlace: to.place, toPath: to.path, overwrite } }, { timeoutMs: WORK_MS });
export const remove = (at: Spot) => call<unknown>('POST /api/v1/workspace/delete', { body: at }, { timeoutMs: WORK_MS });
export const vouch = (at: Spot) => call<unknown>('POST /api/v1/workspace/vouch', { body: at });
export const trash = () => call<{ entries: Trashed[] }>('GET /api/v1/workspace/trash');
export const restore = (which: string) => call<unknown>('POST /api/v1/workspace/trash/{id}/restore', { path: { id: which } }, { timeoutMs: WORK_MS });
export const emptyTrash = () => call<{ removed: number }>('POST /api/v1/workspace/trash/empty', { body: {} }, { timeoutMs: WORK_MS });
export const search = (query: string) => call<{ files: Found[]; truncated: boolean }>('GET /api/v1/workspace/search', { query: { query } });

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
