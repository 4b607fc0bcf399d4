// The mark of what came from outside, and "I trust this".
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { trouble } from '../text';
import { files as words } from '../text/files';
import { vouch, type Spot } from './api';

export function OutsideMark(): JSX.Element {
  return <span class="mark outside" title={words.outsideWhy}>{words.outside}</span>;
}

export function VouchButton({ at, name, onVouched, onProblem }: { at: Spot; name: string; onVouched: (said: string) => void; onProblem: (words: string) => void }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const press = async () => {
    if (busy) return;
    setBusy(true);
    try {
      await vouch(at);
      onVouched(words.vouched(name));
    } catch (cause) {
      onProblem(trouble(cause));
    }
    setBusy(false);
  };
  return <button type="button" aria-disabled={busy} title={words.outsideWhy} aria-label={words.vouchOne(name)} onClick={() => void press()}>{words.vouch}</button>;
}
