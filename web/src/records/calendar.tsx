// The calendar: a month sheet, the selected day's events below it, and a search over all events.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Notice } from '../form';
import { Chevron } from '../icons';
import { records as words } from '../text/records';
import { longDay, monthName, plusMonths, today, wall, type Day } from './days';
import { events as family } from './families';
import { Picks, Searcher } from './filters';
import { Adder, More, Nothing, Announcement, samePick, useWanted, withEdited } from './list';
import type { Entry, Pick } from './kinds';
import { Lines } from './lines';
import { byDay, daysOf, Month, sheet } from './month';
import { RecordForm } from './record-form';
import { useList } from './use-list';
import { go } from '../rooms';

/** The most events shown in a month. */
const MOST = 300;
/** A search begins at this day. */
const EVER = '1970-01-01';

const SOURCE = { tool: family.tools.list, plural: family.plural, topics: family.topics };
const ALL = { ...SOURCE, page: 50, first: MOST };

/** `#/memory/calendar/2026-11-20` is that day. */
const dayIn = (path: string[]): Day => wall(path[1])?.day ?? today();

export function Calendar({ path, writer }: { path: string[]; writer: boolean }): JSX.Element {
  const at = dayIn(path);
  const [wanted, want] = useWanted(family.section);
  const [announced, setAnnounced] = useState('');
  const [held, setHeld] = useState<Entry | null>(null);
  const search = wanted.search.trim();
  const looking = search !== '' || wanted.picks.length > 0;
  const { from, to } = sheet(at);
  const picked = Object.fromEntries(wanted.picks.map((pick) => [pick.name, pick.value]));
  const month = useList(ALL, { startDate: from, endDate: to }, '', looking);
  const found = useList(SOURCE, { startDate: EVER, ...picked, ...(search && { search }) }, search, !looking);
  const { shown } = month;

  const toDay = (day: Day) => go('memory', ['calendar', day], true);
  const changed = (words: string, saved?: Entry) => {
    setAnnounced(words);
    const day = saved && daysOf(saved)[0];
    if (day && day !== at) toDay(day);
    void (looking ? found : month).renew();
  };
  const pick = (one: Pick) => want({ picks: [...wanted.picks.filter((other) => other.name !== one.name), one] });
  const list = looking ? found : month;
  const entries = looking ? (found.shown?.entries ?? []) : (byDay(shown?.entries ?? []).get(at) ?? []);
  return (
    <>
      <Searcher label={family.words.search ?? ''} value={wanted.search} onInput={(value) => (want({ search: value }), setAnnounced(''))} />
      <Picks picks={wanted.picks} onDrop={(dropped) => want({ picks: wanted.picks.filter((one) => !samePick(one, dropped)) })} />
      {!looking && (
        <>
          <Turn at={at} onGo={toDay} />
          <Month at={at} events={shown?.entries ?? []} onGo={toDay} />
          <p class="unseen" id="month-keys">{words.calendar.keys}</p>
          {shown?.more && <Notice quiet>{words.calendar.tooMany(shown.entries.length)}</Notice>}
        </>
      )}
      <div class="agenda-head">
        {!looking && <h2 aria-live="polite">{longDay(at)}</h2>}
        {writer && <Adder add={family.words.add} onAdded={changed} form={(end) => <RecordForm family={family} begin={{ startTime: at }} {...end} />} />}
      </div>
      <Announcement words={announced} shown={found.shown} looking={looking} />
      {list.problem && <Notice bad>{list.problem}</Notice>}
      <Lines family={family} entries={withEdited(entries, held)} writer={writer} picks={wanted.picks} onPick={pick} onHold={setHeld} onChanged={changed} />
      {list.shown && !entries.length && <Empty looking={looking} any={(shown?.entries.length ?? 0) > 0} />}
      {looking && found.shown?.more && <More busy={found.growing} onPress={() => void found.grow()} />}
    </>
  );
}

function Empty({ looking, any }: { looking: boolean; any: boolean }): JSX.Element {
  if (!looking && any) return <p class="soft nothing">{words.calendar.nothingOn}</p>;
  return <Nothing narrow={looking} words={family.words} />;
}

/** Previous and next month, and today. */
function Turn({ at, onGo }: { at: Day; onGo: (day: Day) => void }): JSX.Element {
  return <MonthTurn name={monthName(at)} before={words.calendar.before} after={words.calendar.after} onTurn={(n) => onGo(plusMonths(at, n))} now={at === today() ? null : { words: words.calendar.now, press: () => onGo(today()) }} />;
}

interface TurnProps {
  name: string;
  before: string;
  after: string;
  onTurn: (n: number) => void;
  now: { words: string; press: () => void } | null;
}

export function MonthTurn({ name, before, after, onTurn, now }: TurnProps): JSX.Element {
  return (
    <div class="turn">
      <h2 aria-live="polite">{name}</h2>
      {now && <button type="button" class="quiet" onClick={now.press}>{now.words}</button>}
      <button type="button" class="bare back-turn" aria-label={before} onClick={() => onTurn(-1)}><Chevron /></button>
      <button type="button" class="bare" aria-label={after} onClick={() => onTurn(1)}><Chevron /></button>
    </div>
  );
}
