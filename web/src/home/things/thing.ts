// A thing of the home as the device lists it, and what the page reads from it.
import { things as words } from '../../text/things';

export const KINDS = ['light', 'switch', 'fan', 'cover', 'climate', 'media', 'lock', 'alarm', 'vacuum', 'sensor', 'contact', 'scene'] as const;
export type Kind = (typeof KINDS)[number];

export interface State {
  value: string;
  active: boolean | null;
  number?: number;
  unit?: string;
  level?: number;
  temperature?: number;
  target?: number;
  detail?: string;
}

export interface Thing {
  /** Where it lives: `pin:17`, `ha:light.hall`. */
  address: string;
  name: string;
  aliases: string[];
  area: string;
  kind: Kind;
  /** What it can be told to do. */
  verbs: string[];
  state: State;
  /** Opening it lets somebody in: a person is asked first. */
  guarded: boolean;
  hidden?: boolean;
  voice?: boolean;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const texts = (value: unknown): string[] => (Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []);

const numbers = (from: Record<string, unknown>): Partial<State> =>
  Object.fromEntries(['number', 'level', 'temperature', 'target'].map((name) => [name, from[name]]).filter(([, value]) => typeof value === 'number'));

/** A thing in a tool's result; null where it is none. */
export function thingIn(value: unknown): Thing | null {
  const found = value as Record<string, unknown> | null;
  const address = text(found?.['thing']) || text(found?.['address']);
  if (!found || !address || typeof found['name'] !== 'string') return null;
  const active = typeof found['active'] === 'boolean' ? found['active'] : null;
  return {
    address, name: found['name'], aliases: texts(found['aliases']), area: text(found['area']), kind: KINDS.find((kind) => kind === found['kind']) ?? 'sensor',
    verbs: texts(found['can']), guarded: found['guarded'] === true,
    state: {
      value: text(found['state']) || 'unknown', active, ...numbers(found),
      ...(text(found['unit']) && { unit: text(found['unit']) }), ...(text(found['detail']) && { detail: text(found['detail']) }),
    },
    ...(typeof found['hidden'] === 'boolean' && { hidden: found['hidden'] }), ...(typeof found['voice'] === 'boolean' && { voice: found['voice'] }),
  };
}

export const thingsIn = (result: unknown): Thing[] => {
  const found = (result as { things?: unknown } | null)?.things;
  return Array.isArray(found) ? found.map(thingIn).filter((one) => one !== null) : [];
};

/** The id of its source, and its key there. */
export function placeOf(address: string): { source: string; key: string } {
  const at = address.indexOf(':');
  return at < 0 ? { source: '', key: address } : { source: address.slice(0, at), key: address.slice(at + 1) };
}

export const can = (thing: Thing, ...verbs: string[]): boolean => verbs.some((verb) => thing.verbs.includes(verb));
export const isThere = ({ state }: Thing): boolean => state.value !== 'unavailable';
/** It is switched by a tap on its card. */
export const isSwitched = (thing: Thing): boolean =>
  thing.kind !== 'cover' && thing.kind !== 'lock' && thing.kind !== 'alarm' && thing.kind !== 'climate' && thing.kind !== 'vacuum' && thing.kind !== 'media'
  && thing.state.active !== null && can(thing, 'turn_on', 'turn_off', 'toggle');

/** Verbs that let somebody in; only for these a person is asked. */
const OPENING = new Set(['open', 'unlock', 'disarm', 'toggle', 'turn_on', 'turn_off', 'set_level']);
const OPENS: Partial<Record<Kind, ReadonlySet<string>>> = {
  lock: new Set(['unlock', 'open', 'toggle']), alarm: new Set(['disarm', 'turn_off', 'toggle']), cover: new Set(['open', 'toggle', 'set_level']),
};

/** Whether a command is asked about before it is sent. A level that only closes further is not. */
export function asksFirst(thing: Thing, command: Command): boolean {
  if (!thing.guarded || !(OPENS[thing.kind] ?? OPENING).has(command.action)) return false;
  return !(command.action === 'set_level' && command.level !== undefined && command.level <= (thing.state.level ?? 0));
}

/** A command, as `control_thing` takes it. */
export interface Command {
  action: string;
  level?: number;
  temperature?: number;
  text?: string;
  mute?: boolean;
  for?: string;
}

const ON_WORDS: Partial<Record<Kind, [on: string, off: string]>> = { cover: ['open', 'closed'], lock: ['unlocked', 'locked'], media: ['playing', 'paused'] };

/** The state a command leads to, shown until the device says what came of it. */
export function expected({ kind, state }: Thing, { action, level, temperature, text: said }: Command): State {
  const [on, off] = ON_WORDS[kind] ?? ['on', 'off'];
  const turned = (active: boolean): State => ({ ...state, active, value: active ? on : off });
  switch (action) {
    case 'turn_on': return { ...turned(true), ...(level !== undefined && { level }) };
    case 'turn_off': return turned(false);
    case 'toggle': return turned(!state.active);
    case 'open': return { ...state, active: true, value: 'opening' };
    case 'close': return { ...state, value: 'closing' };
    case 'lock': return { ...state, value: 'locking' };
    case 'unlock': return { ...state, value: 'unlocking' };
    case 'arm': return { ...state, value: 'arming' };
    case 'play': return { ...state, active: true, value: 'playing' };
    case 'pause': return { ...state, active: false, value: 'paused' };
    case 'set_level': return level === undefined ? state : kind === 'light' || kind === 'fan' ? { ...turned(level > 0), level } : { ...state, level };
    case 'set_temperature': return temperature === undefined ? state : { ...state, target: temperature };
    case 'set_mode': return said === undefined ? state : { ...state, ...(kind === 'climate' && { value: said, active: said !== 'off' }) };
    default: return state;
  }
}

/** The state in words: "On, 60 %", "21.5 °C", "Locked". */
export function stateWords({ kind, state }: Thing): string {
  const { value, number, unit, level, temperature, detail } = state;
  if (value === 'unavailable') return words.word(value);
  switch (kind) {
    case 'sensor': return number !== undefined ? words.number(number, unit) : words.word(value);
    case 'light': case 'fan': return state.active && level !== undefined && level > 0 && level < 100 ? `${words.word(value)} · ${words.percent(level)}` : words.word(value);
    case 'cover': return level !== undefined && level > 0 && level < 100 && !/ing$/.test(value) ? `${words.word(value)} · ${words.percent(level)}` : words.word(value);
    case 'climate': return [words.word(detail && /ing$|idle/.test(detail) ? detail : value), temperature !== undefined && words.now(words.degrees(temperature, unit))].filter(Boolean).join(' · ');
    case 'media': return detail || words.word(value);
    case 'scene': return '';
    default: return number !== undefined ? words.number(number, unit) : words.word(value);
  }
}
