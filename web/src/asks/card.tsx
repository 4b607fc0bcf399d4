// An interaction as a card: a question, blocks or a component, and one line once it is answered.
import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Refused } from '../api';
import { Notice, TextField } from '../form';
import { isPending, respond, type InteractionQuestion } from '../questions';
import { Answered } from '../talk/asides';
import { Markdown } from '../talk/markdown';
import { moment, text, trouble } from '../text';
import { asks as words } from '../text/asks';
import { Values } from '../values';
import './asks.css';
import { Blocks } from './blocks';
import { Frame } from './frame';

interface Props {
  it: InteractionQuestion;
  /** Its origin, when shown outside its conversation. */
  children?: ComponentChildren;
}

/** Sends one answer at a time; a refusal is shown here or beside its field. */
export interface Reply {
  busy: boolean;
  problem: string;
  give: (given: Record<string, unknown> | null) => Promise<Refused | null>;
}

function useReply(it: InteractionQuestion): Reply {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const give = async (given: Record<string, unknown> | null) => {
    if (busy) return null;
    setBusy(true);
    setProblem('');
    try {
      await respond(it, given);
      return null;
    } catch (cause) {
      setProblem(trouble(cause));
      return cause instanceof Refused ? cause : null;
    } finally {
      setBusy(false);
    }
  };
  return { busy, problem, give };
}

const object = (value: unknown): Record<string, unknown> => (value && typeof value === 'object' ? (value as Record<string, unknown>) : {});

/** The settled interaction. */
function Ended({ it }: { it: InteractionQuestion }): JSX.Element {
  const answer = object(it.answer);
  const line = (what: string) => <p class="answered"><span class="dot" /><span>{what}</span></p>;
  if (it.gone) return line(words.gone);
  if (it.state === 'expired') return line(words.expired);
  if (it.kind === 'ask') {
    const said = typeof it.answer === 'string' ? it.answer : typeof answer['answer'] === 'string' ? answer['answer'] : '';
    if (it.state === 'answered') return <Answered question={it.question ?? ''} answer={said} />;
    return line(it.mine ? words.dismissedAsk : words.dismissedElsewhere);
  }
  const shown = it.kind === 'blocks' && it.blocks ? <Blocks blocks={it.blocks} /> : null;
  if (it.state === 'dismissed' || answer['action'] === 'dismiss') return <>{shown}{line(it.mine ? words.dismissed(it.title ?? '') : words.dismissedElsewhere)}</>;
  return (
    <>
      {shown}
      {line(!it.mine ? words.answeredElsewhere : it.kind === 'blocks' ? words.sentForm : words.chosen(String(answer['action'] ?? '')))}
      {it.kind === 'blocks' && <Values of={answer['data']} />}
    </>
  );
}

export function Card({ it, children }: Props): JSX.Element {
  const card = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const held = useRef(false);
  const id = useId();
  const reply = useReply(it);
  const open = isPending(it);

  // Keeps the focus when the card becomes a line.
  if (!open && card.current?.contains(document.activeElement)) held.current = true;
  useLayoutEffect(() => {
    if (!open && held.current) end.current?.focus({ preventScroll: true });
  }, [open]);

  if (!open) return <div class="ended" ref={end} tabIndex={-1}><Ended it={it} /></div>;
  const title = it.kind === 'ask' ? it.question : it.title;
  return (
    <div class="confirm asks interaction" role="group" aria-labelledby={`${id}-title`} ref={card}>
      {it.kind === 'ask'
        ? <div class="question" id={`${id}-title`}><Markdown source={title ?? ''} /></div>
        : <p class={title ? 'question' : 'soft small'} id={`${id}-title`}>{title || words.shows}</p>}
      {children}
      {it.kind === 'ask' && <Question it={it} reply={reply} labelled={`${id}-title`} />}
      {it.kind === 'blocks' && <Blocks blocks={it.blocks ?? []} reply={reply} />}
      {it.kind === 'component' && <Frame it={it} reply={reply} />}
      {reply.problem && <Notice bad>{reply.problem}</Notice>}
      {it.expiresAt ? <p class="soft small">{words.until(moment(it.expiresAt))}</p> : null}
    </div>
  );
}

/** Buttons for the options, and a field for a free answer. */
function Question({ it, reply, labelled }: { it: InteractionQuestion; reply: Reply; labelled: string }): JSX.Element {
  const [typed, setTyped] = useState('');
  const [wrong, setWrong] = useState('');
  const options = it.options ?? [];
  const say = (answer: string) => {
    if (!answer) return setWrong(words.needed);
    setWrong('');
    void reply.give({ answer });
  };
  return (
    <>
      {options.length > 0 && (
        <div class="buttons options" role="group" aria-labelledby={labelled}>
          {options.map((option) => <button key={option} type="button" aria-disabled={reply.busy} onClick={() => say(option)}>{option}</button>)}
        </div>
      )}
      <form
        class="answer"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          say(typed.trim());
        }}
      >
        <TextField
          label={options.length ? words.orWrite : words.answer}
          value={typed}
          error={wrong}
          onInput={(value) => {
            setTyped(value);
            setWrong('');
          }}
        />
        <div class="buttons">
          <button class={options.length ? '' : 'go'} aria-disabled={reply.busy}>{reply.busy ? words.sending : words.send}</button>
          <button type="button" class="quiet" aria-disabled={reply.busy} onClick={() => void reply.give(null)}>{words.aside}</button>
        </div>
      </form>
      <span class="unseen" role="status">{reply.busy ? text.approvals.sending : ''}</span>
    </>
  );
}
