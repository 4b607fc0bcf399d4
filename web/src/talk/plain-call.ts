// A call to something in the home, or of the workshop, as a question: "Unlock the front door?" Loaded when such a call waits for a decision.
import * as api from '../api';
import { thingIn } from '../home/things/thing';
import { things as words, theName } from '../text/things';
import { WORKSHOP } from './plain-workshop';

type Args = Record<string, unknown>;

const textIn = (args: Args, name: string): string => (typeof args[name] === 'string' ? args[name] : '');

/** What a thing is called; what cannot be read goes by what the call says. */
async function called(which: string): Promise<string> {
  try {
    const { result } = await api.execute('get_thing', { thing: which });
    const thing = thingIn(result);
    if (thing) return theName(thing.name);
  } catch {
    // It goes by its address.
  }
  const key = /^\w+:(?:\w+\.)?(.+)$/.exec(which)?.[1];
  return key && /\D/.test(key) ? theName(key.replaceAll('_', ' ')) : /^pin:\d+$/.test(which) ? which.replace(':', ' ') : theName(which);
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function lengthOf(iso: string): string {
  const [, hours, minutes, seconds] = /^PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?$/.exec(iso) ?? [];
  const part = (n: string | undefined, unit: string) => (n ? `${n} ${Number(n) === 1 ? unit : `${unit}s`}` : '');
  return [part(hours, 'hour'), part(minutes, 'minute'), part(seconds, 'second')].filter(Boolean).join(' ') || iso;
}

function asked(verb: string, what: string, to: string, args: Args): string {
  const ask = words.call[verb];
  const question = ask ? ask(what, to) : `${capital(verb.replaceAll('_', ' '))} ${what}?`;
  const time = textIn(args, 'for');
  return time ? words.callFor(question, lengthOf(time)) : question;
}

async function control(args: Args): Promise<string> {
  const kind = textIn(args, 'kind');
  const several = Array.isArray(args['things']) ? args['things'].filter((one): one is string => typeof one === 'string') : [];
  const which = textIn(args, 'thing');
  const what = which ? await called(which) : several.length ? words.list(await Promise.all(several.map(called))) : words.allIn(kind && (words.kinds as Record<string, string>)[kind] || kind, textIn(args, 'area'));
  const to = typeof args['level'] === 'number' ? words.percent(args['level']) : typeof args['temperature'] === 'number' ? words.degrees(args['temperature']) : textIn(args, 'text');
  return asked(textIn(args, 'action'), what, to, args);
}

/** Services of Home Assistant by what they do: `lock.unlock`, `cover.open_cover`. */
const SERVICES: Record<string, string> = {
  open_cover: 'open', close_cover: 'close', stop_cover: 'stop', alarm_disarm: 'disarm', alarm_arm_away: 'arm', alarm_arm_home: 'arm', media_play: 'play', media_pause: 'pause', turn_on: 'turn_on',
  turn_off: 'turn_off', toggle: 'toggle', lock: 'lock', unlock: 'unlock', open: 'open', press: 'activate',
};

const QUESTIONS: Record<string, (args: Args) => Promise<string>> = {
  control_thing: control,
  ha_call_service: async (args) => {
    const entities = [args['entity']].flat().filter((one): one is string => typeof one === 'string');
    const verb = SERVICES[textIn(args, 'service')];
    if (!verb || !entities.length) return '';
    return asked(verb, words.list(await Promise.all(entities.map((one) => called(`ha:${one}`)))), '', {});
  },
  ha_run: async (args) => {
    const which = textIn(args, 'scene') || textIn(args, 'script') || textIn(args, 'entity');
    return which ? asked('activate', await called(which.includes('.') ? `ha:${which}` : which), '', {}) : '';
  },
  gpio_write: async (args) => asked(args['high'] === true ? 'turn_on' : 'turn_off', await called(`pin:${String(args['pin'])}`), '', args),
  gpio_toggle: async (args) => asked('toggle', await called(`pin:${String(args['pin'])}`), '', {}),
  ...WORKSHOP,
  gpio_pulse: async (args) => asked('activate', await called(`pin:${String(args['pin'])}`), '', {}),
};

/** The question a call asks; '' where the call is none of these. */
export async function plainCall(tool: string, given: unknown): Promise<string> {
  const args = (given ?? {}) as Args;
  const ask = QUESTIONS[tool];
  if (!ask) return '';
  // A call that a rule or schedule will make later.
  const later = textIn(args, 'when');
  if (later && typeof args['arguments'] === 'object') {
    const question = await ask((args['arguments'] ?? {}) as Args);
    return question && words.callLater(question, later);
  }
  return ask(args);
}
