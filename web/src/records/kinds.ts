// What describes a record family: its tools, fields, filters and texts. Data only.
import type { JSX } from 'preact';
import type { GroupDraft, Overlay, Schema } from '../forms/schema';
import type { Section } from '../memory/sections';

/** A record as its tool returns it. */
export type Entry = { id: string } & Record<string, unknown>;

/** One choice of a filter. */
export interface Way {
  value: string;
  label: string;
  /** The arguments it adds; a function where they depend on the day. */
  args: object | (() => object);
}

/** A filter: one of its choices is in use. */
export interface Filter {
  name: string;
  label: string;
  ways: readonly Way[];
}

/** A value pressed in a line to filter by it. */
export interface Pick {
  name: string;
  value: string;
}

/** A short fact in a line. `pick`: pressing it filters. `bad`: needs attention. `main`: the most important one. */
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
  /** For an empty list: what it says, and how to add one. */
  none: string;
  teach: string;
  removeAsk: (name: string) => string;
}

/** What a preview of a record gets: its values, and whether something is missing or wrong. */
export interface PreviewProps {
  values: Record<string, unknown>;
  wrong: boolean;
  /** The id of an existing one. */
  id: string;
}

export interface Family {
  section: Section;
  /** The property of the result that holds the records. */
  plural: string;
  tools: { list: string; add: string; update: string; remove: string };
  /** The parameter that takes the record's id. */
  which: string;
  /** Arguments of every call, such as the table of a row. */
  fixed?: object;
  /** The parameter that holds all fields, where they are not arguments themselves. */
  wrap?: string;
  /** The events that reload the list. */
  topics: readonly string[];
  /** What the form says about the parameters of the tools that add and update: order, labels, help. */
  fields: Overlay;
  /** The schema of a record that the tools do not describe: the columns of a table. */
  schema?: Schema;
  /** The values a new one begins with. */
  begin?: () => object;
  /** The form's values of an existing record. */
  given?: (entry: Entry) => object;
  /** Turns the form's values, or the changed ones of an existing record, into arguments. */
  send?: (values: Record<string, unknown>, draft: GroupDraft, entry: Entry | undefined) => Record<string, unknown>;
  /** What the device makes of it, before it is saved. */
  Preview?: (props: PreviewProps) => JSX.Element;
  /** The tools a record will call: a person may have to approve them before it is saved. */
  asksFirst?: (draft: GroupDraft) => string[];
  filters: readonly Filter[];
  words: Words;
  title: (entry: Entry) => string;
  /** What its line says, where that is more than the title. */
  sentence?: (entry: Entry) => string;
  /** Whether all that its form chooses from is here. */
  ready?: () => boolean;
  /** Whether members change what somebody else shared, and not only its owner. */
  everybodys?: (entry: Entry) => boolean;
  /** The external link of its title. */
  link?: (entry: Entry) => string;
  /** Whether it is done. */
  over?: (entry: Entry) => boolean;
  facts: (entry: Entry) => Facts;
  tags?: (entry: Entry) => string[];
  /** Its list takes a list of `tags`. */
  tagsAsList?: boolean;
  body?: (entry: Entry) => string;
  /** The tool that returns a record the list truncated (`truncated`). */
  whole?: string;
}

// Reads values of unknown type from a record.

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

/** The records in a result's list. */
export function entriesIn(result: unknown, plural: string): Entry[] {
  const found = (result as Record<string, unknown> | null)?.[plural];
  return Array.isArray(found) ? found.filter((one): one is Entry => typeof (one as Entry | null)?.id === 'string') : [];
}
