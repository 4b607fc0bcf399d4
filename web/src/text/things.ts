// Texts of the devices of the home: their cards, states, commands, and what is asked before something opens.
import type { Kind } from '../home/things/thing';

const lower = (words: string) => words.charAt(0).toLowerCase() + words.slice(1);
/** "the front door"; a name that has its article, or is somebody's, keeps it. */
export const theName = (name: string) => (/^(the|my|our|\S+['’]s) /i.test(name) ? lower(name) : `the ${/^[A-Z][a-z]/.test(name) ? lower(name) : name}`);
const capital = (words: string) => words.charAt(0).toUpperCase() + words.slice(1);

/** States in one word, as people say them. */
const STATES: Record<string, string> = {
  on: 'On', off: 'Off', open: 'Open', closed: 'Closed', opening: 'Opening…', closing: 'Closing…', stopped: 'Stopped',
  locked: 'Locked', unlocked: 'Unlocked', locking: 'Locking…', unlocking: 'Unlocking…', jammed: 'Jammed',
  playing: 'Playing', paused: 'Paused', idle: 'Idle', standby: 'Standby', buffering: 'Buffering…',
  heat: 'Heating', cool: 'Cooling', heat_cool: 'Heating or cooling', auto: 'Automatic', dry: 'Drying', fan_only: 'Fan only', eco: 'Eco',
  armed: 'Armed', disarmed: 'Disarmed', armed_home: 'Armed, somebody is home', armed_away: 'Armed', armed_night: 'Armed for the night', armed_vacation: 'Armed',
  arming: 'Arming…', pending: 'About to go off', triggered: 'Alarm!',
  cleaning: 'Cleaning', docked: 'In its base', returning: 'Returning…', error: 'Needs help', mowing: 'Mowing',
  unavailable: 'Unreachable', unknown: 'Unknown',
};

const KINDS: Record<Kind, string> = {
  light: 'Light', switch: 'Switch', fan: 'Fan', cover: 'Blind, door or gate', climate: 'Heating or cooling', media: 'Speaker or TV', lock: 'Lock', alarm: 'Alarm',
  vacuum: 'Robot', sensor: 'Sensor', contact: 'Contact', scene: 'Scene',
};

export const things = {
  tab: 'Devices',
  rules: 'Rules',
  loading: 'Looking around the home…',
  search: 'Search devices',
  placeholder: 'Hall lamp, kitchen, window…',
  filters: 'Filters',
  area: 'Area',
  allAreas: 'All areas',
  everything: 'All',
  onNow: 'On now',
  unplaced: 'No area yet',
  hidden: 'Hidden',
  oftenUsed: 'Often used',
  areas: 'Areas',
  found: (n: number) => (n === 1 ? '1 device' : `${n} devices`),
  areaLine: (all: number, on: number) => `${all === 1 ? '1 device' : `${all} devices`}${on ? `\u00a0· ${on} on` : ''}`,
  noneOn: 'Nothing is on. All quiet.',
  noMatch: (words: string) => `Nothing is called “${words}”.`,
  noneHere: 'Nothing is here.',
  more: (n: number) => (n > 0 ? `Show ${n} more` : 'Show more'),
  moreLoading: 'Loading…',
  lightsOff: 'Lights off',
  lightsOffIn: (area: string) => `Lights off: ${area}`,
  wasOff: (area: string) => `The lights are off: ${area}.`,

  empty: {
    title: 'Your home goes here',
    why: 'Lamps, blinds, heating, sensors, locks: each gets a card, a name and a place in what you say to Hob.',
    pin: { title: 'Something on a pin', why: 'A lamp, a pump, a door contact: give its pin a name.', go: 'Name a pin' },
    homeAssistant: { title: 'Home Assistant', why: 'Everything it knows, live, in both directions.', go: 'Connect Home Assistant' },
    mqtt: { title: 'MQTT', why: 'Zigbee2MQTT, Tasmota, Node-RED and what you built yourself.', go: 'Connect MQTT' },
  },

  kinds: KINDS,
  kind: (kind: Kind) => KINDS[kind] ?? kind,
  word: (value: string) => STATES[value] ?? capital(value.replaceAll('_', ' ')),
  notConfirmed: (is: string) => `It has not confirmed that: it is ${is.charAt(0).toLowerCase()}${is.slice(1)}.`,
  percent: (n: number) => `${n}\u00a0%`,
  /** "21.5 °C". */
  degrees: (n: number, unit?: string) => `${Number(n.toFixed(1))}${unit?.startsWith('°') ? unit.slice(0, 1) : unit ? `\u00a0${unit}` : '°'}`,
  number: (n: number, unit?: string) => `${n.toLocaleString([], { maximumFractionDigits: 2 })}${unit ? `${unit === '%' || unit.startsWith('°') ? '\u00a0' : '\u00a0'}${unit}` : ''}`,
  now: (degrees: string) => `Now ${degrees}`,
  target: 'Target',

  brightness: 'Brightness',
  position: 'Position',
  speed: 'Speed',
  volume: 'Volume',
  color: 'Colour',
  colors: {
    'warm white': 'Warm white', white: 'White', red: 'Red', orange: 'Orange', yellow: 'Yellow', green: 'Green', cyan: 'Cyan', blue: 'Blue', purple: 'Purple', pink: 'Pink',
  } as Record<string, string>,
  mode: 'Mode',
  modes: {
    off: 'Off', heat: 'Heat', cool: 'Cool', heat_cool: 'Heat or cool', auto: 'Automatic', dry: 'Dry', fan_only: 'Fan only', eco: 'Eco',
  } as Record<string, string>,
  of: (what: string, name: string) => `${what}: ${name}`,
  warmer: 'Warmer',
  cooler: 'Cooler',
  open: 'Open',
  close: 'Close',
  stop: 'Stop',
  play: 'Play',
  pause: 'Pause',
  next: 'Next',
  previous: 'Previous',
  mute: 'Mute',
  unmute: 'Unmute',
  lock: 'Lock',
  unlock: 'Unlock',
  arm: 'Arm',
  disarm: 'Disarm',
  start: 'Start',
  toBase: 'Base',
  press: 'Start',
  pressed: 'Started',
  no: 'No',
  details: (name: string) => `Details: ${name}`,

  /** What is asked before something is opened. */
  asks: {
    unlock: (name: string) => `Unlock ${theName(name)}?`,
    open: (name: string) => `Open ${theName(name)}?`,
    disarm: (name: string) => `Disarm ${theName(name)}?`,
    turn_off: (name: string) => `Turn off ${theName(name)}?`,
    turn_on: (name: string) => `Turn on ${theName(name)}?`,
    set_level: (name: string) => `Open ${theName(name)}?`,
    other: (name: string) => `Switch ${theName(name)}?`,
  } as Record<string, (name: string) => string>,
  yes: { unlock: 'Unlock', open: 'Open', disarm: 'Disarm', turn_on: 'Turn on', turn_off: 'Turn off', set_level: 'Open' } as Record<string, string>,

  sheet: {
    close: 'Close',
    where: (source: string, key: string) => ({ pin: `Pin ${key}`, ha: `Home Assistant, ${key}`, mqtt: `MQTT, ${key}` })[source] ?? `${source}, ${key}`,
    toPin: 'Show on the board',
    forHowLong: 'On for',
    minutes: (n: number) => (n >= 60 ? `${n / 60} h` : `${n} min`),
    timed: (name: string, n: number) => `${capital(name)} is on for ${n >= 60 ? `${n / 60} h` : `${n} min`}.`,
    edit: 'Name, area and more',
    name: 'Name',
    nameNeeded: 'Every device needs a name.',
    aliases: 'Also called',
    aliasesHelp: 'Other names that you say.',
    areaHelp: 'A room or floor, such as Kitchen or Upstairs.',
    kind: 'What it is',
    hidden: 'Hide it',
    hiddenHelp: 'It has no card and is left out when a whole area is switched.',
    voice: 'Voice may use it',
    voiceHelp: 'By microphone and by Home Assistant’s assistants. Locks and alarms never are.',
    save: 'Save',
    saving: 'Saving…',
    cancel: 'Cancel',
    saved: 'Saved.',
    gone: 'This device is not here any more.',
  },

  /** Calls that wait for a decision, as questions. */
  call: {
    turn_on: (what: string) => `Turn on ${what}?`, turn_off: (what: string) => `Turn off ${what}?`, toggle: (what: string) => `Switch ${what}?`,
    open: (what: string) => `Open ${what}?`, close: (what: string) => `Close ${what}?`, stop: (what: string) => `Stop ${what}?`,
    lock: (what: string) => `Lock ${what}?`, unlock: (what: string) => `Unlock ${what}?`, arm: (what: string) => `Arm ${what}?`, disarm: (what: string) => `Disarm ${what}?`,
    activate: (what: string) => `Start ${what}?`, play: (what: string) => `Play on ${what}?`, pause: (what: string) => `Pause ${what}?`,
    set_level: (what: string, to: string) => `Set ${what} to ${to || 'another level'}?`,
    set_temperature: (what: string, to: string) => `Set ${what} to ${to || 'another temperature'}?`,
    set_color: (what: string, to: string) => `Make ${what} ${to || 'another colour'}?`,
    set_mode: (what: string, to: string) => `Set ${what} to ${to || 'another mode'}?`,
  } as Record<string, (what: string, to: string) => string>,
  callFor: (question: string, time: string) => question.replace(/\?$/, ` for ${time}?`),
  callLater: (question: string, when: string) => question.replace(/\?$/, ` by itself, ${when}, without asking again?`),
  allIn: (kind: string, area: string) => (kind ? `every ${lower(kind)} in ${area}` : `everything in ${area}`),
  list: (names: string[]) => (names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`),
};
