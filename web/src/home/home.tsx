// The Home room: Today, and beside it the devices, what happens by itself, the pins of the board and what else is on the network.
import type { JSX } from 'preact';
import { lazy } from '../lazy';
import type { Props as RecordsProps } from '../records/records';
import { homeName, href, type RoomProps } from '../rooms';
import { text } from '../text';
import { things } from '../text/things';
import { today as words } from '../text/today';
import { Top } from '../top';
import './home.css';
import { Network } from './network';
import { Pins } from './pins';
import { Things } from './things/things';
import { TodayView } from './today';

/** `#/home/pins/17`, and `#/home/17` as it was before Today. */
const isPin = (part: string | undefined) => part !== undefined && /^\d+$/.test(part);

/** The schedules and rules of the Memory room, which a home has at hand here too. */
const Records = lazy<RecordsProps>(() => import('../records/records').then((part) => part.Records));

const TABS = ['devices', 'rules', 'pins', 'network'] as const;

interface Props extends RoomProps {
  /** Puts words into the composer of Talk, to be sent or changed. */
  onSay: (words: string) => void;
}

export function Home({ session, path, onSay }: Props): JSX.Element {
  const writer = session.role !== 'viewer';
  const [first, second] = path;
  const at = isPin(first) ? 'pins' : (TABS.find((name) => name === first) ?? 'today');
  const tab = (name: typeof at, label: string, ...to: string[]) => (
    <a href={href('home', ...to)} aria-current={name === at ? 'page' : undefined}>{label}</a>
  );
  return (
    <main class={`room home at-${at}`}>
      <Top title={text.rooms.home} where={homeName(session)} />
      <div class="home-inside">
        <nav class="tabs" aria-label={words.tabs}>
          {tab('today', words.today)}
          {tab('devices', things.tab, 'devices')}
          {tab('rules', things.rules, 'rules')}
          {tab('pins', words.pins, 'pins')}
          {tab('network', words.network, 'network')}
        </nav>
        {at === 'today' && <TodayView writer={writer} onSay={onSay} />}
        {at === 'devices' && <Things wanted={second} writer={writer} />}
        {at === 'rules' && <Records section="schedules" path={path} session={session} />}
        {at === 'pins' && <Pins wanted={isPin(first) ? first : second} writer={writer} />}
        {at === 'network' && <Network admin={session.role === 'admin'} />}
      </div>
    </main>
  );
}
