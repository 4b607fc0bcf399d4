// The text of a file being edited: kept in this browser as it is typed, saved only over the version it was begun in.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Refused } from '../api';
import { useNews } from '../live';
import { trouble } from '../text';
import { saveText, textOf, type Spot, type TextFile } from './api';
import { dropEdit, keepEdit } from './edits';
import { FILE_EVENTS } from './use-places';

/** What the text is when nothing is changed: the file as it was read; `null` where it is not there any more. */
export type Base = Pick<TextFile, 'text' | 'version'> | null;

/** The changes are kept this long after the last key. */
const KEPT_MS = 250;

const isClash = (cause: unknown) => cause instanceof Refused && cause.status === 412;
const isGone = (cause: unknown) => cause instanceof Refused && cause.status === 404;

/** A text area knows only `\n`; the file keeps the line ends it had. */
const typed = (text: string) => text.replace(/\r\n?/g, '\n');
const lineEndOf = (text: string) => (text.includes('\r\n') ? '\r\n' : '\n');

export interface Editor {
  text: string;
  setText: (text: string) => void;
  dirty: boolean;
  busy: boolean;
  /** What was saved last is what is there. */
  saved: boolean;
  problem: string;
  /** This browser could not keep the changes. */
  unkept: boolean;
  /** Another text was saved meanwhile, or the file is gone (`null`). */
  conflict: { theirs: string | null } | null;
  /** Resolves to whether it was saved. */
  save: () => Promise<boolean>;
  /** Saves over what is there now. */
  saveOver: () => Promise<boolean>;
  takeTheirs: () => void;
  /** Saves as another file that is not there yet; throws where it is. */
  saveAs: (to: Spot) => Promise<void>;
  /** Forgets the changes. */
  discard: () => void;
}

/** `begin` is the file as it was read, `given` the text to go on with and the version it was begun in. */
export function useEditor(at: Spot, begin: Base, given: { text: string; version: string | null } | null): Editor {
  const [base, setBase] = useState<Base>(begin);
  const [text, setOwn] = useState(() => typed(given?.text ?? begin?.text ?? ''));
  const [theirs, setTheirs] = useState<Base | undefined>(() => (given && given.version !== (begin?.version ?? null) ? begin : begin ? undefined : null));
  const [busy, setBusy] = useState(false);
  const [saved, setSaved] = useState(false);
  const [problem, setProblem] = useState('');
  const [unkept, setUnkept] = useState(false);
  const end = useRef(lineEndOf(begin?.text ?? given?.text ?? ''));
  const dirty = base === null || theirs !== undefined || text !== typed(base.text);

  const now = useRef({ text, base, dirty, busy });
  now.current = { text, base, dirty, busy };
  const alive = useRef(true);
  /** The text is saved elsewhere: nothing is kept any more. */
  const over = useRef(false);
  const version = (of: Base) => of?.version ?? null;

  const keep = useCallback(() => {
    const { text: mine, base: from, dirty: changed } = now.current;
    if (changed && !over.current) setUnkept(!keepEdit(at, mine, version(from)));
  }, []);
  useEffect(() => {
    if (!dirty) return;
    const timer = setTimeout(keep, KEPT_MS);
    return () => clearTimeout(timer);
  }, [text, dirty]);
  useEffect(() => {
    const onUnload = (event: BeforeUnloadEvent) => {
      keep();
      if (now.current.dirty) event.preventDefault();
    };
    addEventListener('beforeunload', onUnload);
    addEventListener('pagehide', keep);
    return () => {
      alive.current = false;
      removeEventListener('beforeunload', onUnload);
      removeEventListener('pagehide', keep);
      keep();
    };
  }, []);

  /** Reads what is there now; `undefined` where the device does not say. */
  const look = async (): Promise<Base | undefined> => {
    try {
      return await textOf(at);
    } catch (cause) {
      return isGone(cause) ? null : undefined;
    }
  };
  const meet = (found: Base | undefined) => {
    if (found === undefined || !alive.current) return;
    // The same text again is no conflict: the file has a new version only.
    if (found && typed(found.text) === now.current.text) {
      setBase(found);
      setTheirs(undefined);
      dropEdit(at);
    } else {
      setTheirs(found);
    }
  };
  useNews(FILE_EVENTS, async () => {
    const { base: from, busy: saving } = now.current;
    if (saving) return;
    const found = await look();
    if (found === undefined || now.current.busy || version(found) === version(from)) return;
    if (found && !now.current.dirty) {
      setBase(found);
      setOwn(typed(found.text));
    } else {
      meet(found);
    }
  });

  const put = async (over: string | null): Promise<boolean> => {
    if (now.current.busy) return false;
    const mine = now.current.text;
    const whole = end.current === '\n' ? mine : mine.replaceAll('\n', end.current);
    setBusy(true);
    setProblem('');
    try {
      const answer = await saveText(at, whole, over);
      setBase({ text: whole, version: answer.version });
      setTheirs(undefined);
      setSaved(true);
      // What was typed while it was being saved stays kept.
      if (now.current.text === mine) dropEdit(at);
      return true;
    } catch (cause) {
      if (isClash(cause) || isGone(cause)) meet(await look());
      else setProblem(trouble(cause));
      return false;
    } finally {
      setBusy(false);
    }
  };

  const become = (text: string, from: Base) => {
    setOwn(typed(text));
    setBase(from);
    setTheirs(undefined);
    setProblem('');
    dropEdit(at);
  };
  return {
    text,
    setText: (value) => {
      setOwn(value);
      setSaved(false);
    },
    dirty, busy, saved: saved && !dirty, problem, unkept,
    conflict: theirs === undefined ? null : { theirs: theirs && typed(theirs.text) },
    save: () => put(version(base)),
    saveOver: () => put(version(theirs ?? null)),
    takeTheirs: () => theirs && become(theirs.text, theirs),
    saveAs: async (to) => {
      const mine = now.current.text;
      await saveText(to, end.current === '\n' ? mine : mine.replaceAll('\n', end.current), null);
      if (theirs) become(theirs.text, theirs);
      else over.current = true;
      dropEdit(at);
    },
    discard: () => base && become(base.text, base),
  };
}
