// What a schedule or a trigger does, and for whom, as a field: tell somebody, ask Hob something, or use a tool with its own form.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { AreaField, Field, optionsOf, SelectField, TextField } from '../form';
import { blank, read } from '../forms/draft';
import { Fields } from '../forms/fields';
import { formOf, type Custom, type CustomProps, type Draft, type GroupDraft, type Problems } from '../forms/schema';
import { text } from '../text';
import { schedules as words } from '../text/schedules';
import { knownTools, toolDetails } from '../tools/use-tools';
import { choices, toolTitle } from './choices';

type ActionKind = keyof typeof words.kinds;

export type CallDraft = {
  tool: string;
  /** What was typed into the tool's form; null until somebody types. */
  draft: Draft | null;
  /** The stored arguments. */
  given: unknown;
};

/** `person`: a name, "everyone", or '' for oneself. */
export type ActionDraft = { kind: ActionKind; message: string; person: string; prompt: string; call: CallDraft };

const NO_CALL: CallDraft = { tool: '', draft: null, given: {} };
const EMPTY: ActionDraft = { kind: 'message', message: '', person: '', prompt: '', call: NO_CALL };

/** The tools that an action will call. */
export const toolsBehind = ({ kind, call }: ActionDraft): string[] => [{ message: 'notify', prompt: 'run_prompt', tool: call.tool }[kind]];

/** The name of what nobody named: what it does. */
export function usualName(action: ActionDraft): string {
  const does = action.kind === 'tool' ? toolTitle(action.call.tool) : action[action.kind].trim();
  return [...(does.split('\n')[0] ?? '')].slice(0, 60).join('');
}

/** A stored action. */
export interface Action {
  type?: string;
  message?: string;
  person?: string;
  prompt?: string;
  tool?: string;
  arguments?: unknown;
}

/** A tool and its arguments; `looksOnly`: only tools that change nothing. */
export const toolCall = (looksOnly: boolean): Custom => ({
  begin: (given) => {
    const { tool = '', arguments: args = {} } = (given ?? {}) as Action;
    return { tool, draft: null, given: args } as unknown as Draft;
  },
  read: (draft, _, path, problems) => {
    const call = draft as unknown as CallDraft;
    if (!call.tool) problems[`${path}.tool`] = words.toolNone;
    const tool = toolDetails(call.tool);
    if (!tool) return { tool: call.tool, arguments: call.given ?? {} };
    const form = formOf(tool.parameters);
    return { tool: call.tool, arguments: read(form, call.draft ?? blank(form, call.given), true, `${path}.arguments`, problems) ?? {} };
  },
  Component: (props) => <CallFields {...props} looksOnly={looksOnly} />,
});

function CallFields({ draft, onInput, problems, path, looksOnly }: CustomProps & { looksOnly: boolean }): JSX.Element {
  const call = draft as unknown as CallDraft;
  const [first] = useState(call.tool);
  const put = (change: CallDraft) => onInput(change as unknown as Draft);
  const [wanted, setWanted] = useState('');
  const all = (choices.value?.tools ?? []).filter((tool) => !looksOnly || tool.looks);
  const fits = (title: string, group: string) => wanted.toLowerCase().split(/\s+/).every((word) => `${title} ${group}`.toLowerCase().includes(word));
  // What is chosen stays, whatever is looked for.
  const offered = all.filter((tool) => tool.name === call.tool || fits(tool.title, tool.group));
  const groups = [...new Set(offered.map((tool) => tool.group))];
  const details = call.tool ? toolDetails(call.tool) : undefined;
  const known = all.some((tool) => tool.name === call.tool);
  const form = details && formOf(details.parameters);
  return (
    <>
      {all.length > MANY && <TextField label={words.toolFind} value={wanted} onInput={setWanted} />}
      <Field required label={looksOnly ? words.toolLooks : words.tool} error={problems[`${path}.tool`]}>
        {(wired) => (
          <select {...wired} value={call.tool} onChange={(event) => put({ ...NO_CALL, tool: event.currentTarget.value })}>
            <option value="">{words.toolNone}</option>
            {first && !all.some((tool) => tool.name === first) && <option value={first}>{toolTitle(first)}</option>}
            {groups.map((group) => (
              <optgroup key={group} label={group}>
                {offered.filter((tool) => tool.group === group).map((tool) => <option key={tool.name} value={tool.name}>{tool.title}</option>)}
              </optgroup>
            ))}
          </select>
        )}
      </Field>
      {form?.kind === 'group' && form.fields.length > 0 && (
        <div class="under">
          <Fields group={form} draft={(call.draft ?? blank(form, call.given)) as GroupDraft} problems={problems} path={`${path}.arguments`} onInput={(typed) => put({ ...call, draft: typed })} />
        </div>
      )}
      {call.tool && knownTools.value && !details && !known && <p class="soft small">{words.toolUnknown}</p>}
    </>
  );
}

