// What a schedule or a trigger does, as a field: send a message, ask Hob something, or call a tool with its own form.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { AreaField, optionsOf, SelectField } from '../form';
import { blank, read } from '../forms/draft';
import { Fields } from '../forms/fields';
import { formOf, type Custom, type CustomProps, type Draft, type GroupDraft, type Problems } from '../forms/schema';
import { text } from '../text';
import { schedules as words } from '../text/schedules';
import { knownTools, toolDetails } from '../tools/use-tools';

type ActionKind = keyof typeof words.kinds;

export type CallDraft = {
  tool: string;
  /** What was typed into the tool's form; null until somebody types. */
  draft: Draft | null;
  /** The stored arguments. */
  given: unknown;
};

export type ActionDraft = { kind: ActionKind; message: string; prompt: string; call: CallDraft };

const NO_CALL: CallDraft = { tool: '', draft: null, given: {} };
const EMPTY: ActionDraft = { kind: 'message', message: '', prompt: '', call: NO_CALL };

/** The tools that an action will call. */
export const toolsBehind = ({ kind, call }: ActionDraft): string[] => [{ message: 'notify', prompt: 'run_prompt', tool: call.tool }[kind]];

/** The name of what nobody named: what it does. */
export function usualName(action: ActionDraft): string {
  const does = action.kind === 'tool' ? action.call.tool.replaceAll('_', ' ') : action[action.kind].trim();
  return [...(does.split('\n')[0] ?? '')].slice(0, 60).join('');
}

/** A stored action. */
export interface Action {
  type?: string;
  message?: string;
  prompt?: string;
  tool?: string;
  arguments?: unknown;
}

export function actionSentence(action: Action | undefined): string {
  if (action?.tool) return words.uses(action.tool);
  if (action?.prompt !== undefined) return words.asks(action.prompt);
  return action?.message !== undefined ? words.tells(action.message) : '';
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
  const all = (knownTools.value?.tools ?? []).filter((tool) => tool.enabled && (!looksOnly || tool.risk === 'observe') && !META.has(tool.name));
  const names = all.map((tool) => tool.name).sort();
  if (first && !names.includes(first)) names.unshift(first);
  const tool = all.find((one) => one.name === call.tool);
  const details = tool && toolDetails(tool.name);
  const form = details && formOf(details.parameters);
  return (
    <>
      <SelectField
        required
        label={words.tool}
        value={call.tool}
        error={problems[`${path}.tool`]}
        options={[{ value: '', label: words.toolNone }, ...names.map((name) => ({ value: name, label: name }))]}
        onInput={(name) => put({ ...NO_CALL, tool: name })}
      />
      {tool && <p class="soft small">{details?.description ?? tool.description}</p>}
      {form?.kind === 'group' && form.fields.length > 0 && (
        <div class="under">
          <Fields group={form} draft={(call.draft ?? blank(form, call.given)) as GroupDraft} problems={problems} path={`${path}.arguments`} onInput={(typed) => put({ ...call, draft: typed })} />
        </div>
      )}
      {call.tool && knownTools.value && !tool && <p class="soft small">{words.toolUnknown}</p>}
    </>
  );
}

/** These only lead to other tools. */
const META = new Set(['use_tool', 'batch_use_tool', 'search_tools', 'get_tool_help']);

const CALL = toolCall(false);
const TYPES: Record<ActionKind, string> = { message: 'notify', prompt: 'prompt', tool: 'tool' };

function ActionFields({ field, draft, onInput, problems, path }: CustomProps): JSX.Element {
  const action = draft as unknown as ActionDraft;
  const put = (change: Partial<ActionDraft>) => onInput({ ...action, ...change } as unknown as Draft);
  return (
    <>
      <SelectField label={field.label} value={action.kind} options={optionsOf(words.kinds)} onInput={(kind) => put({ kind })} />
      {action.kind === 'message' && <AreaField required label={words.message} value={action.message} error={problems[`${path}.message`]} onInput={(message) => put({ message })} />}
      {action.kind === 'prompt' && <AreaField required label={words.prompt} help={words.promptHelp} value={action.prompt} error={problems[`${path}.prompt`]} onInput={(prompt) => put({ prompt })} />}
      {action.kind === 'tool' && <CALL.Component field={field} draft={action.call as unknown as Draft} problems={problems} path={path} onInput={(call) => put({ call: call as unknown as CallDraft })} />}
    </>
  );
}

export const action: Custom = {
  begin: (given) => {
    const stored = (given ?? {}) as Action;
    const kind: ActionKind = stored.tool ? 'tool' : stored.prompt !== undefined ? 'prompt' : 'message';
    return { ...EMPTY, kind, message: stored.message ?? '', prompt: stored.prompt ?? '', call: CALL.begin(stored) } as unknown as Draft;
  },
  read: (draft, required, path, problems: Problems) => {
    const now = draft as unknown as ActionDraft;
    const type = TYPES[now.kind];
    if (now.kind === 'tool') return { type, ...(CALL.read(now.call as unknown as Draft, required, path, problems) as object) };
    const typed = now[now.kind].trim();
    if (!typed) problems[`${path}.${now.kind}`] = text.toolsRoom.wrong.needed;
    return { type, [now.kind]: typed };
  },
  Component: ActionFields,
};
