// The Talk room: the conversation is the page.
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Session } from '../api';
import * as api from '../api';
import { hourNow } from '../clock';
import { Down, Flame, Fresh, Menu } from '../icons';
import { lazy } from '../lazy';
import { homeName } from '../rooms';
import { forgetSettled, isPending, questions, type Question } from '../questions';
import { text, trouble } from '../text';
import './talk.css';
import { isRunning, known } from '../processes/state';
import { TalkTimers } from '../timers/strip';
import { Top } from '../top';
import type { Act } from './actions';
import { InteractionCard } from './asides';
import { Composer } from './composer';
import { Earlier } from './earlier';
import { LateQuestions, OtherQuestions } from './elsewhere';
import { Exchange } from './exchange';
import type { Turn } from './turns';
import type { TalkState } from './use-talk';
import { lookForVoice } from './voice-servers';

interface Props {
  session: Session;
  talk: TalkState;
}

/** Fetched after the first load, where a model is chosen. */
const RunningPrograms = lazy<{ rows?: boolean }>(() => import('../processes/strip').then((part) => part.RunningPrograms), true);
const ModelTrouble = lazy<{ admin: boolean }>(() => import('./model-trouble').then((part) => part.ModelTrouble), true);

/** With less free space than this below a new message, the page scrolls once and the answer grows into the space. */
const ROOM = 0.45;

/** The turn of the run that asks, at the call where it names one. */
function turnOf(turns: Turn[], one: Question): Turn | undefined {
  const newestFirst = [...turns].reverse();
  const call = one.kind === 'approval' && one.toolCallId;
  const atCall = call && newestFirst.find(({ runId, steps }) => (!runId || runId === one.runId) && steps.some(({ calls }) => calls.some(({ id }) => id === call)));
  return atCall || newestFirst.find(({ runId }) => runId && runId === one.runId);
}

/** The questions by the turn they belong to: the one of the call or run, else the newest. */
function byTurn(turns: Turn[], questions: Question[]): Map<string, Question[]> {
  const by = new Map<string, Question[]>();
  for (const one of questions) {
    const turn = turnOf(turns, one) ?? turns.at(-1);
    if (turn) by.set(turn.key, [...(by.get(turn.key) ?? []), one]);
  }
  return by;
}

