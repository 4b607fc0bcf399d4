// The rows of a custom table: searched, sorted, filtered, added, edited and deleted.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Buttons, Confirm, Notice, SelectField, TextField } from '../form';
import { Bin, Chevron, Pen } from '../icons';
import { href } from '../rooms';
import { Back } from '../tools/back';
import { trouble } from '../text';
import { records } from '../text/records';
import { Searcher } from './filters';
import type { Entry } from './kinds';
import { Adder, More, Nothing, Announcement } from './list';
import { RecordForm } from './record-form';
import { TableForm } from './table-form';
import { cell, familyOf, ROWS_CHANGED, rowOf, parseTable, valuesOf, type Column, type Table } from './table-kind';
import { useList } from './use-list';

const words = records.tables;

interface Sort {
  column: string;
  order: 'asc' | 'desc';
}

interface Sieve {
  column: string;
  op: string;
  value: string;
}

const NONE: Sieve = { column: '', op: 'eq', value: '' };

/** The value to compare a column with; undefined while it is incomplete. */
function compared(column: Column | undefined, typed: string): unknown {
  const said = typed.trim();
  if (!said) return undefined;
  if (column?.type === 'number') return Number.isFinite(Number(said)) ? Number(said) : undefined;
  return column?.type === 'boolean' ? said === 'true' || said.toLowerCase() === words.yes : said;
}

export function TableView({ table, writer, onChanged, onDropped }: WholeProps & { writer: boolean }): JSX.Element {
  const key = JSON.stringify(table.columns);
  const family = useMemo(() => familyOf(table), [table.name, key]);
  const [search, setSearch] = useState('');
  const [sort, setSort] = useState<Sort | null>(null);
  const [sieve, setSieve] = useState<Sieve>(NONE);
  const [editing, setEditing] = useState<Entry | null>(null);
  const [announced, setAnnounced] = useState('');
  const looking = search.trim() !== '';
  const column = table.columns.find((one) => one.name === sieve.column);
  const value = compared(column, sieve.value);
  const filter = column && value !== undefined ? { [column.name]: sieve.op === 'eq' ? value : { op: sieve.op, value } } : undefined;
  const source = { tool: looking ? 'search_custom_records' : family.tools.list, plural: family.plural, topics: ROWS_CHANGED };
  const args = looking
    ? { table: table.name, query: search.trim() }
    : { table: table.name, ...(sort && { sortBy: sort.column, sortOrder: sort.order }), ...(filter && { filter }) };
  const list = useList(source, args, `${search.trim()}${sieve.value}`);
  const { shown, problem } = list;
  const rows = shown?.entries ?? [];
  const changed = (words: string) => {
    setAnnounced(words);
    void list.renew();
  };
  const end = (words: string) => {
    setEditing(null);
    if (words) changed(words);
  };
  return (
    <article class="page table-page">
      <Back to={href('memory', 'tables')}>{words.all}</Back>
      <h2>{table.name}</h2>
      {table.description && <p class="soft">{table.description}</p>}
      <Searcher label={words.search} value={search} onInput={(value) => (setSearch(value), setAnnounced(''))} />
      {!looking && <Narrow columns={table.columns} sieve={sieve} onInput={setSieve} />}
      {writer && !editing && <Adder add={words.add} form={(it) => <RecordForm family={family} {...it} />} onAdded={changed} />}
      {editing && (
        <RecordForm
          key={editing.id}
          family={family}
          entry={rowOf(editing)}
          onDone={(name) => end(records.changed(name))}
          onCancel={() => end('')}
        />
      )}
      <Announcement words={announced} shown={shown} looking={looking} />
      {problem && <Notice bad>{problem}</Notice>}
      {!shown && !problem && <p class="soft nothing">{words.loading}</p>}
      {rows.length > 0 && (
        <Grid
          table={table}
          rows={rows}
          sort={looking ? null : sort}
          onSort={looking ? null : setSort}
          writer={writer}
          onEdit={setEditing}
          title={family.title}
          onRemoved={(name) => changed(records.removed(name))}
        />
      )}
      {shown && !rows.length && <Nothing narrow={looking || filter !== undefined} words={family.words} />}
      {shown?.more && <More busy={list.growing} onPress={() => void list.grow()} />}
      {writer && <Whole table={table} onChanged={onChanged} onDropped={onDropped} />}
    </article>
  );
}

/** The filter by a column. */
function Narrow({ columns, sieve, onInput }: { columns: Column[]; sieve: Sieve; onInput: (sieve: Sieve) => void }): JSX.Element {
  const column = columns.find((one) => one.name === sieve.column);
  const ops = Object.entries(words.ops).filter(([op]) => {
    if (op === 'contains') return column?.type === 'text' || column?.type === 'select';
    return op === 'eq' || op === 'ne' || column?.type === 'number' || column?.type === 'date' || column?.type === 'datetime';
  });
  return (
    <div class="sieve" role="group" aria-label={words.filter}>
      <SelectField
        label={words.filterColumn}
        value={sieve.column}
        options={[{ value: '', label: words.filterAny }, ...columns.filter((one) => one.type !== 'json').map((one) => ({ value: one.name, label: one.name }))]}
        onInput={(name) => onInput({ ...NONE, column: name })}
      />
      {column && (
        <>
          <SelectField label={words.filterOp} value={sieve.op} options={ops.map(([value, label]) => ({ value, label }))} onInput={(op) => onInput({ ...sieve, op })} />
          {column.type === 'boolean'
            ? <SelectField label={words.filterValue} value={sieve.value} options={[{ value: '', label: records.unset }, { value: 'true', label: words.yes }, { value: 'false', label: words.no }]} onInput={(value) => onInput({ ...sieve, value })} />
            : <TextField label={words.filterValue} value={sieve.value} onInput={(value) => onInput({ ...sieve, value })} />}
        </>
      )}
    </div>
  );
}

