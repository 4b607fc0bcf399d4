// The lists with open items, to tick and add to in place.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Fresh } from '../icons';
import { href } from '../rooms';
import { trouble } from '../text';
import { today as words } from '../text/today';
import { Nothing, Part } from './part';
import { TaskRow } from './task-row';
import { ticked, withTicked } from './ticks';
import type { Glance, OpenList } from './use-today';

interface Props {
  lists: NonNullable<Glance['today']['lists']>;
  today: string;
  writer: boolean;
  onSay: (words: string) => void;
  onSaid: (said: string) => void;
  onChanged: () => void;
}

const same = (one: string | null | undefined, other: string) => (one ?? '').toLowerCase() === other.toLowerCase();

export function OpenLists({ lists, today, writer, onSay, onSaid, onChanged }: Props): JSX.Element {
  // A list whose last item was ticked here stays until the room is left.
  const emptied = [...ticked.value.values()].map(({ task }) => task.category ?? '').filter((name) => name && !lists.lists.some(({ list }) => same(list, name)));
  const gone: OpenList[] = [...new Set(emptied)].map((list) => ({ list, open: 0, shared: true, items: [] }));
  const all = [...lists.lists, ...gone].sort((a, b) => a.list.localeCompare(b.list));
  return (
    <Part name="lists" title={words.lists} link={all.length ? { to: href('memory', 'lists'), words: words.moreLists } : undefined}>
      {all.length
        ? all.map((list) => <List key={list.list.toLowerCase()} list={list} today={today} writer={writer} onSaid={onSaid} onChanged={onChanged} />)
        : <Nothing why={words.nothingLists} idea={words.listIdea} onSay={onSay} />}
    </Part>
  );
}

type ListProps = Pick<Props, 'today' | 'writer' | 'onSaid' | 'onChanged'> & { list: OpenList };

function List({ list, today, writer, onSaid, onChanged }: ListProps): JSX.Element {
  const items = withTicked(list.items, (task) => same(task.category, list.list));
  const rest = list.open - list.items.length;
  return (
    <section class="open-list" aria-label={list.list}>
      <h3>
        <span class="list-name">{list.list}</span>
        <small>{words.open(list.open)}{!list.shared && ` · ${words.onlyYou}`}</small>
      </h3>
      <ul class="tasks">{items.map((task) => <TaskRow key={task.id} task={task} today={today} writer={writer} onSaid={onSaid} />)}</ul>
      {rest > 0 && <p class="small"><a class="button quiet" href={href('memory', 'lists')}>{words.more(rest)}</a></p>}
      {writer && <Add list={list.list} onDone={(item) => (onSaid(words.added(item)), onChanged())} />}
    </section>
  );
}

/** The field for another item: Enter adds it and leaves the field ready for the next. */
function Add({ list, onDone }: { list: string; onDone: (item: string) => void }): JSX.Element {
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const field = useRef<HTMLInputElement>(null);
  const add = async () => {
    const item = typed.trim();
    if (!item || busy) return;
    setBusy(true);
    setProblem('');
    try {
      await api.execute('add_task', { title: item, category: list });
      setTyped('');
      onDone(item);
    } catch (cause) {
      setProblem(trouble(cause));
    }
    setBusy(false);
    field.current?.focus();
  };
  return (
    <>
      <form class="add-item" onSubmit={(event) => (event.preventDefault(), void add())}>
        <input ref={field} type="text" autocomplete="off" enterkeyhint="enter" aria-label={words.addTo(list)} placeholder={words.addTo(list)} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        <button class="bare" aria-label={words.addNow(list)} aria-disabled={busy}><Fresh /></button>
      </form>
      {problem && <p class="small problem" role="alert">{problem}</p>}
    </>
  );
}
