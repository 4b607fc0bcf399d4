// What a schedule or a trigger does, in a form: tells something, asks Hob something, or uses a tool with its own little form.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Tool } from '../api';
import { AreaField, SelectField } from '../form';
import { blank, formOf, read, type Draft, type Problems } from '../tools/schema';
import { Fields } from '../tools/schema-form';
import { knownTools } from '../tools/use-tools';
import { schedules as words } from '../text/schedules';

export type ActionKind = 'message' | 'prompt' | 'tool';

export interface CallDraft {
  tool: string;
  /** What was typed into its form; null until somebody does. */
  draft: Draft | null;
  /** What it was called with before. */
  given: unknown;
}

export interface ActionDraft {
  kind: ActionKind;
  message: string;
  prompt: string;
  call: CallDraft;
}

export const NO_CALL: CallDraft = { tool: '', draft: null, given: {} };
export const BEGIN: ActionDraft = { kind: 'message', message: '', prompt: '', call: NO_CALL };

/** The tool that does it. */
export const toolBehind = ({ kind, call }: ActionDraft) => ({ message: 'notify', prompt: 'run_prompt', tool: call.tool })[kind];

/** What a tool tells of an action: `{type, message | prompt | tool, arguments}`. */
export interface Action {
  type?: string;
  message?: string;
  prompt?: string;
  tool?: string;
  arguments?: unknown;
}

export function actionOf(action: Action | undefined): ActionDraft {
  if (action?.tool) return { ...BEGIN, kind: 'tool', call: { tool: action.tool, draft: null, given: action.arguments ?? {} } };
  if (action?.prompt !== undefined) return { ...BEGIN, kind: 'prompt', prompt: action.prompt };
  return { ...BEGIN, message: action?.message ?? '' };
}

/** What it does, as a sentence. */
export function actionSentence(action: Action | undefined): string {
  if (action?.tool) return words.uses(action.tool);
  if (action?.prompt !== undefined) return words.asks(action.prompt);
  return action?.message !== undefined ? words.tells(action.message) : '';
}

const draftFor = (tool: Tool, call: CallDraft) => call.draft ?? blank(formOf(tool.parameters), call.given);

/** The arguments of a call; what is wrong goes to `problems`, under `arguments.` and the field. */
export function callArgs(tools: Tool[], call: CallDraft, problems: Problems, at = 'arguments'): object {
  if (!call.tool) problems['tool'] = words.toolNone;
  const tool = tools.find((one) => one.name === call.tool);
  if (!tool) return (call.given ?? {}) as object;
  return (read(formOf(tool.parameters), draftFor(tool, call), true, at, problems) ?? {}) as object;
}

/** The parameters of the tools that make schedules and triggers. */
export function actionArgs(tools: Tool[], action: ActionDraft, problems: Problems): object {
  if (action.kind === 'tool') return { tool: action.call.tool, arguments: callArgs(tools, action.call, problems) };
  const said = action[action.kind].trim();
  if (!said) problems[action.kind] = words.needed;
  return { [action.kind]: said };
}

interface Props {
  action: ActionDraft;
  problems: Problems;
  onInput: (action: ActionDraft) => void;
}

export function ActionFields({ action, problems, onInput }: Props): JSX.Element {
  return (
    <>
      <SelectField
        label={words.what}
        value={action.kind}
        options={Object.entries(words.kinds).map(([value, label]) => ({ value, label }))}
        onInput={(kind) => onInput({ ...action, kind: kind as ActionKind })}
      />
      {action.kind === 'message' && <AreaField required label={words.message} value={action.message} error={problems['message']} onInput={(message) => onInput({ ...action, message })} />}
      {action.kind === 'prompt' && (
        <AreaField required label={words.prompt} help={words.promptHelp} value={action.prompt} error={problems['prompt']} onInput={(prompt) => onInput({ ...action, prompt })} />
      )}
      {action.kind === 'tool' && <CallFields call={action.call} problems={problems} onInput={(call) => onInput({ ...action, call })} />}
    </>
  );
}

interface CallProps {
  call: CallDraft;
  problems: Problems;
  onInput: (call: CallDraft) => void;
  /** Only those that look, and change nothing. */
  looksOnly?: boolean;
}

/** A tool, and what it is called with. */
export function CallFields({ call, problems, onInput, looksOnly = false }: CallProps): JSX.Element {
  const known = knownTools.value;
  const [first] = useState(call.tool);
  const all = (known?.tools ?? []).filter((tool) => tool.enabled && (!looksOnly || tool.risk === 'observe') && !META.has(tool.name));
  const names = all.map((tool) => tool.name).sort();
  if (first && !names.includes(first)) names.unshift(first);
  const tool = all.find((one) => one.name === call.tool);
  const shape = tool && formOf(tool.parameters);
  return (
    <>
      <SelectField
        required
        label={words.tool}
        value={call.tool}
        error={problems['tool']}
        options={[{ value: '', label: words.toolNone }, ...names.map((name) => ({ value: name, label: name }))]}
        onInput={(name) => onInput({ tool: name, draft: null, given: {} })}
      />
      {tool && <p class="soft small">{tool.description}</p>}
      {tool && shape?.kind === 'group' && shape.fields.length > 0 && (
        <div class="under">
          <Fields group={shape} draft={draftFor(tool, call) as Record<string, Draft>} problems={problems} path="arguments" onInput={(draft) => onInput({ ...call, draft })} />
        </div>
      )}
      {call.tool && known && !tool && <p class="soft small">{words.toolUnknown}</p>}
    </>
  );
}

/** These only lead to other tools. */
const META = new Set(['use_tool', 'batch_use_tool', 'search_tools', 'get_tool_help']);
