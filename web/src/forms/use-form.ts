// A form at work: its draft, what is wrong with it, and how it is submitted. A refusal is shown beside the field it is about.
import { useRef, useState } from 'preact/hooks';
import { Refused } from '../api';
import { trouble } from '../text';
import { blank, fieldIn, readAll } from './draft';
import type { Group, GroupDraft, Problems } from './schema';

/** Drafts that survive a look elsewhere, by form. */
const kept = new Map<string, GroupDraft>();

export const forgetDrafts = () => kept.clear();

interface Options {
  group: Group;
  /** The values the form begins with. */
  given?: unknown;
  /** Keeps an unfinished draft under this name. */
  keepAs?: string | undefined;
  save: (values: Record<string, unknown>, draft: GroupDraft, before: GroupDraft) => Promise<void>;
  /** A refusal as a sentence. */
  sentence?: (cause: unknown) => string;
}

export interface FormState {
  draft: GroupDraft;
  set: (draft: GroupDraft) => void;
  /** What is shown as wrong: everything once somebody tried, and what was refused. */
  problems: Problems;
  /** A refusal that is about no field. */
  problem: string;
  busy: boolean;
  submit: (event?: Event) => Promise<void>;
  /** Forgets the kept draft. */
  drop: () => void;
  ref: { current: HTMLFormElement | null };
}

export function useForm({ group, given, keepAs = '', save, sentence = trouble }: Options): FormState {
  const [before] = useState(() => blank(group, given) as GroupDraft);
  const [draft, setDraft] = useState(() => kept.get(keepAs) ?? before);
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<Problems>({});
  const [problem, setProblem] = useState('');
  const ref = useRef<HTMLFormElement>(null);
  const { values, problems: wrong } = readAll(group, draft);

  const set = (now: GroupDraft) => {
    if (keepAs) kept.set(keepAs, now);
    // A refusal is about what was typed then.
    setRefused(Object.fromEntries(Object.entries(refused).filter(([name]) => now[name] === draft[name])));
    setProblem('');
    setDraft(now);
  };
  const drop = () => void kept.delete(keepAs);

  const focusWrong = () => requestAnimationFrame(() => {
    const first = ref.current?.querySelector<HTMLElement>('[aria-invalid], .chips + .problem');
    first?.closest('details')?.setAttribute('open', '');
    first?.focus();
  });

  const submit = async (event?: Event) => {
    event?.preventDefault();
    if (busy) return;
    setTried(true);
    setProblem('');
    if (Object.keys(wrong).length) return void focusWrong();
    setBusy(true);
    try {
      await save(values, draft, before);
      drop();
    } catch (cause) {
      const about = cause instanceof Refused && cause.status < 500 && cause.status !== 403 ? fieldIn(group, draft, cause.message) : undefined;
      if (!about) return setProblem(sentence(cause));
      setRefused({ [about]: sentence(cause) });
      focusWrong();
    } finally {
      setBusy(false);
    }
  };
  return { draft, set, problems: tried ? { ...refused, ...wrong } : refused, problem, busy, submit, drop, ref };
}
