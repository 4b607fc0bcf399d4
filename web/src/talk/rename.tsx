// A new title for a conversation, in its line of the drawer.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Buttons, TextField } from '../form';
import { trouble } from '../text';
import { talk } from '../text/talk';

const words = talk.drawer;

/** The most characters of a title. */
const MOST = 200;

interface Props {
  title: string;
  /** Throws what the person should read. */
  onSave: (title: string) => Promise<void>;
  onCancel: () => void;
}

export function Rename({ title, onSave, onCancel }: Props): JSX.Element {
  const [value, setValue] = useState(title);
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => form.current?.querySelector('input')?.select(), []);
  const save = async () => {
    const fresh = value.replace(/\s+/g, ' ').trim();
    const length = [...fresh].length;
    if (busy) return;
    if (!fresh) return setProblem(words.empty);
    if (length > MOST) return setProblem(words.long(MOST, length));
    if (fresh === title) return onCancel();
    setBusy(true);
    try {
      await onSave(fresh);
    } catch (cause) {
      setProblem(trouble(cause));
      setBusy(false);
    }
  };
  return (
    <form
      class="rename"
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        event.preventDefault();
        onCancel();
      }}
    >
      <TextField label={words.title} value={value} error={problem} onInput={(next) => (setValue(next), setProblem(''))} />
      <Buttons>
        <button class="main" aria-disabled={busy}>{words.save}</button>
        <button type="button" class="quiet" onClick={onCancel}>{words.cancel}</button>
      </Buttons>
    </form>
  );
}
