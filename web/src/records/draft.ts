// What is typed into the form of a record: how it begins, and what it says to the tool that adds or changes.
import { records as words } from '../text/records';
import { today, wall } from './days';
import { listOf, numberOf, textOf, type Entry, type Field } from './kinds';

export type Draft = Record<string, string | boolean>;
export type Problems = Record<string, string>;

function begin(field: Field): string | boolean {
  if (field.kind === 'switch') return field.begin === 'true';
  if (field.kind === 'day' && field.begin === 'today') return today();
  return field.begin ?? (field.kind === 'choice' ? field.options?.[0]?.[0] ?? '' : '');
}

/** A form nobody has typed into. */
export const fresh = (fields: readonly Field[]): Draft => Object.fromEntries(fields.map((field) => [field.name, begin(field)]));

function written(field: Field, entry: Entry): string | boolean {
  const value = entry[field.name];
  switch (field.kind) {
    case 'switch': return value === true;
    case 'tags': return listOf(entry, field.name).join(', ');
    case 'number': return numberOf(entry, field.name)?.toString() ?? '';
    case 'json': return value === null || value === undefined ? '' : JSON.stringify(value, null, 2);
    case 'day': return wall(value)?.day ?? '';
    case 'moment': {
      const at = wall(value);
      return at ? [at.day, at.time].filter(Boolean).join('T') : '';
    }
    case 'flag': return typeof value === 'boolean' ? String(value) : '';
    default: return textOf(entry, field.name);
  }
}

/** A record as it stands in its form. */
export const draftOf = (fields: readonly Field[], entry: Entry): Draft => Object.fromEntries(fields.map((field) => [field.name, written(field, entry)]));

const splitTags = (typed: string) => [...new Set(typed.split(',').map((tag) => tag.trim().replace(/^#/, '')).filter(Boolean))];

/** In much of the world a comma is written for the point, "1,5" is a number too. */
const readNumber = (typed: string) => Number(/^-?\d+,\d+$/.test(typed) ? typed.replace(',', '.') : typed);

/** What is wrong with what was typed, as a sentence; '' when nothing is. */
function wrong(field: Field, typed: string): string {
  if (!typed.trim()) return field.required ? words.needed : '';
  if (field.kind === 'moment' && typed.startsWith('T')) return words.timeFirst;
  if (field.kind === 'number') {
    const number = readNumber(typed.trim());
    if (!Number.isFinite(number)) return words.number;
    if (field.whole && !Number.isInteger(number)) return words.whole;
    if (field.least !== undefined && number < field.least) return words.least(field.least);
    if (field.most !== undefined && number > field.most) return words.most(field.most);
  }
  if (field.kind !== 'json') return '';
  try {
    JSON.parse(typed);
    return '';
  } catch (cause) {
    return words.json(cause instanceof Error ? cause.message : '');
  }
}

export function problemsOf(fields: readonly Field[], draft: Draft): Problems {
  const found = fields.map((field) => [field.name, typeof draft[field.name] === 'string' ? wrong(field, draft[field.name] as string) : ''] as const);
  return Object.fromEntries(found.filter(([, problem]) => problem));
}

/** One field as the tool takes it; null where it is empty. */
function value(field: Field, typed: string | boolean | undefined): unknown {
  if (typeof typed !== 'string') return typed === true;
  const said = typed.trim();
  if (field.kind === 'tags') return splitTags(typed);
  if (!said) return null;
  if (field.kind === 'number' || (field.kind === 'choice' && field.whole)) return readNumber(said);
  if (field.kind === 'json') return JSON.parse(said) as unknown;
  if (field.kind === 'flag') return said === 'true';
  return field.kind === 'area' ? typed.trimEnd() : said;
}

const empty = (given: unknown) => given === null || given === false || (Array.isArray(given) && !given.length);

/** A new record: what was left empty is left out. */
export function argsOfNew(fields: readonly Field[], draft: Draft): Record<string, unknown> {
  const given = fields.map((field) => [field.name, value(field, draft[field.name])] as const);
  return Object.fromEntries(given.filter(([, one]) => !empty(one)));
}

/** What differs from the record as it was: Hob changes only what it is given. An empty text clears, or null where `clears` says so. */
export function argsOfChange(fields: readonly Field[], before: Draft, now: Draft, clears: '' | null = ''): Record<string, unknown> {
  const changed = fields.filter((field) => before[field.name] !== now[field.name]);
  const cleared = (field: Field) => (field.kind === 'number' || field.kind === 'json' || field.whole ? null : clears);
  return Object.fromEntries(changed.map((field) => [field.name, value(field, now[field.name]) ?? cleared(field)]));
}

/** The field that a refusal of Hob speaks of: it names it, or shows what was typed there, or has its word; undefined where it is none or several. */
export function fieldIn(fields: readonly Field[], draft: Draft, message: string): string | undefined {
  const shown = [...message.matchAll(/`([^`]*)`/g)].map((found) => found[1]?.trim() ?? '');
  const said = message.replace(/`[^`]*`/g, '`').toLowerCase();
  const has = (word: string) => new RegExp(`(^|[^\\p{L}\\d_])${word.toLowerCase().replace(/[^\p{L}\d_]/gu, '.?')}($|[^\\p{L}\\d_])`, 'u').test(said);
  const typed = (field: Field) => String(draft[field.name] ?? '').trim();
  const ways: ((field: Field) => boolean)[] = [
    (field) => shown.includes(field.name),
    (field) => typed(field) !== '' && shown.includes(typed(field)),
    (field) => has(field.name),
    (field) => has(field.label),
  ];
  for (const way of ways) {
    const found = fields.filter(way);
    if (found.length === 1) return found[0]?.name;
  }
  return undefined;
}
