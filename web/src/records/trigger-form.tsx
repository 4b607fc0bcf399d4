// A trigger in a form: what it waits for, and what happens then.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Tool } from '../api';
import { AreaField, NumberField, SelectField, TextField } from '../form';
import { knownTools } from '../tools/use-tools';
import { sentence } from '../text';
import { records } from '../text/records';
import { schedules as words } from '../text/schedules';
import { ActionFields, actionArgs, actionOf, BEGIN as NOTHING, CallFields, callArgs, NO_CALL, toolBehind, type Action, type ActionDraft, type CallDraft } from './action';
import type { Problems } from './draft';
import { numberOf, textOf, type Entry } from './kinds';
import { LaterForm, useKept } from './later-form';
import { Rare } from './record-form';

type Kind = 'event' | 'condition' | 'schedule';

interface Draft {
  name: string;
  kind: Kind;
  topic: string;
  match: string;
  check: CallDraft;
  path: string;
  op: string;
  value: string;
  everySeconds: string;
  schedule: string;
  timezone: string;
  action: ActionDraft;
  cooldown: string;
  perHour: string;
}

const NEW: Draft = {
  name: '', kind: 'event', topic: '', match: '', check: NO_CALL, path: '', op: 'gt', value: '', everySeconds: '60', schedule: '', timezone: '', action: NOTHING,
  cooldown: '1', perHour: '60',
};

/** What makes a trigger fire, as its tool tells it. */
interface Config {
  topic?: string;
  match?: Record<string, unknown>;
  check?: { tool?: string; arguments?: unknown; path?: string; op?: string; value?: unknown };
  everySeconds?: number;
  schedule?: unknown;
  timezone?: string;
}

const shown = (value: unknown) => (value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value));

function draftOf(entry: Entry): Draft {
  const config = (entry['config'] ?? {}) as Config;
  const { check = {} } = config;
  return {
    name: textOf(entry, 'name'),
    kind: (textOf(entry, 'type') || 'event') as Kind,
    topic: config.topic ?? '',
    match: config.match && Object.keys(config.match).length ? JSON.stringify(config.match) : '',
    check: { tool: check.tool ?? '', draft: null, given: check.arguments ?? {} },
    path: check.path ?? '',
    op: check.op ?? 'eq',
    value: shown(check.value),
    everySeconds: String(config.everySeconds ?? 60),
    schedule: shown(config.schedule),
    timezone: config.timezone ?? '',
    action: actionOf(entry['action'] as Action | undefined),
    cooldown: String(numberOf(entry, 'cooldownSeconds') ?? 1),
    perHour: String(numberOf(entry, 'maxPerHour') ?? 60),
  };
}

/** "21.5", "true" and "[1]" are what they look like; anything else is a text. */
function valueOf(typed: string): unknown {
  try {
    return JSON.parse(typed) as unknown;
  } catch {
    return typed;
  }
}

function readMatch(typed: string, problems: Problems): object | undefined {
  if (!typed.trim()) return undefined;
  try {
    const match = JSON.parse(typed) as unknown;
    if (match && typeof match === 'object' && !Array.isArray(match)) return match;
    problems['match'] = words.matchHelp;
  } catch (cause) {
    problems['match'] = words.json(cause instanceof Error ? cause.message : '');
  }
  return undefined;
}

function whole(typed: string, name: string, least: number, problems: Problems, help: string): number {
  const n = Number(typed.trim());
  if (!typed.trim() || !Number.isInteger(n) || n < least) problems[name] = help;
  return n;
}

/** What it waits for, as the tool takes it; what is wrong of a check goes to `problems` under `check ` and the field. */
function configOf(draft: Draft, tools: Tool[], problems: Problems): object {
  if (draft.kind === 'event') {
    if (!draft.topic.trim()) problems['topic'] = words.needed;
    const match = readMatch(draft.match, problems);
    return { topic: draft.topic.trim(), ...(match && { match }) };
  }
  if (draft.kind === 'schedule') {
    if (!draft.schedule.trim()) problems['schedule'] = words.needed;
    return { schedule: draft.schedule.trim(), ...(draft.timezone.trim() && { timezone: draft.timezone.trim() }) };
  }
  const inner: Problems = {};
  const args = callArgs(tools, draft.check, inner);
  for (const [name, problem] of Object.entries(inner)) problems[`check ${name}`] = problem;
  if (draft.op !== 'changed' && !draft.value.trim()) problems['value'] = words.needed;
  return {
    check: { tool: draft.check.tool, arguments: args, ...(draft.path.trim() && { path: draft.path.trim() }), op: draft.op, ...(draft.op !== 'changed' && { value: valueOf(draft.value.trim()) }) },
    everySeconds: whole(draft.everySeconds, 'everySeconds', 10, problems, words.everySecondsHelp),
  };
}

interface Props {
  entry?: Entry;
  onDone: (name: string) => void;
  onCancel: () => void;
}

