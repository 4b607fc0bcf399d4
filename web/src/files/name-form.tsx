// One name, typed: of a new folder or file, or another one.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Refused } from '../api';
import { Notice, TextField } from '../form';
import { trouble } from '../text';
import { files as words } from '../text/files';
import { wrongName } from './paths';

interface Props {
  label: string;
  begin?: string;
  /** Leaving the name as it begins changes nothing. */
  renames?: boolean;
  yes: string;
  /** Resolves to what is wrong with the name, '' where nothing is. */
  onSave: (name: string) => Promise<string | void>;
  onCancel: () => void;
}

export function NameForm({ label, begin = '', renames = false, yes, onSave, onCancel }: Props): JSX.Element {
  const [name, setName] = useState(begin);
  const [wrong, setWrong] = useState('');
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => {
    const input = form.current?.querySelector('input');
    input?.focus();
    // The ending usually stays.
    const end = begin.lastIndexOf('.');
    input?.setSelectionRange(0, end > 0 ? end : begin.length);
    form.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  const save = async () => {
    if (busy) return;
    const code = wrongName(name);
    if (code) return setWrong(words.wrong[code]);
    if (renames && name === begin) return onCancel();
    setBusy(true);
    setProblem('');
    try {
      const problem = await onSave(name);
      if (problem) setWrong(problem);
    } catch (cause) {
      if (cause instanceof Refused && cause.status === 412) setWrong(words.taken(name));
      else setProblem(trouble(cause));
    }
    setBusy(false);
  };
  return (
    <form
      ref={form}
      class="file-form fields"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Escape') onCancel();
      }}
    >
      <TextField label={label} value={name} error={wrong} onInput={(value) => (setName(value), setWrong(''))} />
      {problem && <Notice bad>{problem}</Notice>}
      <div class="buttons">
        <button class="main" aria-disabled={busy}>{yes}</button>
        <button type="button" class="quiet" onClick={onCancel}>{words.cancel}</button>
      </div>
    </form>
  );
}
