// Messages, answered questions and shown blocks in the middle of a run, and the cards of pending questions.
import type { ComponentChildren, JSX } from 'preact';
import { Chevron } from '../icons';
import { lazy } from '../lazy';
import type { InteractionQuestion } from '../questions';
import { text, toolWords } from '../text';
import { Markdown } from './markdown';
import { ASKING, intendedCall, parsed, type Call } from './turns';

/** The card of a question, of blocks or of a component. */
export const InteractionCard = lazy<{ it: InteractionQuestion; children?: ComponentChildren }>(() => import('../asks/card').then((part) => part.Card));
const ShownBlocks = lazy<{ blocks: unknown[] }>(() => import('../asks/blocks').then((part) => part.ShownBlocks));

/** Whether a card stands for this call. */
export function hasCard(call: Call, cards: InteractionQuestion[]): boolean {
  const { name, args } = intendedCall(call);
  const kind = ASKING[name];
  return kind !== undefined && cards.some((one) => one.kind === kind && (kind !== 'ask' || one.question === args['question']));
}

/** Whether a call has words of its own instead of a tool's line. */
export function isAside(call: Call): boolean {
  const { name, args } = intendedCall(call);
  if (call.isError) return false;
  if (name === 'send_message') return typeof args['text'] === 'string';
  return call.ended && call.result !== undefined && (name === 'ask_user' || name === 'render_blocks');
}

function answerIn(result: unknown): string {
  const found = parsed(result);
  const answer = found && typeof found === 'object' ? (found as Record<string, unknown>)['answer'] : found;
  return typeof answer === 'string' ? answer : '';
}

export function AsideLine({ call }: { call: Call }): JSX.Element {
  const { name, args } = intendedCall(call);
  if (name === 'send_message') return <div class="aside-words"><Markdown source={String(args['text'])} /></div>;
  if (name === 'ask_user') return <Answered question={String(args['question'] ?? '')} answer={answerIn(call.result)} />;
  const blocks = parsed(args['blocks']);
  return (
    <details class="did ended">
      <summary>
        <span class="dot" />
        <span class="label">{toolWords(name).did}{typeof args['title'] === 'string' && args['title'] && <> · <b>{args['title']}</b></>}</span>
        <Chevron />
      </summary>
      <div class="inside under"><ShownBlocks blocks={Array.isArray(blocks) ? blocks : []} /></div>
    </details>
  );
}

/** A question of Hob's with its answer, as it stays in the conversation. */
export function Answered({ question, answer }: { question: string; answer: string }): JSX.Element {
  return (
    <div class="asked-answered">
      <p class="soft">{question}</p>
      <p>{answer || <span class="soft">{text.asks.noAnswer}</span>}</p>
    </div>
  );
}
