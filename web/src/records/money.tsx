// Expenses: a month as a chart, its expenses below, and a CSV export.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import * as api from '../api';
import { Notice } from '../form';
import { go } from '../rooms';
import { trouble } from '../text';
import { records } from '../text/records';
import { MonthTurn } from './calendar';
import { firstOfMonth, lastOfMonth, monthName, plusMonths, today, wall, type Day } from './days';
import { expenses as family } from './families';
import { argsOf, Filters, isFiltered } from './filters';
import { Adder, More, Nothing, Announcement, useWanted, withEdited } from './list';
import type { Entry, Pick } from './kinds';
import { Lines } from './lines';
import { RecordForm } from './record-form';
import { Spending } from './spending';
import { useList } from './use-list';

const words = records.money;
const SOURCE = { tool: family.tools.list, plural: family.plural, topics: family.topics };
const EVER = 'all';

/** `#/memory/money/2026-11` is that month, `#/memory/money/all` all of them. */
function monthIn(path: string[]): Day {
  if (path[1] === EVER) return '';
  return wall(`${path[1] ?? ''}-01`)?.day ?? firstOfMonth(today());
}

export function Money({ path, writer }: { path: string[]; writer: boolean }): JSX.Element {
  const month = monthIn(path);
  const [wanted, want] = useWanted(family.section);
  const [announced, setAnnounced] = useState('');
  const [held, setHeld] = useState<Entry | null>(null);
  const [round, setRound] = useState(0);
  const days = month ? { startDate: month, endDate: lastOfMonth(month) } : {};
  const list = useList(SOURCE, { ...days, ...argsOf(family, wanted) }, wanted.search.trim());
  const { shown, problem } = list;

  const to = (day: Day) => go('memory', ['money', day ? day.slice(0, 7) : EVER], true);
  const changed = (words: string, saved?: Entry) => {
    setAnnounced(words);
    setRound((n) => n + 1);
    const day = wall(saved?.['date'])?.day;
    if (day && month && day.slice(0, 7) !== month.slice(0, 7)) to(day);
    else void list.renew();
  };
  const pick = (one: Pick) => want({ picks: [...wanted.picks.filter((other) => other.name !== one.name), one] });
  const entries = withEdited(shown?.entries ?? [], held);
  const now = firstOfMonth(today());
  return (
    <>
      <Filters family={family} wanted={wanted} onWant={(change) => (want(change), setAnnounced(''))} />
      <div class="months">
        {month
          ? <MonthTurn name={monthName(month)} before={words.before} after={words.after} onTurn={(n) => to(plusMonths(month, n))} now={month === now ? { words: words.ever, press: () => to('') } : { words: words.thisMonth, press: () => to(now) }} />
          : <div class="turn"><h2 aria-live="polite">{words.ever}</h2><button type="button" class="quiet" onClick={() => to(now)}>{words.thisMonth}</button></div>}
      </div>
      <Spending month={month} args={days} topics={family.topics} round={round} onPick={(value) => pick({ name: 'category', value })} />
      <div class="money-doings">
        {writer && <Adder add={family.words.add} form={(end) => <RecordForm family={family} {...end} />} onAdded={changed} />}
        {entries.length > 0 && <Export days={days} />}
      </div>
      <Announcement words={announced} shown={shown} looking={wanted.search.trim() !== ''} />
      {problem && <Notice bad>{problem}</Notice>}
      {!shown && !problem && <p class="soft nothing">{records.loading}</p>}
      <Lines family={family} entries={entries} writer={writer} picks={wanted.picks} onPick={pick} onHold={setHeld} onChanged={changed} />
      {shown && !entries.length && <Nothing narrow={isFiltered(wanted)} words={family.words} />}
      {shown?.more && <More busy={list.growing} onPress={() => void list.grow()} />}
    </>
  );
}

/** The most pages of one export; a tool result holds at most 160 KB. */
const PARTS = 200;

/** All pages as one text; each later page repeats the header line. */
async function exported(days: object): Promise<string> {
  let all = '';
  let offset = 0;
  for (let part = 0; part < PARTS; part++) {
    const { result } = await api.execute('export_expenses', { format: 'csv', ...days, ...(!('startDate' in days) && { period: 'all' }), ...(offset && { offset }) });
    all += part ? result.content.slice(result.content.indexOf('\n') + 1) : result.content;
    if (!result.nextOffset || result.nextOffset <= offset) break;
    offset = result.nextOffset;
  }
  return all;
}

function Export({ days }: { days: object }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const save = async () => {
    if (busy) return;
    setBusy(true);
    setProblem('');
    try {
      const url = URL.createObjectURL(new Blob([await exported(days)], { type: 'text/csv;charset=utf-8' }));
      Object.assign(document.createElement('a'), { href: url, download: words.exportedAs }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    } catch (cause) {
      setProblem(trouble(cause));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button type="button" class="quiet" aria-disabled={busy} onClick={() => void save()}>{words.export}</button>
      {problem && <Notice bad>{problem}</Notice>}
    </>
  );
}