export function Talk({ session, talk }: Props): JSX.Element {
  const [drawer, setDrawer] = useState(false);
  const [lifted, setLifted] = useState('');
  const [below, setBelow] = useState(false);
  const end = useRef<HTMLDivElement>(null);
  const start = useRef<HTMLDivElement>(null);
  /** A turn that must not move while older ones appear above it. */
  const held = useRef<{ key: string; top: number } | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const following = useRef(false);
  const newest = talk.turns.at(-1);
  const programsRun = known.value?.some(isRunning) ?? false;
  const here = talk.turns.length ? questions.value.filter((one) => one.conversationId && one.conversationId === talk.conversationId) : [];
  const elsewhere = questions.value.filter((one) => !here.includes(one));
  // A question stands at the end of the conversation until it is answered, also when others were answered since.
  const late = useRef(new Map<string, string>());
  const at = newest?.runId ?? newest?.key ?? '';
  const lateHere = here.flatMap((one) => {
    const turn = turnOf(talk.turns, one);
    if (turn && turn !== newest && isPending(one)) late.current.set(one.id, at);
    // Once it is answered, it moves to its message when something else is said.
    return turn && turn !== newest && late.current.get(one.id) === at ? [{ one, turn, asked: turn.asked || turn.about || '' }] : [];
  });
  const placed = byTurn(talk.turns, here.filter((one) => !lateHere.some((line) => line.one === one)));
  const waits = here.filter(isPending).length;
  const [note, setNote] = useState('');
  const [over, setOver] = useState(false);

  // A new message: decide its position once, so that nothing above the growing text moves.
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

  // Follow messages from elsewhere when at the end.
  useLayoutEffect(() => {
    if (count && !talk.sending && !lifted && !below) scrollTo(0, document.documentElement.scrollHeight);
  }, [count]);

  // Follow new questions as well.
  useLayoutEffect(() => {
    if (waits && !below) end.current?.scrollIntoView({ block: 'nearest' });
  }, [waits]);

  useEffect(lookForVoice, []);

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

  // The line with Undo stands above the composer.
  useLayoutEffect(() => {
    const dock = box.current;
    if (!dock) return;
    const root = document.documentElement.style;
    const watch = new ResizeObserver(() => root.setProperty('--dock', `${dock.offsetHeight}px`));
    watch.observe(dock);
    return () => {
      watch.disconnect();
      root.removeProperty('--dock');
    };
  }, []);

  const first = talk.turns[0]?.key;
  const topOf = (key: string) => document.querySelector(`[data-key="${CSS.escape(key)}"]`)?.getBoundingClientRect().top;
  const readOlder = () => talk.readOlder(() => {
    const top = first && topOf(first);
    held.current = first && typeof top === 'number' ? { key: first, top } : null;
  });
  useLayoutEffect(() => {
    const top = held.current && topOf(held.current.key);
    if (held.current && typeof top === 'number') scrollBy({ top: top - held.current.top, behavior: 'instant' });
    held.current = null;
  }, [first]);

  // Older messages are read shortly before somebody scrolls to them.
  useEffect(() => {
    const marker = start.current;
    if (!marker || talk.older !== 'some' || talk.loading) return;
    const watch = new IntersectionObserver(([entry]) => entry?.isIntersecting && readOlder(), { rootMargin: '900px 0px 0px 0px' });
    watch.observe(marker);
    return () => watch.disconnect();
  }, [talk.older, talk.loading, first]);

  const goDown = () => {
    following.current = talk.busy;
    end.current?.scrollIntoView({ block: 'end' });
  };

  const fork = async (turn: Turn) => {
    try {
      // The newest message is known by its run only.
      const last = turn.lastId ?? (await api.conversation(talk.conversationId)).messages.filter(({ runId }) => runId === turn.runId).at(-1)?.id;
      const fresh = await api.fork(talk.conversationId, last);
      moveTo(() => talk.open(fresh.id))();
      setNote(text.talk.forked);
    } catch (cause) {
      setNote(trouble(cause));
    }
  };

  // Prefetch the card, so that it appears complete.
  useEffect(() => {
    if (talk.busy) InteractionCard.prefetch();
  }, [talk.busy]);

  // Files can be dropped anywhere in the room.
  const carries = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;

  const moveTo = (action: () => void) => () => {
    setLifted('');
    setNote('');
    action();
    document.getElementById('message')?.focus();
  };

  const toComposer = () => document.getElementById('message')?.focus({ preventScroll: true });
  const act: Act = {
    again: talk.again,
    edit: ({ asked }) => {
      talk.setDraft(asked);
      toComposer();
    },
    fork: (turn) => void fork(turn),
  };
  const reply = (words: string) => {
    talk.say(words);
    // On a phone the keyboard would cover the answer.
    if (matchMedia('(pointer: fine)').matches) toComposer();
  };

  const empty = !talk.turns.length && !talk.loading;
  return (
    <>
      <main
        class={over ? 'talk over' : 'talk'}
        onDragOver={(event) => {
          if (!carries(event)) return;
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={(event) => !event.currentTarget.contains(event.relatedTarget as Node | null) && setOver(false)}
        onDrop={(event) => {
          setOver(false);
          if (!carries(event)) return;
          event.preventDefault();
          talk.files.add(event.dataTransfer?.files ?? []);
        }}
      >
        <Top
          title={text.name}
          where={homeName(session)}
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
          {elsewhere.length > 0 && !talk.loading && <OtherQuestions questions={elsewhere} />}
          {(talk.note || note) && <p class="soft small note" role="status">{talk.note || note}</p>}
          {empty && (
            <div class="empty">
              <Flame big alive />
              <h2>{text.talk.greeting(hourNow())}</h2>
              <p class="soft">{text.talk.invite}</p>
              <ul aria-label={text.talk.tryOne}>
                {text.talk.ideas.map((idea) => (
                  <li key={idea}><button type="button" onClick={moveTo(() => talk.setDraft(idea))}>{idea}</button></li>
                ))}
              </ul>
            </div>
          )}
          {talk.older !== 'none' && (
            <div ref={start} class="older">
              <button type="button" class="quiet" aria-disabled={talk.older === 'loading'} onClick={readOlder}>{talk.older === 'failed' ? text.talk.olderAgain : text.talk.older}</button>
            </div>
          )}
          {talk.turns.map((turn) => (
            <Exchange
              key={turn.key}
              turn={turn}
              lifted={turn.key === lifted}
              questions={placed.get(turn.key) ?? []}
              below={lateHere.filter((line) => line.turn === turn && isPending(line.one)).map(({ one }) => one)}
              model={session.model}
              last={turn === newest && !talk.busy}
              act={act}
              onReply={reply}
            />
          ))}
          {lateHere.length > 0 && <LateQuestions questions={lateHere} />}
          <div ref={end} class="end" />
        </section>
        <div class="dock" ref={box}>
          {below && !empty && (
            <button type="button" class="more" aria-label={text.talk.more} onClick={goDown}><Down /></button>
          )}
          {talk.queued.length > 0 && (
            <ul class="queued" aria-label={text.talk.waitsTurn}>
              {talk.queued.map(({ key, asked, drop }) => (
                <li key={key}>
                  <p><span>{asked}</span> <small>{text.talk.waitsTurn}</small></p>
                  <button type="button" class="quiet" aria-label={text.talk.takeBackOne(asked)} onClick={drop}>{text.talk.takeBack}</button>
                </li>
              ))}
            </ul>
          )}
          {over && <p class="drop-here" role="status">{text.talk.dropHere}</p>}
          {session.model !== 'reflex' && <ModelTrouble admin={session.role === 'admin'} />}
          <TalkTimers />
          {programsRun && <RunningPrograms />}
          <Composer
            value={talk.draft}
            busy={talk.busy}
            files={talk.files}
            model={session.model}
            chooses={session.role === 'admin'}
            last={[...talk.turns].reverse().find(({ asked }) => asked)?.asked ?? ''}
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
