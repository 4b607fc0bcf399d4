// Rules and triggers as one list: sentences with what became of them, and the form that makes and changes rules by choosing.
import type { JSX } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../../api';
import { Notice } from '../../form';
import type { GroupDraft } from '../../forms/schema';
import { useNews } from '../../live';
import { duration, sentence as asSentence, trouble } from '../../text';
import { records as recordWords } from '../../text/records';
import { rules as words } from '../../text/rules';
import { schedules as scheduleWords } from '../../text/schedules';
import { choices } from '../choices';
import { relativeTime } from '../days';
import { numberOf, textOf, type Entry, type Family, type PreviewProps } from '../kinds';
import { checkedTool } from './causes';
import { toolsOf, type ActionDraft, type Json, type TriggerDraft } from './drafts';
import { ruleActions, ruleConditions, ruleTriggers } from './fields';
import './rules.css';

/** Outcomes of runs and actions that are no trouble. */
const WELL = ['ok', 'skipped', 'restarted', 'stopped'];
/** What became of an action at which its run was stopped. */
const cut = (outcome: string) => (WELL.includes(outcome) && outcome !== 'ok' ? scheduleWords.status[outcome] ?? '' : '');

const title = (entry: Entry) => textOf(entry, 'name') || textOf(entry, 'sentence');
const enabled = (entry: Entry) => entry['enabled'] !== false;
/** The name that somebody gave it: one that nobody named is called by its sentence. */
const named = (entry: Entry) => {
  const name = textOf(entry, 'name').replace(/…$/, '');
  return !textOf(entry, 'sentence').startsWith(name) && name;
};

export const rules: Family = {
  section: 'schedules',
  plural: 'rules',
  tools: { list: 'list_rules', add: 'create_rule', update: 'update_rule', remove: 'delete_rule' },
  which: 'ruleId',
  topics: ['triggers:changed', 'rules:changed', 'trigger:fired', 'rule:fired'],
  fields: {
    triggers: { title: words.when, custom: ruleTriggers, needed: true },
    conditions: { title: words.ifs, custom: ruleConditions },
    actions: { title: words.does, custom: ruleActions, needed: true },
    name: { title: words.name, description: words.nameHelp, format: 'line', needed: false, rare: true },
    mode: { title: words.mode, enum: Object.keys(words.modes), labels: words.modes, default: 'single', rare: true, usual: true },
    shared: { title: recordWords.share, rare: true },
    cooldownSeconds: { type: 'integer', minimum: 0, title: words.cooldown, default: 0, rare: true, usual: true },
    maxPerHour: { type: 'integer', minimum: 1, title: words.perHour, default: 600, rare: true, usual: true },
  },
  given: (entry) => ({ ...entry, ...(!named(entry) && { name: '' }) }),
  ready: () => choices.value !== null,
  asksFirst: (draft: GroupDraft) => [
    ...((draft['actions'] ?? []) as unknown as ActionDraft[]).flatMap(toolsOf),
    ...((draft['triggers'] ?? []) as unknown as TriggerDraft[]).map(({ kind, check }) => (kind === 'check' ? checkedTool(check) : '')),
  ],
  Preview,
  filters: [],
  words: words.words,
  title,
  sentence: (entry) => textOf(entry, 'sentence') || title(entry),
  facts: (entry) => {
    const fired = numberOf(entry, 'fired') ?? 0;
    const failures = numberOf(entry, 'failures') ?? 0;
    return [
      named(entry),
      entry['shared'] === true && !entry['sharedBy'] && recordWords.shared,
      !enabled(entry) && scheduleWords.paused,
      (numberOf(entry, 'running') ?? 0) > 0 && scheduleWords.runs,
      fired > 0 && words.fired(fired, relativeTime(entry['lastFired'])),
      failures > 0 && { words: scheduleWords.failures(failures), bad: true },
      entry['editable'] === false && words.inFile,
    ];
  },
};

interface Checked {
  sentence: string;
  warnings: string[];
  problem: string;
}

const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map((one) => (typeof one === 'string' ? one : textOf(one as Entry, 'text') || textOf(one as Entry, 'message'))).filter(Boolean) : []);

/** What the device makes of a rule that is not stored. */
async function checked({ triggers, conditions, actions, mode }: Json, id: string): Promise<Checked> {
  const { result } = await api.execute('validate_rule', { ...(id && { ruleId: id }), triggers, conditions, actions, ...(mode !== undefined && { mode }) });
  const found = result as Entry;
  return { sentence: textOf(found, 'sentence'), warnings: texts(found['warnings']), problem: texts(found['errors'])[0] ?? '' };
}

const REST_MS = 400;

