// The Home room: Today, and beside it the pins of the board and what else is on the network.
import type { JSX } from 'preact';
import { homeName, href, type RoomProps } from '../rooms';
import { text } from '../text';
import { today as words } from '../text/today';
import { Top } from '../top';
import './home.css';
import { Network } from './network';
import { Pins } from './pins';
import { TodayView } from './today';

/** `#/home/pins/17`, and `#/home/17` as it was before Today. */
const isPin = (part: string | undefined) => part !== undefined && /^\d+$/.test(part);

interface Props extends RoomProps {
  /** Puts words into the composer of Talk, to be sent or changed. */
  onSay: (words: string) => void;
}

export function Home({ session, path, onSay }: Props): JSX.Element {
  const writer = session.role !== 'viewer';
  const [first, second] = path;
  const at = first === 'pins' || isPin(first) ? 'pins' : first === 'network' ? 'network' : 'today';
  const tab = (name: typeof at, ...to: string[]) => (
    <a href={href('home', ...to)} aria-current={name === at ? 'page' : undefined}>{words[name]}</a>
  );
  return (
    <main class={`room home at-${at}`}>
      <Top title={text.rooms.home} where={homeName(session)} />
      <div class="home-inside">
        <nav class="tabs" aria-label={words.tabs}>
          {tab('today')}
          {tab('pins', 'pins')}
          {tab('network', 'network')}
        </nav>
        {at === 'today' && <TodayView writer={writer} onSay={onSay} />}
        {at === 'pins' && <Pins wanted={isPin(first) ? first : second} writer={writer} />}
        {at === 'network' && <Network admin={session.role === 'admin'} />}
      </div>
    </main>
  );
}
