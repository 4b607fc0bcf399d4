// The Home room: the pins of the board, and what else is on the network.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { Notice } from '../form';
import type { RoomProps } from '../rooms';
import { Sentence } from '../sentence';
import { sentence, text } from '../text';
import { Top } from '../top';
import { Board } from './board';
import './home.css';
import { Network } from './network';
import { useBoard } from './use-board';

export function Home({ session, path }: RoomProps): JSX.Element {
  const state = useBoard();
  const { board, none, problem, elsewhere } = state;
  const wanted = path[0];
  const drawn = board !== null;

  // `#/home/17` focuses that pin.
  useEffect(() => {
    if (!wanted || !drawn) return;
    const pin = document.querySelector<HTMLElement>(`[data-pin="${CSS.escape(wanted)}"]`);
    pin?.scrollIntoView({ block: 'center' });
    pin?.focus({ preventScroll: true });
  }, [wanted, drawn]);

  return (
    <main class="room home">
      <Top title={text.rooms.home} where={session.name} />
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
        <Network />
      </div>
    </main>
  );
}
