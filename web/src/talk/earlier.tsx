// The drawer: a new conversation, and a search over the earlier ones.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Confirm } from '../form';
import { Bin, Bring, Close, Find, Fresh, Pen, Save } from '../icons';
import { facts, text, trouble, when } from '../text';
import { talk as words } from '../text/talk';
import { dayGroup } from './day-group';
import { Rename } from './rename';

interface Props {
  current: string;
  onOpen: (id: string) => void;
  onFresh: () => void;
  onClose: () => void;
}

/** The largest file accepted. */
const LARGEST = 8e6;

/** Downloads a text as a file. */
function keepAs(name: string, content: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([content], { type: 'application/json' }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

const PAGE = 40;
const DEBOUNCE_MS = 200;

export function Earlier({ current, onOpen, onFresh, onClose }: Props): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const [query, setQuery] = useState('');
  const [lines, setLines] = useState<api.ConversationLine[] | null>(null);
  const [next, setNext] = useState('');
  const [problem, setProblem] = useState('');
  const [leaving, setLeaving] = useState('');
  const asked = useRef(0);
  const sought = query.trim();
  const [naming, setNaming] = useState('');

  /** Loads the first page, or the next one. */
  const read = async (after: api.ConversationLine[] = []) => {
    const turn = ++asked.current;
    try {
      const { conversations, next: further } = await api.conversations(sought, PAGE, after.length ? next : '');
      if (turn !== asked.current) return;
      // A conversation that moved up appears on two pages.
      const known = new Set(after.map((line) => line.id));
      setLines([...after, ...conversations.filter((line) => !known.has(line.id))]);
      setNext(further ?? '');
      setProblem('');
      if (after.length) requestAnimationFrame(() => list.current?.querySelectorAll<HTMLElement>('.line')[after.length]?.focus());
    } catch (cause) {
      if (turn === asked.current) setProblem(trouble(cause));
    }
  };

  useEffect(() => {
    dialog.current?.showModal();
    // On a phone the keyboard would cover the list.
    dialog.current?.querySelector<HTMLElement>('.fresh')?.focus();
  }, []);

  useEffect(() => {
    const timer = setTimeout(() => void read(), lines === null ? 0 : DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [sought]);

  const close = () => dialog.current?.close();
  const then = (action: () => void) => () => {
    close();
    action();
  };

  const drop = async (line: api.ConversationLine) => {
    setLeaving('');
    try {
      await api.deleteConversation(line.id);
      setLines((all) => all && all.filter((other) => other.id !== line.id));
      setProblem('');
      list.current?.focus();
      if (line.id === current) onFresh();
    } catch (cause) {
      setProblem(trouble(cause));
    }
  };

  const save = async (line: api.ConversationLine) => {
    try {
      const found = await api.exportConversation(line.id);
      const name = title(line).toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '').slice(0, 60);
      keepAs(`${name || 'conversation'}.json`, `${JSON.stringify(found, null, 2)}\n`);
      setProblem('');
    } catch (cause) {
      setProblem(trouble(cause));
    }
  };

  const bring = async (file: File | undefined) => {
    if (!file) return;
    let document: unknown;
    try {
      if (file.size > LARGEST) throw new Error('too large');
      document = JSON.parse(await file.text());
    } catch {
      return setProblem(text.menu.bringWrong);
    }
    try {
      const fresh = await api.importConversation(document);
      then(() => onOpen(fresh.id))();
    } catch (cause) {
      setProblem(trouble(cause));
    }
  };

  /** Renamed, or not: the focus goes back to the pen. */
  const named = (id: string) => {
    setNaming('');
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>(`.pen[data-of="${CSS.escape(id)}"]`)?.focus());
  };

  const groups = useMemo(() => {
    const by = new Map<string, api.ConversationLine[]>();
    for (const line of lines ?? []) {
      const day = dayGroup(line.updatedAt);
      by.set(day, [...(by.get(day) ?? []), line]);
    }
    return [...by];
  }, [lines]);

  const title = (line: api.ConversationLine) => line.title || text.menu.untitled;

  return (
    <dialog
      ref={dialog}
      class="drawer"
      aria-label={text.menu.open}
      onClose={onClose}
      onClick={(event) => event.target === event.currentTarget && close()}
    >
      <div class="drawer-inside">
        <div class="drawer-top">
          <h2>{text.menu.open}</h2>
          <button type="button" class="bare" aria-label={text.menu.close} onClick={close}><Close /></button>
        </div>
        <div class="fresh-line">
          <button type="button" class="fresh" onClick={then(onFresh)}><Fresh />{text.menu.fresh}</button>
          <button type="button" class="bare" aria-label={text.menu.bring} title={text.menu.bring} onClick={() => picker.current?.click()}><Bring /></button>
          <input
            ref={picker}
            type="file"
            accept="application/json,.json"
            hidden
            aria-label={text.menu.bring}
            onChange={(event) => {
              void bring(event.currentTarget.files?.[0]);
              event.currentTarget.value = '';
            }}
          />
        </div>
        <label class="seek">
          <Find />
          <span class="unseen">{text.menu.search}</span>
          <input
            type="text"
            role="searchbox"
            placeholder={text.menu.search}
            autocomplete="off"
            enterkeyhint="search"
            value={query}
            onInput={(event) => setQuery(event.currentTarget.value)}
          />
        </label>
        <div class="list" ref={list} tabIndex={-1} role="group" aria-label={text.menu.earlier}>
          {problem && <p class="problem small" role="alert">{problem}</p>}
          <p class="soft" role="status">{lines && !lines.length && (sought ? text.find.nothing(sought) : text.menu.none)}</p>
          {groups.map(([day, own]) => (
            <section key={day} aria-label={day}>
            <h3>{day}</h3>
            <ul>
            {own.map((line) => (
              <li key={line.id} class={line.id === current ? 'current' : undefined}>
                {naming === line.id ? (
                  <Rename
                    title={line.title}
                    onSave={async (fresh) => {
                      const now = await api.renameConversation(line.id, fresh);
                      setLines((all) => all && all.map((one) => (one.id === line.id ? { ...one, title: now.title } : one)));
                      named(line.id);
                    }}
                    onCancel={() => named(line.id)}
                  />
                ) : leaving === line.id ? (
                  <Confirm
                    title={text.menu.dropAsk(title(line))}
                    yes={text.menu.drop}
                    no={text.menu.keep}
                    onYes={() => void drop(line)}
                    onNo={() => setLeaving('')}
                  />
                ) : (
                  <>
                    <button
                      type="button"
                      class="line"
                      aria-current={line.id === current ? 'true' : undefined}
                      onClick={then(() => onOpen(line.id))}
                    >
                      <span>{title(line)}</span>
                      <small>{facts(line.forkedFrom && text.menu.forked, when(line.updatedAt))}</small>
                      {line.excerpt && <small class="excerpt">{line.excerpt}</small>}
                    </button>
                    <button type="button" class="bare pen" data-of={line.id} aria-label={words.drawer.renameOne(title(line))} title={words.drawer.rename} onClick={() => setNaming(line.id)}>
                      <Pen />
                    </button>
                    <button type="button" class="bare" aria-label={text.menu.saveOne(title(line))} title={text.menu.save} onClick={() => void save(line)}>
                      <Save />
                    </button>
                    <button type="button" class="bare" aria-label={text.menu.dropOne(title(line))} title={text.menu.drop} onClick={() => setLeaving(line.id)}>
                      <Bin />
                    </button>
                  </>
                )}
              </li>
            ))}
            </ul>
            </section>
          ))}
          {next && <button type="button" class="quiet" onClick={() => void read(lines ?? [])}>{text.menu.more}</button>}
        </div>
      </div>
    </dialog>
  );
}
