// The custom tables: a list, a form for a new one, and the rows of the one in the address.
import type { JSX } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import * as api from '../api';
import { deviceAway } from '../away';
import { Notice } from '../form';
import { useNews } from '../live';
import { go, href } from '../rooms';
import { Back } from '../tools/back';
import { facts, trouble } from '../text';
import { records } from '../text/records';
import { Adder, Nothing } from './list';
import { TableForm } from './table-form';
import { parseTable, TABLES_CHANGED, type Table } from './table-kind';
import { TableView } from './table-view';

const words = records.tables;

/** A result that is reloaded; null until it is there. */
function useResult<T>(tool: string, args: object, pick: (result: unknown) => T): { result: T | null; problem: string; again: () => void } {
  const [result, setResult] = useState<T | null>(null);
  const [problem, setProblem] = useState('');
  const away = deviceAway.value;
  const key = JSON.stringify(args);
  const again = useCallback(() => {
    api.execute(tool, JSON.parse(key) as object).then(
      ({ result }) => (setResult(pick(result)), setProblem('')),
      (cause: unknown) => setProblem(cause instanceof api.Unreachable ? '' : trouble(cause)),
    );
  }, [tool, key]);
  useEffect(() => {
    if (!away) again();
  }, [away, again]);
  useNews(TABLES_CHANGED, again);
  return { result, problem, again };
}

const allIn = (result: unknown): Table[] => {
  const { tables } = (result ?? {}) as { tables?: unknown[] };
  return (tables ?? []).flatMap((one) => parseTable(one) ?? []);
};
export function Tables({ path, writer }: { path: string[]; writer: boolean }): JSX.Element {
  const [announced, setAnnounced] = useState('');
  const name = path[1];
  return (
    <>
      <p class="unseen" role="status">{announced}</p>
      {name
        ? <OneTable key={name} name={name} writer={writer} onChanged={(now) => (setAnnounced(records.changed(now)), go('memory', ['tables', now], true))} onDropped={(words) => (setAnnounced(words), go('memory', ['tables']))} />
        : <All writer={writer} onMade={(made) => (setAnnounced(words.made(made)), go('memory', ['tables', made]))} />}
    </>
  );
}

interface OneProps {
  name: string;
  writer: boolean;
  onChanged: (name: string) => void;
  onDropped: (said: string) => void;
}

function OneTable({ name, ...rest }: OneProps): JSX.Element {
  const { result, problem } = useResult('describe_custom_table', { table: name }, parseTable);
  if (result) return <TableView table={result} {...rest} />;
  return (
    <>
      <Back to={href('memory', 'tables')}>{words.all}</Back>
      {problem ? <Notice bad>{problem}</Notice> : <p class="soft nothing">{words.loading}</p>}
    </>
  );
}

function All({ writer, onMade }: { writer: boolean; onMade: (name: string) => void }): JSX.Element {
  const { result, problem } = useResult('list_custom_tables', {}, allIn);
  return (
    <>
      {writer && <Adder add={words.fresh} onAdded={() => undefined} form={({ onCancel }) => <TableForm onDone={onMade} onCancel={onCancel} />} />}
      {problem && <Notice bad>{problem}</Notice>}
      {!result && !problem && <p class="soft nothing">{words.loading}</p>}
      <ul class="tables">
        {result?.map((table) => (
          <li key={table.name}>
            <a class="tool-row" href={href('memory', 'tables', table.name)}>
              <span><b>{table.name}</b></span>
              <span class="tool-risk">{words.rows(table.rows)}</span>
              {table.description && <span class="tool-about">{table.description}</span>}
              <span class="tool-also">{facts(table.columns.length > 0 && words.columnsOf(table.columns.map((column) => column.name)))}</span>
            </a>
          </li>
        ))}
      </ul>
      {result && !result.length && <Nothing narrow={false} words={words} />}
    </>
  );
}
