// What one has to say of a kind of record so that it can be listed, filtered, written, changed and deleted here: data, no code of its own.
import type { GroupDraft, Overlay, Schema } from '../forms/schema';
import type { Section } from '../memory/sections';

/** A record as its tool answers it. */
export type Entry = { id: string } & Record<string, unknown>;

/** One of a few ways to narrow the list. */
export interface Way {
  value: string;
  label: string;
  /** What the list is asked with; made anew each time where it depends on the day. */
  args: object | (() => object);
}

/** A row of ways, of which one holds. */
export interface Filter {
  name: string;
  label: string;
  ways: readonly Way[];
}

/** What is pressed in a line to see only its like: the parameter, and what it has to be. */
export interface Pick {
  name: string;
  value: string;
}

/** A short fact in a line; one with `pick` narrows the list when it is pressed. `bad`: it needs a look. `main`: one looks for it. */
export interface Fact {
  words: string;
  pick?: Pick;
  bad?: boolean;
  main?: boolean;
}

export type Facts = (string | Fact | false | null | undefined | '')[];

export interface Words {
  /** "Add a task". */
  add: string;
  search?: string;
  /** There is none; how one comes in. */
  none: string;
  teach: string;
  removeAsk: (name: string) => string;
}

export interface Family {
  section: Section;
  /** Under which the list has its records. */
  plural: string;
  tools: { list: string; add: string; update: string; remove: string };
  /** The parameter that says which one. */
  which: string;
  /** What is always sent along: the table of a row. */
  fixed?: object;
  /** How the record goes to the tools that add and change: its fields one by one, or all under one name. */
  wrap?: string;
  /** The events after which the list is read anew. */
  topics: readonly string[];
  /** What the form says about the parameters of the tools that add and update: order, labels, help. */
  fields: Overlay;
  /** The schema of a record, where the tools do not have it: the columns of a table. */
  schema?: Schema;
  /** The values a new one begins with. */
  begin?: () => object;
  /** A record as its form reads it. */
  given?: (entry: Entry) => object;
  /** The arguments from the values of the form; of an existing record, those that changed. */
  send?: (values: Record<string, unknown>, draft: GroupDraft, entry: Entry | undefined) => Record<string, unknown>;
  /** Tools the record will use: a person may be asked about them before it is saved. */
  asksFirst?: (draft: GroupDraft) => string[];
  filters: readonly Filter[];
  words: Words;
  title: (entry: Entry) => string;
  /** Where its title leads, outside. */
  link?: (entry: Entry) => string;
  /** A dot of the title: it is done. */
  over?: (entry: Entry) => boolean;
  facts: (entry: Entry) => Facts;
  tags?: (entry: Entry) => string[];
  /** Its list takes several tags at once, as `tags`. */
  tagsAsList?: boolean;
  body?: (entry: Entry) => string;
  /** The tool that answers all of one that is told shortened (`truncated`). */
  whole?: string;
}

// What a record says, whatever it is that came.

export const textOf = (entry: Entry, name: string): string => {
  const value = entry[name];
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
};

export const numberOf = (entry: Entry, name: string): number | null => {
  const value = entry[name];
  const number = typeof value === 'string' && value.trim() ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
};

export const listOf = (entry: Entry, name: string): string[] => {
  const value = entry[name];
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
};

/** What stands in a list under this name, as far as it is records. */
export function entriesIn(result: unknown, plural: string): Entry[] {
  const found = (result as Record<string, unknown> | null)?.[plural];
  return Array.isArray(found) ? found.filter((one): one is Entry => typeof (one as Entry | null)?.id === 'string') : [];
}
