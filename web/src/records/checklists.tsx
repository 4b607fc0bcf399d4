// Shopping and other lists: each a checklist to tick, add to, edit in place, clear, rename and share.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { deviceAway } from '../away';
import { Buttons, Confirm, Notice, SwitchField, TextField } from '../form';
import { Bin, Fresh } from '../icons';
import { useNews } from '../live';
import { trouble } from '../text';
import { records } from '../text/records';
import { textOf, type Entry } from './kinds';
import { Checkbox } from './lines';
import { More } from './list';
import { useList } from './use-list';

const words = records.lists;
/** How many items a list shows at first. */
const FIRST = 60;

interface Summary {
  list: string;
  open: number;
  done: number;
  shared: boolean;
  /** Items that others added. */
  byOthers: number;
}

export function Checklists({ writer }: { writer: boolean }): JSX.Element {
  const [lists, setLists] = useState<Summary[] | null>(null);
  const [problem, setProblem] = useState('');
  const [said, setSaid] = useState('');
  const away = deviceAway.value;
  const asked = useRef(0);
  const look = async () => {
    const mine = ++asked.current;
    try {
      const { result } = await api.execute('list_lists') as api.ToolRun<{ lists: Summary[] }>;
      if (mine !== asked.current) return;
      setLists(result.lists);
      setProblem('');
    } catch (cause) {
      if (mine === asked.current) setProblem(cause instanceof api.Unreachable ? '' : trouble(cause));
    }
  };
  useEffect(() => {
    if (!away) void look();
  }, [away]);
  useNews(['tasks:changed'], () => void look());
  return (
    <>
      {writer && <NewList onDone={(name) => (setSaid(words.begun(name)), void look())} />}
      <p class="unseen" role="status">{said}</p>
      {problem && <Notice bad>{problem}</Notice>}
      {!lists && !problem && <p class="soft nothing">{records.loading}</p>}
      {lists && !lists.length && (
        <div class="nothing">
          <p>{words.none}</p>
          <p class="soft small">{words.teach}</p>
        </div>
      )}
      <div class="checklists">
        {lists?.map((list) => <Checklist key={list.list.toLowerCase()} list={list} writer={writer} onSaid={setSaid} onChanged={() => void look()} />)}
      </div>
    </>
  );
}

/** A list begins with its first item. */
function NewList({ onDone }: { onDone: (name: string) => void }): JSX.Element {
  const [open, setOpen] = useState(false);
  const [name, setName] = useState('');
  const [item, setItem] = useState('');
  const [isPrivate, setPrivate] = useState(false);
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState<{ name?: string; item?: string; problem?: string }>({});
  const button = useRef<HTMLButtonElement>(null);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (open) form.current?.querySelector('input')?.focus();
  }, [open]);
  if (!open) return <button type="button" class="quiet add" ref={button} onClick={() => setOpen(true)}><Fresh />{words.start}</button>;
  const close = () => {
    setOpen(false);
    requestAnimationFrame(() => button.current?.focus());
  };
  const save = async () => {
    if (busy) return;
    if (!name.trim() || !item.trim()) return setWrong({ ...(!name.trim() && { name: records.needed }), ...(!item.trim() && { item: records.needed }) });
    setBusy(true);
    try {
      const { result } = await api.execute('add_task', { title: item.trim(), category: name.trim() }) as api.ToolRun<{ category?: string; shared?: boolean }>;
      if (isPrivate && result.shared) await api.execute('share_list', { list: name.trim(), shared: false });
      onDone(result.category ?? name.trim());
      setName('');
      setItem('');
      setPrivate(false);
      setWrong({});
      close();
    } catch (cause) {
      setWrong({ problem: trouble(cause) });
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="writing" ref={form} noValidate aria-label={words.start} onSubmit={(event) => (event.preventDefault(), void save())} onKeyDown={(event) => event.key === 'Escape' && close()}>
      <TextField required label={words.name} help={words.nameHelp} error={wrong.name ?? ''} value={name} onInput={(value) => (setName(value), setWrong({}))} />
      <TextField required label={words.first} error={wrong.item ?? ''} value={item} onInput={(value) => (setItem(value), setWrong({}))} />
      <SwitchField label={words.onlyMe} checked={isPrivate} onInput={setPrivate} />
      <Buttons>
        <button class="main" aria-disabled={busy}>{busy ? records.saving : words.begin}</button>
        <button type="button" class="quiet" onClick={close}>{records.cancel}</button>
      </Buttons>
      {wrong.problem && <Notice bad>{wrong.problem}</Notice>}
    </form>
  );
}

