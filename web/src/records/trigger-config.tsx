// What a trigger waits for, as a field: an event, a condition that a tool checks, or times.
import type { JSX } from 'preact';
import { optionsOf, SelectField } from '../form';
import { blank, read } from '../forms/draft';
import { EachField } from '../forms/fields';
import { groupOf, type Custom, type CustomProps, type Draft, type Group, type GroupDraft, type Schema } from '../forms/schema';
import { schedules as words } from '../text/schedules';
import { toolCall, type CallDraft } from './action';

type Kind = 'event' | 'condition' | 'schedule';
type ConfigDraft = { kind: Kind; existing: boolean } & Record<Kind, GroupDraft>;

/** "21.5", "true" and "[1]" are what they look like; anything else is text. */
function valueOf(typed: string): unknown {
  try {
    return JSON.parse(typed) as unknown;
  } catch {
    return typed;
  }
}

const shown = (value: unknown) => (value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value));

const form = (required: string[], properties: Record<string, Schema>) => groupOf({ required, properties }, true);

const FORMS: Record<Kind, Group> = {
  event: form(['topic'], {
    topic: { type: 'string', format: 'code', title: words.topic, description: words.topicHelp },
    match: { type: 'object', title: words.match, description: words.matchHelp },
  }),
  schedule: form(['schedule'], { schedule: { type: 'string', format: 'code', title: words.cron, description: words.cronHelp } }),
  condition: form(['check', 'op', 'value', 'everySeconds'], {
    check: { custom: toolCall(true) },
    path: { type: 'string', format: 'code', title: words.path, description: words.pathHelp },
    op: { title: words.op, enum: Object.keys(words.ops), labels: words.ops, default: 'gt' },
    value: { type: 'string', format: 'line', title: words.value },
    everySeconds: { type: 'integer', minimum: 10, title: words.everySeconds, description: words.everySecondsHelp, default: 60 },
  }),
};

/** The fields of the chosen kind: "has changed" is compared with nothing. */
function formFor({ kind, condition }: ConfigDraft): Group {
  if (kind !== 'condition' || condition['op'] !== 'changed') return FORMS[kind];
  return { kind: 'group', fields: FORMS.condition.fields.filter(({ name }) => name !== 'value') };
}

function ConfigFields({ draft, onInput, problems, path }: CustomProps): JSX.Element {
  const now = draft as unknown as ConfigDraft;
  const put = (change: Partial<ConfigDraft>) => onInput({ ...now, ...change } as unknown as Draft);
  return (
    <>
      {/* An existing trigger keeps its kind; a new one at times is a schedule. */}
      {!now.existing && <SelectField label={words.when} value={now.kind} options={optionsOf(words.triggerWhens)} onInput={(kind) => put({ kind })} />}
      <EachField group={formFor(now)} draft={now[now.kind]} problems={problems} path={path} onInput={(typed) => put({ [now.kind]: typed })} />
    </>
  );
}

interface Stored {
  type?: Kind;
  config?: { check?: { path?: string; op?: string; value?: unknown } & Record<string, unknown>; everySeconds?: number } & Record<string, unknown>;
}

/** The tools that a condition calls. */
export const checkedTools = (draft: Draft | undefined) => {
  const { kind, condition } = draft as unknown as ConfigDraft;
  return kind === 'condition' ? [(condition['check'] as unknown as CallDraft).tool] : [];
};

export const triggerConfig: Custom = {
  begin: (given) => {
    const { type = 'event', config = {} } = (given ?? {}) as Stored;
    const { check, everySeconds, ...rest } = config;
    const condition = check ? { check, path: check.path, op: check.op, value: shown(check.value), everySeconds } : {};
    return {
      kind: type, existing: given !== undefined,
      event: blank(FORMS.event, rest), schedule: blank(FORMS.schedule, { ...rest, schedule: shown(rest['schedule']) }), condition: blank(FORMS.condition, condition),
    } as unknown as Draft;
  },
  read: (draft, _, path, problems) => {
    const now = draft as unknown as ConfigDraft;
    const values = read(formFor(now), now[now.kind], true, path, problems) as Record<string, unknown>;
    if (now.kind !== 'condition') return { type: now.kind, config: values };
    const { check, path: part, op, value, everySeconds } = values;
    return { type: now.kind, config: { check: { ...(check as object), ...(part !== undefined && { path: part }), op, ...(value !== undefined && { value: valueOf(String(value).trim()) }) }, everySeconds } };
  },
  Component: ConfigFields,
};
