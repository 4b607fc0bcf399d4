// Rules and triggers as one list: sentences with what became of them, and the form that makes and changes rules by choosing.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import * as api from '../../api';
import { Notice } from '../../form';
import type { GroupDraft } from '../../forms/schema';
import { sentence as asSentence, trouble } from '../../text';
import { rules as words } from '../../text/rules';
import { choices } from '../choices';
import { relativeTime } from '../days';
import { numberOf, textOf, type Entry, type Family, type PreviewProps } from '../kinds';
import { toolsOf, type ActionDraft, type Json } from './drafts';
import { ruleActions, ruleConditions, ruleTriggers } from './fields';
import './rules.css';

/** A rule of several parts, and not one of the trigger tools. */
export const isRule = (entry: Entry): boolean => Array.isArray(entry['triggers']);

const title = (entry: Entry) => textOf(entry, 'name') || textOf(entry, 'sentence');
const enabled = (entry: Entry) => entry['enabled'] !== false;

/** The name of what nobody named: what it does, as the device says it. */
async function nameOf(values: Json): Promise<string> {
  const { sentence } = await checked(values).catch(() => ({ sentence: '' }));
  return [...sentence.replace(/[.]$/, '')].slice(0, 120).join('');
}

export const rules: Family = {
  section: 'schedules',
  plural: 'rules',
  tools: { list: 'list_rules', add: 'create_rule', update: 'update_rule', remove: 'delete_rule' },
  which: 'rule',
  topics: ['rules:changed', 'rule:fired', 'triggers:changed', 'trigger:fired'],
  fields: {
    triggers: { title: words.when, custom: ruleTriggers, needed: true },
    conditions: { title: words.ifs, custom: ruleConditions },
    actions: { title: words.does, custom: ruleActions, needed: true },
    name: { title: words.name, description: words.nameHelp, format: 'line', needed: false, rare: true },
    mode: { title: words.mode, enum: Object.keys(words.modes), labels: words.modes, default: 'single', rare: true, usual: true },
    cooldownSeconds: { title: words.cooldown, default: 1, rare: true, usual: true },
    maxPerHour: { title: words.perHour, default: 60, rare: true, usual: true },
  },
  ready: () => choices.value !== null,
  asksFirst: (draft: GroupDraft) => ((draft['actions'] ?? []) as unknown as ActionDraft[]).flatMap(toolsOf),
  arrange: async (values, entry) => (entry || values['name'] ? values : { ...values, name: (await nameOf(values)) || words.words.add }),
  Preview,
  filters: [],
  words: words.words,
  title,
  sentence: (entry) => textOf(entry, 'sentence') || title(entry),
  facts: (entry) => {
    const fired = numberOf(entry, 'fired') ?? 0;
    const failures = numberOf(entry, 'failures') ?? 0;
    const name = textOf(entry, 'name');
    return [
      name && !textOf(entry, 'sentence').startsWith(name) && name,
      !enabled(entry) && 'off',
      fired > 0 && words.fired(fired, relativeTime(entry['lastFired'])),
      textOf(entry, 'lastWhy'),
      failures > 0 && { words: failures === 1 ? 'failed once' : `failed ${failures} times`, bad: true },
      entry['inFile'] === true && words.inFile,
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
async function checked(values: Json): Promise<Checked> {
  const { name: _, ...rule } = values;
  const { result } = await api.execute('validate_rule', rule);
  const found = result as Entry;
  return { sentence: textOf(found, 'sentence'), warnings: texts(found['warnings']), problem: texts(found['errors'] ?? found['problems'])[0] ?? '' };
}

const REST_MS = 400;

/** The rule as a sentence, and what to know before it is saved; and a try that does nothing. */
function Preview({ values, wrong }: PreviewProps): JSX.Element {
  const [told, setTold] = useState<Checked & { key: string } | null>(null);
  const [tried, setTried] = useState<{ key: string; lines: string[]; problem: string } | null>(null);
  const [trying, setTrying] = useState(false);
  const key = wrong ? '' : JSON.stringify(values);
  useEffect(() => {
    if (!key) return;
    let current = true;
    const timer = setTimeout(() => {
      checked(JSON.parse(key) as Json).then(
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
      const { name: _, ...rule } = JSON.parse(key) as Json;
      setTried({ key, ...dryLines(await api.execute('dry_run_rule', rule)) });
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

/** What a dry run says, line by line. */
export function dryLines({ result, say }: api.ToolRun): { lines: string[]; problem: string } {
  const found = result as Entry;
  const steps = texts(found['steps'] ?? found['actions'] ?? found['would']);
  return { lines: steps.length ? steps : say ? [say] : [], problem: texts(found['errors'] ?? found['problems'])[0] ?? '' };
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
