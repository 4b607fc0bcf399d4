// The pin levels: read once, updated by events, switched by a tool.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { deviceAway } from '../away';
import { useLive } from '../live';
import type { Level } from '../results';
import { sentence, trouble } from '../text';

export interface BoardState {
  /** null until the device has answered. */
  board: { driver: string; why: string; levels: Map<number, Level> } | null;
  /** Why there are no pins, as the device words it. */
  none: string;
  /** Why the last switch failed. */
  problem: string;
  /** Pins being switched. */
  busy: ReadonlySet<number>;
  /** The last change made elsewhere. */
  elsewhere: Level | null;
  /** The switch that waits for a yes, because it opens something. */
  asked: { pin: number; high: boolean; name: string } | null;
  toggle: (pin: number) => void;
  answer: (yes: boolean) => void;
  renew: () => void;
}

/** An event does not say who drives the pin: the list is reloaded, once per burst. */
const SETTLE_MS = 400;
/** Inputs without a name send no events: they are polled at this interval while the page is visible. */
const LOOK_MS = 5000;

/** `whole`: also of the pins that nobody named, and that Hob does not drive. */
export function useBoard(whole = true): BoardState {
  const [board, setBoard] = useState<BoardState['board']>(null);
  const [none, setNone] = useState('');
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState<ReadonlySet<number>>(new Set());
  const [elsewhere, setElsewhere] = useState<Level | null>(null);
  const [asked, setAsked] = useState<BoardState['asked']>(null);
  const away = deviceAway.value;
  const soon = useRef<ReturnType<typeof setTimeout>>(undefined);
  const going = useRef(new Set<number>());
  const reads = useRef(0);

  const put = (level: Level) =>
    setBoard((old) => old && { ...old, levels: new Map(old.levels).set(level.pin, level) });

  const read = useCallback(async () => {
    clearTimeout(soon.current);
    const turn = ++reads.current;
    try {
      const { result } = await api.execute('gpio_list');
      if (turn !== reads.current) return;
      setBoard({ driver: result.driver, why: result.why, levels: new Map(result.pins.map((level) => [level.pin, level])) });
      setNone('');
    } catch (cause) {
      if (!(cause instanceof api.Refused) || turn !== reads.current) return; // Read again when Hob is back.
      setBoard(null);
      setNone(sentence(cause.message));
    }
  }, []);

  const readSoon = () => {
    clearTimeout(soon.current);
    soon.current = setTimeout(() => void read(), SETTLE_MS);
  };

  useEffect(() => {
    if (!away) void read();
    return () => clearTimeout(soon.current);
  }, [away, read]);

  const real = whole && board !== null && board.driver !== 'sim';
  useEffect(() => {
    if (!real || away) return;
    const timer = setInterval(() => !document.hidden && void read(), LOOK_MS);
    return () => clearInterval(timer);
  }, [real, away, read]);

  useLive(['pin:changed', 'pin-names:changed'], ({ topic, data }) => {
    if (topic === 'resync') return void read();
    if (topic === 'pin-names:changed') return readSoon();
    const pin = Number(data['pin']);
    const high = data['high'] === true;
    reads.current++; // An answer under way is older than this.
    setBoard((old) => {
      const known = old?.levels.get(pin);
      return old && { ...old, levels: new Map(old.levels).set(pin, { driven: false, ...known, pin, high }) };
    });
    if (!going.current.has(pin)) setElsewhere({ pin, high, driven: false });
    readSoon();
  });

  const mark = (pin: number, on: boolean) => {
    if (on) going.current.add(pin);
    else going.current.delete(pin);
    setBusy(new Set(going.current));
  };

  const toggle = (pin: number) => {
    const level = board?.levels.get(pin);
    if (!level || going.current.has(pin)) return;
    const high = !level.high;
    if (level.opensAt === high) setAsked({ pin, high, name: level.name ?? '' });
    else void write(pin, high);
  };

  const answer = (yes: boolean) => {
    setAsked(null);
    if (!asked) return;
    if (yes) void write(asked.pin, asked.high);
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-pin="${asked.pin}"]`)?.focus({ preventScroll: true }));
  };

  const write = async (pin: number, high: boolean) => {
    mark(pin, true);
    setProblem('');
    try {
      put((await api.execute('gpio_write', { pin, high })).result);
    } catch (cause) {
      setProblem(cause instanceof api.Refused ? sentence(cause.message) : trouble(cause));
    } finally {
      mark(pin, false);
    }
  };

  return { board, none, problem, busy, elsewhere, asked, toggle, answer, renew: () => void read() };
}
