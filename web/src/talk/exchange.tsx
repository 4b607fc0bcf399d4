// One exchange: what the person said, and Hob's answer growing under it.
import type { JSX } from 'preact';
import { isApproval, isPending, type ApprovalQuestion, type InteractionQuestion, type Question } from '../questions';
import { lazy } from '../lazy';
import { text, toolWords } from '../text';
import { talk as words } from '../text/talk';
import { Actions, type Act } from './actions';
import { TimerCards } from '../timers/card';
import { ApprovalCard } from './approval-card';
import { hasCard, isAside, AsideLine, InteractionCard } from './asides';
import { Markdown } from './markdown';
import { Media } from './media';
import { repliesTo } from './replies';
import { ToolLines } from './tool-line';
import { intendedCall, notMade, said, type Call, type Turn } from './turns';

/** Results as what they are: a checklist, an event, amounts of money, pictures, sound and video that were made. */
const ResultCards = lazy<{ calls: Call[] }>(() => import('./cards/cards').then((part) => part.ResultCards), true);
const HAS_CARD = /^(batch_)?(list|add|update|complete|query)_(tasks?|calendar_events?|expenses?)$|^expense_summary$|^((generate|create|edit)_image|image_variation|create_(audio|video)|text_to_speech|tts|split_audio)$/;

interface Props {
  turn: Turn;
  lifted: boolean;
  /** Its questions: pending, or settled while somebody looked. */
  questions: Question[];
  /** Its questions that stand at the end of the conversation. */
  below: Question[];
  /** The model that answers here. */
  model: string;
  /** It is the newest, and nothing is under way. */
  last: boolean;
  act: Act;
  /** Says an answer that was pressed. */
  onReply: (words: string) => void;
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
  const calls = turn.steps.flatMap((step) => step.calls);
  const refused = calls.filter(notMade);
  if (refused.length && !said(turn)) {
    const what = new Set(refused.map((call) => toolWords(intendedCall(call).name).doing));
    return text.talk.refused([...what].join(', '), refused.every((call) => notMade(call) === 'late'));
  }
  // Elsewhere somebody decides, or the run ended before anything came of the call.
  if (turn.waiting || calls.some((call) => call.result === undefined && call.ms === undefined)) return '';
  if (turn.state !== 'done' || turn.trouble) return '';
  if (turn.media?.length) return '';
  if (!turn.steps.length) return text.talk.noAnswer;
  return said(turn) || calls.some((call) => call.isError) ? '' : text.talk.silent;
}

/** The cards; of those that wait only the `first` is open, and says how many more wait. */
const cards = (asked: ApprovalQuestion[], first?: ApprovalQuestion, more = 0) =>
  asked.map((one) => <ApprovalCard key={one.id} asked={one} behind={first !== undefined && one !== first} more={one === first ? more : 0} />);

/** Buttons under a question of Hob's; typing answers as well. */
function Replies({ turn, onReply }: { turn: Turn; onReply: (words: string) => void }): JSX.Element | null {
  const replies = repliesTo(said(turn), words.yes, words.no);
  if (!replies.length) return null;
  return (
    <div class="replies" role="group" aria-label={words.answers}>
      {replies.map(({ label, send }, n) => <button type="button" class={n === 0 && send === 'yes' ? 'go' : undefined} key={`${n}-${send}`} onClick={() => onReply(send)}>{label}</button>)}
    </div>
  );
}

export function Exchange({ turn, lifted, questions, below, model, last: newest, act, onReply }: Props): JSX.Element {
  const asked = questions.filter(isApproval);
  const own = questions.filter((one): one is InteractionQuestion => !isApproval(one));
  const settled = turn.state !== 'running';
  const pending = asked.filter(isPending);
  const [first] = pending;
  const more = questions.filter(isPending).length - 1;
  const waits = asked.some(isPending) ? text.approvals.waits : own.some(isPending) ? text.asks.waits : below.length ? text.approvals.waitsBelow : '';
  /** Those that ask about one of these calls. */
  const about = (calls: Call[]) => asked.filter((one) => calls.some((call) => call.id === one.toolCallId));
  const placed = new Set(turn.steps.flatMap((step) => about(step.calls)));
  // Where nothing else answers, it goes without saying.
  const mark = byReflex(turn.model) && settled && !byReflex(model)
    ? <span class="mark" title={text.talk.reflexWhy}>{text.talk.reflex}</span>
    : undefined;
  const end = turn.steps.length - 1;
  const last = turn.steps[end];
  const results = turn.steps.flatMap(({ calls }) => calls).filter((call) => call.ended && !call.isError && call.result !== undefined && HAS_CARD.test(intendedCall(call).name));
  const next = !last || (last.shut && last.calls.every((call) => call.ended));
  return (
    <article class={`exchange${lifted ? ' lifted' : ''}`} data-key={turn.key} data-state={turn.state}>
      {(turn.asked || turn.files) && (
        <div class="you-line">
          <div class="you">
            <span class="unseen">{text.talk.you}: </span>
            {turn.asked}
            {turn.files && <Media files={turn.files} />}
          </div>
        </div>
      )}
      <div class="hob">
        {turn.compacted !== undefined && <p class="compacted"><span>{text.talk.compacted(turn.compacted)}</span></p>}
        {turn.about && <p class="soft small about">{text.talk.about(turn.about)}</p>}
        <span class="unseen">{text.talk.hob}: </span>
        {turn.steps.map((step, n) => {
          const here = about(step.calls);
          // A card stands where its call stands.
          const shown = step.calls.filter((call) => !here.some((one) => isPending(one) && one.toolCallId === call.id) && !below.some((one) => isApproval(one) && one.toolCallId === call.id) && !hasCard(call, own));
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
                    <ToolLines calls={lines} settled={settled || n < end} by={turn.model && (byReflex(turn.model) ? text.talk.reflex : turn.model)} mark={n === end ? mark : undefined} />
                  </div>
                ),
                ...asides.map((call) => <AsideLine key={call.id} call={call} />),
                ...(step.notes ?? []).map((note, at) => <div class="aside-words" key={`note-${at}`}><Markdown source={note} /></div>),
                ...cards(here.filter(isPending), first, more),
              ]}
              {n === end && mark && !lines.length && <p class="marks">{mark}</p>}
            </div>
          );
        })}
        {cards(asked.filter((one) => !placed.has(one)), first, more)}
        {own.map((one) => <InteractionCard key={one.id} it={one} />)}
        <TimerCards calls={turn.steps.flatMap(({ calls }) => calls)} />
        {turn.media && <Media files={turn.media} />}
        {settled && results.length > 0 && <ResultCards calls={results} />}
        {newest && turn.state === 'done' && !waits && !turn.trouble && <Replies turn={turn} onReply={onReply} />}
        {!settled && next && !(waits && (placed.size || own.length)) && <Waiting thinking={turn.thinking} still={waits} />}
        {remark(turn, settled ? waits : '') && <p class="soft small remark">{remark(turn, settled ? waits : '')}</p>}
        {turn.trouble && (
          <div class="trouble">
            <p>{turn.trouble}</p>
            {turn.asked && !turn.broken && (
              <button type="button" onClick={() => act.again(turn)}>{text.talk.again}</button>
            )}
          </div>
        )}
      </div>
      {settled && <Actions turn={turn} last={newest} act={act} />}
    </article>
  );
}
