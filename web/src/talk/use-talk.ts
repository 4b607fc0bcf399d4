// The state of the Talk room: the turns on screen, the run in flight, and what is kept when the device goes away.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { knock, useAway } from '../away';
import { draft as keptDraft, lastConversation } from '../keep';
import { text, trouble } from '../text';
import { ask, fromMessages, grow, said, stop as stopped, unanswered, type Turn } from './turns';

/** How long a stop may take before the page lets go of the line itself. */
const STOP_MS = 4000;
const LOOK_AGAIN_MS = 2000;

interface Run {
  turn: Turn;
  abort: AbortController;
  runId: string;
  stopping: boolean;
}

export interface TalkState {
  turns: Turn[];
  conversationId: string;
  /** The stored conversation is being fetched. */
  loading: boolean;
  busy: boolean;
  draft: string;
  note: string;
  /** The latest whole reply, for the live region. */
  heard: string;
  setDraft: (value: string) => void;
  send: (message: string) => void;
  stop: () => void;
  again: (turn: Turn) => void;
  fresh: () => void;
  open: (id: string) => void;
}

export function useTalk(onRefused: () => void): TalkState {
  const [turns, setTurns] = useState<Turn[]>([]);
  const [conversationId, setConversationId] = useState(lastConversation.get);
  const [loading, setLoading] = useState(conversationId !== '');
  const [run, setRun] = useState<Run | null>(null);
  const [draft, setDraftState] = useState(keptDraft.get);
  const [note, setNote] = useState('');
  const [heard, setHeard] = useState('');
  const away = useAway();
  const current = useRef<Run | null>(null);
  const frame = useRef(0);
  const shown = useRef(conversationId);

  const setDraft = useCallback((value: string) => {
    setDraftState(value);
    keptDraft.set(value);
  }, []);

  const settle = (next: Run | null) => {
    current.current = next;
    setRun(next);
  };

  const goTo = (id: string) => {
    shown.current = id;
    setConversationId(id);
    lastConversation.set(id);
  };

  /** Draws a turn that grew; many changes in one frame are drawn once. */
  const draw = (turn: Turn, now = false) => {
    const put = () => setTurns((all) => all.map((old) => (old.key === turn.key ? turn : old)));
    cancelAnimationFrame(frame.current);
    if (now || document.hidden) put();
    else frame.current = requestAnimationFrame(put);
  };

  const load = async (id: string) => {
    try {
      const found = await api.conversation(id);
      if (shown.current !== id || current.current) return;
      const stored = fromMessages(id, found.messages);
      const waiting = unanswered(stored, Date.now());
      if (waiting) stored.push({ ...(stored.pop() as Turn), state: 'running' });
      setTurns(stored);
      setLoading(false);
      if (waiting) setTimeout(() => shown.current === id && !current.current && void load(id), LOOK_AGAIN_MS);
    } catch (cause) {
      if (shown.current !== id || cause instanceof api.Unreachable) return; // Loaded when Hob is back.
      setLoading(false);
      if (!(cause instanceof api.Refused)) return;
      if (cause.status === 401 || cause.code === 'unclaimed') return onRefused();
      goTo('');
      setNote(cause.status === 404 ? text.talk.lostConversation : trouble(cause));
    }
  };

  useEffect(() => {
    if (away || current.current || !shown.current) return;
    if (loading || turns.at(-1)?.broken) void load(shown.current);
  }, [away]);

  const fail = (mine: Run, cause: unknown): Turn | null => {
    if (mine.stopping) return stopped(mine.turn);
    if (cause instanceof api.Refused) {
      if (cause.status === 401 || cause.code === 'unclaimed') onRefused();
      if (cause.status === 409 && !mine.runId) {
        setNote(trouble(cause)); // Not now: the message waits in the box.
        return null;
      }
      return { ...mine.turn, state: 'failed', trouble: trouble(cause) };
    }
    void knock();
    if (mine.runId) return { ...mine.turn, state: 'failed', broken: true, trouble: text.talk.broken };
    return null; // It never arrived: back into the box with it.
  };

  const send = async (message: string) => {
    const asked = message.trim();
    if (!asked || current.current) return;
    const mine: Run = { turn: ask(asked), abort: new AbortController(), runId: '', stopping: false };
    settle(mine);
    setNote('');
    setLoading(false);
    setDraftState('');
    setTurns((all) => [...all, mine.turn]);
    const here = () => current.current === mine;
    try {
      for await (const event of api.chat(asked, shown.current, mine.abort)) {
        if (event.type === 'run') {
          mine.runId = event.runId;
          if (here()) goTo(event.conversationId);
          // Until now a reload would have brought the message back into the box.
          if (keptDraft.get().trim() === asked) keptDraft.set('');
          if (mine.stopping) void api.cancel(event.runId).catch(() => undefined);
        }
        mine.turn = grow(mine.turn, event);
        if (here()) draw(mine.turn);
        if (event.type === 'done' || event.type === 'error') break;
      }
      if (mine.turn.state === 'running') throw new api.Unreachable('the stream ended early');
      if (mine.stopping) mine.turn = stopped(mine.turn);
    } catch (cause) {
      const turn = fail(mine, cause);
      if (turn) {
        mine.turn = turn;
      } else {
        setTurns((all) => all.filter((old) => old.key !== mine.turn.key));
        setDraft([asked, keptDraft.get().trim() === asked ? '' : keptDraft.get()].filter(Boolean).join('\n'));
      }
    }
    if (!here()) return;
    draw(mine.turn, true);
    settle(null);
    setHeard(mine.turn.trouble ?? said(mine.turn));
  };

  const stop = () => {
    const mine = current.current;
    if (!mine || mine.stopping) return;
    mine.stopping = true;
    if (mine.runId) void api.cancel(mine.runId).catch(() => undefined);
    setTimeout(() => mine.abort.abort(), mine.runId ? STOP_MS : 0);
  };

  const again = (turn: Turn) => {
    if (current.current) return;
    setTurns((all) => all.filter((old) => old.key !== turn.key));
    void send(turn.asked);
  };

  /** Leaves what is on screen; a run in flight goes on by itself on the device. */
  const leave = (id: string) => {
    settle(null);
    goTo(id);
    setNote('');
    setTurns([]);
    setLoading(id !== '');
    if (id) void load(id);
  };

  return {
    turns, conversationId, loading, busy: run !== null, draft, note, heard, setDraft,
    send: (message) => void send(message), stop, again, fresh: () => leave(''), open: leave,
  };
}
