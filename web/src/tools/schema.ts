// A tool's JSON Schema as a form: what each field is, what stands in it at first, and the arguments it gives.
import { text } from '../text';

/** JSON Schema as far as it is looked at; tools give it inlined. */
export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema | boolean;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
}

export interface Option {
  value: unknown;
  label: string;
}

export type Shape =
  | { kind: 'text'; long: boolean; code: boolean; url?: boolean; schema: Schema }
  /** A key: typed, never shown. `kept`: one is set, and stays when nothing is typed. */
  | { kind: 'secret'; kept: boolean }
  | { kind: 'number'; whole: boolean; schema: Schema }
  /** `three`: neither yes nor no may be meant, so that a switch would say too much. */
  | { kind: 'flag'; three: boolean }
  | { kind: 'choice'; options: Option[] }
  | { kind: 'several'; options: Option[] }
  | { kind: 'list'; item: Shape; schema: Schema }
  | { kind: 'rows'; item: Group; schema: Schema }
  | Group
  | { kind: 'json'; schema: Schema };

export interface Group {
  kind: 'group';
  fields: Field[];
}

export interface Field {
  name: string;
  label: string;
  help: string;
  required: boolean;
  shape: Shape;
  default: unknown;
}

/** What is typed so far; numbers and JSON as the text they are typed as, choices as their place in the list. */
export type Draft = string | boolean | Draft[] | { [name: string]: Draft };

/** What is wrong, by the path of the field: `memories.0.content`. */
export type Problems = Record<string, string>;

const LONG = /^(content|code|text|body|message|prompt|source|script|html|markdown|expression_list|description)$/i;

/** "memoryId" → "Memory id". */
export function label(name: string): string {
  const words = name.replace(/[_\-.]+/g, ' ').replace(/([a-z\d])([A-Z])/g, '$1 $2').trim().toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A 32-bit fraction arrives as 0.10000000149011612; a person reads 0.1. */
const readable = (n: number) => String(Number(n.toPrecision(7)));

function typeOf(schema: Schema): string {
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type ?? '']).filter((type) => type !== 'null');
  return types.length === 1 ? types[0]! : '';
}

/** `X or nothing` is an X that may stay empty. */
function plain(schema: Schema): Schema {
  const ways = (schema.anyOf ?? schema.oneOf ?? []).filter((way) => way.type !== 'null');
  if (ways.length !== 1) return schema;
  const { anyOf: _, oneOf: __, ...about } = schema;
  return { ...plain(ways[0]!), ...about };
}

function optionsOf(schema: Schema): Option[] | null {
  const word = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  const values = schema.enum?.filter((value) => value !== null);
  if (values?.length) return values.map((value) => ({ value, label: word(value) }));
  const ways = schema.oneOf ?? schema.anyOf;
  if (!ways?.length || !ways.every((way) => way.const !== undefined)) return null;
  return ways.map((way) => ({ value: way.const, label: way.title ?? word(way.const) }));
}

export function shapeOf(given: Schema, name = '', required = true): Shape {
  const schema = plain(given);
  const options = optionsOf(schema);
  if (options) return { kind: 'choice', options };
  switch (typeOf(schema)) {
    case 'string': {
      const code = name === 'code' || name === 'script';
      return { kind: 'text', long: code || LONG.test(name) || (schema.maxLength ?? 0) > 200, code, schema };
    }
    case 'number': return { kind: 'number', whole: false, schema };
    case 'integer': return { kind: 'number', whole: true, schema };
    case 'boolean': return { kind: 'flag', three: !required && typeof schema.default !== 'boolean' };
    case 'array': return listOf(schema);
    case 'object': return schema.properties ? groupOf(schema) : { kind: 'json', schema };
    default: return schema.properties ? groupOf(schema) : { kind: 'json', schema };
  }
}

