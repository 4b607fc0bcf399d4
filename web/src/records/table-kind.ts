// A custom table as a record family: its columns are the fields.
import { records } from '../text/records';
import { relativeTime } from './days';
import type { Schema } from '../forms/schema';
import { moment } from './customs';
import type { Entry, Family } from './kinds';

const words = records.tables;

export interface Column {
  name: string;
  type: string;
  required?: boolean;
  description?: string | null;
  default?: unknown;
  options?: string[] | null;
}

export interface Table {
  name: string;
  description: string;
  columns: Column[];
  /** The number of rows. */
  rows: number;
}

/** Parses a table from a tool result; the list of all tables has only column names. */
export function parseTable(told: unknown): Table | null {
  const { name, description, columns, records: count } = (told ?? {}) as Record<string, unknown>;
  if (typeof name !== 'string') return null;
  const all: unknown[] = Array.isArray(columns) ? columns : [];
  return {
    name,
    description: typeof description === 'string' ? description : '',
    columns: all.map((column) => (typeof column === 'string' ? { name: column, type: '' } : (column as Column))),
    rows: typeof count === 'number' ? count : 0,
  };
}

const SCHEMAS: Record<string, Schema> = {
  text: { type: 'string', format: 'textarea' }, number: { type: 'number' }, boolean: { type: 'boolean' }, date: { type: 'string', format: 'date' },
  datetime: { type: 'string', custom: moment }, json: {},
};

const shown = (value: unknown) => (value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value));

/** The columns as a JSON Schema of their rows. */
function schemaOf(columns: Column[]): Schema & { properties: Record<string, Schema> } {
  return {
    required: columns.filter((column) => column.required).map((column) => column.name),
    properties: Object.fromEntries(columns.map(({ name, type, description, options, default: begin }) => [name, {
      ...(type === 'select' ? { enum: options ?? [] } : SCHEMAS[type] ?? { type: 'string', format: 'line' }), title: name,
      ...(description && { description }), ...(begin !== undefined && begin !== null && { default: begin }),
    }])),
  };
}

/** Formats a value for its column. */
export function cell(column: Column, value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? words.yes : words.no;
  if (column.type === 'date' || column.type === 'datetime') return relativeTime(value);
  if (typeof value === 'number') return value.toLocaleString([], { maximumFractionDigits: 12, useGrouping: false });
  return shown(value);
}

/** The values of a row, by column. */
export const valuesOf = (row: Entry) => (row['data'] ?? {}) as Record<string, unknown>;

/** A row as an entry for its form. */
export const rowOf = (row: Entry): Entry => ({ ...valuesOf(row), id: row.id });

export function familyOf(table: Table): Family {
  const schema = schemaOf(table.columns);
  const first = table.columns.find((column) => column.type === 'text') ?? table.columns[0];
  return {
    section: 'tables',
    plural: 'records',
    tools: { list: 'list_custom_records', add: 'add_custom_record', update: 'update_custom_record', remove: 'delete_custom_record' },
    which: 'recordId',
    fixed: { table: table.name },
    wrap: 'data',
    topics: ROWS_CHANGED,
    schema,
    fields: schema.properties,
    filters: [],
    words: { add: words.add, search: words.search, none: words.noRows, teach: '', removeAsk: () => words.removeAsk },
    // A stored row, or the draft of one.
    title: (entry) => (first && cell(first, (entry['data'] ? valuesOf(entry) : entry)[first.name])) || records.unnamed,
    facts: () => [],
  };
}

/** The events that change tables and their rows. */
export const TABLES_CHANGED: readonly string[] = ['custom-tables:changed'];
export const ROWS_CHANGED: readonly string[] = ['custom-records:changed', ...TABLES_CHANGED];
