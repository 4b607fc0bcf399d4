// A tool call as one line that opens into arguments, result and time.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Chevron } from '../icons';
import { lazy } from '../lazy';
import { duration, isLookup, text, toolWords } from '../text';
import { talk } from '../text/talk';
import { Values } from '../values';
import { visible } from '../visible';
import { intendedCall, notMade, parsed, type Call } from './turns';

const ResultCard = lazy<{ call: Call }>(() => import('./cards/cards').then((part) => part.ResultCard), true);

/** The number of results of a lookup, where it says so. */
function found(call: Call): number | null {
  if (!isLookup(intendedCall(call).name)) return null;
  const result = parsed(call.result);
  if (Array.isArray(result)) return result.length;
  if (!result || typeof result !== 'object') return null;
  const fields = result as Record<string, unknown>;
  const list = Object.values(fields).find(Array.isArray);
  if (list) return list.length;
  return typeof fields['count'] === 'number' ? fields['count'] : null;
}

/** Whether a result is more than words. */
function isStructured(result: unknown): boolean {
  const plain = parsed(result);
  return typeof plain === 'object' && plain !== null && Object.keys(plain).length > 0;
}

/** Longer JSON is broken into lines. */
const SHORT = 48;

function shown(value: unknown): string {
  const plain = parsed(value);
  if (plain === null || plain === undefined || plain === '') return text.tool.nothing;
  if (typeof plain === 'string') return plain;
  if (typeof plain === 'object' && !Object.keys(plain).length) return text.tool.nothing;
  const lines = JSON.stringify(plain, null, 2);
  const one = lines.replace(/\n\s*/g, ' ');
  return one.length <= SHORT ? one : lines;
}

function Detail({ title, value }: { title: string; value: unknown }): JSX.Element {
  return (
    <div>
      <dt>{title}</dt>
      <dd><pre tabIndex={0} role="group" aria-label={title}>{shown(value)}</pre></dd>
    </div>
  );
}

export function ToolLine({ call, by, mark }: { call: Call; by?: string | undefined; mark?: JSX.Element | undefined }): JSX.Element {
  const { name, args } = intendedCall(call);
  const words = toolWords(name);
  const structured = call.ended && !call.isError && isStructured(call.result);
  const [opened, setOpened] = useState(false);
  const count = call.ended && !call.isError ? found(call) : null;
  const refused = notMade(call);
  // It ended with its run, and nothing tells what came of it.
  const open = call.ended && !call.isError && call.result === undefined && call.ms === undefined;
  const state = !call.ended ? 'running' : call.isError ? 'failed' : 'ended';
  return (
    <details class={`did ${state}`} onToggle={(event) => setOpened(event.currentTarget.open)}>
      <summary>
        <span class="dot" />
        <span class="label">
          {!call.ended ? `${words.doing}…` : refused || open ? words.doing : words.did}
          {(call.isError || open) && <> · <b>{refused || open ? text.tool.notDone : text.tool.failed}</b></>}
          {count !== null && <> · <b>{text.tool.found(count)}</b></>}
        </span>
        {mark}
        <Chevron />
      </summary>
      <div class="inside under">
        {call.say && <p>{visible(call.say)}</p>}
        {opened && structured && <ResultCard call={call} />}
        <dl>
          <div>
            <dt>{text.tool.given}</dt>
            <dd>{Object.keys(args).length ? <Values of={args} /> : text.tool.nothing}</dd>
          </div>
          {call.ended && call.result !== undefined && !structured && (
            <Detail title={call.isError ? text.tool.wrong : text.tool.gave} value={call.result} />
          )}
        </dl>
        {opened && (
          <details class="raw">
            <summary><span class="soft small">{talk.details}</span><Chevron /></summary>
            <dl class="facts">
              <div><dt>{text.tool.tool}</dt><dd><code>{call.name}</code></dd></div>
              {call.ms !== undefined && <div><dt>{text.tool.took}</dt><dd>{duration(call.ms)}</dd></div>}
              {by && <div><dt>{talk.answeredBy}</dt><dd>{by}</dd></div>}
            </dl>
            <pre tabIndex={0} role="group" aria-label={talk.json}>{shown({ arguments: parsed(call.args), ...(structured && { result: parsed(call.result) }) })}</pre>
          </details>
        )}
      </div>
    </details>
  );
}

const FEW = 3;

interface LinesProps {
  calls: Call[];
  settled: boolean;
  /** The model that answered, in words. */
  by?: string | undefined;
  mark?: JSX.Element | undefined;
}

/** The calls of a step: a line each, or one line for many once they are done. */
export function ToolLines({ calls, settled, by, mark }: LinesProps): JSX.Element {
  const last = calls.length - 1;
  const lines = (own: JSX.Element | undefined) =>
    calls.map((call, n) => <ToolLine key={call.id} call={call} by={by} mark={n === last ? own : undefined} />);
  if (calls.length <= FEW || !settled) return <>{lines(mark)}</>;
  const failed = calls.filter((call) => call.isError).length;
  return (
    <details class={`did ${failed ? 'failed' : 'ended'}`}>
      <summary>
        <span class="dot" />
        <span class="label">
          {text.tool.many(calls.length)}
          {failed > 0 && <> · <b>{text.tool.oneFailed(failed)}</b></>}
        </span>
        {mark}
        <Chevron />
      </summary>
      <div class="inside under">{lines(undefined)}</div>
    </details>
  );
}
