// The question before a pin is switched that opens something.
import type { JSX } from 'preact';
import { Confirm } from '../form';
import { text } from '../text';
import { things as words } from '../text/things';
import type { BoardState } from './use-board';

export function Opening({ state: { asked, answer } }: { state: BoardState }): JSX.Element | null {
  if (!asked) return null;
  const action = asked.high ? 'turn_on' : 'turn_off';
  const ask = words.asks[action]!;
  return <Confirm title={ask(asked.name || text.home.pin(asked.pin))} yes={words.yes[action]!} no={words.no} onYes={() => answer(true)} onNo={() => answer(false)} />;
}
