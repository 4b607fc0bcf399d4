// What waits for a decision and belongs to no conversation on screen: of a schedule, of a program, of another conversation.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Up } from '../icons';
import { isPending, type Question } from '../questions';
import { href } from '../rooms';
import { text, when } from '../text';
import { ApprovalCard } from './approval-card';
import { InteractionCard } from './asides';

const words = text.approvals;

/** A question as a card, with where it comes from. */
function QuestionCard({ of }: { of: Question }): JSX.Element {
  const from = (
    <p class="soft small dotted">
      <span>{when(of.kind === 'approval' ? of.askedAt : of.createdAt)}</span>
      {of.kind === 'approval' && words.from[of.channel] && <span>{words.from[of.channel]}</span>}
      {of.conversationId && <a href={href('talk', of.conversationId)}>{words.conversation}</a>}
    </p>
  );
  return of.kind === 'approval' ? <ApprovalCard asked={of}>{from}</ApprovalCard> : <InteractionCard it={of}>{from}</InteractionCard>;
}

/** Questions about messages further up, at the end of the conversation; `asked`: the message. */
export function LateQuestions({ questions }: { questions: { one: Question; asked: string }[] }): JSX.Element {
  const pending = questions.filter(({ one }) => isPending(one));
  return (
    <section class="late" aria-label={words.elsewhereTitle}>
      {questions.map(({ one, asked }) => {
        const first = one === pending[0]?.one;
        const about = asked && <p class="soft small">{text.talk.about(asked)}</p>;
        if (one.kind !== 'approval') return <InteractionCard key={one.id} it={one}>{about}</InteractionCard>;
        return <ApprovalCard key={one.id} asked={one} behind={isPending(one) && !first} more={first ? pending.length - 1 : 0}>{about}</ApprovalCard>;
      })}
    </section>
  );
}

export function OtherQuestions({ questions }: { questions: Question[] }): JSX.Element {
  const [away, setAway] = useState(false);
  const box = useRef<HTMLElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const pending = questions.filter(isPending).length;

  useEffect(() => {
    if (!box.current) return;
    const watch = new IntersectionObserver(([entry]) => setAway(!!entry && !entry.isIntersecting));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);

  const goUp = () => {
    box.current?.scrollIntoView({ block: 'start' });
    heading.current?.focus({ preventScroll: true });
  };

  return (
    <>
      <section class="elsewhere" aria-labelledby="elsewhere" ref={box}>
        <h2 id="elsewhere" tabIndex={-1} ref={heading}>{words.elsewhereTitle}</h2>
        {questions.map((one) => <QuestionCard key={one.id} of={one} />)}
      </section>
      {away && pending > 0 && <button type="button" class="above" onClick={goUp}><Up />{words.above(pending)}</button>}
    </>
  );
}
