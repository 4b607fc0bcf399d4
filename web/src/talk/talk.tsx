// The Talk room: the conversation is the page.
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Session } from '../api';
import { forgetSettled, isPending, type Asked } from '../approvals';
import { Down, Flame, Fresh, Menu } from '../icons';
import { text } from '../text';
import './talk.css';
import { Top } from '../top';
import { Composer } from './composer';
import { Earlier } from './earlier';
import { Elsewhere } from './elsewhere';
import { Exchange } from './exchange';
import type { Turn } from './turns';
import type { TalkState } from './use-talk';

interface Props {
  session: Session;
  talk: TalkState;
  /** What waits for this person's decision. */
  asked: Asked[];
}

/** With less free room than this under a new message, the page is lifted once and the answer grows into the room. */
const ROOM = 0.45;

/** What is asked, by the turn it belongs to: that of its call, else the newest. */
function byTurn(turns: Turn[], asked: Asked[]): Map<string, Asked[]> {
  const by = new Map<string, Asked[]>();
  for (const one of asked) {
    const turn = turns.find(({ steps }) => steps.some(({ calls }) => calls.some((call) => call.id === one.toolCallId))) ?? turns.at(-1);
    if (turn) by.set(turn.key, [...(by.get(turn.key) ?? []), one]);
  }
  return by;
}

export function Talk({ session, talk, asked }: Props): JSX.Element {
  const [drawer, setDrawer] = useState(false);
  const [lifted, setLifted] = useState('');
  const [below, setBelow] = useState(false);
  const end = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const following = useRef(false);
  const newest = talk.turns.at(-1);
  const here = talk.turns.length ? asked.filter((one) => one.conversationId && one.conversationId === talk.conversationId) : [];
  const elsewhere = asked.filter((one) => !here.includes(one));
  const placed = byTurn(talk.turns, here);
  const waits = here.filter(isPending).length;

  // A new question: decide once where it stands, then nothing above the growing text moves.
  useLayoutEffect(() => {
    if (!talk.sending || !newest || newest.key === lifted) return;
    following.current = false;
    const article = document.querySelector(`[data-key="${newest.key}"]`);
    const floor = box.current?.getBoundingClientRect().top ?? innerHeight;
    if (article && floor - article.getBoundingClientRect().bottom < innerHeight * ROOM) setLifted(newest.key);
  }, [newest?.key, talk.sending]);

  useLayoutEffect(() => {
    const article = lifted && document.querySelector(`[data-key="${lifted}"]`);
    if (!article) return;
    scrollTo(0, document.documentElement.scrollHeight);
    if (article.getBoundingClientRect().top < 0) article.scrollIntoView({ block: 'start' });
  }, [lifted]);

  // A stored conversation opens at its end.
  const count = talk.turns.length;
  useLayoutEffect(() => {
    if (count && !talk.sending && !lifted) scrollTo(0, document.documentElement.scrollHeight);
  }, [talk.loading, talk.conversationId]);

  // What came in from elsewhere is followed by whoever was at the end.
  useLayoutEffect(() => {
    if (count && !talk.sending && !lifted && !below) scrollTo(0, document.documentElement.scrollHeight);
  }, [count]);

  // So is a card that asks for a decision.
  useLayoutEffect(() => {
    if (waits && !below) end.current?.scrollIntoView({ block: 'nearest' });
  }, [waits]);

  // Who leaves has read how it ended.
  useEffect(() => forgetSettled, [talk.conversationId]);

  useLayoutEffect(() => {
    if (following.current) end.current?.scrollIntoView({ block: 'end' });
  });

  useEffect(() => {
    const marker = end.current;
    if (!marker) return;
    const watch = new IntersectionObserver(
      ([entry]) => setBelow(!!entry && !entry.isIntersecting && entry.boundingClientRect.top > 0),
      { rootMargin: '0px 0px -70px 0px' },
    );
    watch.observe(marker);
    let top = scrollY;
    const onScroll = () => {
      if (scrollY < top) following.current = false;
      top = scrollY;
    };
    addEventListener('scroll', onScroll, { passive: true });
    return () => {
      watch.disconnect();
      removeEventListener('scroll', onScroll);
    };
  }, []);

  const goDown = () => {
    following.current = talk.busy;
    end.current?.scrollIntoView({ block: 'end' });
  };

  const moveTo = (action: () => void) => () => {
    setLifted('');
    action();
    document.getElementById('message')?.focus();
  };

  const empty = !talk.turns.length && !talk.loading;
  return (
    <>
      <main class="talk">
        <Top
          title={text.name}
          where={session.name}
          alive={talk.busy && !waits}
          clear={empty}
          actions={
            <>
              <button type="button" class="bare" aria-label={text.menu.fresh} title={text.menu.fresh} onClick={moveTo(talk.fresh)}><Fresh /></button>
              <button ref={opener} type="button" class="bare" aria-label={text.menu.open} title={text.menu.open} aria-haspopup="dialog" onClick={() => setDrawer(true)}><Menu /></button>
            </>
          }
        />
        <section class="conversation" aria-label={text.talk.conversation} aria-busy={(talk.busy && !waits) || talk.loading}>
          {elsewhere.length > 0 && !talk.loading && <Elsewhere asked={elsewhere} />}
          {talk.note && <p class="soft small note" role="status">{talk.note}</p>}
          {empty && (
            <div class="empty">
              <Flame big alive />
              <h2>{text.talk.greeting(new Date().getHours())}</h2>
              <p class="soft">{text.talk.invite}</p>
              <ul aria-label={text.talk.tryOne}>
                {text.talk.ideas.map((idea) => (
                  <li key={idea}><button type="button" onClick={moveTo(() => talk.setDraft(idea))}>{idea}</button></li>
                ))}
              </ul>
            </div>
          )}
          {talk.turns.map((turn) => (
            <Exchange key={turn.key} turn={turn} lifted={turn.key === lifted} asked={placed.get(turn.key) ?? []} onAgain={talk.again} />
          ))}
          <div ref={end} class="end" />
        </section>
        <div class="dock" ref={box}>
          {below && !empty && (
            <button type="button" class="more" aria-label={text.talk.more} onClick={goDown}><Down /></button>
          )}
          <Composer
            value={talk.draft}
            busy={talk.busy}
            onInput={talk.setDraft}
            onSend={() => talk.send(talk.draft)}
            onStop={talk.stop}
          />
        </div>
        <p class="unseen" aria-live="polite">{talk.heard}</p>
      </main>

      {drawer && (
        <Earlier
          current={talk.conversationId}
          onOpen={(id) => moveTo(() => talk.open(id))()}
          onFresh={moveTo(talk.fresh)}
          onClose={() => {
            setDrawer(false);
            opener.current?.focus();
          }}
        />
      )}
    </>
  );
}