/** The rule as a sentence, and what to know before it is saved; and a try that does nothing. */
function Preview({ values, wrong, id }: PreviewProps): JSX.Element {
  const [told, setTold] = useState<Checked & { key: string } | null>(null);
  const [tried, setTried] = useState<{ key: string; lines: string[]; problem: string } | null>(null);
  const [trying, setTrying] = useState(false);
  const key = wrong ? '' : JSON.stringify(values);
  useEffect(() => {
    if (!key) return;
    let current = true;
    const timer = setTimeout(() => {
      checked(JSON.parse(key) as Json, id).then(
        (found) => current && setTold({ ...found, key }),
        (cause: unknown) => current && setTold({ key, sentence: '', warnings: [], problem: trouble(cause) }),
      );
    }, REST_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [key]);
  const now = key && told?.key === key ? told : null;
  const dry = async () => {
    if (trying || !key) return;
    setTrying(true);
    try {
      const { triggers, conditions, actions, mode } = JSON.parse(key) as Json;
      setTried({ key, ...dryLines(await api.execute('dry_run_rule', { ...(id && { ruleId: id }), triggers, conditions, actions, ...(mode !== undefined && { mode }) })) });
    } catch (cause) {
      setTried({ key, lines: [], problem: trouble(cause) });
    } finally {
      setTrying(false);
    }
  };
  return (
    <div class="rule-preview">
      <div role="status">
        {now?.sentence && <p class="rule-sentence">{now.sentence}</p>}
        {now && !now.problem && now.warnings.length > 0 && (
          <>
            <p class="small"><b>{words.warnings}</b></p>
            <ul>{now.warnings.map((one) => <li key={one} class="small">{asSentence(one)}</li>)}</ul>
          </>
        )}
        {now?.problem && <p class="small problem">{asSentence(now.problem)}</p>}
      </div>
      {now && !now.problem && <p><button type="button" class="quiet" aria-disabled={trying} onClick={() => void dry()}>{trying ? words.trying : words.tryIt}</button></p>}
      {tried?.key === key && tried && <Dry {...tried} />}
    </div>
  );
}

/** What a dry run says: whether it would run, and which conditions hold. */
export function dryLines({ result, say }: api.ToolRun): { lines: string[]; problem: string } {
  const found = result as Entry;
  return { lines: [say ?? '', ...conditionLines(found['conditions'])].filter(Boolean), problem: texts(found['errors'])[0] ?? '' };
}

/** Each condition, and whether it holds. */
function conditionLines(conditions: unknown): string[] {
  const all = Array.isArray(conditions) ? (conditions as Entry[]) : [];
  return all.map((one) => (one['holds'] === true ? words.holds : words.holdsNot)(textOf(one, 'text'), textOf(one, 'value'))).filter(Boolean);
}

export function Dry({ lines, problem }: { lines: string[]; problem: string }): JSX.Element {
  return (
    <div class="under rule-dry" role="status">
      <p class="small"><b>{words.dryTitle}</b></p>
      {lines.map((line) => <p key={line} class="small">{asSentence(line)}</p>)}
      {problem && <Notice bad>{asSentence(problem)}</Notice>}
    </div>
  );
}

type Run = Entry & { actions?: Entry[] };

/** Why a rule ran, or did not: its trigger, its conditions, and each action with what came of it. */
export function RuleLog({ entry }: { entry: Entry }): JSX.Element {
  const [log, setLog] = useState<Run[] | null>(null);
  const [problem, setProblem] = useState('');
  const began = useRef(0);
  const read = useCallback(() => {
    began.current = performance.now();
    api.execute('rule_log', { ruleId: entry.id }).then(
      ({ result }) => {
        const found = (result as { log?: Run[] }).log;
        setLog(Array.isArray(found) ? found : []);
        setProblem('');
      },
      (cause: unknown) => setProblem(trouble(cause)),
    );
  }, [entry.id]);
  useEffect(read, [read]);
  useNews(rules.topics, (heard) => began.current < heard && read());
  return (
    <div class="under history rule-log" role="group" aria-label={words.logOf(title(entry))}>
      {problem && <Notice bad>{problem}</Notice>}
      {!log && !problem && <p class="soft small">{scheduleWords.loading}</p>}
      {log && !log.length && <p class="soft small">{words.noLog}</p>}
      <ol>
        {log?.map((run, n) => {
          const outcome = textOf(run, 'outcome');
          const times = numberOf(run, 'times') ?? 1;
          const ms = numberOf(run, 'ms');
          return (
            <li key={textOf(run, 'id') || n}>
              <p class="dotted">
                <span class={WELL.includes(outcome) ? undefined : 'bad-fact'}>{scheduleWords.status[outcome] ?? outcome}</span>
                <span>{relativeTime(run['at'])}</span>
                {textOf(run, 'why') && <span>{textOf(run, 'why')}</span>}
                {times > 1 && <span>{words.times(times)}</span>}
                {ms !== null && <span>{duration(ms)}</span>}
              </p>
              {textOf(run, 'reason') && <p class="soft small">{asSentence(textOf(run, 'reason'))}</p>}
              {conditionLines(run['conditions']).map((line) => <p key={line} class="soft small">{line}</p>)}
              {run.actions?.map((did, at) => <p key={at} class={textOf(did, 'error') ? 'small bad-fact' : 'soft small'}>{words.did(textOf(did, 'text'), textOf(did, 'error') || cut(textOf(did, 'outcome')))}</p>)}
              {!run.actions?.length && textOf(run, 'error') && <p class="small bad-fact">{textOf(run, 'error')}</p>}
            </li>
          );
        })}
      </ol>
    </div>
  );
}
