// Schedules and rules, which triggers are too: listed with their next and last run, paused, run now, edited and deleted.
import type { JSX } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Notice } from '../form';
import { Chevron } from '../icons';
import { useNews } from '../live';
import { href } from '../rooms';
import { trouble } from '../text';
import { records } from '../text/records';
import { rules as ruleWords } from '../text/rules';
import { schedules as words } from '../text/schedules';
import type { GroupDraft } from '../forms/schema';
import { action, toolsBehind, usualName, type ActionDraft } from './action';
import { choices, useChoices } from './choices';
import { relativeTime, wall } from './days';
import { Filters, isFiltered, argsOf } from './filters';
import { textOf, type Entry, type Facts, type Family } from './kinds';
import { Lines, type LineState, type LineExtras } from './lines';
import { Adder, More, Nothing, Announcement, useWanted, withEdited } from './list';
import { RecordForm } from './record-form';
import { Dry, dryLines, RuleLog, rules } from './rules/rules';
import { useList } from './use-list';
import { scheduleWhen } from './when-fields';

const title = (entry: Entry) => textOf(entry, 'name') || records.unnamed;
/** The name that says what it does, when nobody gave it one. */
const usual = (entry: Entry) => usualName(action.begin(entry['action']) as unknown as ActionDraft);
const named = (entry: Entry) => title(entry) !== usual(entry) && title(entry);
const sentence = (entry: Entry) => textOf(entry, 'sentence') || title(entry);
const stored = (entry: Entry, written: string) => ({ choice: entry['choice'], written, zone: textOf(entry, 'timezone') });
/** A name that says what it does is left empty. */
const unnamed = (entry: Entry) => !named(entry) && { name: '' };
/** Names what nobody named, also after it does something else. */
function nameIt(values: Record<string, unknown>, draft: GroupDraft, entry: Entry | undefined): Record<string, unknown> {
  const anew = !entry || values['name'] === '' || (!named(entry) && 'action' in values);
  return anew && !values['name'] ? { ...values, name: usualName(actionIn(draft)) } : values;
}
const actionIn = (draft: GroupDraft) => draft['action'] as unknown as ActionDraft;
const enabled = (entry: Entry) => entry['enabled'] !== false;

function lastFact(status: string, at: unknown): Facts[number] {
  if (!status || !at) return '';
  return { words: words.last(words.status[status] ?? status, relativeTime(at)), bad: status === 'failed' || status === 'interrupted' || status === 'missed' };
}

const schedules: Family = {
  section: 'schedules',
  plural: 'tasks',
  tools: { list: 'list_scheduled_tasks', add: 'create_scheduled_task', update: 'update_scheduled_task', remove: 'delete_scheduled_task' },
  which: 'taskId',
  topics: ['schedules:changed', 'schedule:ran'],
  fields: {
    schedule: { title: words.when, custom: scheduleWhen },
    action: { title: words.what, custom: action, needed: true },
    name: { title: words.name, description: words.nameHelp, format: 'line', needed: false, rare: true },
    timezone: { title: words.timezone, description: words.timezoneHelp, format: 'line', usual: true, rare: true },
    missed: { title: words.missed, labels: words.misseds, default: 'once', rare: true },
    retries: { title: words.retries, description: words.retriesHelp, default: 2, rare: true },
  },
  given: (entry) => ({ ...entry, schedule: stored(entry, textOf(entry, 'schedule')), ...unnamed(entry) }),
  send: nameIt,
  ready: () => choices.value !== null,
  asksFirst: (draft) => toolsBehind(actionIn(draft)),
  filters: [],
  words: words.words,
  title,
  sentence,
  facts: (entry) => [
    named(entry),
    entry['running'] === true ? words.runs : !enabled(entry) ? words.paused : entry['nextRun'] ? words.next(relativeTime(entry['nextRun'])) : words.over,
    wall(entry['nextTry']) && words.nextTry(relativeTime(entry['nextTry'])),
    lastFact(textOf(entry, 'lastStatus'), entry['lastRun']),
    textOf(entry, 'stopped') && { words: textOf(entry, 'stopped'), bad: true },
  ],
};

