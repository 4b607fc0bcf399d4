// The form of a custom table: its name, description and columns; an existing table is renamed or gets more columns.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Buttons, Notice, SelectField, SwitchField, TextField } from '../form';
import { Close, Fresh } from '../icons';
import { trouble } from '../text';
import { records } from '../text/records';
import { Frame } from './record-form';
import type { Table } from './table-kind';

const words = records.tables;

interface ColumnDraft {
  name: string;
  type: string;
  required: boolean;
  options: string;
}

const COLUMN: ColumnDraft = { name: '', type: 'text', required: false, options: '' };
const NAME = /^[a-z][a-z0-9_]{0,63}$/;

/** "Meter readings" → "meter_readings". */
const snake = (typed: string) => typed.trim().toLowerCase().replace(/[\s-]+/g, '_');

/** Problems, by `name` or the index of a column. */
function wrongIn(name: string, columns: ColumnDraft[], taken: string[]): Record<string, string> {
  const problems: Record<string, string> = {};
  if (!NAME.test(snake(name))) problems['name'] = words.nameWrong;
  const names = columns.map((column) => snake(column.name));
  names.forEach((one, n) => {
    if (!NAME.test(one)) problems[n] = words.nameWrong;
    else if (names.indexOf(one) !== n || taken.includes(one)) problems[n] = words.twice;
    else if (columns[n]?.type === 'select' && !columns[n]?.options.trim()) problems[`${n} options`] = records.needed;
  });
  return problems;
}

const columnArgs = ({ name, type, required, options }: ColumnDraft) => ({
  name: snake(name), type, ...(required && { required }),
  ...(type === 'select' && { options: [...new Set(options.split(',').map((one) => one.trim()).filter(Boolean))] }),
});

interface Props {
  /** The table that is changed. */
  table?: Table;
  onDone: (name: string) => void;
  onCancel: () => void;
}

/** Only changes are sent for an existing table: its columns stay as they are. */
async function save(table: Table | undefined, name: string, description: string, columns: object[]): Promise<void> {
  if (!table) return void (await api.execute('create_custom_table', { table: name, columns, ...(description && { description }) }));
  const change = { ...(name !== table.name && { name }), ...(description !== table.description && { description }), ...(columns.length && { addColumns: columns }) };
  if (Object.keys(change).length) await api.execute('update_custom_table', { table: table.name, ...change });
}

export function TableForm({ table, onDone, onCancel }: Props): JSX.Element {
  const [name, setName] = useState(table?.name ?? '');
  const [about, setAbout] = useState(table?.description ?? '');
  const [columns, setColumns] = useState<ColumnDraft[]>(table ? [] : [{ ...COLUMN, required: true }]);
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => form.current?.querySelector('input')?.focus(), []);

  const wrong = wrongIn(name, columns, table?.columns.map((column) => column.name) ?? []);
  const shown = tried ? wrong : {};
  const submit = async (event?: Event) => {
    event?.preventDefault();
    if (busy) return;
    setTried(true);
    setProblem('');
    if (Object.keys(wrong).length) {
      requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus());
      return;
    }
    setBusy(true);
    try {
      await save(table, snake(name), about.trim(), columns.map(columnArgs));
      onDone(snake(name));
    } catch (cause) {
      setProblem(trouble(cause));
    } finally {
      setBusy(false);
    }
  };
  const put = (n: number, change: Partial<ColumnDraft>) => {
    setProblem('');
    setColumns(columns.map((column, at) => (at === n ? { ...column, ...change } : column)));
  };
  return (
    <Frame label={table ? words.change : words.fresh} form={form} onSubmit={submit}>
      <TextField required code label={words.name} help={words.nameHelp} value={name} error={shown['name']} onInput={(value) => (setName(value), setProblem(''))} />
      <TextField label={words.about} value={about} onInput={setAbout} />
      <fieldset class="columns">
        <legend class="label">{table ? words.moreColumns : words.columns}</legend>
        <ol>
          {columns.map((column, n) => (
            <li key={n} class="under">
              <ColumnFields n={n} column={column} problem={shown[n]} optionsProblem={shown[`${n} options`]} onInput={(change) => put(n, change)} onDrop={table || columns.length > 1 ? () => setColumns(columns.filter((_, at) => at !== n)) : null} />
            </li>
          ))}
        </ol>
        <button type="button" class="quiet" onClick={() => setColumns([...columns, COLUMN])}><Fresh />{words.addColumn}</button>
      </fieldset>
      <Buttons>
        <button class="main" aria-disabled={busy}>{busy ? records.saving : table ? records.save : words.create}</button>
        <button type="button" class="quiet" onClick={onCancel}>{records.cancel}</button>
      </Buttons>
      {problem && <Notice bad>{problem}</Notice>}
    </Frame>
  );
}

interface ColumnProps {
  n: number;
  column: ColumnDraft;
  problem: string | undefined;
  optionsProblem: string | undefined;
  onInput: (change: Partial<ColumnDraft>) => void;
  onDrop: (() => void) | null;
}

function ColumnFields({ n, column, problem, optionsProblem, onInput, onDrop }: ColumnProps): JSX.Element {
  return (
    <div role="group" aria-label={words.column(n + 1)}>
      <div class="nth">
        <span class="soft small">{words.column(n + 1)}</span>
        {onDrop && <button type="button" class="bare" aria-label={words.dropColumn(n + 1)} onClick={onDrop}><Close /></button>}
      </div>
      <div class="pair">
        <TextField required code label={words.columnName} value={column.name} error={problem} onInput={(name) => onInput({ name })} />
        <SelectField label={words.columnType} value={column.type} options={Object.entries(words.types).map(([value, label]) => ({ value, label }))} onInput={(type) => onInput({ type })} />
      </div>
      {column.type === 'select' && <TextField required label={words.optionsLabel} help={words.optionsHelp} value={column.options} error={optionsProblem} onInput={(options) => onInput({ options })} />}
      <SwitchField label={words.columnNeeded} checked={column.required} onInput={(required) => onInput({ required })} />
    </div>
  );
}
