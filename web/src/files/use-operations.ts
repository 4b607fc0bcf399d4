// Moving, copying and deleting several files: one after the other, with a question where a name is taken.
import { useRef, useState } from 'preact/hooks';
import { trouble } from '../text';
import { files as words } from '../text/files';
import { copy, move, remove, type Entry, type Spot } from './api';
import { moveEdits } from './edits';
import { nextName, within } from './paths';
import { namesIn } from './use-folder';

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

  const transfer: Operations['transfer'] = async (how, entries, from, to) => {
    let names: Set<string> | undefined;
    return each(entries, async (entry) => {
      names ??= await namesIn(to);
      const at = { place: from, path: entry.path };
      const isSame = from === to.place && within(to.path, entry.name) === entry.path;
      let name = entry.name;
      let overwrite = false;
      if (names.has(name)) {
        // A copy beside the original always has another name.
        const choice = isSame ? 'both' : await ask(entry);
        if (choice === 'skip') return false;
        overwrite = choice === 'replace';
        while (!overwrite && names.has(name)) name = nextName(name);
      }
      const target = { place: to.place, path: within(to.path, name) };
      await (how === 'move' ? move : copy)(at, target, overwrite);
      if (how === 'move') moveEdits(at, target);
      names.add(name);
      return true;
    });
  };

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