function listOf(schema: Schema): Shape {
  if (!schema.items || typeof schema.items === 'boolean') return { kind: 'json', schema };
  const item = shapeOf(schema.items);
  switch (item.kind) {
    case 'text': case 'number': return { kind: 'list', item, schema };
    case 'choice': return { kind: 'several', options: item.options };
    case 'group': return item.fields.length ? { kind: 'rows', item, schema } : { kind: 'json', schema };
    default: return { kind: 'json', schema };
  }
}

/** The fields of an object: what is needed comes first. */
export function groupOf(schema: Schema): Group {
  const needed = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([name, raw]): Field => {
    const about = plain(raw);
    const required = needed.has(name);
    return {
      name,
      label: about.title ?? label(name),
      help: raw.description ?? about.description ?? '',
      required,
      shape: shapeOf(about, name, required),
      default: about.default,
    };
  });
  return { kind: 'group', fields: fields.sort((a, b) => rank(a) - rank(b)) };
}

/** JSON keeps no order that means anything: what is needed comes first, the short before the long, switches after. */
function rank({ required, shape }: Field): number {
  const long = shape.kind === 'text' ? (shape.code ? 2 : shape.long ? 1 : 0) : 0;
  const sort = { text: long, secret: 0, number: 0, choice: 0, list: 3, flag: 4, several: 5, group: 6, rows: 6, json: 7 }[shape.kind];
  return (required ? 0 : 10) + sort;
}

/** The form of a whole tool. What cannot be read as fields is one JSON text. */
export function formOf(schema: object): Shape {
  const given = schema as Schema & { additionalProperties?: unknown };
  try {
    if (given.properties || given.additionalProperties === false) return groupOf(given);
  } catch {
    // A schema of another kind: below.
  }
  return { kind: 'json', schema: given };
}

/** What stands in a field at first: its default, else nothing. */
export function blank(shape: Shape, given?: unknown): Draft {
  switch (shape.kind) {
    case 'text': return typeof given === 'string' ? given : '';
    case 'secret': return '';
    case 'number': return typeof given === 'number' ? readable(given) : '';
    case 'flag': return shape.three ? (typeof given === 'boolean' ? String(given) : '') : given === true;
    case 'choice': return place(shape.options, given);
    case 'several': return Array.isArray(given) ? given.map((value) => place(shape.options, value)).filter(Boolean) : [];
    case 'list': return Array.isArray(given) ? given.map((value) => blank(shape.item, value)) : [];
    case 'rows': {
      const rows = Array.isArray(given) ? given : [];
      while (rows.length < (shape.schema.minItems ?? 0)) rows.push({});
      return rows.map((row: unknown) => blank(shape.item, row));
    }
    case 'group': {
      const values = (typeof given === 'object' && given ? given : {}) as Record<string, unknown>;
      return Object.fromEntries(shape.fields.map((field) => [field.name, blank(field.shape, values[field.name] ?? field.default)]));
    }
    case 'json': return given === undefined || given === null || isEmpty(given) ? '' : JSON.stringify(given, null, 2);
  }
}

const isEmpty = (value: unknown) => typeof value === 'object' && value !== null && !Object.keys(value).length;

function place(options: Option[], value: unknown): string {
  const at = options.findIndex((option) => option.value === value);
  return at < 0 ? '' : String(at);
}

const words = text.toolsRoom.wrong;

