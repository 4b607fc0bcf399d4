// Uploads: a queue that goes on while another room is open, and asks where a name is taken.
import { computed, signal } from '@preact/signals';
import { Refused } from '../api';
import { text, trouble } from '../text';
import { files as words } from '../text/files';
import { upload, type Spot } from './api';
import { nameOf, nextName, parentOf, partsOf, within } from './paths';

/** How many are sent at once, and the most that are taken at a time. */
const AT_ONCE = 2;
export const MOST = 1000;

export interface Upload {
  key: number;
  file: File;
  at: Spot;
  /** `clash`: the name is taken, and the person decides. */
  state: 'waiting' | 'running' | 'clash' | 'done' | 'failed' | 'cancelled';
  /** Which part of it has left, 0 to 1. */
  part: number;
  overwrite: boolean;
  problem: string;
}

/** A file, and where it is to be in the folder it is uploaded to. */
export interface Chosen {
  file: File;
  path: string;
}

export const uploads = signal<readonly Upload[]>([]);
/** What could not be taken, as a sentence. */
export const uploadsProblem = signal('');
export const uploading = computed(() => uploads.value.some(({ state }) => state === 'waiting' || state === 'running'));

let serial = 0;
const lines = new Map<number, AbortController>();

function put(key: number, change: Partial<Upload>): void {
  uploads.value = uploads.value.map((one) => (one.key === key ? { ...one, ...change } : one));
}

async function send(one: Upload): Promise<void> {
  const line = new AbortController();
  lines.set(one.key, line);
  put(one.key, { state: 'running', part: 0, problem: '' });
  try {
    await upload(one.at, one.file, one.overwrite, (part) => put(one.key, { part }), line.signal);
    put(one.key, { state: 'done', part: 1 });
  } catch (cause) {
    if (line.signal.aborted) put(one.key, { state: 'cancelled' });
    else if (cause instanceof Refused && cause.status === 412) put(one.key, { state: 'clash' });
    else put(one.key, { state: 'failed', problem: cause instanceof DOMException ? words.unreadable(one.file.name) : trouble(cause) });
  } finally {
    lines.delete(one.key);
    next();
  }
}

function next(): void {
  while (lines.size < AT_ONCE) {
    const waiting = uploads.value.find(({ state, key }) => state === 'waiting' && !lines.has(key));
    if (!waiting) return;
    void send(waiting);
  }
}

/** Takes files for a folder. */
export function addUploads(into: Spot, chosen: Chosen[]): void {
  uploadsProblem.value = chosen.length > MOST ? words.tooMany(MOST) : '';
  const taken = chosen.slice(0, MOST);
  const settled = uploads.value.every(({ state }) => state === 'done' || state === 'cancelled');
  const fresh = taken.map(({ file, path }): Upload => ({
    key: ++serial, file, at: { place: into.place, path: within(into.path, path || text.talk.file) }, state: 'waiting', part: 0, overwrite: false, problem: '',
  }));
  uploads.value = [...(settled ? [] : uploads.value), ...fresh];
  next();
}

export function cancelUpload(key: number): void {
  const line = lines.get(key);
  if (line) line.abort();
  else put(key, { state: 'cancelled' });
}

export function cancelUploads(): void {
  for (const { key, state } of uploads.value) if (state === 'waiting' || state === 'running' || state === 'clash') cancelUpload(key);
}

/** What becomes of an upload whose name is taken. */
export function decideUpload(key: number, how: 'replace' | 'both' | 'skip'): void {
  const one = uploads.value.find((other) => other.key === key);
  if (one?.state !== 'clash') return;
  if (how === 'skip') return put(key, { state: 'cancelled' });
  const renamed = within(parentOf(one.at.path), nextName(nameOf(one.at.path)));
  put(key, how === 'replace' ? { state: 'waiting', overwrite: true } : { state: 'waiting', at: { place: one.at.place, path: renamed } });
  next();
}

export function retryUpload(key: number): void {
  put(key, { state: 'waiting', part: 0, problem: '' });
  next();
}

/** Forgets the uploads that have ended. */
export function dismissUploads(): void {
  uploads.value = uploads.value.filter(({ state }) => state === 'waiting' || state === 'running');
  uploadsProblem.value = '';
}

// A page that is closed would end them.
addEventListener('beforeunload', (event) => uploading.value && event.preventDefault());

/** The files that are dragged, with those in dragged folders. */
export async function droppedFiles(data: DataTransfer): Promise<Chosen[]> {
  // The entries are there only until this handler returns.
  const entries = [...data.items].map((item) => (item.kind === 'file' ? item.webkitGetAsEntry() : null));
  const plain = [...data.files].map((file): Chosen => ({ file, path: file.name }));
  if (!entries.some((entry) => entry?.isDirectory)) return plain;
  const found: Chosen[] = [];
  const queue = entries.filter((entry): entry is FileSystemEntry => entry !== null);
  for (let entry = queue.shift(); entry && found.length <= MOST; entry = queue.shift()) {
    const path = partsOf(entry.fullPath).join('/');
    if (entry.isDirectory) {
      queue.push(...(await inside(entry as FileSystemDirectoryEntry)));
    } else {
      const file = await new Promise<File | null>((resolve) => (entry as FileSystemFileEntry).file(resolve, () => resolve(null)));
      if (file) found.push({ file, path });
    }
  }
  return found;
}

/** What a dragged folder contains; browsers hand it out in pieces. */
async function inside(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve) => reader.readEntries(resolve, () => resolve([])));
    all.push(...some);
    if (!some.length || all.length > MOST) return all;
  }
}
