// One exchange: what the person said, and Hob's answer growing under it.
import type { JSX } from 'preact';
import { isPending, type Asked } from '../approvals';
import { text } from '../text';
import { ApprovalCard } from './approval-card';
import { Markdown } from './markdown';
import { ToolLines } from './tool-line';
import type { Call, Turn } from './turns';

interface Props {
  turn: Turn;
  lifted: boolean;
  /** What waits for a decision in it, or was decided while one looked. */
  asked: Asked[];
  onAgain: (turn: Turn) => void;
}

function byReflex(model: string | undefined): boolean {
  return model === 'reflex' || (model?.startsWith('reflex/') ?? false);
}

/** Where the next words will stand, so that nothing moves when they come. `still`: it is the person's turn. */
function Waiting({ thinking, still }: { thinking: boolean; still: boolean }): JSX.Element {
  return (
    <p class={still ? 'waiting still' : 'waiting'}>
      <span class="dot" />
      <span class={thinking || still ? '' : 'unseen'}>{still ? text.approvals.waits : thinking ? text.talk.thinking : text.talk.working}</span>
    </p>
  );
}

/** What an answer without words says for itself. */
function remark(turn: Turn, waits: boolean): string {
  if (turn.state === 'stopped') return text.talk.stopped;
  if (waits) return text.approvals.waits;
  if (turn.waiting) return '';
  if (turn.state !== 'done' || turn.trouble) return '';
  if (!turn.steps.length) return text.talk.noAnswer;
  return turn.steps.some((step) => step.words.trim()) ? '' : text.talk.silent;
}

const cards = (asked: Asked[]) => asked.map((one) => <ApprovalCard key={one.id} asked={one} />);

export function Exchange({ turn, lifted, asked, onAgain }: Props): JSX.Element {
  const settled = turn.state !== 'running';
  const waits = asked.some(isPending);
  /** Those that ask about one of these calls. */
  const about = (calls: Call[]) => asked.filter((one) => calls.some((call) => call.id === one.toolCallId));
  const placed = new Set(turn.steps.flatMap((step) => about(step.calls)));
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
        {turn.steps.map((step, n) => {
          const here = about(step.calls);
          // A card stands where its call stands.
          const lines = step.calls.filter((call) => !here.some((one) => isPending(one) && one.toolCallId === call.id));
          return (
            <div class="step" key={n}>
              {step.words && <Markdown source={step.words} live={!settled && n === end} />}
              {!step.words && !settled && n === end && <Waiting thinking={turn.thinking} still={waits} />}
              {[
                // One list, so that a card that becomes a line stays the same one, with the focus it had.
                ...cards(here.filter((one) => !isPending(one))),
                lines.length > 0 && (
                  <div class="work" key="work">
                    <ToolLines calls={lines} settled={settled || n < end} mark={n === end ? mark : undefined} />
                  </div>
                ),
                ...cards(here.filter(isPending)),
              ]}
              {n === end && mark && !lines.length && <p class="marks">{mark}</p>}
            </div>
          );
        })}
        {cards(asked.filter((one) => !placed.has(one)))}
        {!settled && next && !(waits && placed.size) && <Waiting thinking={turn.thinking} still={waits} />}
        {remark(turn, waits && settled) && <p class="soft small remark">{remark(turn, waits && settled)}</p>}
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
