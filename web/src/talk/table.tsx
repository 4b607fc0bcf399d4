// A Markdown table. Its code is loaded when the first table is shown; until then the rows stand as they were written.
import type { JSX } from 'preact';
import { talk } from '../text/talk';
import './cards/cards.css';
import { Words } from './markdown';

type Align = 'left' | 'center' | 'right';

const RULE = /^\s*\|?(?:\s*:?-+:?\s*\|)*\s*:?-+:?\s*\|?\s*$/;
/** The most columns and rows that are drawn. */
const COLUMNS = 50;
const ROWS = 1000;

/** The cells of a row; `\|` is a stroke, and so is one within `code`. */
export function cells(line: string): string[] {
  const inner = line.trim().replace(/^\|/, '').replace(/(^|[^\\])\|$/, '$1');
  const out = [''];
  let code = false;
  for (let i = 0; i < inner.length; i++) {
    const at = inner[i] ?? '';
    const escaped = at === '\\' && inner[i + 1] === '|';
    if (at === '`') code = !code && inner.indexOf('`', i + 1) > 0;
    if (at === '|' && !code) out.push('');
    else out[out.length - 1] += escaped ? '|' : at;
    if (escaped) i++;
  }
  return out.slice(0, COLUMNS).map((cell) => cell.trim());
}

const alignOf = (mark: string): Align => (/^:-+:$/.test(mark) ? 'center' : /-:$/.test(mark) ? 'right' : 'left');

export function Table({ lines, live }: { lines: string[]; live: boolean }): JSX.Element {
  const [head = '', rule = '', ...rest] = lines;
  const titles = cells(head);
  const marks = RULE.test(rule) ? cells(rule) : [];
  const body = (marks.length ? rest : rest.slice(0, 0)).slice(0, ROWS);
  const align = (n: number) => alignOf(marks[n] ?? '');
  return (
    <div class="table sideways" tabIndex={0} role="group" aria-label={talk.table}>
      <table>
        <thead><tr>{titles.map((title, n) => <th key={n} scope="col" class={align(n)}><Words source={title} live={live && !body.length} /></th>)}</tr></thead>
        <tbody>
          {body.map((line, row) => {
            const found = cells(line);
            return <tr key={row}>{titles.map((_, n) => <td key={n} class={align(n)}><Words source={found[n] ?? ''} live={live && row === body.length - 1} /></td>)}</tr>;
          })}
        </tbody>
      </table>
    </div>
  );
}
