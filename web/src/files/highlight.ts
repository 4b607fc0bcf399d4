// Colours of code: text in, runs of text with a kind out; no HTML ever. The highlighter and each language are fetched when first used.
import hljs from 'highlight.js/lib/core';
import type { LanguageFn } from 'highlight.js';

export interface Run {
  /** What the colour says: `keyword`, `string`…; '' is plain. */
  kind: Kind | '';
  text: string;
}

const KINDS = ['keyword', 'string', 'number', 'comment', 'title', 'type', 'name', 'meta', 'added', 'removed', 'strong'] as const;
type Kind = (typeof KINDS)[number];

const LANGUAGES: Record<string, () => Promise<{ default: LanguageFn }>> = {
  bash: () => import('highlight.js/lib/languages/bash'),
  c: () => import('highlight.js/lib/languages/c'),
  cpp: () => import('highlight.js/lib/languages/cpp'),
  csharp: () => import('highlight.js/lib/languages/csharp'),
  css: () => import('highlight.js/lib/languages/css'),
  diff: () => import('highlight.js/lib/languages/diff'),
  dockerfile: () => import('highlight.js/lib/languages/dockerfile'),
  go: () => import('highlight.js/lib/languages/go'),
  ini: () => import('highlight.js/lib/languages/ini'),
  java: () => import('highlight.js/lib/languages/java'),
  javascript: () => import('highlight.js/lib/languages/javascript'),
  json: () => import('highlight.js/lib/languages/json'),
  kotlin: () => import('highlight.js/lib/languages/kotlin'),
  lua: () => import('highlight.js/lib/languages/lua'),
  makefile: () => import('highlight.js/lib/languages/makefile'),
  markdown: () => import('highlight.js/lib/languages/markdown'),
  nginx: () => import('highlight.js/lib/languages/nginx'),
  perl: () => import('highlight.js/lib/languages/perl'),
  php: () => import('highlight.js/lib/languages/php'),
  python: () => import('highlight.js/lib/languages/python'),
  ruby: () => import('highlight.js/lib/languages/ruby'),
  rust: () => import('highlight.js/lib/languages/rust'),
  sql: () => import('highlight.js/lib/languages/sql'),
  swift: () => import('highlight.js/lib/languages/swift'),
  typescript: () => import('highlight.js/lib/languages/typescript'),
  xml: () => import('highlight.js/lib/languages/xml'),
  yaml: () => import('highlight.js/lib/languages/yaml'),
};

const ENDINGS: Record<string, string> = {
  sh: 'bash', bash: 'bash', zsh: 'bash', shell: 'bash', h: 'c', cc: 'cpp', cxx: 'cpp', hpp: 'cpp', hh: 'cpp', 'c++': 'cpp', ino: 'cpp', cs: 'csharp', 'c#': 'csharp', scss: 'css', less: 'css', patch: 'diff',
  toml: 'ini', conf: 'ini', cfg: 'ini', service: 'ini', env: 'ini', properties: 'ini', js: 'javascript', mjs: 'javascript', cjs: 'javascript', jsx: 'javascript', jsonl: 'json', ndjson: 'json', lock: 'ini', kt: 'kotlin', mk: 'makefile',
  md: 'markdown', pl: 'perl', py: 'python', rb: 'ruby', rs: 'rust', ts: 'typescript', tsx: 'typescript', mts: 'typescript', html: 'xml', htm: 'xml', svg: 'xml', vue: 'xml', svelte: 'xml', xhtml: 'xml', yml: 'yaml',
};

/** The language of a file: what the device says, else by the end of its name. */
export function languageOf(name: string, said?: string | null): string {
  const known = (key: string) => (key in LANGUAGES ? key : (ENDINGS[key] ?? ''));
  const last = name.toLowerCase().split('/').at(-1) ?? '';
  return known((said ?? '').toLowerCase()) || known(last.split('.').at(-1) ?? '') || known(last);
}

/** Scopes of highlight.js by what they are shown as. */
const SHOWN: Record<string, Kind> = {
  keyword: 'keyword', built_in: 'name', literal: 'number', type: 'type', number: 'number', string: 'string', regexp: 'string', char: 'string', subst: 'name', symbol: 'number', comment: 'comment', doctag: 'comment', quote: 'comment',
  title: 'title', section: 'title', attr: 'name', attribute: 'name', 'template-variable': 'name', 'template-tag': 'keyword', property: 'name', tag: 'keyword', name: 'keyword', 'selector-tag': 'keyword', 'selector-id': 'title',
  'selector-class': 'title', 'selector-attr': 'name', 'selector-pseudo': 'name', meta: 'meta', bullet: 'number', code: 'string', link: 'string', strong: 'strong', emphasis: 'meta', addition: 'added', deletion: 'removed', variable: 'name',
};

/** Collects runs where highlight.js would write HTML. */
class Runs {
  readonly runs: Run[] = [];
  private readonly scopes: (Kind | '')[] = [];
  addText(text: string): void {
    const kind = this.scopes.at(-1) ?? '';
    const last = this.runs.at(-1);
    if (last?.kind === kind) last.text += text;
    else if (text) this.runs.push({ kind, text });
  }
  startScope(scope: string): void {
    this.scopes.push(SHOWN[scope] ?? SHOWN[scope.split('.')[0] ?? ''] ?? this.scopes.at(-1) ?? '');
  }
  endScope(): void {
    this.scopes.pop();
  }
  openNode(scope: string): void {
    this.startScope(scope);
  }
  closeNode(): void {
    this.endScope();
  }
  __addSublanguage(other: Runs): void {
    for (const { kind, text } of other.runs) {
      this.scopes.push(kind || (this.scopes.at(-1) ?? ''));
      this.addText(text);
      this.scopes.pop();
    }
  }
  finalize(): void {
    // Nothing is left open.
  }
  toHTML(): string {
    return '';
  }
}

hljs.configure({ __emitter: Runs as never });

/** Longer text, and text with longer lines, is shown plain: it would hold up the page. */
const LONGEST = 300_000;
const LONGEST_LINE = 5000;

/** The runs of a text; `null` where its language is not known, or it is too long. */
export async function highlight(text: string, language: string): Promise<Run[] | null> {
  const load = LANGUAGES[language];
  if (!load || text.length > LONGEST || text.split('\n').some((line) => line.length > LONGEST_LINE)) return null;
  if (!hljs.getLanguage(language)) hljs.registerLanguage(language, (await load()).default);
  const result = hljs.highlight(text, { language, ignoreIllegals: true }) as { errorRaised?: Error; _emitter: unknown };
  return result.errorRaised ? null : (result._emitter as Runs).runs;
}
