// What a rule waits for in Hob itself: a cause one chooses, or in full an event or a value that a tool looks up.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import * as api from '../../api';
import { NumberField, SelectField, TextField } from '../../form';
import { blank, read } from '../../forms/draft';
import { groupOf, readable, type Group, type GroupDraft, type Problems, type Schema } from '../../forms/schema';
import { HEADER } from '../../home/header';
import { text } from '../../text';
import { schedules as words } from '../../text/schedules';
import { toolCall } from '../action';
import { choices, type Cause, type CauseField } from '../choices';
import { entriesIn, textOf } from '../kinds';

type Kind = 'event' | 'condition';
export type Fill = Record<string, string>;
export type Config = Record<string, unknown>;

/** "21.5", "true" and "[1]" are what they look like; anything else is text. */
function valueOf(typed: string): unknown {
  try {
    return JSON.parse(typed) as unknown;
  } catch {
    return typed;
  }
}

const shown = (value: unknown) => (value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value));

const form = (required: string[], properties: Record<string, Schema>) => groupOf({ required, properties }, true);

const FORMS: Record<'event' | 'condition', Group> = {
  event: form(['topic'], {
    topic: { type: 'string', format: 'code', title: words.topic, description: words.topicHelp },
    match: { type: 'object', title: words.match, description: words.matchHelp },
  }),
  condition: form(['check', 'op', 'value', 'everySeconds'], {
    check: { custom: toolCall(true) },
    path: { type: 'string', format: 'code', title: words.path, description: words.pathHelp },
    op: { title: words.op, enum: Object.keys(words.ops), labels: words.ops, default: 'gt' },
    value: { type: 'string', format: 'line', title: words.value },
    everySeconds: { type: 'integer', minimum: 10, title: words.everySeconds, description: words.everySecondsHelp, default: 60 },
  }),
};

export const beginEvent = (stored: Config): GroupDraft => blank(FORMS.event, stored) as GroupDraft;

export function beginCheck({ tool, arguments: args, path, op, value, everySeconds }: Config): GroupDraft {
  return blank(FORMS.condition, tool ? { check: { tool, arguments: args }, path, op, value: shown(value), everySeconds } : {}) as GroupDraft;
}

export const readEvent = (draft: GroupDraft, path: string, problems: Problems): Config => ({ type: 'event', ...(read(FORMS.event, draft, true, path, problems) as Config) });

/** A value that a tool looks up now and then, and what it is compared with. */
export function readCheck(draft: GroupDraft, path: string, problems: Problems): Config {
  const { check, path: part, op, value, everySeconds } = read(formFor('condition', draft), draft, true, path, problems) as Config;
  return { type: 'check', ...(check as object), ...(part !== undefined && { path: part }), op, ...(value !== undefined && { value: valueOf(String(value).trim()) }), everySeconds };
}

/** The tool that it looks up with. */
export const checkedTool = (draft: GroupDraft): string => ((draft['check'] ?? {}) as unknown as { tool?: string }).tool ?? '';

/** The fields of the whole form: "has changed" is compared with nothing. */
export function formFor(kind: 'event' | 'condition', draft: GroupDraft): Group {
  if (kind !== 'condition' || draft['op'] !== 'changed') return FORMS[kind];
  return { kind: 'group', fields: FORMS.condition.fields.filter(({ name }) => name !== 'value') };
}

// A cause: its configuration with the values of its fields at their paths.

const inside = (config: Config, path: string): unknown => path.split('.').reduce<unknown>((value, step) => (value as Config | undefined)?.[step], config);

function put(config: Config, path: string, value: unknown): void {
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  const place = steps.reduce<Config>((at, step) => (at[step] ??= {}) as Config, config);
  place[last] = value;
}

/** All leaves by their paths; what stands under a field's path is one of them. */
function leaves(value: unknown, fields: ReadonlySet<string>, path = ''): [string, unknown][] {
  const plain = typeof value === 'object' && value !== null && !Array.isArray(value) && !fields.has(path);
  return plain ? Object.entries(value).flatMap(([name, one]) => leaves(one, fields, path ? `${path}.${name}` : name)) : [[path, value]];
}

