// A copy button. Without encryption browsers have no clipboard API; the old command is used there.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Check, Two } from './icons';
import { text } from './text';

/** How long the confirmation is shown. */
const SHOWN_MS = 3000;

function olderWay(value: string): boolean {
  const area = document.createElement('textarea');
  area.value = value;
  area.readOnly = true;
  area.className = 'unseen';
  document.body.append(area);
  const before = document.activeElement;
  area.select();
  const worked = document.execCommand('copy');
  area.remove();
  if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  return worked;
}

async function copied(value: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(value);
    return true;
  } catch {
    return olderWay(value);
  }
}

interface Props {
  value: string;
  label?: string;
  /** The element to select when the browser refuses to copy. */
  shown?: { current: HTMLElement | null };
}

/** A copy button as an icon. */
export function CopyIcon({ value, label }: { value: string; label: string }): JSX.Element {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [done]);
  return (
    <>
      <button type="button" class="bare" aria-label={label} title={label} onClick={() => void copied(value).then(setDone)}>{done ? <Check /> : <Two />}</button>
      <span class="unseen" role="status">{done && text.copy.copied}</span>
    </>
  );
}

export function Copy({ value, label = text.copy.copy, shown }: Props): JSX.Element {
  const [words, setWords] = useState('');
  useEffect(() => {
    if (!words) return;
    const timer = setTimeout(() => setWords(''), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [words]);
  const press = async () => {
    if (await copied(value)) return setWords(text.copy.copied);
    if (!shown?.current) return;
    getSelection()?.selectAllChildren(shown.current);
    setWords(text.copy.selected);
  };
  return (
    <>
      <button type="button" class={shown ? 'small' : 'quiet'} onClick={() => void press()}>{words || label}</button>
      <span class="unseen" role="status">{words}</span>
    </>
  );
}