/** So many tools can be searched. */
const MANY = 12;

const CALL = toolCall(false);
const TYPES: Record<ActionKind, string> = { message: 'notify', prompt: 'prompt', tool: 'tool' };

function ActionFields({ field, draft, onInput, problems, path }: CustomProps): JSX.Element {
  const action = draft as unknown as ActionDraft;
  const put = (change: Partial<ActionDraft>) => onInput({ ...action, ...change } as unknown as Draft);
  return (
    <>
      <SelectField label={field.label} value={action.kind} options={optionsOf(words.kinds)} onInput={(kind) => put({ kind })} />
      {action.kind === 'message' && <AreaField required label={words.message} value={action.message} error={problems[`${path}.message`]} onInput={(message) => put({ message })} />}
      {action.kind === 'message' && <Person person={action.person} onInput={(person) => put({ person })} />}
      {action.kind === 'prompt' && <AreaField required label={words.prompt} help={words.promptHelp} value={action.prompt} error={problems[`${path}.prompt`]} onInput={(prompt) => put({ prompt })} />}
      {action.kind === 'tool' && <CALL.Component field={field} draft={action.call as unknown as Draft} problems={problems} path={path} onInput={(call) => put({ call: call as unknown as CallDraft })} />}
    </>
  );
}

/** For whom: oneself, somebody by name, or everyone. Alone at home, there is nothing to choose. */
export function Person({ person, onInput }: { person: string; onInput: (person: string) => void }): JSX.Element | null {
  const people = choices.value?.people ?? [];
  if (!people.length && !person) return null;
  const options = [{ value: '', label: words.me }, ...people.map(({ name }) => ({ value: name, label: name })), { value: EVERYONE, label: words.everyone }];
  if (!options.some(({ value }) => value === person)) options.push({ value: person, label: person });
  return <SelectField label={words.forWhom} value={person} options={options} onInput={onInput} />;
}

/** As the tools name all people. */
const EVERYONE = 'everyone';

export const action: Custom = {
  begin: (given) => {
    const stored = (given ?? {}) as Action;
    const kind: ActionKind = stored.tool ? 'tool' : stored.prompt !== undefined ? 'prompt' : 'message';
    return { ...EMPTY, kind, message: stored.message ?? '', person: stored.person ?? '', prompt: stored.prompt ?? '', call: CALL.begin(stored) } as unknown as Draft;
  },
  read: (draft, required, path, problems: Problems) => {
    const now = draft as unknown as ActionDraft;
    const type = TYPES[now.kind];
    if (now.kind === 'tool') return { type, ...(CALL.read(now.call as unknown as Draft, required, path, problems) as object) };
    const typed = now[now.kind].trim();
    if (!typed) problems[`${path}.${now.kind}`] = text.toolsRoom.wrong.needed;
    return { type, [now.kind]: typed, ...(now.kind === 'message' && now.person && { person: now.person }) };
  },
  Component: ActionFields,
};