interface CardProps {
  list: Summary;
  writer: boolean;
  onSaid: (said: string) => void;
  onChanged: () => void;
}

function Checklist({ list, writer, onSaid, onChanged }: CardProps): JSX.Element {
  const name = list.list;
  const items = useList({ tool: 'list_tasks', plural: 'tasks', topics: ['tasks:changed'], page: 50, first: FIRST }, { category: name });
  const [at, setAt] = useState<'' | 'renaming' | 'clearing' | 'clearing done'>('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const title = useRef<HTMLHeadingElement>(null);

  /** Runs a tool; its failure is shown on the card. */
  const act = async (tool: string, args: object, said: string): Promise<Record<string, unknown> | null> => {
    if (busy) return null;
    setBusy(true);
    setProblem('');
    try {
      const { result } = await api.execute(tool, args) as api.ToolRun<Record<string, unknown>>;
      onSaid(result['alreadyOnList'] === true ? words.already(textOf(result as Entry, 'title')) : said);
      void items.renew();
      onChanged();
      return result;
    } catch (cause) {
      setProblem(trouble(cause));
      return null;
    } finally {
      setBusy(false);
    }
  };
  const back = () => {
    setAt('');
    requestAnimationFrame(() => title.current?.focus());
  };
  const all = items.shown?.entries ?? [];
  const isOver = (entry: Entry) => entry['status'] === 'completed' || entry['status'] === 'cancelled';
  const open = all.filter((entry) => !isOver(entry));
  const over = all.filter(isOver);
  const line = (entry: Entry) => <Item key={entry.id} entry={entry} writer={writer} isShared={list.shared} onAct={act} busy={busy} />;
  const share = () => void act('share_list', { list: name, shared: !list.shared }, list.shared ? words.nowPrivate(name) : words.nowShared(name));
  return (
    <section class="checklist" aria-label={name}>
      <header>
        {at === 'renaming'
          ? <Rename name={name} busy={busy} onCancel={back} onSave={async (to) => (await act('rename_list', { list: name, name: to }, words.renamed(to))) && back()} />
          : (
            <>
              <h2 tabIndex={-1} ref={title}>{name}</h2>
              <p class="soft small">{words.count(list.open)} · {list.shared ? words.shared : words.private}</p>
            </>
          )}
      </header>
      {items.problem && <Notice bad>{items.problem}</Notice>}
      <ul class="records items">{open.map(line)}</ul>
      {writer && <Add name={name} onAdd={async (typed) => !!(await act('add_task', { title: typed, category: name }, records.added(typed)))} />}
      {over.length > 0 && (
        <details class="ticked">
          <summary>{words.ticked(list.done)}</summary>
          <ul class="records items">{over.map(line)}</ul>
        </details>
      )}
      {items.shown?.more && <More busy={items.growing} onPress={() => void items.grow()} />}
      {problem && <Notice bad>{problem}</Notice>}
      {at === 'clearing' || at === 'clearing done'
        ? (
          <Confirm
            title={at === 'clearing' ? words.clearAsk(name, list.open + list.done, list.byOthers) : words.clearDoneAsk(name, list.done)}
            yes={records.removeYes}
            busy={busy}
            onYes={() => void act('clear_list', { list: name, done: at === 'clearing done' }, words.cleared(name)).then(back)}
            onNo={back}
          />
        )
        : writer && (
          <div class="list-doings">
            <button type="button" class="quiet" aria-label={records.about(words.rename, name)} onClick={() => setAt('renaming')}>{words.rename}</button>
            <button type="button" class="quiet" aria-label={records.about(words.tidy, name)} onClick={() => void act('tidy_list', { list: name }, words.tidied(name))}>{words.tidy}</button>
            {list.done > 0 && <button type="button" class="quiet" aria-label={records.about(words.clearDone, name)} onClick={() => setAt('clearing done')}>{words.clearDone}</button>}
            <button type="button" class="quiet" aria-label={records.about(words.clear, name)} onClick={() => setAt('clearing')}>{words.clear}</button>
            {(!list.shared || list.byOthers === 0) && <button type="button" class="quiet" aria-label={records.about(list.shared ? words.makePrivate : words.makeShared, name)} onClick={share}>{list.shared ? words.makePrivate : words.makeShared}</button>}
          </div>
        )}
    </section>
  );
}

function Rename({ name, busy, onSave, onCancel }: { name: string; busy: boolean; onSave: (to: string) => unknown; onCancel: () => void }): JSX.Element {
  const [typed, setTyped] = useState(name);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector('input')?.select(), []);
  return (
    <form class="renaming" ref={form} onSubmit={(event) => (event.preventDefault(), typed.trim() && onSave(typed.trim()))} onKeyDown={(event) => event.key === 'Escape' && onCancel()}>
      <input type="text" aria-label={words.name} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      <button class="main" aria-disabled={busy}>{records.save}</button>
      <button type="button" class="quiet" onClick={onCancel}>{records.cancel}</button>
    </form>
  );
}

