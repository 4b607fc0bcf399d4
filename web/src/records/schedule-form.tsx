// A schedule in a form: when it is due, what happens then, and what is seldom needed.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { NumberField, SelectField, TextField } from '../form';
import { knownTools } from '../tools/use-tools';
import { sentence } from '../text';
import { records } from '../text/records';
import { schedules as words } from '../text/schedules';
import { ActionFields, actionArgs, actionOf, BEGIN as NOTHING, toolBehind, type Action, type ActionDraft } from './action';
import type { Problems } from './draft';
import { numberOf, textOf, type Entry } from './kinds';
import { LaterForm, useKept } from './later-form';
import { Rare } from './record-form';
import { BEGIN, readWhen, whenText, type WhenDraft } from './schedule-when';
import { WhenFields } from './when-fields';

interface Draft {
  name: string;
  when: WhenDraft;
  action: ActionDraft;
  timezone: string;
  missed: string;
  retries: string;
}

const NEW: Draft = { name: '', when: BEGIN, action: NOTHING, timezone: '', missed: 'once', retries: '2' };

const draftOf = (entry: Entry): Draft => ({
  name: textOf(entry, 'name'),
  when: readWhen(textOf(entry, 'schedule')),
  action: actionOf(entry['action'] as Action | undefined),
  timezone: textOf(entry, 'timezone'),
  missed: textOf(entry, 'missed') || 'once',
  retries: String(numberOf(entry, 'retries') ?? 2),
});

/** What it is called when nobody says so: as what it does. */
function usualName({ action }: Draft): string {
  const said = action.kind === 'tool' ? action.call.tool.replaceAll('_', ' ') : action[action.kind].trim();
  return [...(said.split('\n')[0] ?? '')].slice(0, 60).join('');
}

interface Props {
  entry?: Entry;
  onDone: (name: string) => void;
  onCancel: () => void;
}

export function ScheduleForm({ entry, onDone, onCancel }: Props): JSX.Element {
  const [before] = useState(() => (entry ? draftOf(entry) : NEW));
  const [draft, put, drop] = useKept('schedule', before, !entry);
  const [tried, setTried] = useState(false);
  const [refused, setRefused] = useState<Problems>({});
  const known = knownTools.value;
  const tools = known?.tools ?? [];
  const set = (change: Partial<Draft>) => (put(change), setRefused({}));

  const read = () => {
    const problems: Problems = {};
    const action = actionArgs(tools, draft.action, problems);
    const when = whenText(draft.when);
    if (when.problem) problems['when'] = when.problem;
    const retries = Number(draft.retries.trim() || '0');
    if (!Number.isInteger(retries) || retries < 0 || retries > 10) problems['retries'] = words.retriesHelp;
    const name = draft.name.trim() || usualName(draft);
    const all = { name, schedule: when.text, timezone: draft.timezone.trim(), missed: draft.missed, retries };
    if (!entry) return { tool: 'create_scheduled_task', args: { ...given(all), ...action }, problems, name };
    const same = (key: 'action' | 'when') => JSON.stringify(draft[key]) === JSON.stringify(before[key]);
    const { schedule, ...rest } = all;
    const changed = { taskId: entry.id, ...changes(rest, before), ...(!same('when') && { schedule }), ...(!same('action') && action) };
    return { tool: 'update_scheduled_task', args: changed, problems, name };
  };
  const problems = { ...refused, ...(tried && read().problems) };
  const onRefused = (message: string) => {
    const field = /schedule|cron|past|interval/i.test(message) ? 'when' : /zone/i.test(message) ? 'timezone' : '';
    if (field) setRefused({ [field]: sentence(message) });
    return field !== '';
  };
  const cancel = () => (drop(), onCancel());
  return (
    <LaterForm
      label={entry ? records.about(records.edit, textOf(entry, 'name')) : words.words.add}
      entry={entry}
      read={read}
      later={[toolBehind(draft.action)]}
      onTried={setTried}
      onRefused={onRefused}
      onDone={(name) => (drop(), onDone(name))}
      onCancel={cancel}
    >
      <ActionFields action={draft.action} problems={problems} onInput={(action) => set({ action })} />
      <WhenFields when={draft.when} error={problems['when']} onInput={(when) => set({ when })} />
      <Rare open={draft.missed !== NEW.missed || draft.retries !== NEW.retries || (!!entry && draft.name !== usualName(draft))}>
        <TextField label={words.name} help={words.nameHelp} value={draft.name} onInput={(name) => set({ name })} />
        <TextField label={words.timezone} help={words.timezoneHelp} error={problems['timezone']} value={draft.timezone} onInput={(timezone) => set({ timezone })} />
        <SelectField label={words.missed} value={draft.missed} options={Object.entries(words.misseds).map(([value, label]) => ({ value, label }))} onInput={(missed) => set({ missed })} />
        <NumberField whole label={words.retries} help={words.retriesHelp} error={problems['retries']} value={draft.retries} onInput={(retries) => set({ retries })} />
      </Rare>
    </LaterForm>
  );
}

const given = (all: Record<string, unknown>) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));

const changes = (now: Record<string, unknown>, before: Draft) =>
  Object.fromEntries(Object.entries(now).filter(([name, value]) => value !== '' && String(value) !== String(before[name as keyof Draft])));
