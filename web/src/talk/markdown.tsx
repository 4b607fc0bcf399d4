// A small, safe Markdown: paragraphs, headings, bold, italics, code, lists, quotes, links. Text in, elements out; no HTML ever.
// With `live` an unfinished mark at the end counts as finished, so that streamed words do not change shape twice.
import type { ComponentChildren, JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Copy } from '../copy';
import { lazy } from '../lazy';
import { talk } from '../text/talk';
import { text } from '../text';
import { visible } from '../visible';

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/;
const HEADING = /^ {0,3}#{1,6} +(.*?)(?: +#+)?$/;
const QUOTE = /^ {0,3}> ?/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;

const ROW = /\|/;
const TABLE_RULE = /^ {0,3}\|?(?: *:?-+:? *\|)+ *(?::?-+:? *)?$|^ {0,3}\| *:?-+:? *$/;

const Table = lazy<{ lines: string[]; live: boolean }>(() => import('./table').then((part) => part.Table), true);

type Kind = 'p' | 'table' | 'heading' | 'code' | 'ul' | 'ol' | 'quote' | 'rule';

interface Block {
  kind: Kind;
  lines: string[];
  first?: number;
}

function starts(line: string): boolean {
  return FENCE.test(line) || HEADING.test(line) || QUOTE.test(line) || RULE.test(line) || ITEM.test(line);
}

/** Splits text into blocks; a list block holds one string per item. `live`: the last line may be the head of a table. */
function blocks(source: string, live: boolean): Block[] {
  const lines = visible(source).replace(/\r\n?/g, '\n').replace(/\t/g, '    ').split('\n');
  const out: Block[] = [];
  let i = 0;
  const line = () => lines[i] ?? '';
  while (i < lines.length) {
    const fence = FENCE.exec(line());
    const item = ITEM.exec(line());
    if (!line().trim()) {
      i++;
    } else if (fence) {
      const mark = fence[1] ?? '```';
      const body: string[] = [];
      for (i++; i < lines.length && !line().trim().startsWith(mark); i++) body.push(line());
      i++;
      out.push({ kind: 'code', lines: body });
    } else if (RULE.test(line())) {
      out.push({ kind: 'rule', lines: [] });
      i++;
    } else if (HEADING.test(line())) {
      out.push({ kind: 'heading', lines: [HEADING.exec(line())?.[1] ?? ''] });
      i++;
    } else if (QUOTE.test(line())) {
      const body: string[] = [];
      for (; i < lines.length && QUOTE.test(line()); i++) body.push(line().replace(QUOTE, ''));
      out.push({ kind: 'quote', lines: body });
    } else if (item) {
      const ordered = /\d/.test(item[2] ?? '');
      const block: Block = { kind: ordered ? 'ol' : 'ul', lines: [], first: ordered ? parseInt(item[2] ?? '1', 10) : 1 };
      for (let own = ITEM.exec(line()); own && /\d/.test(own[2] ?? '') === ordered; own = ITEM.exec(line())) {
        const indent = own[0].length;
        const body = [line().slice(indent)];
        for (i++; i < lines.length; i++) {
          const deep = line().search(/\S/);
          const ahead = lines[i + 1] ?? '';
          // An item continues with indented lines, or its paragraph with plain ones.
          if (deep >= Math.min(indent, 2)) body.push(line().slice(Math.min(indent, deep)));
          else if (deep < 0 && ahead.search(/\S/) >= 2) body.push('');
          else if (deep >= 0 && !starts(line()) && body.at(-1)?.trim()) body.push(line());
          else break;
        }
        block.lines.push(body.join('\n'));
        while (!line().trim() && i < lines.length && ITEM.test(lines[i + 1] ?? '')) i++;
      }
      out.push(block);
    } else if (ROW.test(line()) && (TABLE_RULE.test(lines[i + 1] ?? '') || (live && /^\s*\|/.test(line()) && i >= lines.length - 2 && /^[\s|:-]*$/.test(lines[i + 1] ?? '')))) {
      const body: string[] = [];
      for (; i < lines.length && ROW.test(line()); i++) body.push(line());
      out.push({ kind: 'table', lines: body });
    } else {
      const body = [line()];
      for (i++; i < lines.length && line().trim() && !starts(line()) && !(ROW.test(line()) && TABLE_RULE.test(lines[i + 1] ?? '')); i++) body.push(line());
      out.push({ kind: 'p', lines: body });
    }
  }
  return out;
}

