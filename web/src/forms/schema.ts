// JSON Schema as the fields of a form. Tools, records, tables, services and the forms Hob shows all come through here.
import type { JSX } from 'preact';
import { text } from '../text';

/** The part of JSON Schema that forms use, inlined, and below it what only the page adds. */
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
  /** `date`, `uri`, `email`, `tel`; and for the page `textarea` and `code`. */
  format?: string;
  /** A secret: typed, never shown. */
  writeOnly?: boolean;

  /** Labels for the values of an enum; `''` labels the empty choice. */
  labels?: Readonly<Record<string, string>>;
  /** The label of a value outside the enum. */
  other?: (value: string) => string;
  /** Folded away behind "More". */
  rare?: boolean;
  /** A value in this rare field is usual: it does not unfold the others. */
  usual?: boolean;
  /** A secret that is set, and stays when nothing is typed. */
  kept?: boolean;
  /** A field with a draft and a control of its own. */
  custom?: Custom;
}

export interface CustomProps {
  field: Field;
  draft: Draft;
  onInput: (draft: Draft) => void;
  problems: Problems;
  path: string;
}

/** A field that JSON Schema cannot describe: how it begins, what it gives, and its control. */
export interface Custom {
  begin: (given: unknown) => Draft;
  read: (draft: Draft, required: boolean, path: string, problems: Problems) => unknown;
  Component: (props: CustomProps) => JSX.Element;
}

export interface Option {
  value: unknown;
  /** What stands for it in a draft. */
  key: string;
  label: string;
}

export type Shape =
  | { kind: 'text'; long: boolean; code: boolean; input?: 'url' | 'email' | 'tel'; schema: Schema }
  | { kind: 'date' }
  | { kind: 'secret'; kept: boolean }
  | { kind: 'number'; whole: boolean; schema: Schema }
  /** `three`: leaving it open is a third choice, which a switch cannot show. */
  | { kind: 'flag'; three: boolean; mustBeOn: boolean }
  | { kind: 'choice'; options: Option[]; schema: Schema }
  | { kind: 'several'; options: Option[] }
  | { kind: 'list'; item: Shape; schema: Schema }
  | { kind: 'rows'; item: Group; schema: Schema }
  | Group
  | { kind: 'json'; schema: Schema }
  | { kind: 'custom'; custom: Custom };

export interface Group {
  kind: 'group';
  fields: Field[];
}

export interface Field {
  name: string;
  label: string;
  help: string;
  required: boolean;
  rare: boolean;
  usual: boolean;
  shape: Shape;
  default: unknown;
}

/** What is typed so far: numbers, JSON and choices as text. A custom field has a draft of its own kind. */
export type Draft = string | boolean | Draft[] | { [name: string]: Draft };
export type GroupDraft = Record<string, Draft>;

/** What is wrong, by the path of the field: `memories.0.content`. */
export type Problems = Record<string, string>;

const LONG = /^(content|code|text|body|message|prompt|source|script|html|markdown|expression_list|description)$/i;

/** "memoryId" → "Memory id". */
export function label(name: string): string {
  const words = name.replace(/[_\-.]+/g, ' ').replace(/([a-z\d])([A-Z])/g, '$1 $2').trim().toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A 32-bit fraction arrives as 0.10000000149011612; a person reads 0.1. */
export const readable = (n: number) => (Number.isInteger(n) || String(n).length < 16 ? String(n) : String(Number(n.toPrecision(7))));

function typeOf(schema: Schema): string {
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type ?? '']).filter((type) => type !== 'null');
  return types.length === 1 ? types[0]! : '';
}

/** `X or nothing` is an X that may stay empty. */
function plain(schema: Schema): Schema {
  const ways = (schema.anyOf ?? schema.oneOf ?? []).filter((way) => way.type !== 'null' && way.const !== null);
  if (ways.length !== 1) return schema;
  const { anyOf: _, oneOf: __, ...about } = schema;
  return { ...plain(ways[0]!), ...about };
}

/** A value as a draft of a choice holds it. */
export const keyOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