export function TriggerForm({ entry, onDone, onCancel }: Props): JSX.Element {
  const [before] = useState(() => (entry ? draftOf(entry) : NEW));
  const [draft, put, drop] = useKept('trigger', before, !entry);
  const [tried, setTried] = useState(false);
  const [refused, setRefused] = useState<Problems>({});
  const known = knownTools.value;
  const tools = known?.tools ?? [];
  const set = (change: Partial<Draft>) => (put(change), setRefused({}));

  const read = () => {
    const problems: Problems = {};
    const waits = configOf(draft, tools, problems);
    const action = actionArgs(tools, draft.action, problems);
    const limits = { cooldownSeconds: whole(draft.cooldown, 'cooldown', 0, problems, words.number), maxPerHour: whole(draft.perHour, 'perHour', 1, problems, words.number) };
    const name = draft.name.trim();
    if (!name) problems['name'] = words.needed;
    if (!entry) return { tool: 'create_trigger', args: { name, type: draft.kind, config: waits, ...action, ...limits }, problems, name };
    const same = (...keys: (keyof Draft)[]) => keys.every((key) => JSON.stringify(draft[key]) === JSON.stringify(before[key]));
    const waitsAnew = !same('topic', 'match', 'check', 'path', 'op', 'value', 'everySeconds', 'schedule', 'timezone');
    return { tool: 'update_trigger', args: { triggerId: entry.id, name, ...limits, ...(waitsAnew && { config: waits }), ...(!same('action') && action) }, problems, name };
  };
  const problems = { ...refused, ...(tried && read().problems) };
  const onRefused = (message: string) => {
    const field = (['name', 'topic', 'match', 'path', 'everySeconds', 'schedule'] as const).find((name) => message.includes(`\`${name}\``)) ?? '';
    if (field) setRefused({ [field]: sentence(message) });
    return field !== '';
  };
  return (
    <LaterForm
      label={entry ? records.about(records.edit, textOf(entry, 'name')) : words.triggerWords.add}
      entry={entry}
      read={read}
      later={[toolBehind(draft.action), ...(draft.kind === 'condition' ? [draft.check.tool] : [])]}
      onTried={setTried}
      onRefused={onRefused}
      onDone={(name) => (drop(), onDone(name))}
      onCancel={() => (drop(), onCancel())}
    >
      <TextField required label={words.name} value={draft.name} error={problems['name']} onInput={(name) => set({ name })} />
      {/* What kind it is stays as it was made; one that comes at a time is a schedule. */}
      {!entry && <SelectField label={words.when} value={draft.kind} options={Object.entries(words.triggerWhens).map(([value, label]) => ({ value, label }))} onInput={(kind) => set({ kind: kind as Kind })} />}
      <Waits draft={draft} problems={problems} onInput={set} />
      <ActionFields action={draft.action} problems={problems} onInput={(action) => set({ action })} />
      <Rare open={draft.cooldown !== NEW.cooldown || draft.perHour !== NEW.perHour}>
        <NumberField whole label={words.cooldown} value={draft.cooldown} error={problems['cooldown']} onInput={(cooldown) => set({ cooldown })} />
        <NumberField whole label={words.perHour} value={draft.perHour} error={problems['perHour']} onInput={(perHour) => set({ perHour })} />
      </Rare>
    </LaterForm>
  );
}

/** The fields of what it waits for. */
function Waits({ draft, problems, onInput }: { draft: Draft; problems: Problems; onInput: (change: Partial<Draft>) => void }): JSX.Element {
  const ofCheck = Object.entries(problems).flatMap(([name, problem]) => (name.startsWith('check ') ? [[name.slice('check '.length), problem] as const] : []));
  return (
    <>
      {draft.kind === 'event' && (
        <>
          <TextField required code label={words.topic} help={words.topicHelp} value={draft.topic} error={problems['topic']} onInput={(topic) => onInput({ topic })} />
          <AreaField code label={words.match} help={words.matchHelp} value={draft.match} error={problems['match']} onInput={(match) => onInput({ match })} />
        </>
      )}
      {draft.kind === 'schedule' && <TextField required code label={words.cron} help={words.cronHelp} value={draft.schedule} error={problems['schedule']} onInput={(schedule) => onInput({ schedule })} />}
      {draft.kind === 'condition' && (
        <>
          <CallFields looksOnly call={draft.check} problems={Object.fromEntries(ofCheck)} onInput={(check) => onInput({ check })} />
          <TextField code label={words.path} help={words.pathHelp} value={draft.path} error={problems['path']} onInput={(path) => onInput({ path })} />
          <div class="pair">
            <SelectField label={words.op} value={draft.op} options={Object.entries(words.ops).map(([value, label]) => ({ value, label }))} onInput={(op) => onInput({ op })} />
            {draft.op !== 'changed' && <TextField required label={words.value} value={draft.value} error={problems['value']} onInput={(value) => onInput({ value })} />}
          </div>
          <NumberField whole label={words.everySeconds} help={words.everySecondsHelp} value={draft.everySeconds} error={problems['everySeconds']} onInput={(everySeconds) => onInput({ everySeconds })} />
        </>
      )}
    </>
  );
}
