// Reads results of tools for the cards: what kind they are, and their fields. They may be of an older Hob, or of a custom tool.
import { intendedCall, parsed, type Call } from '../turns';

export type Fields = Record<string, unknown>;

export const object = (value: unknown): Fields => (value && typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : {});
export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
export const words = (value: unknown): string => (typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : '');

export const resultOf = (call: Call): unknown => parsed(call.result);

const isObject = (value: unknown): value is Fields => !!value && typeof value === 'object' && !Array.isArray(value);
const isTask = (one: Fields) => typeof one['id'] === 'string' && typeof one['title'] === 'string' && typeof one['status'] === 'string' && 'priority' in one;
const isEvent = (one: Fields) => typeof one['title'] === 'string' && typeof one['startTime'] === 'string';
const isExpense = (one: Fields) => typeof one['amount'] === 'number' && typeof one['currency'] === 'string';

/** The objects of a result: those of its list, or the result itself. */
function all(result: unknown): Fields[] {
  if (Array.isArray(result)) return result.filter(isObject);
  if (!isObject(result)) return [];
  const inside = Object.values(result).filter((value) => Array.isArray(value) && value.some(isObject))[0];
  return inside ? list(inside).filter(isObject) : [result];
}

export interface Summary {
  totals: Fields[];
  byCategory: Fields[];
}

export type Kind =
  | { kind: 'tasks' | 'events' | 'expenses'; items: Fields[] }
  | { kind: 'summary'; summary: Summary }
  | { kind: 'hits'; items: Fields[]; more: number }
  | { kind: 'program'; run: Fields }
  | { kind: 'process'; process: Fields }
  | { kind: 'diff'; diff: string; path: string; added: number; removed: number }
  | { kind: 'repository'; status: Fields }
  | { kind: 'files'; files: Fields[]; more: number }
  | { kind: 'media'; files: Fields[] }
  | { kind: 'readings'; values: Fields };

/** Tools whose lists are of files, and those whose result is one file. */
const FILES = /^(list_(directory|files)|search_files|search|glob|read_file|write_file|file_info|copy_file|move_file|create_folder|download_file|delete_file)$/;
/** Tools that make pictures, sound and video, which the workspace serves; speech without a path is kept as if it had been sent. */
const MAKERS = /^(generate_image|create_image|edit_image|image_variation|create_audio|create_video|text_to_speech|tts|split_audio)$/;
const SERVED = /^\/api\/v1\/(workspace\/file\?|files\/[0-9a-f-]{36}$)/;
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-/;

/** What a result of the workshop is: of programs, differences and files. */
function workshopKind(call: Call, fields: Fields, items: Fields[], isList: boolean): Kind | null {
  if (typeof fields['stdout'] === 'string') return { kind: 'program', run: fields };
  if (typeof fields['diff'] === 'string') {
    return { kind: 'diff', diff: fields['diff'], path: words(fields['path']), added: Number(fields['added']) || 0, removed: Number(fields['removed']) || 0 };
  }
  if (Array.isArray(fields['untracked']) && Array.isArray(fields['unstaged'])) return { kind: 'repository', status: fields };
  if (typeof fields['status'] === 'string' && typeof fields['command'] === 'string' && ID.test(words(fields['id']))) return { kind: 'process', process: fields };
  if (!FILES.test(nameOf(call))) return null;
  const paths = list(Object.values(fields).find((value) => Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string'))).map((path) => ({ path }));
  const files = (isList || paths.length ? (isList ? items : paths) : [fields]).filter((file) => words(file['path']));
  return files.length ? { kind: 'files', files, more: typeof fields['count'] === 'number' ? Math.max(0, fields['count'] - files.length) : 0 } : null;
}

/** What a result is; null for plain words and numbers. */
export function kindOf(call: Call): Kind | null {
  const result = resultOf(call);
  const items = all(result);
  const fields = object(result);
  const isList = items.length > 0 && items[0] !== result;
  // The picture of a page has another address than the page.
  const pictured = nameOf(call) === 'browser_screenshot' ? [{ ...fields, url: fields['pictureUrl'] }] : [];
  const made = (MAKERS.test(nameOf(call)) ? (isList ? items : [fields]) : pictured).filter((file) => SERVED.test(words(file['url'])));
  if (made.length) return { kind: 'media', files: made };
  const ofWorkshop = workshopKind(call, fields, items, isList);
  if (ofWorkshop) return ofWorkshop;
  if (Array.isArray(fields['byCategory']) && Array.isArray(fields['totals'])) {
    return { kind: 'summary', summary: { totals: list(fields['totals']).map(object), byCategory: list(fields['byCategory']).map(object) } };
  }
  if (items.length && items.every(isTask)) return { kind: 'tasks', items };
  if (items.length && items.every(isEvent)) return { kind: 'events', items };
  if (items.length && items.every(isExpense)) return { kind: 'expenses', items };
  if (isList) return { kind: 'hits', items, more: typeof fields['count'] === 'number' ? Math.max(0, fields['count'] - items.length) : 0 };
  if (isObject(result) && Object.keys(result).length) return { kind: 'readings', values: result };
  return null;
}

/** The items of several calls, each once, as the last call left it. */
export function merged(kinds: (Kind | null)[], kind: 'tasks' | 'events' | 'expenses'): Fields[] {
  const by = new Map<unknown, Fields>();
  for (const one of kinds) {
    if (one?.kind !== kind) continue;
    for (const item of one.items) by.set(item['id'] ?? item, item);
  }
  return [...by.values()];
}

export const nameOf = (call: Call): string => intendedCall(call).name;