/** The actions of schedules and triggers, by their tools. */
interface Doings {
  pause: (entry: Entry) => Promise<unknown>;
  run: (entry: Entry) => Promise<unknown>;
  runWords: string;
  history: string;
  /** What its history is called, and what shows it, where that is more than a list of runs. */
  log?: { short: string; of: (name: string) => string; Log: (props: { entry: Entry }) => JSX.Element };
  topics: readonly string[];
  which: string;
  /** What the daemon stores: the schedule or the event, and the call. */
  stored: (entry: Entry) => object;
  /** Says what it would do now, without doing it. */
  dry?: (entry: Entry) => Promise<api.ToolRun>;
}

const looksOf = (doings: Doings): LineExtras => ({
  more: (entry, line) => <Doable entry={entry} line={line} doings={doings} />,
  Below: ({ entry, line }) => (!line.open ? null : doings.log ? <><doings.log.Log entry={entry} /><Stored entry={entry} doings={doings} /></> : <History entry={entry} doings={doings} />),
  ...(doings.dry && { mayChange: (entry: Entry) => entry['editable'] !== false }),
});

function Doable({ entry, line, doings }: { entry: Entry; line: LineState; doings: Doings }): JSX.Element {
  const name = title(entry);
  const on = enabled(entry);
  return (
    <>
      {line.writer && (
        <>
          <button type="button" class="quiet" aria-label={records.about(on ? words.pause : words.resume, name)} onClick={() => void line.act(() => doings.pause(entry).then(() => undefined), on ? words.pausedNow(name) : words.resumed(name))}>
            {on ? words.pause : words.resume}
          </button>
          <button type="button" class="quiet" aria-label={records.about(doings.runWords, name)} onClick={() => void line.act(() => doings.run(entry).then(() => undefined), words.ran(name))}>{doings.runWords}</button>
        </>
      )}
      <button type="button" class="quiet" aria-expanded={line.open} aria-label={(doings.log?.of ?? words.historyOf)(name)} onClick={() => line.setOpen(!line.open)}>{doings.log?.short ?? words.history}</button>
      {doings.dry && line.writer && <DryRun entry={entry} line={line} dry={doings.dry} />}
      {textOf(entry, 'conversationId') && <a class="button quiet" href={href('talk', textOf(entry, 'conversationId'))} aria-label={records.about(words.conversation, name)}>{words.conversation}</a>}
    </>
  );
}

/** A try that does nothing, and what it says. */
function DryRun({ entry, line, dry }: { entry: Entry; line: LineState; dry: (entry: Entry) => Promise<api.ToolRun> }): JSX.Element {
  const [tried, setTried] = useState<ReturnType<typeof dryLines> | null>(null);
  const run = async () => {
    if (tried) return setTried(null);
    await line.act(async () => setTried(dryLines(await dry(entry))));
  };
  return (
    <>
      <button type="button" class="quiet" aria-expanded={tried !== null} aria-label={records.about(ruleWords.tryIt, title(entry))} onClick={() => void run()}>{ruleWords.tryIt}</button>
      {tried && <Dry {...tried} />}
    </>
  );
}

type Run = Record<string, unknown>;

/** The last runs, one per line, with errors as the daemon words them. */
function History({ entry, doings }: { entry: Entry; doings: Doings }): JSX.Element {
  const [runs, setRuns] = useState<Run[] | null>(null);
  const [problem, setProblem] = useState('');
  const began = useRef(0);
  const read = useCallback(() => {
    began.current = performance.now();
    api.execute(doings.history, { [doings.which]: entry.id }).then(
      ({ result }) => {
        const { runs: ofTask, history } = result as Record<string, Run[] | undefined>;
        setRuns(ofTask ?? history ?? []);
        setProblem('');
      },
      (cause: unknown) => setProblem(trouble(cause)),
    );
  }, [entry.id]);
  useEffect(read, [read]);
  useNews(doings.topics, (heard) => began.current < heard && read());
  const text = (run: Run, name: string) => (typeof run[name] === 'string' ? run[name] : '');
  return (
    <div class="under history" role="group" aria-label={words.historyOf(title(entry))}>
      {problem && <Notice bad>{problem}</Notice>}
      {!runs && !problem && <p class="soft small">{words.loading}</p>}
      {runs && !runs.length && <p class="soft small">{words.noHistory}</p>}
      <ol>
        {runs?.map((run) => {
          const status = text(run, 'status');
          const attempt = Number(run['attempt'] ?? 1);
          return (
            <li key={text(run, 'runId') || text(run, 'id')}>
              <p class="dotted">
                <span class={status === 'ok' ? undefined : 'bad-fact'}>{words.status[status] ?? status}</span>
                <span>{relativeTime(text(run, 'startedAt') || text(run, 'scheduledFor') || text(run, 'firedAt') || text(run, 'at'))}</span>
                {attempt > 1 && <span>{words.attempt(attempt)}</span>}
                {run['byHand'] === true && <span>{words.byHand}</span>}
                {text(run, 'why') && <span>{text(run, 'why')}</span>}
              </p>
              {(text(run, 'error') || text(run, 'result')) && <p class="soft small run-result">{text(run, 'error') || text(run, 'result')}</p>}
            </li>
          );
        })}
      </ol>
      <Stored entry={entry} doings={doings} />
    </div>
  );
}