function optionsOf(schema: Schema): Option[] | null {
  const option = (value: unknown, name?: string): Option => {
    const key = keyOf(value);
    return { value, key, label: name ?? schema.labels?.[key] ?? key };
  };
  const values = schema.enum?.filter((value) => value !== null);
  if (values?.length) return values.map((value) => option(value));
  const ways = schema.oneOf ?? schema.anyOf;
  if (!ways?.length || !ways.every((way) => way.const !== undefined)) return null;
  return ways.map((way) => option(way.const, way.title));
}

export function shapeOf(given: Schema, name = '', required = true): Shape {
  const schema = plain(given);
  if (schema.custom) return { kind: 'custom', custom: schema.custom };
  if (schema.writeOnly) return { kind: 'secret', kept: schema.kept === true };
  const options = optionsOf(schema);
  if (options) return { kind: 'choice', options, schema };
  switch (typeOf(schema)) {
    case 'string': {
      if (schema.format === 'date') return { kind: 'date' };
      const script = name === 'code' || name === 'script';
      const long = script || LONG.test(name) || schema.format === 'textarea' || (schema.maxLength ?? 0) > 200;
      const input = INPUTS[schema.format ?? ''];
      return { kind: 'text', long: long && schema.format !== 'line', code: script || schema.format === 'code', ...(input && { input }), schema };
    }
    case 'number': return { kind: 'number', whole: false, schema };
    case 'integer': return { kind: 'number', whole: true, schema };
    case 'boolean': return { kind: 'flag', three: !required && typeof schema.default !== 'boolean', mustBeOn: schema.const === true };
    case 'array': return listOf(schema);
    case 'object': return schema.properties ? groupOf(schema) : { kind: 'json', schema };
    default: return schema.properties ? groupOf(schema) : { kind: 'json', schema };
  }
}

const INPUTS: Record<string, 'url' | 'email' | 'tel'> = { uri: 'url', email: 'email', tel: 'tel' };

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

/** The fields of an object: required ones first, unless they are `ordered` already. */
export function groupOf(schema: Schema, ordered = false): Group {
  const needed = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([name, raw]): Field => {
    const about = plain(raw);
    const required = needed.has(name);
    return {
      name,
      label: about.title ?? label(name),
      help: raw.description ?? about.description ?? '',
      required,
      rare: about.rare === true,
      usual: about.usual === true,
      shape: shapeOf(about, name, required),
      default: about.default,
    };
  });
  return { kind: 'group', fields: ordered ? fields : fields.sort((a, b) => rank(a) - rank(b)) };
}

/** Required fields first, short ones before long ones, switches after. */
function rank({ required, shape }: Field): number {
  const long = shape.kind === 'text' ? (shape.code ? 2 : shape.long ? 1 : 0) : 0;
  const sort = { text: long, date: 0, secret: 0, number: 0, choice: 0, custom: 0, list: 3, flag: 4, several: 5, group: 6, rows: 6, json: 7 }[shape.kind];
  return (required ? 0 : 10) + sort;
}

/** What the page says about the fields of a schema: their order, labels and help. Fields it does not name are left out. */
export type Overlay = Readonly<Record<string, Schema & { needed?: boolean }>>;

/** A group whose fields the overlay names and orders; the rest of what is known of them comes from the schema. */
export function overlaid(schema: Schema, overlay: Overlay): Group {
  const required = new Set(schema.required ?? []);
  const names = Object.keys(overlay).filter((name) => overlay[name]?.needed ?? required.has(name));
  const properties = Object.fromEntries(Object.entries(overlay).map(([name, says]) => [name, { description: '', ...typed(schema.properties?.[name]), ...says }]));
  return groupOf({ properties, required: names }, true);
}

/** A property without its description: it is written for models. */
function typed(property: Schema = { type: 'string' }): Schema {
  const { description: _, ...rest } = property;
  return rest;
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

/** "0 to 27", "at least 1"; '' where anything goes. */
export function range({ minimum, maximum }: Schema): string {
  if (minimum !== undefined && maximum !== undefined) return text.toolsRoom.between(readable(minimum), readable(maximum));
  if (minimum !== undefined && minimum !== 0) return text.toolsRoom.atLeast(readable(minimum));
  return maximum === undefined ? '' : text.toolsRoom.atMost(readable(maximum));
}