const INLINE =
  /(`+)(.+?)\1(?!`)|\[([^\]\n]+)\]\(<?([^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)>?(?: +"[^"]*")?\)|\*\*(?=\S)(.+?)\*\*|\b__(?=\S)(.+?)__|\*(?=\S)([^*]+?)\*|\b_(?=\S)([^_]+?)_(?!\w)|(https?:\/\/[^\s<>"'`]*[^\s<>"'`.,;:!?)\]])|\\([\\`*_[\]()#+\-.!>~|])/s;

/** Closes the marks that an unfinished tail leaves open. */
function closed(source: string): string {
  let rest = source.replace(/\[([^\]\n]+)\]\([^)\s]*$/, '$1');
  const code = (rest.match(/`/g)?.length ?? 0) % 2;
  if (code) return /`$/.test(rest) ? rest.slice(0, -1) : `${rest}\``;
  if ((rest.match(/\*\*/g)?.length ?? 0) % 2) rest = /\*\*\s*$/.test(rest) ? rest.replace(/\*\*\s*$/, '') : `${rest.replace(/\*$/, '')}**`;
  return rest;
}

function inline(source: string): ComponentChildren[] {
  const out: ComponentChildren[] = [];
  let rest = source;
  for (let m = INLINE.exec(rest); m; m = INLINE.exec(rest)) {
    if (m.index) out.push(rest.slice(0, m.index));
    const [whole, , code, label, href, bold, bold2, italic, italic2, bare, escaped] = m;
    if (code !== undefined) out.push(<code>{code.replace(/^ (.*) $/s, '$1')}</code>);
    else if (label !== undefined) out.push(link(href ?? '', /:\/\//.test(label) ? [label] : inline(label)));
    else if (bold ?? bold2) out.push(<strong>{inline(bold ?? bold2 ?? '')}</strong>);
    else if (italic ?? italic2) out.push(<em>{inline(italic ?? italic2 ?? '')}</em>);
    else if (bare) out.push(link(bare, [bare]));
    else out.push(escaped ?? whole);
    rest = rest.slice(m.index + whole.length);
  }
  if (rest) out.push(rest);
  return out;
}

function link(href: string, label: ComponentChildren[]): ComponentChildren {
  if (!/^(https?:\/\/|mailto:)/i.test(href)) return <span>{label}</span>;
  return <a href={href} target="_blank" rel="noopener noreferrer">{label}</a>;
}

export function Words({ source, live }: { source: string; live: boolean }): JSX.Element {
  return useMemo(() => <>{inline(live ? closed(source) : source)}</>, [source, live]);
}

function Piece({ block, live }: { block: Block; live: boolean }): JSX.Element {
  const source = block.lines.join('\n');
  const items = () => block.lines.map((item, n) => <li><Pieces source={item} live={live && n === block.lines.length - 1} /></li>);
  switch (block.kind) {
    case 'code':
      return (
        <div class="code">
          <pre tabIndex={0} role="group" aria-label={text.talk.code}><code>{source}</code></pre>
          {!live && source && <Copy value={source} label={talk.copyCode} />}
        </div>
      );
    case 'table':
      return <Table lines={block.lines} live={live} />;
    case 'heading':
      return <p class="heading"><Words source={source} live={live} /></p>;
    case 'quote':
      return <blockquote><Pieces source={source} live={live} /></blockquote>;
    case 'ul':
      return <ul>{items()}</ul>;
    case 'ol':
      return <ol start={block.first}>{items()}</ol>;
    case 'rule':
      return <hr />;
    default:
      return <p><Words source={source} live={live} /></p>;
  }
}

function Pieces({ source, live }: { source: string; live: boolean }): JSX.Element {
  const all = blocks(source, live);
  return <>{all.map((block, n) => <Piece key={n} block={block} live={live && n === all.length - 1} />)}</>;
}

export function Markdown({ source, live = false }: { source: string; live?: boolean }): JSX.Element {
  return <div class="words"><Pieces source={source} live={live} /></div>;
}