interface GridProps {
  table: Table;
  rows: Entry[];
  sort: Sort | null;
  onSort: ((sort: Sort) => void) | null;
  writer: boolean;
  title: (entry: Entry) => string;
  onEdit: (row: Entry) => void;
  onRemoved: (name: string) => void;
}

/** The table scrolls sideways when it is wider than the screen. */
function Grid({ table, rows, sort, onSort, writer, title, onEdit, onRemoved }: GridProps): JSX.Element {
  const [asking, setAsking] = useState('');
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const back = (id: string) => {
    setAsking('');
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-remove="${CSS.escape(id)}"]`)?.focus());
  };
  const remove = async (row: Entry) => {
    setBusy(true);
    setProblem('');
    try {
      await api.execute('delete_custom_record', { table: table.name, recordId: row.id });
      setAsking('');
      onRemoved(title(row));
    } catch (cause) {
      setProblem(trouble(cause));
      back(row.id);
    } finally {
      setBusy(false);
    }
  };
  const flip = (name: string): Sort => ({ column: name, order: sort?.column === name && sort.order === 'asc' ? 'desc' : 'asc' });
  const asked = rows.find((row) => row.id === asking);
  return (
    <>
      <div class="grid-box" role="region" aria-label={words.rowOf(table.name)} tabIndex={0} ref={box}>
        <table class="grid">
          <thead>
            <tr>
              {table.columns.map(({ name, type }) => (
                <th key={name} scope="col" class={type === 'number' ? 'number' : undefined} aria-sort={sort?.column === name ? (sort.order === 'asc' ? 'ascending' : 'descending') : undefined}>
                  {onSort
                    ? <button type="button" class="quiet" aria-label={words.sortBy(name)} onClick={() => onSort(flip(name))}>{name}{sort?.column === name && <span class={`sorted ${sort.order}`}><Chevron /></span>}</button>
                    : name}
                </th>
              ))}
              {writer && <th scope="col"><span class="unseen">{words.actions}</span></th>}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => {
              const values = valuesOf(row);
              return (
                <tr key={row.id}>
                  {table.columns.map((column) => <td key={column.name} class={column.type === 'number' ? 'number' : undefined}>{cell(column, values[column.name])}</td>)}
                  {writer && (
                    <td class="doings with-icons">
                      <button type="button" class="quiet" aria-label={records.about(records.edit, title(row))} onClick={() => onEdit(row)}><Pen /><span>{records.edit}</span></button>
                      <button type="button" class="quiet" data-remove={row.id} aria-label={records.about(records.remove, title(row))} onClick={() => (setProblem(''), setAsking(row.id))}><Bin /><span>{records.remove}</span></button>
                    </td>
                  )}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {asked && (
        <Confirm title={words.removeAsk} yes={records.removeYes} busy={busy} onYes={() => void remove(asked)} onNo={() => back(asked.id)}>
          <p class="soft small">{title(asked)}</p>
        </Confirm>
      )}
      {problem && <Notice bad>{problem}</Notice>}
    </>
  );
}

interface WholeProps {
  table: Table;
  onChanged: (name: string) => void;
  onDropped: (said: string) => void;
}

/** Actions on the table itself: edit it, or delete it after showing how many rows it has. */
function Whole({ table, onChanged, onDropped }: WholeProps): JSX.Element {
  const [changing, setChanging] = useState(false);
  const [count, setCount] = useState<number | null>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => setCount(null), [table.name]);
  const ask = async () => {
    setProblem('');
    // The count is reloaded, because the decision depends on it.
    const now = await api.execute('describe_custom_table', { table: table.name }).then(({ result }) => parseTable(result), () => null);
    setCount((now ?? table).rows);
  };
  const drop = async () => {
    setBusy(true);
    try {
      await api.execute('delete_custom_table', { table: table.name, confirm: true });
      onDropped(words.dropped(table.name));
    } catch (cause) {
      setProblem(trouble(cause));
      setCount(null);
    } finally {
      setBusy(false);
    }
  };
  const no = () => {
    setCount(null);
    requestAnimationFrame(() => button.current?.focus());
  };
  if (changing) {
    return (
      <TableForm
        table={table}
        onCancel={() => setChanging(false)}
        onDone={(name) => {
          setChanging(false);
          onChanged(name);
        }}
      />
    );
  }
  return (
    <div class="drop">
      {count === null
        ? (
          <Buttons>
            <button type="button" class="quiet" onClick={() => setChanging(true)}>{words.change}</button>
            <button type="button" class="quiet bad" ref={button} onClick={() => void ask()}>{words.drop}</button>
          </Buttons>
        )
        : <Confirm title={words.dropAsk(table.name, count)} yes={words.dropYes} busy={busy} onYes={() => void drop()} onNo={no} />}
      {problem && <Notice bad>{problem}</Notice>}
    </div>
  );
}
