// The state of the Talk room: the turns on screen, the run in flight, and what is kept when the device goes away.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { deviceAway, checkReachable } from '../away';
import { draft as keptDraft, lastConversation } from '../storage';
import { useLive } from '../live';
import { decide, isApproval, isPending, questions, readQuestions, receive, runOf, type InteractionQuestion } from '../questions';
import { text, trouble } from '../text';
import { talk as words } from '../text/talk';
import { useFiles, type Files, type Sent } from './files';
import { renewed, shown as shownOf, withOlder, type History } from './history';
import { yesOrNo } from './replies';
import { ask, fromMessages, applyEvent, said, stop as stopped, type Turn } from './turns';

/** How long a stop may take before the page lets go of the line itself. */
const STOP_MS = 4000;
/** A run followed from outside is looked at this often, should its end not be heard. */
const LOOK_AGAIN_MS = 4000;
const STOPPED_MS = 800;
/** How many stored messages are read at once. */
const PAGE = 60;

interface Run {
  turn: Turn;
  abort: AbortController;
  runId: string;
  stopping: boolean;
  /** The conversation is answering something else: this one waits for its turn. */
  queued: boolean;
}

/** A message that waits for its turn. */
export interface Queued {
  key: string;
  asked: string;
  drop: () => void;
}

/** A run of the conversation on screen whose words this page does not hear: begun elsewhere, or before a reload. */
interface Other {
  runId: string;
  stopping: boolean;
}

export interface TalkState {
  turns: Turn[];
  conversationId: string;
  /** The stored conversation is being fetched. */
  loading: boolean;
  /** Whether there are older messages: not asked for yet, on their way, or refused. */
  older: 'none' | 'some' | 'loading' | 'failed';
  /** Hob is answering in this conversation, and can be stopped. */
  busy: boolean;
  /** The answer is streaming to this page. */
  sending: boolean;
  /** Sent, but not started. */
  queued: Queued[];
  draft: string;
  /** Attachments of the next message. */
  files: Files;
  note: string;
  /** The latest whole reply, for the live region. */
  heard: string;
  setDraft: (value: string) => void;
  send: (message: string) => void;
  stop: () => void;
  again: (turn: Turn) => void;
  /** Says something that is not in the composer, which stays as it is. */
  say: (message: string) => void;
  fresh: () => void;
  open: (id: string) => void;
  /** Reads older messages, and calls `hold` right before they appear. */
  readOlder: (hold: () => void) => void;
}

/** A stored file as a part of a message. */
function partOf({ id: file, mediaType = '' }: api.StoredFile): api.Part {
  return { type: mediaType.startsWith('image/') ? 'image' : mediaType.startsWith('audio/') ? 'audio' : 'file', file };
}

