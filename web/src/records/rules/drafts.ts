// The parts of a rule as they are typed, and as the tools take them. A part that the form cannot show stays as it is stored.
import type { Draft, GroupDraft, Problems } from '../../forms/schema';
import { rules as words } from '../../text/rules';
import { toolCall, type CallDraft } from '../action';
import { choices } from '../choices';
import { BEGIN, draftOf, formatSchedule, type StoredChoice, type WhenDraft } from '../schedule-when';
import { beginCheck, beginEvent, beginOf, causeOf, configOf, readCheck, readEvent, type Config, type Fill } from './causes';

export type Json = Record<string, unknown>;

/** A length of time as it is typed: a number, and its unit in seconds. */
export interface Span {
  n: string;
  unit: string;
}

const NO_SPAN: Span = { n: '', unit: '60' };

export function spanOf(seconds: unknown): Span {
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds <= 0) return NO_SPAN;
  const unit = [3600, 60].find((one) => seconds % one === 0) ?? 1;
  return { n: String(seconds / unit), unit: String(unit) };
}

/** Seconds; undefined where nothing was typed. */
function secondsOf(span: Span, path: string, problems: Problems, required = false): number | undefined {
  const typed = span.n.trim().replace(',', '.');
  if (!typed) {
    if (required) problems[path] = words.needed;
    return undefined;
  }
  const number = Number(typed);
  if (!Number.isFinite(number) || number <= 0) problems[path] = words.number;
  return Math.round(number * Number(span.unit));
}

/** "PT1H5M" in seconds. */
export function isoSeconds(text: unknown): number | undefined {
  const [, days, hours, minutes, seconds] = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/.exec(typeof text === 'string' ? text : '') ?? [];
  const total = Number(days ?? 0) * 86_400 + Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0);
  return total > 0 ? total : undefined;
}

const isoOf = (seconds: number) => {
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return `PT${hours ? `${hours}H` : ''}${minutes ? `${minutes}M` : ''}${rest ? `${rest}S` : ''}`;
};

const shown = (value: unknown): string => (value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value));

function numberOf(typed: string, path: string, problems: Problems): number | undefined {
  const text = typed.trim().replace(',', '.');
  if (!text) return undefined;
  const number = Number(text);
  if (!Number.isFinite(number)) problems[path] = words.number;
  return number;
}

function needed(value: string, path: string, problems: Problems): string {
  if (!value.trim()) problems[path] = words.needed;
  return value.trim();
}

const only = (fields: Json): Json => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''));
/** Whether a stored part has no other fields than these. */
const hasOnly = (stored: Json, ...names: string[]) => Object.keys(stored).every((name) => name === 'type' || name === 'words' || names.includes(name));

/** Whether a part is as it was stored: then it is sent back as it is, with the fields that the form does not show. */
function isAsStored<T extends { raw: Json }>(draft: T, stored: (raw: Json) => T): boolean {
  if (!draft.raw['type']) return false;
  const begun = stored(draft.raw);
  return (Object.keys(begun) as (keyof T)[]).every((name) => JSON.stringify(draft[name]) === JSON.stringify(begun[name]));
}

// What starts a rule.

export interface TriggerDraft {
  kind: string;
  pin: string;
  press: string;
  edge: string;
  thing: string;
  to: string;
  lasts: Span;
  above: string;
  below: string;
  hysteresis: string;
  when: WhenDraft;
  sun: string;
  /** The one day of it, `next` for the next one; every day where empty. */
  date: string;
  offset: string;
  topic: string;
  payload: string;
  fill: Fill;
  event: GroupDraft;
  check: GroupDraft;
  /** What is stored, where the form cannot show it. */
  raw: Json;
}

export const NEW_TRIGGER: TriggerDraft = {
  kind: 'press', pin: '', press: 'short', edge: 'rising', thing: '', to: '', lasts: NO_SPAN, above: '', below: '', hysteresis: '', when: BEGIN, sun: 'sunset', date: '', offset: '0', topic: '', payload: '', fill: {}, event: beginEvent({}), check: beginCheck({}), raw: {},
};

const CAUSE = 'cause:';