/** The arguments a form gives; what is wrong goes to `problems`. `undefined`: the field is left out. */
export function read(shape: Shape, draft: Draft | undefined, required: boolean, path: string, problems: Problems): unknown {
  const missing = (): undefined => {
    if (required) problems[path] = words.needed;
    return undefined;
  };
  switch (shape.kind) {
    case 'text': {
      const value = draft as string;
      if (value === '' || (required && !value.trim())) return missing();
      const problem = shape.url && !/^https?:\/\/[^\s/]+\S*$/.test(value) ? words.url : wrongText(shape.schema, value);
      if (problem) problems[path] = problem;
      return value;
    }
    case 'secret': {
      const value = (draft as string).trim();
      return value || (shape.kept ? undefined : missing());
    }
    case 'number': {
      const typed = (draft as string).trim();
      if (!typed) return missing();
      // Where a comma is written for the point, "1,5" is a number too.
      const value = Number(/^-?\d+,\d+$/.test(typed) ? typed.replace(',', '.') : typed);
      const problem = Number.isFinite(value) ? wrongNumber(shape.schema, shape.whole, value) : words.number;
      if (problem) problems[path] = problem;
      return value;
    }
    case 'flag': return typeof draft === 'boolean' ? draft : draft === '' ? missing() : draft === 'true';
    case 'choice': return draft === '' ? missing() : shape.options[Number(draft)]?.value;
    case 'several': {
      const chosen = (draft as string[]).map((at) => shape.options[Number(at)]?.value);
      return chosen.length ? chosen : missing();
    }
    case 'list': {
      const filled = (draft as string[]).filter((line) => line.trim());
      if (!filled.length) return missing();
      const inner: Problems = {};
      const values = filled.map((line) => read(shape.item, line, true, 'line', inner));
      const problem = inner['line'] ?? wrongCount(shape.schema, values.length);
      if (problem) problems[path] = problem;
      return values;
    }
    case 'rows': {
      const rows = draft as Draft[];
      if (!rows.length) return missing();
      const problem = wrongCount(shape.schema, rows.length);
      if (problem) problems[path] = problem;
      return rows.map((row, n) => read(shape.item, row, true, `${path}.${n}`, problems));
    }
    case 'group': return readGroup(shape, draft as Record<string, Draft>, required, path, problems);
    case 'json': {
      const typed = (draft as string).trim();
      if (!typed) return missing();
      try {
        return JSON.parse(typed) as unknown;
      } catch (cause) {
        problems[path] = words.json(cause instanceof Error ? cause.message : '');
        return undefined;
      }
    }
  }
}

function readGroup(group: Group, draft: Record<string, Draft>, required: boolean, path: string, problems: Problems): unknown {
  const inner: Problems = {};
  const values: Record<string, unknown> = {};
  let touched = false;
  for (const field of group.fields) {
    const value = read(field.shape, draft[field.name], field.required, path ? `${path}.${field.name}` : field.name, inner);
    if (value !== undefined) values[field.name] = value;
    const untouched = blank(field.shape, field.default);
    touched ||= JSON.stringify(draft[field.name]) !== JSON.stringify(untouched);
  }
  // One that may be left out is, as long as nothing was typed into it.
  if (!required && !touched) return undefined;
  Object.assign(problems, inner);
  return values;
}

function wrongText(schema: Schema, value: string): string {
  const { minLength = 0, maxLength = Infinity, pattern } = schema;
  const length = [...value].length;
  if (length < minLength) return words.short(minLength);
  if (length > maxLength) return words.long(maxLength, length);
  try {
    if (pattern && !new RegExp(pattern, 'u').test(value)) return words.pattern(pattern);
  } catch {
    // A pattern this browser cannot read: Hob checks it.
  }
  return '';
}

function wrongNumber(schema: Schema, whole: boolean, value: number): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (whole && !Number.isInteger(value)) return words.whole;
  if (minimum !== undefined && value < minimum) return words.least(readable(minimum));
  if (maximum !== undefined && value > maximum) return words.most(readable(maximum));
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return words.above(readable(exclusiveMinimum));
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) return words.below(readable(exclusiveMaximum));
  return '';
}

function wrongCount({ minItems = 0, maxItems = Infinity }: Schema, count: number): string {
  if (count < minItems) return words.few(minItems);
  return count > maxItems ? words.many(maxItems) : '';
}

/** "0 to 27", "at least 1"; '' where anything goes. */
export function range({ minimum, maximum }: Schema): string {
  if (minimum !== undefined && maximum !== undefined) return text.toolsRoom.between(readable(minimum), readable(maximum));
  if (minimum !== undefined && minimum !== 0) return text.toolsRoom.atLeast(readable(minimum));
  return maximum === undefined ? '' : text.toolsRoom.atMost(readable(maximum));
}
