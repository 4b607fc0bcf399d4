// What goes with the next message: files are sent to the device as soon as they are chosen, and the message names them.
import { useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { text, trouble } from '../text';

/** The device keeps nothing larger. */
const LARGEST = 20 * 1024 * 1024;
/** As many as one message carries. */
const MOST = 8;

export interface Sent {
  key: number;
  name: string;
  type: string;
  size: number;
  /** Which part of it has left, 0 to 1. */
  part: number;
  /** Its id on the device, once it is there. */
  id: string;
  problem?: string;
  /** A picture is shown small. */
  picture?: string;
}

export interface Files {
  all: Sent[];
  /** Something is still on its way. */
  busy: boolean;
  /** What could not be taken, in a sentence. */
  problem: string;
  add: (chosen: Iterable<File>) => void;
  drop: (key: number) => void;
  /** They went with a message. */
  taken: () => void;
  putBack: (sent: Sent[]) => void;
}

let serial = 0;

/** What is sent of it: large pictures are made smaller. */
async function fitting(file: File): Promise<File> {
  if (!file.type.startsWith('image/')) return file;
  // Where the code does not come, it goes as it is.
  return import('./shrink').then(({ shrinkImage }) => shrinkImage(file), () => file);
}

export function useFiles(): Files {
  const [all, setAll] = useState<Sent[]>([]);
  const [problem, setProblem] = useState('');
  const lines = useRef(new Map<number, AbortController>());
  const now = useRef(all);
  now.current = all;
  useEffect(() => () => lines.current.forEach((line) => line.abort()), []);

  const put = (key: number, change: Partial<Sent>) => setAll((old) => old.map((one) => (one.key === key ? { ...one, ...change } : one)));

  const send = async (key: number, file: File) => {
    const line = new AbortController();
    lines.current.set(key, line);
    try {
      const fit = await fitting(file);
      if (line.signal.aborted) return;
      if (fit !== file) put(key, { name: fit.name, type: fit.type, size: fit.size });
      const kept = await api.upload(fit, (part) => put(key, { part }), line.signal);
      put(key, { part: 1, id: kept.id, ...(kept.mediaType && { type: kept.mediaType }) });
    } catch (cause) {
      if (!line.signal.aborted) put(key, { problem: trouble(cause) });
    } finally {
      lines.current.delete(key);
    }
  };

  const add = (chosen: Iterable<File>) => {
    const room = MOST - now.current.length;
    const files = [...chosen];
    const large = files.find((file) => file.size > LARGEST);
    const hollow = files.find((file) => file.size === 0);
    const fit = files.filter((file) => file.size > 0 && file.size <= LARGEST);
    setProblem(large ? text.talk.tooLarge(large.name) : hollow ? text.talk.hollow(hollow.name) : fit.length > room ? text.talk.tooMany(MOST) : '');
    const fresh = fit.slice(0, room).map((file) => ({
      file,
      sent: {
        key: ++serial, name: file.name || text.talk.picture, type: file.type, size: file.size, part: 0, id: '',
        ...(file.type.startsWith('image/') && { picture: URL.createObjectURL(file) }),
      } satisfies Sent,
    }));
    setAll((old) => [...old, ...fresh.map(({ sent }) => sent)]);
    for (const { sent, file } of fresh) void send(sent.key, file);
  };

  const drop = (key: number) => {
    lines.current.get(key)?.abort();
    const gone = now.current.find((one) => one.key === key);
    if (gone?.picture) URL.revokeObjectURL(gone.picture);
    // Nobody has been told of it: it need not be kept.
    if (gone?.id) void api.deleteFile(gone.id).catch(() => undefined);
    setAll((old) => old.filter((one) => one.key !== key));
    setProblem('');
  };

  return {
    all, busy: all.some((one) => !one.id && !one.problem), problem, add, drop,
    taken: () => (setAll((old) => old.filter((one) => !one.id)), setProblem('')),
    putBack: (sent) => setAll((old) => [...sent, ...old]),
  };
}