/** The causes that Hob itself has: a timer rings, a task is done, it gets warm. */
export const ownCauses = () => (choices.value?.causes ?? []).filter(({ id }) => id !== 'pin').map(({ id, title }) => ({ value: CAUSE + id, label: title }));
export const causeIn = (kind: string) => (kind.startsWith(CAUSE) ? choices.value?.causes.find(({ id }) => id === kind.slice(CAUSE.length)) : undefined);
export const beginCause = (kind: string): Fill => {
  const cause = causeIn(kind);
  return cause ? beginOf(cause) : {};
};

/** A trigger of a rule as an event or a condition of a trigger, which the causes describe. */
function asConfig(stored: Json): { type: 'event' | 'condition'; config: Config } | undefined {
  const { type, words: _, ...rest } = stored;
  if (type === 'event') return { type, config: rest };
  if (type !== 'check') return undefined;
  const { everySeconds, ...check } = rest;
  return { type: 'condition', config: { check, everySeconds } };
}

/** The choice that a cron pattern, an interval or a moment is. */
function chosen(written: string): StoredChoice | undefined {
  const [, minute, hour, day, month, weekday] = /^(\d+) (\d+) (\d+|\*|L) (\d+|\*) (\*|[\d,]+|\d#\d|\dL)$/.exec(written) ?? [];
  const [, every, unit] = /^every (\d+) (seconds|minutes|hours|days|weeks)$/.exec(written) ?? [];
  if (every && unit) return { kind: 'interval', every: Number(every), unit };
  const [, date, at] = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)/.exec(written) ?? [];
  if (date && at) return { kind: 'once', day: date, time: at };
  if (minute === undefined || hour === undefined || !day || !month || !weekday) return undefined;
  const time = `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;
  const [, which, nth] = /^(\d)(?:#(\d)|L)$/.exec(weekday) ?? [];
  if (which) return { kind: 'nth', nth: nth ? Number(nth) : -1, weekday: Number(which), time };
  if (weekday !== '*') return day === '*' && month === '*' ? { kind: 'weekly', weekdays: weekday.split(',').map(Number), time } : undefined;
  if (month !== '*') return day === '*' || day === 'L' ? undefined : { kind: 'yearly', month: Number(month), day: Number(day), time };
  return day === '*' ? { kind: 'daily', time } : { kind: 'monthly', day: day === 'L' ? -1 : Number(day), time };
}

function fromConfig(type: string, config: Config): Json {
  if (type === 'event') return { type, ...config };
  const { check, everySeconds } = config as { check?: Json; everySeconds?: unknown };
  return only({ type: 'check', ...check, everySeconds });
}

export function triggerDraft(stored: Json): TriggerDraft {
  const draft = { ...NEW_TRIGGER, raw: stored };
  const raw = { ...draft, kind: 'raw' };
  switch (stored['type']) {
    case 'pin':
      if (stored['press']) return { ...draft, kind: 'press', pin: shown(stored['pin']), press: shown(stored['press']) };
      return { ...draft, kind: 'pin', pin: shown(stored['pin']), edge: shown(stored['edge']) || 'both', lasts: spanOf(stored['for']) };
    case 'thing': return hasOnly(stored, 'thing', 'to', 'for') ? { ...draft, kind: 'thing', thing: shown(stored['thing']), to: shown(stored['to']), lasts: spanOf(stored['for']) } : raw;
    case 'threshold':
      if (!stored['thing']) return raw;
      return { ...draft, kind: 'threshold', thing: shown(stored['thing']), above: shown(stored['above']), below: shown(stored['below']), hysteresis: shown(stored['hysteresis']), lasts: spanOf(stored['for']) };
    case 'schedule': return { ...draft, kind: 'schedule', when: draftOf(chosen(shown(stored['schedule'])), shown(stored['schedule']), shown(stored['timezone'])) };
    case 'sun': return { ...draft, kind: 'sun', sun: shown(stored['event']), offset: shown(stored['offsetMinutes'] ?? 0), date: shown(stored['date']) };
    case 'mqtt': return stored['path'] ? raw : { ...draft, kind: 'mqtt', topic: shown(stored['topic']), payload: shown(stored['payload']) };
    default: {
      const as = asConfig(stored);
      const found = as && causeOf(as.type, as.config);
      if (found?.cause) return { ...draft, kind: CAUSE + found.cause, fill: found.fill };
      if (stored['type'] === 'event') return { ...draft, kind: 'event', event: beginEvent(withoutWords(stored)) };
      return stored['type'] === 'check' ? { ...draft, kind: 'check', check: beginCheck(withoutWords(stored)) } : raw;
    }
  }
}

export function readTrigger(draft: TriggerDraft, path: string, problems: Problems): Json {
  if (isAsStored(draft, triggerDraft)) return withoutWords(draft.raw);
  const { kind } = draft;
  const lasts = () => secondsOf(draft.lasts, `${path}.lasts`, problems);
  switch (kind) {
    case 'press': return { type: 'pin', pin: Number(needed(draft.pin, `${path}.pin`, problems)), press: draft.press };
    case 'pin': return only({ type: 'pin', pin: Number(needed(draft.pin, `${path}.pin`, problems)), edge: draft.edge, for: lasts() });
    case 'thing': return only({ type: 'thing', thing: needed(draft.thing, `${path}.thing`, problems), to: draft.to, for: lasts() });
    case 'threshold': {
      const [above, below] = [numberOf(draft.above, `${path}.above`, problems), numberOf(draft.below, `${path}.below`, problems)];
      if (above === undefined && below === undefined) problems[`${path}.above`] ??= words.oneOf;
      return only({ type: kind, thing: needed(draft.thing, `${path}.thing`, problems), above, below, hysteresis: numberOf(draft.hysteresis, `${path}.hysteresis`, problems), for: lasts() });
    }
    case 'schedule': {
      const { text, problem } = formatSchedule(draft.when);
      if (problem) problems[`${path}.when`] = problem;
      return only({ type: kind, schedule: text, timezone: draft.when.zone });
    }
    case 'sun': {
      const offset = numberOf(draft.offset, `${path}.offset`, problems);
      return only({ type: kind, event: draft.sun, date: draft.date, ...(offset && { offsetMinutes: Math.round(offset) }) });
    }
    case 'mqtt': return only({ type: kind, topic: needed(draft.topic, `${path}.topic`, problems), payload: draft.payload.trim() });
    case 'event': return readEvent(draft.event, path, problems);
    case 'check': return readCheck(draft.check, path, problems);
    default: {
      const cause = causeIn(kind);
      return cause ? fromConfig(cause.type, configOf(cause, draft.fill, path, problems)) : withoutWords(draft.raw);
    }
  }
}

function withoutWords(stored: Json): Json {
  const { words: _, ...rest } = stored;
  return rest;
}

// What has to hold.

export interface ConditionDraft {
  kind: string;
  not: boolean;
  after: string;
  before: string;
  days: string[];
  sun: string;
  thing: string;
  is: string;
  above: string;
  below: string;
  pin: string;
  high: string;
  raw: Json;
}

export const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

export const NEW_CONDITION: ConditionDraft = { kind: 'time', not: false, after: '22:00', before: '06:00', days: ['mon', 'tue', 'wed', 'thu', 'fri'], sun: 'down', thing: '', is: '', above: '', below: '', pin: '', high: 'on', raw: {} };

export function conditionDraft(stored: Json, not = false): ConditionDraft {
  const draft = { ...NEW_CONDITION, not, raw: stored };
  switch (stored['type']) {
    case 'time': return { ...draft, kind: 'time', after: shown(stored['after']), before: shown(stored['before']) };
    case 'days': return { ...draft, kind: 'days', days: Array.isArray(stored['days']) ? stored['days'].map(String) : [] };
    case 'sun': return { ...draft, kind: 'sun', sun: shown(stored['is']) };
    case 'pin': return { ...draft, kind: 'pin', pin: shown(stored['pin']), high: stored['high'] === true ? 'on' : 'off' };
    case 'thing': return { ...draft, kind: stored['is'] === undefined ? 'value' : 'thing', thing: shown(stored['thing']), is: shown(stored['is']), above: shown(stored['above']), below: shown(stored['below']) };
    case 'not': return not ? { ...draft, kind: 'raw' } : { ...conditionDraft((stored['condition'] ?? {}) as Json, true), raw: (stored['condition'] ?? {}) as Json };
    default: return { ...draft, kind: 'raw' };
  }
}

export function readCondition(draft: ConditionDraft, path: string, problems: Problems): Json {
  const inner = readPlain(draft, path, problems);
  return draft.not ? { type: 'not', condition: inner } : inner;
}

function readPlain(draft: ConditionDraft, path: string, problems: Problems): Json {
  if (isAsStored(draft, (raw) => conditionDraft(raw, draft.not))) return withoutWords(draft.raw);
  switch (draft.kind) {
    case 'time':
      if (!draft.after && !draft.before) problems[`${path}.after`] = words.oneOf;
      return only({ type: 'time', after: draft.after, before: draft.before });
    case 'days':
      if (!draft.days.length) problems[`${path}.days`] = words.pickDay;
      return { type: 'days', days: DAYS.filter((day) => draft.days.includes(day)) };
    case 'sun': return { type: 'sun', is: draft.sun };
    case 'pin': return { type: 'pin', pin: Number(needed(draft.pin, `${path}.pin`, problems)), high: draft.high === 'on' };
    case 'thing': return { type: 'thing', thing: needed(draft.thing, `${path}.thing`, problems), is: needed(draft.is, `${path}.is`, problems) };
    case 'value': {
      const [above, below] = [numberOf(draft.above, `${path}.above`, problems), numberOf(draft.below, `${path}.below`, problems)];
      if (above === undefined && below === undefined) problems[`${path}.above`] ??= words.oneOf;
      return only({ type: 'thing', thing: needed(draft.thing, `${path}.thing`, problems), above, below });
    }
    default: return withoutWords(draft.raw);
  }
}

// What is done.

export interface ActionDraft {
  kind: string;
  /** An address, or `area:kind:NAME`. */
  thing: string;
  verb: string;
  level: string;
  temperature: string;
  text: string;
  lasts: Span;
  message: string;
  person: string;
  prompt: string;
  pin: string;
  milliseconds: string;
  topic: string;
  payload: string;
  retain: boolean;
  service: string;
  entity: string;
  call: CallDraft;
  raw: Json;
}

export const CALL = toolCall(false);
const NO_CALL: CallDraft = { tool: '', draft: null, given: {} };

export const NEW_ACTION: ActionDraft = {
  kind: 'thing', thing: '', verb: 'turn_on', level: '', temperature: '', text: '', lasts: NO_SPAN, message: '', person: '', prompt: '', pin: '', milliseconds: '500', topic: '', payload: '', retain: false, service: '', entity: '', call: NO_CALL, raw: {},
};

const AREA = 'area:';
export const areaValue = (area: string, kind: string) => `${AREA}${kind}:${area}`;

/** The area and kind that a choice names. */
export function areaIn(thing: string): { area: string; kind: string } | undefined {
  const [, kind = '', area = ''] = /^area:(\w*):(.*)$/.exec(thing) ?? [];
  return thing.startsWith(AREA) && area ? { area, kind } : undefined;
}

export function actionDraft(stored: Json): ActionDraft {
  const draft = { ...NEW_ACTION, raw: stored };
  const raw = { ...draft, kind: 'raw' };
  switch (stored['type']) {
    case 'thing': {
      if (!hasOnly(stored, 'thing', 'area', 'kind', 'action', 'level', 'temperature', 'text', 'for', 'mute')) return raw;
      const thing = shown(stored['thing']) || (stored['area'] ? areaValue(shown(stored['area']), shown(stored['kind'])) : '');
      return { ...draft, kind: 'thing', thing, verb: shown(stored['action']), level: shown(stored['level']), temperature: shown(stored['temperature']), text: shown(stored['text']), lasts: spanOf(isoSeconds(stored['for'])) };
    }
    case 'pin': {
      if (!hasOnly(stored, 'pin', 'high', 'toggle', 'for')) return raw;
      const verb = stored['toggle'] === true ? 'toggle' : stored['high'] === true ? 'turn_on' : 'turn_off';
      return { ...draft, kind: 'thing', thing: `pin:${shown(stored['pin'])}`, verb, lasts: spanOf(isoSeconds(stored['for'])) };
    }
    case 'message': return { ...draft, kind: 'message', message: shown(stored['message']), person: shown(stored['person']) };
    case 'prompt': return hasOnly(stored, 'prompt') ? { ...draft, kind: 'prompt', prompt: shown(stored['prompt']) } : raw;
    case 'wait': return { ...draft, kind: 'wait', lasts: spanOf(stored['seconds']) };
    case 'pulse': return hasOnly(stored, 'pin', 'milliseconds') ? { ...draft, kind: 'pulse', pin: shown(stored['pin']), milliseconds: shown(stored['milliseconds']) } : raw;
    case 'mqtt': return hasOnly(stored, 'topic', 'payload', 'retain') ? { ...draft, kind: 'mqtt', topic: shown(stored['topic']), payload: shown(stored['payload']), retain: stored['retain'] === true } : raw;
    case 'ha': return hasOnly(stored, 'domain', 'service', 'entity') ? { ...draft, kind: 'ha', service: `${shown(stored['domain'])}.${shown(stored['service'])}`, entity: shown(stored['entity']) } : raw;
    case 'tool': return { ...draft, kind: 'tool', call: CALL.begin(stored) as unknown as CallDraft };
    default: return raw;
  }
}

export function readAction(draft: ActionDraft, path: string, problems: Problems): Json {
  if (isAsStored(draft, actionDraft)) return withoutWords(draft.raw);
  switch (draft.kind) {
    case 'thing': {
      const where = areaIn(draft.thing);
      const which = where ? only({ area: where.area, kind: where.kind }) : { thing: needed(draft.thing, `${path}.thing`, problems) };
      const { verb } = draft;
      const seconds = ['turn_on', 'turn_off', 'open', 'close', 'set_level'].includes(verb) ? secondsOf(draft.lasts, `${path}.lasts`, problems) : undefined;
      const level = verb === 'set_level' || verb === 'turn_on' ? numberOf(draft.level, `${path}.level`, problems) : undefined;
      const temperature = verb === 'set_temperature' ? numberOf(draft.temperature, `${path}.temperature`, problems) : undefined;
      if (verb === 'set_level' && level === undefined) problems[`${path}.level`] = words.needed;
      if (verb === 'set_temperature' && temperature === undefined) problems[`${path}.temperature`] = words.needed;
      const said = verb === 'set_mode' || verb === 'set_color' ? needed(draft.text, `${path}.text`, problems) : '';
      return only({ type: 'thing', ...which, action: verb, level, temperature, text: said, ...(verb === 'mute' && { mute: true }), ...(seconds && { for: isoOf(seconds) }) });
    }
    case 'message': return only({ type: 'message', message: needed(draft.message, `${path}.message`, problems), person: draft.person });
    case 'prompt': return { type: 'prompt', prompt: needed(draft.prompt, `${path}.prompt`, problems) };
    case 'wait': return { type: 'wait', seconds: secondsOf(draft.lasts, `${path}.lasts`, problems, true) };
    case 'pulse': return only({ type: 'pulse', pin: Number(needed(draft.pin, `${path}.pin`, problems)), milliseconds: numberOf(draft.milliseconds, `${path}.milliseconds`, problems) });
    case 'mqtt': return only({ type: 'mqtt', topic: needed(draft.topic, `${path}.topic`, problems), payload: draft.payload, ...(draft.retain && { retain: true }) });
    case 'ha': {
      const [domain = '', service = ''] = needed(draft.service, `${path}.service`, problems).split('.');
      return only({ type: 'ha', domain, service, entity: draft.entity.trim() });
    }
    case 'tool': return { type: 'tool', ...(CALL.read(draft.call as unknown as Draft, true, path, problems) as object) };
    default: return withoutWords(draft.raw);
  }
}

/** The tools that an action will call: a person may have to approve them. */
export function toolsOf({ kind, call }: ActionDraft): string[] {
  const of: Record<string, string> = { thing: 'control_thing', message: 'notify', prompt: 'run_prompt', pulse: 'gpio_pulse', mqtt: 'mqtt_publish', ha: 'ha_call_service' };
  return kind === 'tool' ? [call.tool] : [of[kind] ?? ''].filter(Boolean);
}