/** The field for the next item: Enter adds it and leaves the field ready for another. */
function Add({ name, onAdd }: { name: string; onAdd: (typed: string) => Promise<boolean> }): JSX.Element {
  const [typed, setTyped] = useState('');
  const field = useRef<HTMLInputElement>(null);
  const add = async () => {
    const item = typed.trim();
    if (!item) return;
    if (await onAdd(item)) setTyped((now) => (now.trim() === item ? '' : now));
    field.current?.focus();
  };
  return (
    <form class="next-item" onSubmit={(event) => (event.preventDefault(), void add())}>
      <input ref={field} type="text" autocomplete="off" enterkeyhint="enter" aria-label={words.addTo(name)} placeholder={words.next} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      <button class="bare" aria-label={words.addNow(name)}><Fresh /></button>
    </form>
  );
}

interface ItemProps {
  entry: Entry;
  writer: boolean;
  isShared: boolean;
  busy: boolean;
  onAct: (tool: string, args: object, said: string) => Promise<unknown>;
}

function Item({ entry, writer, isShared, busy, onAct }: ItemProps): JSX.Element {
  const title = textOf(entry, 'title');
  const done = entry['status'] === 'completed';
  const [typed, setTyped] = useState<string | null>(null);
  const button = useRef<HTMLButtonElement>(null);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (typed !== null) field.current?.focus();
  }, [typed === null]);
  const back = () => {
    setTyped(null);
    requestAnimationFrame(() => button.current?.focus());
  };
  const save = async () => {
    const to = (typed ?? '').trim();
    if (!to || to === title) return back();
    if (await onAct('update_task', { taskId: entry.id, title: to }, records.changed(to))) back();
  };
  const tick = () => void (done
    ? onAct('update_task', { taskId: entry.id, status: 'pending' }, records.tasks.unticked(title))
    : onAct('complete_task', { taskId: entry.id }, records.tasks.ticked(title)));
  const by = textOf(entry, 'sharedBy');
  const via = textOf(entry, 'via');
  const facts = [by && by !== via && records.addedBy(by), via && records.via(via), isShared && entry['shared'] !== true && words.onlyYou].filter(Boolean);
  return (
    <li class={done || entry['status'] === 'cancelled' ? 'over' : undefined}>
      <div class="record with-tick">
        <Checkbox on={done} label={(done ? records.tasks.untick : records.tasks.tick)(title)} disabled={busy || !writer} onPress={tick} />
        {typed === null
          ? (
            <div class="record-words">
              {writer
                ? <button type="button" class="item-title" ref={button} aria-label={records.about(records.edit, title)} onClick={() => setTyped(title)}>{title}</button>
                : <p class="record-title">{title}</p>}
              {facts.length > 0 && <p class="dotted">{facts.map((fact) => <span key={fact}>{fact}</span>)}</p>}
            </div>
          )
          : (
            <form class="renaming" onSubmit={(event) => (event.preventDefault(), void save())} onKeyDown={(event) => event.key === 'Escape' && (event.stopPropagation(), back())}>
              <input ref={field} type="text" aria-label={words.item} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
              <button class="main" aria-disabled={busy}>{records.save}</button>
              <button type="button" class="bare" aria-label={records.about(records.remove, title)} onClick={() => void onAct('delete_task', { taskId: entry.id }, records.removed(title))}><Bin /></button>
            </form>
          )}
      </div>
    </li>
  );
}