export function useTalk(): TalkState {
  const [turns, setTurns] = useState<Turn[]>([]);
  const [conversationId, setConversationId] = useState(lastConversation.get);
  const [loading, setLoading] = useState(conversationId !== '');
  const [mineAll, setMineAll] = useState<Run[]>([]);
  const [other, setOther] = useState<Other | null>(null);
  const [draft, setDraftState] = useState(keptDraft.get);
  const [note, setNote] = useState('');
  const [heard, setHeard] = useState('');
  /** Messages that wait on the device: of another page, or sent before a reload. */
  const [waitingThere, setWaitingThere] = useState<{ runId: string; asked: string }[]>([]);
  const [older, setOlder] = useState<TalkState['older']>('none');
  const away = deviceAway.value;
  const files = useFiles();
  /** Unfinished runs of this page: the running one first, then the queued ones. */
  const current = useRef<Run[]>([]);
  const frame = useRef(0);
  const shown = useRef(conversationId);
  const others = useRef<Other | null>(null);
  /** Runs that need no polling: streamed here, suspended, or over. */
  const known = useRef(new Map<string, 'heard' | 'resting' | 'over'>());
  const later = useRef<ReturnType<typeof setTimeout>>(undefined);
  const loads = useRef(0);
  const history = useRef<History | null>(null);
  const newest = useRef<Turn | undefined>(undefined);
  newest.current = turns.at(-1);

  const setDraft = useCallback((value: string) => {
    setDraftState(value);
    keptDraft.set(value);
  }, []);

  const settle = (next: Run[]) => {
    current.current = next;
    setMineAll(next);
  };

  const goTo = (id: string) => {
    shown.current = id;
    setConversationId(id);
    lastConversation.set(id);
  };

  /** Renders changed turns, once per frame. */
  const draw = (last?: Turn, now = false) => {
    const put = () => setTurns((all) => all.map((old) => (old.key === last?.key ? last : current.current.find(({ turn }) => turn.key === old.key)?.turn ?? old)));
    cancelAnimationFrame(frame.current);
    if (now || document.hidden) put();
    else frame.current = requestAnimationFrame(put);
  };

  const follow = (next: Other | null) => {
    others.current = next;
    setOther(next);
  };

  /** The active run of a conversation; later reads include everything that ended before. */
  const underWay = async (id: string): Promise<Other | null> => {
    const runs = await api.activeRuns(id).catch((cause: unknown): api.Run[] => {
      if (cause instanceof api.Refused && cause.status === 404) return [];
      throw cause;
    });
    const goesOn = (which: string) => (known.current.get(which) ?? 'resting') === 'resting';
    const open = runs.filter((line) => line.conversationId === id && goesOn(line.id));
    const [found] = open;
    if (shown.current === id) setWaitingThere(open.filter(({ state }) => state === 'queued').reverse().map(({ id: runId, asked }) => ({ runId, asked })));
    if (!found) return null;
    return others.current?.runId === found.id ? others.current : { runId: found.id, stopping: false };
  };

  const load = async (id: string) => {
    clearTimeout(later.current);
    const turn = ++loads.current;
    const here = () => shown.current === id && !current.current.length && loads.current === turn;
    try {
      const running = await underWay(id);
      const found = await api.conversation(id, PAGE);
      if (!here()) return;
      const before = others.current;
      history.current = renewed(history.current, id, found);
      setOlder((now) => (now === 'loading' ? now : history.current?.next ? 'some' : 'none'));
      const stored = fromMessages(id, shownOf(history.current), running !== null);
      const last = stored.at(-1);
      if (last && before?.stopping && !running) stored[stored.length - 1] = stopped(last);
      setTurns(stored);
      setLoading(false);
      follow(running);
      if (before && !running && last) setHeard(said(last) || text.talk.stopped);
      if (running) later.current = setTimeout(() => here() && void load(id), LOOK_AGAIN_MS);
    } catch (cause) {
      if (shown.current !== id || cause instanceof api.Unreachable) return; // Loaded when Hob is back.
      setLoading(false);
      if (!(cause instanceof api.Refused)) return;
      if (cause.status !== 404) return setNote(trouble(cause));
      follow(null);
      setTurns([]);
      goTo('');
      setNote(text.talk.lostConversation);
    }
  };

  const readOlder = async (hold: () => void) => {
    const from = history.current;
    if (!from?.next || older === 'loading') return;
    setOlder('loading');
    try {
      const page = await api.messages(from.conversation, from.next, PAGE);
      const now = history.current;
      if (now?.conversation !== from.conversation || now.next !== from.next) return;
      const next = withOlder(now, page);
      history.current = next;
      hold();
      // Turns on screen stay as they are; what was sent since is behind the stored ones.
      setTurns((all) => {
        const known = new Map(all.map((turn) => [turn.key, turn]));
        const stored = fromMessages(next.conversation, shownOf(next)).map((turn) => known.get(turn.key) ?? turn);
        const keys = new Set(stored.map((turn) => turn.key));
        const first = all.findIndex((turn) => keys.has(turn.key));
        return [...stored, ...(first < 0 ? all : all.slice(first)).filter((turn) => !keys.has(turn.key))];
      });
      setOlder(next.next ? 'some' : 'none');
    } catch {
      if (history.current?.conversation === from.conversation) setOlder('failed');
    }
  };

  useEffect(() => {
    if (away || current.current.length || !shown.current) return;
    if (loading || others.current || turns.at(-1)?.broken) void load(shown.current);
  }, [away]);

  /** Whether the last turn on screen still waits for its rest. */
  const turnsBroken = () => newest.current?.broken === true;

  /** Starts a queued run: it appears in the conversation. */
  const begin = (mine: Run) => {
    if (!mine.queued) return;
    mine.queued = false;
    setTurns((all) => [...all, mine.turn]);
    settle([...current.current]);
  };

  // Another page of this person, or this one before a reload, may talk here too.
  useLive(['run:started', 'run:resumed', 'run:ended', 'tool:after', 'approval:asked', 'approval:settled', 'interaction:ended'], ({ topic, data }) => {
    const runId = topic === 'interaction:ended' ? runOf(String(data['id'])) : String(data['runId']);
    // The run has resumed by itself and is polled.
    if (/settled|ended|resumed/.test(topic) && topic !== 'run:ended' && known.current.get(runId) !== 'heard') known.current.delete(runId);
    const turnOf = topic === 'run:started' ? current.current.find((one) => one.runId === runId) : undefined;
    if (turnOf) begin(turnOf);
    const heardHere = known.current.has(runId);
    if (/^run:/.test(topic)) setWaitingThere((all) => (all.some((one) => one.runId === runId) ? all.filter((one) => one.runId !== runId) : all));
    if (topic === 'run:ended' && !heardHere) known.current.set(runId, 'over');
    if (!shown.current || current.current.length || heardHere) return;
    const followed = runId === others.current?.runId;
    if (topic === 'resync' || topic === 'interaction:ended' || followed || data['conversationId'] === shown.current) void load(shown.current);
  });

  const fail = (mine: Run, cause: unknown): Turn | null => {
    if (mine.stopping) return stopped(mine.turn);
    if (cause instanceof api.Refused) {
      if (cause.status === 409 && !mine.runId) {
        setNote(trouble(cause)); // Not now: the message waits in the box.
        return null;
      }
      return { ...mine.turn, state: 'failed', trouble: trouble(cause) };
    }
    void checkReachable();
    known.current.delete(mine.runId);
    if (mine.runId) return { ...mine.turn, state: 'failed', broken: true, trouble: text.talk.broken };
    return null; // It never arrived: back into the box with it.
  };

  /** Returns an unsent message to the composer. */
  const giveBack = (mine: Run, asked: string, sent: Sent[]) => {
    setTurns((all) => all.filter((old) => old.key !== mine.turn.key));
    setDraft([asked, keptDraft.get().trim() === asked ? '' : keptDraft.get()].filter(Boolean).join('\n'));
    files.putBack(sent);
  };

  /** A typed yes or no decides the one approval that waits here, once; `true` when it did, or when it is not clear which. */
  const decides = async (message: string): Promise<boolean> => {
    const yes = yesOrNo(message);
    const waiting = questions.value.filter(isApproval).filter((one) => isPending(one) && one.conversationId && one.conversationId === shown.current);
    const [one, ...more] = waiting;
    if (yes === null || !one || files.all.length) return false;
    if (more.length) {
      setNote(words.several);
      return true;
    }
    setNote('');
    setDraft('');
    try {
      await decide(one, { decision: yes ? 'allow_once' : 'deny' });
    } catch (cause) {
      setDraft(message);
      setNote(trouble(cause));
    }
    return true;
  };

  /** `quick`: the message is not the one in the composer. */
  const send = async (message: string, again?: Turn, quick = again !== undefined) => {
    const asked = message.trim();
    if (await decides(asked)) return;
    const sent: Sent[] = quick ? [] : files.all.filter(({ id }) => id);
    const kept: api.StoredFile[] = again?.files ?? sent.map(({ id, name, type }) => ({ id, name, mediaType: type }));
    if ((!asked && !kept.length) || (!quick && files.busy)) return;
    const queued = current.current.length > 0 || others.current !== null;
    const mine: Run = { turn: ask(asked, kept), abort: new AbortController(), runId: '', stopping: false, queued };
    settle([...current.current, mine]);
    setNote('');
    setLoading(false);
    if (!quick) {
      files.taken();
      setDraftState('');
    }
    if (!queued) setTurns((all) => [...all, mine.turn]);
    const here = () => current.current.includes(mine);
    const parts: api.Part[] = [...(asked ? [{ type: 'text' as const, text: asked }] : []), ...kept.map(partOf)];
    try {
      for await (const event of api.chat(kept.length ? parts : asked, shown.current, mine.abort, queued)) {
        if (event.type === 'run') {
          mine.runId = event.runId;
          if (here()) {
            known.current.set(event.runId, 'heard');
            goTo(event.conversationId);
            if (!event.queued) begin(mine);
          }
          // Until now a reload would have restored the draft.
          if (!quick && keptDraft.get().trim() === asked) keptDraft.set('');
          if (mine.stopping) {
            known.current.set(event.runId, 'heard');
            cancelRun(mine);
          }
        } else if (here()) {
          begin(mine);
        }
        if (event.type === 'approval') receive({ ...event, kind: 'approval' });
        if (event.type === 'ask' || event.type === 'ui') {
          // The event has only part of the question; the rest is read with the list.
          const asked = { kind: 'ask', state: 'pending', createdAt: Date.now(), runId: mine.runId, conversationId: shown.current, ...event };
          receive(asked as unknown as InteractionQuestion);
        }
        if (event.type === 'done' && event.waiting?.length) {
          known.current.set(mine.runId, 'resting');
          void readQuestions();
        }
        // Hob is restarting: the run goes on by itself, and the page follows it.
        if (event.type === 'error' && event.code === 'closing' && mine.runId && !mine.stopping) throw new api.Unreachable('Hob is restarting');
        mine.turn = applyEvent(mine.turn, event);
        if (here()) draw();
        if (event.type === 'done' || event.type === 'error') break;
      }
      if (mine.turn.state === 'running') throw new api.Unreachable('the stream ended early');
      if (mine.stopping) mine.turn = stopped(mine.turn);
    } catch (cause) {
      const turn = fail(mine, cause);
      if (turn) mine.turn = turn;
      else giveBack(mine, asked, sent);
    }
    if (!here()) return;
    // What is told of it from now on comes from elsewhere: it may be resumed.
    if (known.current.get(mine.runId) === 'heard') known.current.set(mine.runId, 'over');
    const waited = mine.queued;
    settle(current.current.filter((other) => other !== mine));
    // A removed queued message leaves nothing; one with a broken connection is on the device.
    if (waited && mine.turn.state === 'failed' && !mine.turn.broken) setTurns((all) => [...all, mine.turn]);
    draw(mine.turn, true);
    setHeard(mine.turn.trouble ?? said(mine.turn));
    const next = current.current[0];
    if (next && !others.current && !mine.turn.waiting) begin(next);
    if (!current.current.length && (others.current || (waited && mine.turn.broken))) void load(shown.current);
    // The device may be back already, with the run going on.
    else if (mine.turn.broken) void checkReachable().then(() => !deviceAway.value && !current.current.length && turnsBroken() && void load(shown.current));
  };

  /** Cancels a run; one that does not end soon is no longer listened to. */
  const cancelRun = (mine: Run) => {
    void api.cancel(mine.runId).catch(() => undefined);
    setTimeout(() => mine.abort.abort(), STOP_MS);
  };

  const stopRun = (mine: Run) => {
    if (mine.stopping) return;
    mine.stopping = true;
    if (mine.runId) return cancelRun(mine);
    // Without its id nothing stops it: the line stays open until the device has said it, and after a while the page goes on.
    setTimeout(() => {
      if (mine.runId || !current.current.includes(mine)) return;
      mine.turn = stopped(mine.turn);
      settle(current.current.filter((other) => other !== mine));
      draw(mine.turn, true);
      const next = current.current[0];
      if (next && !others.current) begin(next);
    }, STOP_MS);
  };

  const stop = () => {
    const mine = current.current.find((one) => !one.queued);
    const followed = others.current;
    if (!mine && followed && !followed.stopping) {
      follow({ ...followed, stopping: true });
      const look = () => {
        clearTimeout(later.current);
        later.current = setTimeout(() => others.current?.runId === followed.runId && void load(shown.current), STOPPED_MS);
      };
      api.cancel(followed.runId).then(look, look);
    }
    if (mine) stopRun(mine);
  };

  /** Takes a message back that waits on the device. */
  const withdraw = (runId: string) => {
    setWaitingThere((all) => all.filter((one) => one.runId !== runId));
    known.current.set(runId, 'over');
    api.cancel(runId).catch((cause: unknown) => setNote(trouble(cause)));
  };

  const again = (turn: Turn) => {
    // One that failed is replaced; an answer stays, and is followed by another.
    if (turn.trouble) setTurns((all) => all.filter((old) => old.key !== turn.key));
    void send(turn.asked, turn);
  };

  /** Leaves the conversation; its active run continues on the device. */
  const leave = (id: string) => {
    // If the person returns in time, the run is polled.
    for (const { runId } of current.current) known.current.delete(runId);
    clearTimeout(later.current);
    loads.current++;
    settle([]);
    follow(null);
    setWaitingThere([]);
    history.current = null;
    setOlder('none');
    goTo(id);
    setNote('');
    setTurns([]);
    setLoading(id !== '');
    if (id) void load(id);
  };

  return {
    turns, conversationId, loading, older, readOlder: (hold) => void readOlder(hold), busy: mineAll.length > 0 || other !== null, sending: mineAll.some((one) => !one.queued),
    queued: [
      ...waitingThere.map(({ runId, asked }) => ({ key: runId, asked, drop: () => withdraw(runId) })),
      ...mineAll.filter((one) => one.queued && !one.stopping).map((one) => ({ key: one.turn.key, asked: one.turn.asked || text.talk.files(one.turn.files?.length ?? 0), drop: () => (stopRun(one), settle([...current.current])) })),
    ],
    draft, files, note, heard, setDraft,
    send: (message) => void send(message), say: (message) => void send(message, undefined, true), stop, again, fresh: () => leave(''), open: leave,
  };
}