function Stored({ entry, doings }: { entry: Entry; doings: Doings }): JSX.Element {
  return (
    <details class="rare history">
      <summary><Chevron />{words.stored}</summary>
      <pre class="small">{JSON.stringify(doings.stored(entry), null, 2)}</pre>
    </details>
  );
}

const scheduleLooks = looksOf({
  pause: (entry) => api.execute('update_scheduled_task', { taskId: entry.id, enabled: !enabled(entry) }),
  run: (entry) => api.runTool('trigger_task', { taskId: entry.id }),
  runWords: words.run,
  history: 'get_task_history',
  topics: schedules.topics,
  which: 'taskId',
  stored: ({ schedule, timezone, action: does }) => ({ schedule, timezone, action: does }),
});

const ruleLooks = looksOf({
  pause: (entry) => api.execute('update_rule', { ruleId: entry.id, enabled: !enabled(entry) }),
  run: (entry) => api.runTool('run_rule', { ruleId: entry.id }),
  runWords: ruleWords.runNow,
  history: 'rule_log',
  log: { short: ruleWords.log, of: ruleWords.logOf, Log: RuleLog },
  topics: rules.topics,
  which: 'ruleId',
  stored: ({ triggers: when, conditions, actions, mode }) => ({ triggers: when, conditions, actions, mode }),
  dry: (entry) => api.execute('dry_run_rule', { ruleId: entry.id }),
});

/** `rulesFirst`: as the Home room shows them. */
export function Schedules({ writer, rulesFirst = false }: { writer: boolean; rulesFirst?: boolean }): JSX.Element {
  useChoices();
  const parts = [
    <Part key="times" id="at-times" heading={words.atTimes} family={schedules} looks={scheduleLooks} writer={writer} />,
    <Part key="events" id="on-events" heading={words.onEvents} family={rules} looks={ruleLooks} writer={writer} />,
  ];
  return <>{rulesFirst ? parts.reverse() : parts}</>;
}

interface PartProps {
  id: string;
  heading: string;
  family: Family;
  looks: LineExtras;
  writer: boolean;
}

function Part({ id, heading, family, looks, writer }: PartProps): JSX.Element {
  const [wanted, want] = useWanted(`${family.section} ${family.plural}`);
  const [announced, setAnnounced] = useState('');
  const [held, setHeld] = useState<Entry | null>(null);
  const list = useList({ tool: family.tools.list, plural: family.plural, topics: family.topics }, argsOf(family, wanted), wanted.search.trim());
  const { shown, problem } = list;
  const changed = (words: string) => {
    setAnnounced(words);
    void list.renew();
  };
  const entries = withEdited(shown?.entries ?? [], held);
  return (
    <section class="schedules" aria-labelledby={id}>
      <h2 id={id}>{heading}</h2>
      {(entries.length > 5 || isFiltered(wanted)) && <Filters family={family} wanted={wanted} onWant={(change) => (want(change), setAnnounced(''))} />}
      {writer && <Adder add={family.words.add} form={(end) => <RecordForm family={family} {...end} />} onAdded={changed} />}
      <Announcement words={announced} shown={shown} looking={wanted.search.trim() !== ''} />
      {problem && <Notice bad>{problem}</Notice>}
      {!shown && !problem && <p class="soft nothing">{words.loading}</p>}
      <Lines family={family} entries={entries} looks={looks} writer={writer} picks={[]} onHold={setHeld} onChanged={changed} />
      {shown && !entries.length && <Nothing narrow={isFiltered(wanted)} words={family.words} />}
      {shown?.more && <More busy={list.growing} onPress={() => void list.grow()} />}
    </section>
  );
}
