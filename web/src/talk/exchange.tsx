// One exchange: what the person said, and Hob's answer growing under it.
import type { JSX } from 'preact';
import { text } from '../text';
import { Markdown } from './markdown';
import { ToolLines } from './tool-line';
import type { Turn } from './turns';

interface Props {
  turn: Turn;
  lifted: boolean;
  onAgain: (turn: Turn) => void;
}

function byReflex(model: string | undefined): boolean {
  return model === 'reflex' || (model?.startsWith('reflex/') ?? false);
}

/** Where the next words will stand, so that nothing moves when they come. */
function Waiting({ thinking }: { thinking: boolean }): JSX.Element {
  return (
    <p class="waiting">
      <span class="dot" />
      <span class={thinking ? '' : 'unseen'}>{thinking ? text.talk.thinking : text.talk.working}</span>
    </p>
  );
}

/** What an answer without words says for itself. */
function remark(turn: Turn): string {
  if (turn.state === 'stopped') return text.talk.stopped;
  if (turn.state !== 'done' || turn.trouble) return '';
  if (!turn.steps.length) return text.talk.noAnswer;
  return turn.steps.some((step) => step.words.trim()) ? '' : text.talk.silent;
}

export function Exchange({ turn, lifted, onAgain }: Props): JSX.Element {
  const settled = turn.state !== 'running';
  const mark = byReflex(turn.model) && settled
    ? <span class="mark" title={text.talk.reflexWhy}>{text.talk.reflex}</span>
    : undefined;
  const end = turn.steps.length - 1;
  const last = turn.steps[end];
  const next = !last || (last.shut && last.calls.every((call) => call.ended));
  return (
    <article class={`exchange${lifted ? ' lifted' : ''}`} data-key={turn.key} data-state={turn.state}>
      {turn.asked && (
        <div class="you">
          <span class="unseen">{text.talk.you}: </span>
          {turn.asked}
        </div>
      )}
      <div class="hob">
        <span class="unseen">{text.talk.hob}: </span>
        {turn.steps.map((step, n) => (
          <div class="step" key={n}>
            {step.words && <Markdown source={step.words} live={!settled && n === end} />}
            {!step.words && !settled && n === end && <Waiting thinking={turn.thinking} />}
            {step.calls.length > 0 && (
              <div class="work">
                <ToolLines calls={step.calls} settled={settled || n < end} mark={n === end ? mark : undefined} />
              </div>
            )}
            {n === end && mark && !step.calls.length && <p class="marks">{mark}</p>}
          </div>
        ))}
        {!settled && next && <Waiting thinking={turn.thinking} />}
        {remark(turn) && <p class="soft small">{remark(turn)}</p>}
        {turn.trouble && (
          <div class="trouble">
            <p>{turn.trouble}</p>
            {turn.asked && !turn.broken && (
              <button type="button" onClick={() => onAgain(turn)}>{text.talk.again}</button>
            )}
          </div>
        )}
      </div>
    </article>
  );
}
