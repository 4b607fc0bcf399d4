// A new passphrase, entered twice.
import type { JSX } from 'preact';
import { TextField } from '../form';
import * as texts from '../text/backup';

const words = texts.backup;
const SHORTEST = 8;

/** A passphrase as it is typed: twice, as nobody can open a backup without it. */
export interface Twice {
  first: string;
  second: string;
}

export const EMPTY: Twice = { first: '', second: '' };

/** What is wrong with it; '' when nothing is. */
export function wrong({ first, second }: Twice): string {
  if ([...first].length < SHORTEST) return words.short;
  return first === second ? '' : words.differ;
}

interface Props {
  value: Twice;
  onInput: (value: Twice) => void;
  problem: string;
  help?: string;
}

export function PassphraseFields({ value, onInput, problem, help = words.passphraseHelp }: Props): JSX.Element {
  return (
    <>
      <TextField label={words.passphrase} help={help} type="password" autocomplete="new-password" value={value.first} onInput={(first) => onInput({ ...value, first })} error={problem === words.short ? problem : ''} />
      <TextField label={words.again} type="password" autocomplete="new-password" value={value.second} onInput={(second) => onInput({ ...value, second })} error={problem === words.differ ? problem : ''} />
    </>
  );
}
