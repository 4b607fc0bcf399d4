// A home with a device of every kind, as the tools list it: for the cards of what a simulated board does not have.
import { bad, good } from './staged.mjs';

const SWITCH = ['turn_on', 'turn_off', 'toggle'];
const thing = (address, name, area, kind, verbs, state, more = {}) => ({ address, name, aliases: [], area, kind, verbs, state: { active: null, ...state }, guarded: false, hidden: false, voice: true, ...more });

/** Every kind, in three areas. */
export const KINDS = () => [
  thing('pin:17', 'hall lamp', 'Hall', 'light', SWITCH, { value: 'on', active: true }),
  thing('ha:lock.front_door', 'Front door', 'Hall', 'lock', ['lock', 'unlock'], { value: 'locked', active: false }, { guarded: true, voice: false }),
  thing('ha:binary_sensor.porch', 'porch door', 'Hall', 'contact', [], { value: 'open', active: true }),
  thing('ha:alarm_control_panel.home', 'House alarm', 'Hall', 'alarm', ['arm', 'disarm'], { value: 'armed_away', active: true }, { guarded: true, voice: false }),
  thing('ha:light.ceiling', 'Ceiling light', 'Living room', 'light', [...SWITCH, 'set_level', 'set_color'], { value: 'on', active: true, level: 60 }),
  thing('ha:light.reading', 'Reading lamp', 'Living room', 'light', [...SWITCH, 'set_level'], { value: 'off', active: false }),
  thing('ha:climate.living', 'Thermostat', 'Living room', 'climate', ['set_temperature', 'set_mode', 'turn_on', 'turn_off'], { value: 'heat', active: true, unit: '°C', temperature: 20.4, target: 21, detail: 'heating' }),
  thing('ha:media_player.sonos', 'Sonos', 'Living room', 'media', ['play', 'pause', 'next', 'previous', 'set_level', 'mute', 'turn_on', 'turn_off'], { value: 'playing', active: true, level: 35, detail: 'Nina Simone – Feeling Good' }),
  thing('ha:cover.blinds', 'Blinds', 'Living room', 'cover', ['open', 'close', 'stop', 'set_level'], { value: 'open', active: true, level: 40 }),
  thing('ha:fan.ceiling', 'Ceiling fan', 'Living room', 'fan', [...SWITCH, 'set_level'], { value: 'off', active: false }),
  thing('ha:scene.movie', 'Movie night', 'Living room', 'scene', ['activate'], { value: 'unknown' }),
  thing('mqtt:boiler', 'Boiler', 'Cellar', 'switch', SWITCH, { value: 'off', active: false }),
  thing('mqtt:cellar_temp', 'Cellar temperature', 'Cellar', 'sensor', [], { value: '14.2', number: 14.2, unit: '°C' }),
  thing('ha:sensor.power', 'Power', 'Cellar', 'sensor', [], { value: '412', number: 412, unit: 'W' }),
  thing('ha:cover.garage', 'Garage door', 'Cellar', 'cover', ['open', 'close', 'stop'], { value: 'closed', active: false }, { guarded: true }),
  thing('ha:vacuum.robi', 'Robi', 'Cellar', 'vacuum', ['turn_on', 'stop', 'return'], { value: 'docked', active: false }),
  thing('ha:light.garden', 'Garden lights', '', 'light', SWITCH, { value: 'unavailable' }),
];

/** A home of so many lights in so many areas. */
export const large = (many, areas) => Array.from({ length: many }, (_, n) => thing(`ha:light.l${n}`, `Light ${n}`, `Area ${String(n % areas).padStart(2, '0')}`, 'light', SWITCH, { value: n % 7 ? 'off' : 'on', active: n % 7 === 0 }));

const after = {
  turn_on: { value: 'on', active: true }, turn_off: { value: 'off', active: false }, open: { value: 'open', active: true, level: 100 }, close: { value: 'closed', active: false, level: 0 },
  lock: { value: 'locked', active: false }, unlock: { value: 'unlocked', active: true }, arm: { value: 'armed_away', active: true }, disarm: { value: 'disarmed', active: false },
  play: { value: 'playing', active: true }, pause: { value: 'paused', active: false }, stop: {}, next: {}, activate: {}, mute: {}, return: { value: 'returning' },
};

/** A thing as the tools return it. */
const told = ({ address, verbs, state: { value, ...state }, area, aliases, guarded, ...rest }) => ({
  thing: address, ...rest, state: value, ...(area && { area }), ...(aliases.length && { aliases }), ...Object.fromEntries(Object.entries(state).filter(([, one]) => one !== null)),
  ...(verbs.length && { can: verbs }), ...(guarded && { guarded }),
});

/** The tools of the things over these, and what they were called with. */
export function demoHome(things = KINDS()) {
  const calls = [];
  const answers = {};
  const tool = (name, run) => (answers[`POST /api/v1/tools/${name}/execute`] = async (route) => {
    const args = route.request().postDataJSON().arguments ?? {};
    calls.push([name, args]);
    const found = await run(args);
    await route.fulfill(found?.json ? found : good({ tool: name, result: found, isError: false }));
  });
  const find = (address) => things.find((one) => one.address === address);
  tool('list_things', ({ query = '', area, active, limit = 30, offset = 0 }) => {
    const all = things.filter((one) => !one.hidden && (!active || one.state.active) && (area === undefined || one.area === area)
      && query.toLowerCase().split(/\s+/).every((word) => `${one.name} ${one.aliases.join(' ')} ${one.area}`.toLowerCase().includes(word)));
    return { total: all.length, things: all.slice(offset, offset + Math.min(limit, 200)).map(told) };
  });
  const counted = (area) => ({ things: things.filter((one) => one.area === area && !one.hidden).length, active: things.filter((one) => one.area === area && one.state.active).length });
  tool('list_areas', () => ({ areas: [...new Set(things.map((one) => one.area))].filter(Boolean).map((area) => ({ area, ...counted(area) })), unplaced: counted('') }));
  tool('get_thing', ({ thing: address }) => (find(address) ? told(find(address)) : bad(404, 'not_found', `no device is called ${address}`)));
  tool('update_thing', ({ thing: address, ...change }) => told(Object.assign(find(address), change)));
  tool('control_thing', ({ thing: address, area, kind, action, level, temperature, text }) => {
    const these = address ? [find(address)] : things.filter((one) => one.area === area && (!kind || one.kind === kind));
    for (const one of these) {
      Object.assign(one.state, after[action], level !== undefined && { level, active: level > 0, value: level > 0 ? (one.kind === 'cover' ? 'open' : 'on') : 'off' }, temperature !== undefined && { target: temperature }, action === 'set_mode' && { value: text });
    }
    return { things: these };
  });
  return { things, calls, answers, find, controlled: () => calls.filter(([name]) => name === 'control_thing').map(([, args]) => args) };
}