/** The typed value of a field in a configuration; null where the field cannot show it. */
function filled(field: CauseField, config: Config): string | null {
  let value = inside(config, field.path);
  if (value === undefined || value === null) return '';
  if (field.op) {
    const { op, value: compared } = value as { op?: string; value?: unknown };
    if (op !== field.op) return null;
    value = compared;
  }
  if (field.input === 'number') return typeof value === 'number' ? readable(value / (field.scale ?? 1)) : null;
  if (field.input === 'choice') return (field.options ?? []).some((option) => option.value === value) ? JSON.stringify(value) : null;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

/** The cause that a stored configuration is one of, and what is filled in. */
export function causeOf(kind: Kind, config: Config): { cause: string; fill: Fill } {
  for (const cause of choices.value?.causes ?? []) {
    if (cause.type !== kind) continue;
    const paths = new Set(cause.fields.map((field) => field.path));
    const own = new Map(leaves(cause.config, paths));
    const [there, fill] = [leaves(config, paths), cause.fields.map((field) => [field.path, filled(field, config)] as const)];
    const same = there.every(([path, value]) => paths.has(path) || own.get(path) === value) && [...own].every(([path, value]) => inside(config, path) === value);
    if (same && fill.every(([, value]) => value !== null)) return { cause: cause.id, fill: Object.fromEntries(fill) as Fill };
  }
  return { cause: '', fill: {} };
}

export const beginOf = (cause: Cause): Fill => Object.fromEntries(cause.fields.map((field) => [field.path, field.default === undefined ? '' : String(field.default)]));

/** The configuration of a cause; what is missing goes to `problems`. */
export function configOf(cause: Cause, fill: Fill, path: string, problems: Problems): Config {
  const config = structuredClone(cause.config) as Config;
  for (const field of cause.fields) {
    const typed = (fill[field.path] ?? '').trim();
    const number = Number(typed.replace(',', '.'));
    const value = field.input === 'number' ? number * (field.scale ?? 1) : field.input === 'pin' ? number : field.input === 'choice' ? (JSON.parse(typed || 'null') as unknown) : typed;
    if (!typed && field.required) problems[`${path}.${field.path}`] = text.toolsRoom.wrong.needed;
    else if (typed && field.input === 'number' && !Number.isFinite(number)) problems[`${path}.${field.path}`] = text.toolsRoom.wrong.number;
    else if (typed && value !== null) put(config, field.path, field.op ? { op: field.op, value } : value);
  }
  return config;
}

interface FillProps {
  field: CauseField;
  value: string;
  error: string | undefined;
  onInput: (value: string) => void;
}

const PINS = HEADER.map(({ pin }) => pin).filter((pin) => pin !== undefined).sort((a, b) => a - b);

/** One value to fill in. */
export function FillField({ field, value, error, onInput }: FillProps): JSX.Element {
  const about = { label: field.title, required: field.required, error };
  switch (field.input) {
    case 'pin': return <SelectField {...about} value={value} options={[{ value: '', label: words.pinNone }, ...PINS.map((pin) => ({ value: String(pin), label: text.home.pin(pin) }))]} onInput={onInput} />;
    case 'choice': return <SelectField {...about} value={value || 'null'} options={(field.options ?? []).map((option) => ({ value: JSON.stringify(option.value ?? null), label: option.title }))} onInput={onInput} />;
    case 'number': return <NumberField {...about} value={value} onInput={onInput} />;
    case 'table': return <TableField {...about} value={value} onInput={onInput} />;
    default: return <TextField {...about} value={value} onInput={onInput} />;
  }
}

/** One of the household's tables, or any. */
function TableField({ value, onInput, ...about }: { label: string; required: boolean; error: string | undefined; value: string; onInput: (value: string) => void }): JSX.Element {
  const [names, setNames] = useState<string[]>([]);
  useEffect(() => {
    api.execute('list_custom_tables', { limit: 50 }).then(({ result }) => setNames(entriesIn(result, 'tables').map((table) => textOf(table, 'name'))), () => undefined);
  }, []);
  const all = value && !names.includes(value) ? [value, ...names] : names;
  return <SelectField {...about} value={value} options={[{ value: '', label: words.tableAny }, ...all.map((name) => ({ value: name, label: name }))]} onInput={onInput} />;
}
