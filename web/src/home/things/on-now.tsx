// What is on in the home beyond the pins, as a part of Today. Nothing where nothing is.
import type { JSX } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import * as api from '../../api';
import { deviceAway } from '../../away';
import { useNews } from '../../live';
import { go, href } from '../../rooms';
import { things as words } from '../../text/things';
import { Part } from '../part';
import { Card } from './card';
import { put, useThingUpdates } from './store';
import { placeOf, thingsIn } from './thing';
import './things.css';

/** The most that are shown. */
const MOST = 6;

export function OnNow({ writer }: { writer: boolean }): JSX.Element | null {
  const [on, setOn] = useState<string[]>([]);
  const away = deviceAway.value;
  const read = useCallback(async () => {
    const began = performance.now();
    try {
      const { result } = await api.execute('list_things', { active: true, limit: 50, details: true });
      // Named pins have their own cards here.
      const found = thingsIn(result).filter(({ address, kind }) => placeOf(address).source !== 'pin' && kind !== 'sensor').slice(0, MOST);
      for (const thing of found) put(thing, began);
      // What was just turned off keeps its card while one looks.
      setOn((before) => [...before, ...found.map(({ address }) => address).filter((address) => !before.includes(address))].slice(0, MOST));
    } catch {
      // Away, or not allowed: Today is as it was.
    }
  }, []);
  useEffect(() => {
    if (!away) void read();
  }, [away]);
  useThingUpdates(() => void read());
  useNews(['thing:changed'], () => void read());
  if (!on.length) return null;
  return (
    <Part name="things" title={words.onNow} link={{ to: href('home', 'devices'), words: words.tab }}>
      <ul class="thing-cards">{on.map((address) => <Card key={address} address={address} writer={writer} onOpen={(which) => go('home', ['devices', which])} />)}</ul>
    </Part>
  );
}
