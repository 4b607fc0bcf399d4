// The pins of the board: the header as it is, and the names of what is connected to it.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { Notice } from '../form';
import { Sentence } from '../sentence';
import { sentence, text } from '../text';
import { Board } from './board';
import { PinNames } from './pin-names';
import { useBoard } from './use-board';

/** `wanted`: the pin that the address names, which gets the focus. */
export function Pins({ wanted, writer }: { wanted: string | undefined; writer: boolean }): JSX.Element {
  const state = useBoard();
  const { board, none, problem, elsewhere } = state;
  const drawn = board !== null;
  useEffect(() => {
    if (!wanted || !drawn) return;
    const pin = document.querySelector<HTMLElement>(`[data-pin="${CSS.escape(wanted)}"]`);
    pin?.scrollIntoView({ block: 'center' });
    pin?.focus({ preventScroll: true });
  }, [wanted, drawn]);
  return (
    <div class="home-parts">
      <section class="pins" aria-labelledby="pins">
        <div class="part-top"><h2 id="pins">{text.home.title}</h2></div>
        {none && <p class="soft"><Sentence words={none} /></p>}
        {board && (
          <>
            <p class="soft small">{board.driver === 'sim' ? text.home.simulated : text.home.invite}</p>
            <Board state={state} />
            {board.driver !== 'sim' && <p class="soft small why"><Sentence words={text.home.driver(board.driver, sentence(board.why))} /></p>}
          </>
        )}
        {problem && <div class="told"><Notice bad>{problem}</Notice></div>}
        <p class="unseen" aria-live="polite">{elsewhere && text.home.changed(elsewhere.pin, elsewhere.high)}</p>
      </section>
      {board && <PinNames levels={[...board.levels.values()]} writer={writer} onChanged={state.renew} />}
    </div>
  );
}
