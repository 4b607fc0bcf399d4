// Moving, copying and deleting several files: one after the other, with a question where a name is taken.
import { useRef, useState } from 'preact/hooks';
import { Refused } from '../api';
import { trouble } from '../text';
import { files as words } from '../text/files';
import { copy, move, remove, type Entry, type Spot } from './api';
import { moveEdits } from './edits';
import { nextName, within } from './paths';

export type Choice = 'replace' | 'both' | 'skip';

export interface Operations {
  /** How many are done, while something is going on. */
  progress: { done: number; all: number } | null;
  /** The name that is taken: the person decides. */
  clash: Entry | null;
  decide: (choice: Choice) => void;
  problem: string;
  clear: () => void;
  /** Resolve to how many were done. */
  transfer: (how: 'move' | 'copy', entries: Entry[], from: string, to: Spot) => Promise<number>;
  remove: (entries: Entry[], place: string) => Promise<number>;
}

/** How often another name is tried before the refusal is shown. */
const NAMES = 50;

export function useOperations(): Operations {
  const [progress, setProgress] = useState<Operations['progress']>(null);
  const [clash, setClash] = useState<Entry | null>(null);
  const [problem, setProblem] = useState('');
  const answer = useRef<(choice: Choice) => void>(undefined);

  const ask = (entry: Entry) => new Promise<Choice>((resolve) => {
    setClash(entry);
    answer.current = (choice) => {
      setClash(null);
      resolve(choice);
    };
  });

  const each = async (entries: Entry[], act: (entry: Entry) => Promise<boolean>): Promise<number> => {
    let done = 0;
    setProblem('');
    try {
      for (const [n, entry] of entries.entries()) {
        setProgress({ done: n, all: entries.length });
        if (await act(entry)) done++;
      }
    } catch (cause) {
      setProblem(trouble(cause));
    }
    setProgress(null);
    return done;
  };

  const transfer: Operations['transfer'] = (how, entries, from, to) => each(entries, async (entry) => {
    const at = { place: from, path: entry.path };
    const act = how === 'move' ? move : copy;
    let name = entry.name;
    let overwrite = false;
    for (let tries = 0; ; tries++) {
      const target = { place: to.place, path: within(to.path, name) };
      try {
        await act(at, target, overwrite);
        if (how === 'move') moveEdits(at, target);
        return true;
      } catch (cause) {
        if (!(cause instanceof Refused && cause.status === 409) || overwrite || tries > NAMES) throw cause;
        // A copy beside the original is always another name.
        const choice = name !== entry.name || (target.place === at.place && target.path === at.path) ? 'both' : await ask(entry);
        if (choice === 'skip') return false;
        if (choice === 'replace') overwrite = true;
        else name = nextName(name);
      }
    }
  });

  return {
    progress,
    clash,
    decide: (choice) => answer.current?.(choice),
    problem,
    clear: () => setProblem(''),
    transfer,
    remove: (entries, place) => each(entries, (entry) => remove({ place, path: entry.path }).then(() => true)),
  };
}

/** What an ended operation says. */
export const saidOf = (how: 'move' | 'copy', done: number, to: string): string => (done ? (how === 'move' ? words.moved : words.copied)(done, to) : '');
