// What waits for a decision and belongs to no conversation on screen: of a schedule, of a program, of another conversation.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { isPending, type Asked } from '../approvals';
import { Up } from '../icons';
import { isOpen, type Interaction } from '../interactions';
import { href } from '../rooms';
import { text, when } from '../text';
import { ApprovalCard } from './approval-card';
import { InteractionCard } from './asides';

const words = text.approvals;

export function Elsewhere({ asked, cards }: { asked: Asked[]; cards: Interaction[] }): JSX.Element {
  const [away, setAway] = useState(false);
  const box = useRef<HTMLElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const pending = asked.filter(isPending).length + cards.filter(isOpen).length;

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
        {asked.map((one) => (
          <ApprovalCard key={one.id} asked={one}>
            <p class="soft small dotted">
              <span>{when(one.askedAt)}</span>
              {one.channel && words.from[one.channel] && <span>{words.from[one.channel]}</span>}
              {one.conversationId && <a href={href('talk', one.conversationId)}>{words.conversation}</a>}
            </p>
          </ApprovalCard>
        ))}
        {cards.map((one) => (
          <InteractionCard key={one.id} it={one}>
            <p class="soft small dotted">
              <span>{when(one.createdAt)}</span>
              {one.conversationId && <a href={href('talk', one.conversationId)}>{words.conversation}</a>}
            </p>
          </InteractionCard>
        ))}
      </section>
      {away && pending > 0 && <button type="button" class="above" onClick={goUp}><Up />{words.above(pending)}</button>}
    </>
  );
}
