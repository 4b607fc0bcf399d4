// The frame of the forms that make what Hob does later: how they save, wait for a yes that Hob may need, and say what is wrong.
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Buttons, Notice } from '../form';
import { approvals, forgetSettled, isPending } from '../questions';
import { ApprovalCard } from '../talk/approval-card';
import { toolOf } from '../values';
import { records as words } from '../text/records';
import type { Problems } from './draft';
import type { Entry } from './kinds';
import { Frame, refusal } from './record-form';

interface Props {
  label: string;
  entry: Entry | undefined;
  /** Reads the form: the tool and what it is called with, or what is wrong. `name` is what it is then called. */
  read: () => { tool: string; args: object; problems: Problems; name: string };
  /** The tools that are called later: Hob may ask about them now. */
  later: string[];
  onTried: (tried: boolean) => void;
  /** What Hob refused, by the field it speaks of; '' where it is none. */
  onRefused: (problem: string) => boolean;
  onDone: (name: string) => void;
  onCancel: () => void;
  children: ComponentChildren;
}

export function LaterForm({ label, entry, read, later, onTried, onRefused, onDone, onCancel, children }: Props): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const form = useRef<HTMLFormElement>(null);
  const asked = approvals.value.filter((one) => (isPending(one) || one.mine) && later.includes(toolOf(one.tool)));
  useLayoutEffect(() => {
    form.current?.querySelector<HTMLElement>('input, textarea, select')?.focus();
    return forgetSettled;
  }, []);

  const toWrong = () => requestAnimationFrame(() => {
    const first = form.current?.querySelector<HTMLElement>('[aria-invalid], .chips + .problem');
    first?.closest('details')?.setAttribute('open', '');
    first?.focus();
  });
  const submit = async (event?: Event) => {
    event?.preventDefault();
    if (busy) return;
    onTried(true);
    setProblem('');
    const { tool, args, problems, name } = read();
    if (Object.keys(problems).length) {
      toWrong();
      return;
    }
    setBusy(true);
    try {
      // A person may be asked before it is kept: that takes as long as it takes.
      await api.runTool(tool, args);
      onDone(name);
    } catch (cause) {
      if (cause instanceof api.Refused && cause.status < 500 && onRefused(cause.message)) toWrong();
      else setProblem(refusal(cause, entry));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Frame label={label} form={form} onSubmit={submit}>
      {children}
      <Buttons>
        <button class="main" aria-disabled={busy}>{busy ? words.saving : entry ? words.save : words.add}</button>
        <button type="button" class="quiet" onClick={onCancel}>{words.cancel}</button>
      </Buttons>
      {asked.map((one) => <ApprovalCard key={one.id} asked={one} />)}
      {problem && <Notice bad>{problem}</Notice>}
    </Frame>
  );
}

/** What is typed into such a form, kept for a new one while one looks elsewhere. */
export function useKept<T>(key: string, begin: T, keep: boolean): [T, (change: Partial<T>) => void, () => void] {
  const [draft, setDraft] = useState<T>(() => (keep ? ((kept.get(key) as T | undefined) ?? begin) : begin));
  const put = (change: Partial<T>) => setDraft((old) => {
    const now = { ...old, ...change };
    if (keep) kept.set(key, now);
    return now;
  });
  return [draft, put, () => void kept.delete(key)];
}

const kept = new Map<string, unknown>();

export const forgetKept = () => kept.clear();
