// The eight kinds of blocks Hob shows. Their content comes from a model and is checked before it is drawn.
import type { JSX } from 'preact';
import { Notice } from '../form';
import { Markdown } from '../talk/markdown';
import { asks as words } from '../text/asks';
import './asks.css';
import { BlockForm } from './block-form';
import type { Reply } from './card';
import { Chart } from './chart';

export type Fields = Record<string, unknown>;

export const object = (value: unknown): Fields => (value && typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : {});
export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
export const plain = (value: unknown): string =>
  (value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value));

/** The most rows shown. */
const ROWS = 500;

function Table({ block }: { block: Fields }): JSX.Element {
  const columns = list(block['columns']).map(object).map((column) => ({ key: plain(column['key']), label: plain(column['label'] ?? column['key']) }));
  const rows = list(block['data']).map(object);
  const numeric = (key: string) => rows.length > 0 && rows.every((row) => typeof row[key] === 'number' || row[key] === undefined || row[key] === null);
  return (
    <div class="sideways" tabIndex={0} role="group" aria-label={words.table}>
      <table>
        <thead><tr>{columns.map(({ key, label }) => <th key={key} scope="col" class={numeric(key) ? 'number' : undefined}>{label}</th>)}</tr></thead>
        <tbody>
          {rows.slice(0, ROWS).map((row, n) => (
            <tr key={n}>{columns.map(({ key }) => <td key={key} class={numeric(key) ? 'number' : undefined}>{typeof row[key] === 'number' ? row[key].toLocaleString() : plain(row[key])}</td>)}</tr>
          ))}
        </tbody>
      </table>
      {rows.length > ROWS && <p class="soft small">{words.tableMore(rows.length - ROWS)}</p>}
    </div>
  );
}

/** An inline picture or one stored on this device; others become a link, because the page loads nothing from elsewhere. */
function Picture({ block }: { block: Fields }): JSX.Element {
  const url = plain(block['url']);
  const alt = plain(block['alt']) || words.picture;
  if (/^data:image\/(png|jpeg|gif|webp);base64,/.test(url) || /^\/api\/v1\/files\/[\w-]+$/.test(url)) return <img src={url} alt={alt} />;
  if (!/^https:\/\//.test(url)) return <p class="soft small">{alt}</p>;
  return <p class="soft small">{alt}. {words.pictureElsewhere} <a href={url} target="_blank" rel="noopener noreferrer">{new URL(url).host || words.openPicture}</a></p>;
}

function One({ block, reply }: { block: Fields; reply?: Reply | undefined }): JSX.Element {
  const type = plain(block['type']);
  const content = plain(block['content']);
  switch (type) {
    case 'markdown': return <Markdown source={content} />;
    case 'table': return <Table block={block} />;
    case 'chart': return <Chart kind={plain(block['chartType'])} data={object(block['data'])} />;
    case 'form': return <BlockForm block={block} reply={reply} />;
    case 'code': return <pre class="plain" tabIndex={0} role="group" aria-label={words.code(plain(block['language']))}><code>{content}</code></pre>;
    case 'image': return <Picture block={block} />;
    case 'alert': {
      const variant = plain(block['variant']);
      return <div class={`alert ${variant}`} role="note" aria-label={words.alerts[variant] ?? variant}><p class="alert-word">{words.alerts[variant] ?? variant}</p><Markdown source={content} /></div>;
    }
    case 'json': return <pre class="plain" tabIndex={0} role="group" aria-label={words.json}>{JSON.stringify(block['data'], null, 2)}</pre>;
    default: return <Notice quiet>{words.odd(type)}</Notice>;
  }
}

/** A column of blocks; with `reply` a form can be submitted, and the rest dismissed. */
export function Blocks({ blocks, reply }: { blocks: unknown[]; reply?: Reply | undefined }): JSX.Element {
  const all = blocks.map(object);
  const asks = all.some((block) => block['type'] === 'form');
  return (
    <>
      <div class="blocks">{all.map((block, n) => <One key={n} block={block} reply={reply} />)}</div>
      {reply && (
        <div class="buttons">
          <button type="button" class={asks ? 'quiet' : 'main'} aria-disabled={reply.busy} onClick={() => void reply.give({ action: 'dismiss' })}>{asks ? words.aside : words.done}</button>
        </div>
      )}
    </>
  );
}

/** Blocks that were shown before. */
export const ShownBlocks = ({ blocks }: { blocks: unknown[] }): JSX.Element => <Blocks blocks={blocks} />;
