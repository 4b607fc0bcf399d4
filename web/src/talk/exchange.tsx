// One exchange: what the person said, and Hob's answer growing under it.
import type { JSX } from 'preact';
import { Fork } from '../icons';
import { isApproval, isPending, type ApprovalQuestion, type InteractionQuestion, type Question } from '../questions';
import { text } from '../text';
import { ApprovalCard } from './approval-card';
import { hasCard, isAside, AsideLine, InteractionCard } from './asides';
import { Markdown } from './markdown';
import { Media } from './media';
import { ToolLines } from './tool-line';
import type { Call, Turn } from './turns';

interface Props {
  turn: Turn;
  lifted: boolean;
  /** Its questions: pending, or settled while somebody looked. */
  questions: Question[];
  onAgain: (turn: Turn) => void;
  /** Goes on from its end in a new conversation. */
  onFork: (turn: Turn) => void;
}

function byReflex(model: string | undefined): boolean {
  return model === 'reflex' || (model?.startsWith('reflex/') ?? false);
}

/** Where the next words will stand, so that nothing moves when they come. `still`: it is the person's turn. */
function Waiting({ thinking, still }: { thinking: boolean; still: string }): JSX.Element {
  return (
    <p class={still ? 'waiting still' : 'waiting'}>
      <span class="dot" />
      <span class={thinking || still ? '' : 'unseen'}>{still ? still : thinking ? text.talk.thinking : text.talk.working}</span>
    </p>
  );
}

/** What an answer without words says for itself. */
function remark(turn: Turn, waits: string): string {
  if (turn.state === 'stopped') return text.talk.stopped;
  if (waits) return waits;
  if (turn.waiting) return '';
  if (turn.state !== 'done' || turn.trouble) return '';
  if (turn.media?.length) return '';
  if (!turn.steps.length) return text.talk.noAnswer;
  return turn.steps.some((step) => step.words.trim()) ? '' : text.talk.silent;
}

const cards = (asked: ApprovalQuestion[]) => asked.map((one) => <ApprovalCard key={one.id} asked={one} />);

export function Exchange({ turn, lifted, questions, onAgain, onFork }: Props): JSX.Element {
  const asked = questions.filter(isApproval);
  const own = questions.filter((one): one is InteractionQuestion => !isApproval(one));
  const settled = turn.state !== 'running';
  const waits = asked.some(isPending) ? text.approvals.waits : own.some(isPending) ? text.asks.waits : '';
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
      {(turn.asked || turn.files) && (
        <div class="you-line">
          {settled && (turn.lastId || turn.runId) && (
            <button type="button" class="bare fork" aria-label={text.talk.forkOf(turn.asked)} title={text.talk.forkHere} onClick={() => onFork(turn)}><Fork /></button>
          )}
          <div class="you">
            <span class="unseen">{text.talk.you}: </span>
            {turn.asked}
            {turn.files && <Media files={turn.files} />}
          </div>
        </div>
      )}
      <div class="hob">
        {turn.compacted !== undefined && <p class="compacted"><span>{text.talk.compacted(turn.compacted)}</span></p>}
        <span class="unseen">{text.talk.hob}: </span>
        {turn.steps.map((step, n) => {
          const here = about(step.calls);
          // A card stands where its call stands.
          const shown = step.calls.filter((call) => !here.some((one) => isPending(one) && one.toolCallId === call.id) && !hasCard(call, own));
          const asides = shown.filter(isAside);
          const lines = shown.filter((call) => !isAside(call));
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
                ...asides.map((call) => <AsideLine key={call.id} call={call} />),
                ...(step.notes ?? []).map((note, at) => <div class="aside-words" key={`note-${at}`}><Markdown source={note} /></div>),
                ...cards(here.filter(isPending)),
              ]}
              {n === end && mark && !lines.length && <p class="marks">{mark}</p>}
            </div>
          );
        })}
        {cards(asked.filter((one) => !placed.has(one)))}
        {own.map((one) => <InteractionCard key={one.id} it={one} />)}
        {turn.media && <Media files={turn.media} />}
        {!settled && next && !(waits && (placed.size || own.length)) && <Waiting thinking={turn.thinking} still={waits} />}
        {remark(turn, settled ? waits : '') && <p class="soft small remark">{remark(turn, settled ? waits : '')}</p>}
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
