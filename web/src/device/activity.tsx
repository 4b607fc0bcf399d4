// The audit log: every tool call, newest first, with its caller, decision and outcome.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { deviceAway } from '../away';
import { Notice, SelectField, SwitchField, TextField } from '../form';
import { Chevron } from '../icons';
import * as policy from '../policy';
import { href } from '../rooms';
import { duration, facts, moment, text, trouble } from '../text';
import { Page, useAdmin, useHouse } from './part';

const words = text.activity;

const COUNT = 50;
const DEBOUNCE_MS = 250;
const OUTCOMES = [{ value: '', label: words.any }, ...Object.entries(words.outcomes).map(([value, label]) => ({ value, label }))];

/** The dot of an outcome; any other is a failure. */
const LOOKS: Record<string, string> = { ok: '', parked: 'rests' };

function Entry({ entry, people }: { entry: policy.AuditEntry; people: Map<string, string> }): JSX.Element {
  const { session } = useHouse();
  const who = entry.userId === session.user ? words.you : people.get(entry.userId) ?? words.somebody;
  return (
    <li class={`act ${LOOKS[entry.outcome] ?? 'bad'}`}>
      <span class="dot" />
      <div>
        <p class="act-head"><a href={href('tools', entry.tool)}>{entry.tool}</a> <time class="soft small" dateTime={new Date(entry.at).toISOString()}>{moment(entry.at, true)}</time></p>
        <p class="small">
          {facts(
            words.outcomes[entry.outcome] ?? entry.outcome, (entry.runId ? words.by.run : words.by.hand)(who),
            // Shorter calls still took some time.
            duration(Math.max(1, entry.micros / 1000)),
          )}
        </p>
        {entry.verdict && entry.rule && <p class="soft small">{words.rule(words.verdict[entry.verdict] ?? entry.verdict, entry.rule)}</p>}
      </div>
    </li>
  );
}

export function Activity(): JSX.Element {
  const admin = useAdmin();
  const away = deviceAway.value;
  const [query, setQuery] = useState<policy.AuditQuery>({ tool: '', outcome: '', everybody: false });
  const [entries, setEntries] = useState<policy.AuditEntry[] | null>(null);
  const [next, setNext] = useState<number | null>(null);
  const [people, setPeople] = useState(new Map<string, string>());
  const [problem, setProblem] = useState('');
  const asked = useRef(0);
  const list = useRef<HTMLUListElement>(null);

  /** Loads the newest entries, or those before the last one shown. */
  const read = async (after: policy.AuditEntry[] = [], before?: number | null) => {
    const turn = ++asked.current;
    try {
      const found = await policy.audit({ ...query, tool: query.tool.trim() }, COUNT, before);
      if (turn !== asked.current) return;
      setEntries([...after, ...found.entries]);
      setNext(found.next);
      setProblem('');
      if (after.length) requestAnimationFrame(() => list.current?.children[after.length]?.querySelector<HTMLElement>('a')?.focus());
    } catch (cause) {
      if (turn === asked.current) setProblem(trouble(cause));
    }
  };

  useEffect(() => {
    if (away) return;
    const timer = setTimeout(() => void read(), entries === null ? 0 : DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [query, away]);

  useEffect(() => {
    if (!query.everybody || people.size) return;
    // Unknown people are "somebody".
    void api.people().then((all) => setPeople(new Map(all.people.map((one) => [one.id, one.name]))), () => undefined);
  }, [query.everybody]);

  const put = (change: Partial<policy.AuditQuery>) => setQuery({ ...query, ...change });
  return (
    <Page title={words.title} back={words.back} to={href('device')}>
      <p class="soft small">{words.why}</p>
      <p class="buttons"><a class="button" href={href('device', 'runs')}>{words.runs}<Chevron /></a></p>
      <div class="sieve" role="search" aria-label={words.title}>
        <TextField code label={words.tool} value={query.tool} onInput={(tool) => put({ tool })} />
        <SelectField label={words.outcome} value={query.outcome} options={OUTCOMES} onInput={(outcome) => put({ outcome })} />
        {admin && <SwitchField label={words.everybody} checked={query.everybody} onInput={(everybody) => put({ everybody })} />}
      </div>
      {problem && <Notice bad>{problem}</Notice>}
      {problem && <p><button type="button" onClick={() => void read()}>{text.tryAgain}</button></p>}
      <p class="soft" role="status">
        {!problem && (entries === null ? words.loading : !entries.length && (query.tool || query.outcome ? words.noMatch : words.none))}
      </p>
      <ul class="acts" ref={list}>
        {entries?.map((entry) => <Entry key={entry.seq} entry={entry} people={people} />)}
      </ul>
      {entries && (
        <div class="buttons">
          {next !== null && entries.length > 0 && <button type="button" onClick={() => void read(entries, next)}>{words.older}</button>}
          <button type="button" class="quiet" onClick={() => void read()}>{words.again}</button>
        </div>
      )}
    </Page>
  );
}
