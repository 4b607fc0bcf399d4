// What is typed into a form: how it begins, the values it gives, what is wrong with it, and what a refusal is about.
import { text } from '../text';
import { keyOf, readable, type Draft, type Field, type Group, type GroupDraft, type Option, type Problems, type Schema, type Shape } from './schema';

/** The draft a field begins with: `given`, or empty. */
export function blank(shape: Shape, given?: unknown): Draft {
  switch (shape.kind) {
    case 'text': return typeof given === 'string' || typeof given === 'number' ? String(given) : '';
    case 'date': return typeof given === 'string' ? given.slice(0, 10) : '';
    case 'secret': return '';
    case 'custom': return shape.custom.begin(given);
    case 'number': return typeof given === 'number' ? readable(given) : typeof given === 'string' ? given : '';
    case 'flag': return shape.three ? (typeof given === 'boolean' ? String(given) : '') : given === true;
    case 'choice': return given === undefined || given === null ? '' : keyOf(given);
    case 'several': return Array.isArray(given) ? given.map(keyOf) : [];
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

/** The value of a choice; one outside its options stays what its type says. */
function chosen({ options, schema }: { options: Option[]; schema: Schema }, key: string): unknown {
  const option = options.find((one) => one.key === key);
  return option ? option.value : typeof options[0]?.value === 'number' || schema.type === 'integer' ? Number(key) : key;
}

const words = text.toolsRoom.wrong;

/** The value a field gives, `undefined` where it is left out; what is wrong goes to `problems`. */
export function read(shape: Shape, draft: Draft | undefined, required: boolean, path: string, problems: Problems): unknown {
  const missing = (): undefined => {
    if (required) problems[path] = words.needed;
    return undefined;
  };
  switch (shape.kind) {
    case 'text': {
      const value = shape.input ? (draft as string).trim() : (draft as string);
      if (value === '' || (required && !value.trim())) return missing();
      const problem = shape.input === 'url' && !/^https?:\/\/[^\s/]+\S*$/.test(value) ? words.url : wrongText(shape.schema, value);
      if (problem) problems[path] = problem;
      return value;
    }
    case 'date': return (draft as string) || missing();
    case 'custom': return shape.custom.read(draft as Draft, required, path, problems);
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
    case 'flag':
      if (shape.mustBeOn && draft !== true) return missing();
      return typeof draft === 'boolean' ? draft : draft === '' ? missing() : draft === 'true';
    case 'choice': return draft === '' ? missing() : chosen(shape, draft as string);
    case 'several': {
      const values = shape.options.filter((option) => (draft as string[]).includes(option.key)).map((option) => option.value);
      return values.length ? values : missing();
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
    case 'group': return readGroup(shape, draft as GroupDraft, required, path, problems);
    case 'json': {
      const typed = (draft as string).trim();
      if (!typed) return missing();
      try {
        const value = JSON.parse(typed) as unknown;
        if (shape.schema.type === 'object' && (typeof value !== 'object' || !value || Array.isArray(value))) problems[path] = words.object;
        return value;
      } catch (cause) {
        problems[path] = words.json(cause instanceof Error ? cause.message : '');
        return undefined;
      }
    }
  }
}

function readGroup(group: Group, draft: GroupDraft, required: boolean, path: string, problems: Problems): unknown {
  const inner: Problems = {};
  const values: Record<string, unknown> = {};
  let touched = false;
  for (const field of group.fields) {
    const value = read(field.shape, draft[field.name] ?? blank(field.shape, field.default), field.required, path ? `${path}.${field.name}` : field.name, inner);
    if (value !== undefined) values[field.name] = value;
    const untouched = blank(field.shape, field.default);
    touched ||= JSON.stringify(draft[field.name]) !== JSON.stringify(untouched);
  }
  // An optional group is left out until something is typed into it.
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
    // A pattern this browser cannot read: the daemon checks it.
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


/** All the values of a group, and what is wrong. */
export function readAll(group: Group, draft: GroupDraft): { values: Record<string, unknown>; problems: Problems } {
  const problems: Problems = {};
  return { values: (readGroup(group, draft, true, '', problems) ?? {}) as Record<string, unknown>, problems };
}

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/** The values of the fields that changed. A text that was emptied becomes `cleared`, anything else null. */
export function changes(group: Group, before: GroupDraft, now: GroupDraft, cleared: '' | null): Record<string, unknown> {
  const { values } = readAll(group, now);
  const empty = ({ shape }: Field) => (shape.kind === 'list' ? [] : shape.kind === 'number' || shape.kind === 'json' || (shape.kind === 'choice' && shape.schema.type === 'integer') ? null : cleared);
  return Object.fromEntries(group.fields.filter(({ name }) => !same(before[name], now[name])).map((field) => [field.name, values[field.name] ?? empty(field)]));
}

/** The field a refusal is about: its name, what was typed into it, or its label is in the message. Undefined when that fits none or several. */
export function fieldIn(group: Group, draft: GroupDraft, message: string): string | undefined {
  const quoted = [...message.matchAll(/`([^`]*)`/g)].map((found) => found[1]?.trim() ?? '');
  const plain = message.replace(/`[^`]*`/g, '`').toLowerCase();
  const has = (word: string) => new RegExp(`(^|[^\\p{L}\\d_])${word.toLowerCase().replace(/[^\p{L}\d_]/gu, '.?')}($|[^\\p{L}\\d_])`, 'u').test(plain);
  const typed = ({ name }: Field) => (typeof draft[name] === 'string' ? draft[name].trim() : '');
  const ways: ((field: Field) => boolean)[] = [
    (field) => quoted.includes(field.name),
    (field) => typed(field) !== '' && quoted.includes(typed(field)),
    (field) => has(field.name),
    (field) => has(field.label),
  ];
  for (const way of ways) {
    const found = group.fields.filter(way);
    if (found.length === 1) return found[0]?.name;
  }
  return undefined;
}
