// The state of the Talk room: the turns on screen, the run in flight, and what is kept when the device goes away.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { heard as heardAsked, readApprovals } from '../approvals';
import { knock, useAway } from '../away';
import { draft as keptDraft, lastConversation } from '../keep';
import { useLive } from '../live';
import { text, trouble } from '../text';
import { ask, fromMessages, grow, said, stop as stopped, type Turn } from './turns';

/** How long a stop may take before the page lets go of the line itself. */
const STOP_MS = 4000;
/** A run followed from outside is looked at this often, should its end not be heard. */
const LOOK_AGAIN_MS = 4000;
const STOPPED_MS = 800;

interface Run {
  turn: Turn;
  abort: AbortController;
  runId: string;
  stopping: boolean;
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
  /** Hob is answering in this conversation, and can be stopped. */
  busy: boolean;
  /** The answer comes word by word to this page. */
  sending: boolean;
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

export function useTalk(): TalkState {
  const [turns, setTurns] = useState<Turn[]>([]);
  const [conversationId, setConversationId] = useState(lastConversation.get);
  const [loading, setLoading] = useState(conversationId !== '');
  const [run, setRun] = useState<Run | null>(null);
  const [other, setOther] = useState<Other | null>(null);
  const [draft, setDraftState] = useState(keptDraft.get);
  const [note, setNote] = useState('');
  const [heard, setHeard] = useState('');
  const away = useAway();
  const current = useRef<Run | null>(null);
  const frame = useRef(0);
  const shown = useRef(conversationId);
  const others = useRef<Other | null>(null);
  /** Runs that need no following: heard word by word here, resting until somebody decides, or known to be over. */
  const known = useRef(new Map<string, 'heard' | 'resting' | 'over'>());
  const later = useRef<ReturnType<typeof setTimeout>>(undefined);
  const loads = useRef(0);

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

  const follow = (next: Other | null) => {
    others.current = next;
    setOther(next);
  };

  /** The run under way in a conversation; what is read after this call holds all that had ended before it. */
  const underWay = async (id: string): Promise<Other | null> => {
    const { runs } = await api.runs().catch((cause: unknown) => {
      if (cause instanceof api.Refused && cause.status === 404) return { runs: [] };
      throw cause;
    });
    const goesOn = (which: string) => (known.current.get(which) ?? 'resting') === 'resting';
    const found = runs.find((line) => line.conversationId === id && goesOn(line.id));
    if (!found) return null;
    return others.current?.runId === found.id ? others.current : { runId: found.id, stopping: false };
  };

  const load = async (id: string) => {
    clearTimeout(later.current);
    const turn = ++loads.current;
    const here = () => shown.current === id && !current.current && loads.current === turn;
    try {
      const running = await underWay(id);
      const found = await api.conversation(id);
      if (!here()) return;
      const before = others.current;
      const stored = fromMessages(id, found.messages, running !== null);
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

  useEffect(() => {
    if (away || current.current || !shown.current) return;
    if (loading || others.current || turns.at(-1)?.broken) void load(shown.current);
  }, [away]);

  // Another page of this person talks here too, or this one did before it was loaded again.
  useLive(['run:started', 'run:ended', 'tool:after', 'approval:asked', 'approval:settled'], ({ topic, data }) => {
    const runId = String(data['runId']);
    // It goes on by itself now, and is followed from outside.
    if (topic === 'approval:settled' && known.current.get(runId) !== 'heard') known.current.delete(runId);
    const heardHere = known.current.has(runId);
    if (topic === 'run:ended' && !heardHere) known.current.set(runId, 'over');
    if (!shown.current || current.current || heardHere) return;
    const followed = runId === others.current?.runId;
    if (topic === 'resync' || followed || data['conversationId'] === shown.current) void load(shown.current);
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
    void knock();
    known.current.delete(mine.runId);
    if (mine.runId) return { ...mine.turn, state: 'failed', broken: true, trouble: text.talk.broken };
    return null; // It never arrived: back into the box with it.
  };

  const send = async (message: string) => {
    const asked = message.trim();
    if (!asked || current.current || others.current) return;
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
          if (here()) {
            known.current.set(event.runId, 'heard');
            goTo(event.conversationId);
          }
          // Until now a reload would have brought the message back into the box.
          if (keptDraft.get().trim() === asked) keptDraft.set('');
          if (mine.stopping) void api.cancel(event.runId).catch(() => undefined);
        }
        if (event.type === 'approval') {
          const { type: _, ...asked } = event;
          heardAsked(asked);
        }
        if (event.type === 'done' && event.waiting?.length) {
          known.current.set(mine.runId, 'resting');
          void readApprovals();
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
    const followed = others.current;
    if (!mine && followed && !followed.stopping) {
      follow({ ...followed, stopping: true });
      const look = () => {
        clearTimeout(later.current);
        later.current = setTimeout(() => others.current?.runId === followed.runId && void load(shown.current), STOPPED_MS);
      };
      api.cancel(followed.runId).then(look, look);
    }
    if (!mine || mine.stopping) return;
    mine.stopping = true;
    if (mine.runId) void api.cancel(mine.runId).catch(() => undefined);
    setTimeout(() => mine.abort.abort(), mine.runId ? STOP_MS : 0);
  };

  const again = (turn: Turn) => {
    if (current.current || others.current) return;
    setTurns((all) => all.filter((old) => old.key !== turn.key));
    void send(turn.asked);
  };

  /** Leaves what is on screen; a run in flight goes on by itself on the device. */
  const leave = (id: string) => {
    // Back here before it is over, the page follows it from outside.
    if (current.current) known.current.delete(current.current.runId);
    clearTimeout(later.current);
    loads.current++;
    settle(null);
    follow(null);
    goTo(id);
    setNote('');
    setTurns([]);
    setLoading(id !== '');
    if (id) void load(id);
  };

  return {
    turns, conversationId, loading, busy: run !== null || other !== null, sending: run !== null, draft, note, heard, setDraft,
    send: (message) => void send(message), stop, again, fresh: () => leave(''), open: leave,
  };
}
