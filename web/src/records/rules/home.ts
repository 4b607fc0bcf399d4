// What a rule can be about: the devices of the home and the pins of the board, read when the form opens.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import * as api from '../../api';
import { deviceAway } from '../../away';
import { thingsIn, type Kind, type Thing } from '../../home/things/thing';
import { useNews } from '../../live';

/** As many are listed to choose from; beyond them one searches. */
const MOST = 200;

export const homeThings = signal<{ things: Thing[]; total: number } | null>(null);
export const homePins = signal<{ pin: number; name: string }[]>([]);

async function read(): Promise<void> {
  const [things, pins] = await Promise.allSettled([api.execute('list_things', { limit: MOST }), api.execute('gpio_list')]);
  if (things.status === 'fulfilled') {
    const found = thingsIn(things.value.result);
    const total = (things.value.result as { total?: unknown }).total;
    homeThings.value = { things: found, total: typeof total === 'number' ? total : found.length };
  } else homeThings.value ??= { things: [], total: 0 };
  if (pins.status === 'fulfilled') homePins.value = pins.value.result.pins.map(({ pin, name = '' }) => ({ pin, name }));
}

/** Keeps them current while a form is open. */
export function useHomeChoices(): void {
  const away = deviceAway.value;
  useEffect(() => {
    if (!away) void read();
  }, [away]);
  useNews(['pin-names:changed', 'things:changed', 'areas:changed'], () => void read());
}

/** Things by words, where there are more than are listed. */
export async function searchThings(query: string): Promise<Thing[]> {
  const { result } = await api.execute('list_things', { query, limit: 50 });
  return thingsIn(result);
}

export const thingAt = (address: string): Thing | undefined => homeThings.value?.things.find((thing) => thing.address === address);

/** What things of a kind can be told to do, where they have not said so themselves. */
const VERBS: Record<Kind, readonly string[]> = {
  light: ['turn_on', 'turn_off', 'toggle', 'set_level', 'set_color'], switch: ['turn_on', 'turn_off', 'toggle'], fan: ['turn_on', 'turn_off', 'toggle', 'set_level'],
  cover: ['open', 'close', 'stop', 'set_level'], climate: ['set_temperature', 'set_mode', 'turn_on', 'turn_off'], media: ['play', 'pause', 'next', 'previous', 'set_level', 'mute', 'turn_on', 'turn_off'],
  lock: ['lock', 'unlock'], alarm: ['arm', 'disarm'], vacuum: ['turn_on', 'stop', 'return'], scene: ['activate'], sensor: [], contact: [],
};

export const verbsOf = (thing: Thing | undefined, kind?: Kind): readonly string[] => (thing?.verbs.length ? thing.verbs : VERBS[thing?.kind ?? kind ?? 'light']);

/** The states a thing of a kind has, in one word each. */
const STATES: Record<Kind, readonly string[]> = {
  light: ['on', 'off'], switch: ['on', 'off'], fan: ['on', 'off'], cover: ['open', 'closed'], climate: ['heat', 'cool', 'auto', 'off'], media: ['playing', 'paused', 'idle', 'off'],
  lock: ['unlocked', 'locked', 'jammed'], alarm: ['triggered', 'armed_away', 'armed_home', 'disarmed'], vacuum: ['cleaning', 'docked', 'returning', 'error'],
  sensor: [], contact: ['on', 'off'], scene: [],
};

export function statesOf(thing: Thing | undefined): readonly string[] {
  if (!thing) return ['on', 'off'];
  const value = thing.state.value;
  const usual = thing.kind === 'contact' && /^(open|closed)$/.test(value) ? ['open', 'closed'] : STATES[thing.kind];
  return usual.includes(value) || value === 'unknown' || thing.kind === 'sensor' ? [...usual, 'unavailable'] : [...usual, value, 'unavailable'];
}
