// Sends an update file: its head first, then only the ranges that the device lacks, piece by piece; continues after a lost connection.
import * as api from '../api';
import { untilReachable } from '../away';

/** A bundle begins with these bytes; then the lengths of the parts of its head follow. */
const MAGIC = 'HOBUPD1\n';
/** Magic, then three lengths of four bytes, little end first: manifest, signatures, chunk index. */
const FIXED = 20;
/** The largest head the device takes, and the largest piece. */
const MAX_HEAD = 4 << 20;
const PIECE = 1 << 20;
/** The pause before a piece is sent again that the device had no time for. */
const BUSY_MS = 1000;
/** How many rounds in which nothing new arrives end the upload: a device that restarts forgets half a chunk. */
const FRUITLESS = 3;

/** The file is no bundle. */
export class NotABundle extends Error {}

export interface Sent {
  version: string;
  /** Bytes that were missing at first, and that are missing now. */
  needed: number;
  left: number;
}

async function headOf(file: Blob): Promise<Blob> {
  const fixed = new DataView(await file.slice(0, FIXED).arrayBuffer());
  if (fixed.byteLength < FIXED) throw new NotABundle();
  const magic = String.fromCharCode(...new Uint8Array(fixed.buffer, 0, MAGIC.length));
  if (magic !== MAGIC) throw new NotABundle();
  const length = FIXED + fixed.getUint32(8, true) + fixed.getUint32(12, true) + fixed.getUint32(16, true);
  if (length > MAX_HEAD || length > file.size) throw new NotABundle();
  return file.slice(0, length);
}

const sleep = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

/** Repeats a request until the device answers it. */
async function patient<T>(signal: AbortSignal, request: () => Promise<T>): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await request();
    } catch (cause) {
      if (cause instanceof api.Refused && cause.status === 429) await sleep((cause.retryAfter ?? 1) * BUSY_MS);
      else if (!(cause instanceof api.Unreachable)) throw cause;
      else await sleep(BUSY_MS);
      await untilReachable();
    }
  }
}

/** Sends what is needed of an upload, up to where the device needs something else than it said: it has restarted meanwhile. */
async function sendRound(file: Blob, upload: api.BundleUpload, onLeft: (left: number) => void, signal: AbortSignal): Promise<void> {
  let left = upload.neededBytes;
  for (const range of upload.needed) {
    for (let at = range.offset; at < range.offset + range.length; at += PIECE) {
      const piece = file.slice(at, Math.min(at + PIECE, range.offset + range.length));
      try {
        await patient(signal, () => api.sendPiece(upload.id, at, piece));
      } catch (cause) {
        if (cause instanceof api.Refused && cause.status === 400) return;
        throw cause;
      }
      left -= piece.size;
      onLeft(left);
    }
  }
}

/** Sends the file; resolves to the id of the complete upload. */
export async function sendBundle(file: Blob, onSent: (sent: Sent) => void, signal: AbortSignal): Promise<string> {
  const head = await headOf(file);
  let upload = await patient(signal, () => api.beginUpload(head));
  const needed = upload.neededBytes;
  let fruitless = 0;
  while (upload.neededBytes > 0) {
    const { id, version, neededBytes: before } = upload;
    const onLeft = (left: number) => onSent({ version, needed: Math.max(needed, left), left });
    onLeft(before);
    await sendRound(file, upload, onLeft, signal);
    upload = await patient(signal, () => api.bundleUpload(id));
    fruitless = upload.neededBytes < before ? 0 : fruitless + 1;
    // What was sent is needed again and again: the file is not what its head says.
    if (fruitless >= FRUITLESS) throw new NotABundle();
  }
  onSent({ version: upload.version, needed, left: 0 });
  return upload.id;
}
