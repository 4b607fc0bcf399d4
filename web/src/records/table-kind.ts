// A table that people made, as a kind of records: its fields are its columns.
import { records } from '../text/records';
import { near } from './days';
import type { Entry, Family, Field } from './kinds';

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
  /** How many rows it has. */
  rows: number;
}

/** A table as its tools tell it: in the list of all tables its columns are names alone. */
export function tableIn(told: unknown): Table | null {
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

const KINDS: Record<string, Field['kind']> = { number: 'number', boolean: 'flag', date: 'day', datetime: 'moment', json: 'json', select: 'choice' };

const said = (value: unknown) => (value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value));

function fieldOf(column: Column): Field {
  const options = (column.options ?? []).map((one) => [one, one] as const);
  return {
    name: column.name,
    label: column.name,
    kind: KINDS[column.type] ?? (column.type === 'text' ? 'area' : 'line'),
    ...(column.description && { help: column.description }),
    required: column.required === true,
    ...(column.type === 'select' && { options: column.required ? options : [['', records.unset] as const, ...options] }),
    ...(column.default !== undefined && column.default !== null && { begin: said(column.default) }),
  };
}

/** A value as a person reads it in its column. */
export function cell(column: Column, value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? words.yes : words.no;
  if (column.type === 'date' || column.type === 'datetime') return near(value);
  if (typeof value === 'number') return value.toLocaleString([], { maximumFractionDigits: 12, useGrouping: false });
  return said(value);
}

/** The values of a row, by column. */
export const valuesOf = (row: Entry) => (row['data'] ?? {}) as Record<string, unknown>;

/** A row as its form reads it. */
export const rowOf = (row: Entry): Entry => ({ ...valuesOf(row), id: row.id });

export function familyOf(table: Table): Family {
  const first = table.columns.find((column) => column.type === 'text') ?? table.columns[0];
  return {
    section: 'tables',
    plural: 'records',
    tools: { list: 'list_custom_records', add: 'add_custom_record', update: 'update_custom_record', remove: 'delete_custom_record' },
    which: 'recordId',
    fixed: { table: table.name },
    wrap: 'data',
    topics: ROWS_CHANGED,
    fields: table.columns.map(fieldOf),
    filters: [],
    words: { add: words.add, search: words.search, none: words.noRows, teach: '', removeAsk: () => words.removeAsk },
    // A row as it is told, or one that was just typed.
    title: (entry) => (first && cell(first, (entry['data'] ? valuesOf(entry) : entry)[first.name])) || records.unnamed,
    facts: () => [],
  };
}

/** The events after which tables, or their rows, are others. */
export const TABLES_CHANGED: readonly string[] = ['custom-tables:changed'];
export const ROWS_CHANGED: readonly string[] = ['custom-records:changed', ...TABLES_CHANGED];
