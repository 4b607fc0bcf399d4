// A button that copies. Browsers keep the clipboard from pages without encryption; there the older way is tried.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { text } from '../text';

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

/** Copies `value`; where the browser refuses, selects what stands in `shown`, to be copied by hand. */
export function Copy({ value, label, shown }: { value: string; label: string; shown: { current: HTMLElement | null } }): JSX.Element {
  const [words, setWords] = useState('');
  useEffect(() => {
    if (!words) return;
    const timer = setTimeout(() => setWords(''), 4000);
    return () => clearTimeout(timer);
  }, [words]);
  const press = async () => {
    if (await copied(value)) return setWords(text.device.copied);
    if (shown.current) getSelection()?.selectAllChildren(shown.current);
    setWords(text.device.selected);
  };
  return (
    <>
      <button type="button" class="small" onClick={() => void press()}>{words || label}</button>
      <span class="unseen" role="status">{words}</span>
    </>
  );
}
