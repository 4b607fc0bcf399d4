// A program's output as it comes: drawn by a screen of our own, kept at its end unless somebody scrolls up.
import type { JSX } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Refused } from '../api';
import { deviceAway } from '../away';
import { Down } from '../icons';
import { useLive } from '../live';
import { processes as words } from '../text/processes';
import * as api from './api';
import { OutputLines } from './output';
import { Screen, type Run } from './screen';

/** How many lines the page draws; more are still above it on the screen. */
const DRAWN = 1500;
/** The size of a screen that nobody can see now. */
const [COLUMNS, ROWS] = [100, 30];
/** A program without a terminal has lines as long as it likes. */
const LONG = 400;

interface Props {
  process: api.Process;
  /** This person may tell it how large its terminal is. */
  mine: boolean;
  onStatus: (process: api.Process) => void;
}

/** The columns and rows that fit the box. */
function fitting(box: HTMLElement): [columns: number, rows: number] {
  const probe = document.createElement('span');
  probe.textContent = '0'.repeat(50);
  probe.className = 'probe';
  box.append(probe);
  const { width, height } = probe.getBoundingClientRect();
  probe.remove();
  const style = getComputedStyle(box);
  const inner = box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  if (!width || !height) return [COLUMNS, ROWS];
  return [Math.max(20, Math.min(200, Math.floor(inner / (width / 50)))), Math.max(10, Math.min(60, Math.floor(box.clientHeight / height) - 1))];
}

export function Terminal({ process, mine, onStatus }: Props): JSX.Element {
  const { id, terminal } = process;
  const running = process.status === 'running';
  const box = useRef<HTMLPreElement>(null);
  const screen = useRef<Screen>(undefined);
  const next = useRef(0);
  const reading = useRef<Promise<void> | null>(null);
  const stuck = useRef(true);
  const [lines, setLines] = useState<Run[][] | null>(null);
  const [cut, setCut] = useState(false);
  const [away, setAway] = useState(false);
  const frame = useRef(0);
  const offline = deviceAway.value;

  const draw = useCallback(() => {
    if (frame.current) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      setLines(screen.current?.shown().slice(-DRAWN) ?? []);
      if (screen.current?.dropped) setCut(true);
    });
  }, []);
  const write = (part: api.Part) => {
    next.current = part.next;
    // Without a terminal in between, a line end does not say that the next line begins at the left.
    screen.current?.write(terminal ? part.text : part.text.replace(/\r?\n/g, '\r\n'));
    draw();
  };
  /** Reads what is missing, part by part. */
  const read = useCallback((): Promise<void> => (reading.current ??= (async () => {
    try {
      for (;;) {
        const before = next.current;
        const { output: text, from, next: after, ...now } = await api.process(id, before);
        if (from > before) setCut(true);
        write({ text, from, next: after });
        onStatus(now);
        if (!text || after === before) return;
      }
    } catch (cause) {
      if (!(cause instanceof Refused)) return;
    } finally {
      reading.current = null;
    }
  })()), [id]);

  useLayoutEffect(() => {
    screen.current = terminal ? new Screen(COLUMNS, ROWS) : new Screen(LONG, ROWS);
    if (!terminal || !running || !box.current) return;
    const fit = () => {
      if (!box.current) return;
      const [columns, rows] = fitting(box.current);
      screen.current?.resize(columns, rows);
      if (mine) void api.resize(id, columns, rows).catch(() => undefined);
    };
    fit();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const watch = new ResizeObserver(() => {
      clearTimeout(timer);
      timer = setTimeout(fit, 250);
    });
    watch.observe(box.current);
    return () => {
      clearTimeout(timer);
      watch.disconnect();
    };
  }, []);
  useEffect(() => {
    if (!offline) void read();
  }, [offline]);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  useLive(['process:output', 'process:ended'], ({ topic, data }) => {
    if (topic === 'resync' || (topic === 'process:ended' && data['id'] === id)) return void read();
    if (data['id'] !== id) return;
    const part = data as unknown as api.Part;
    if (typeof part.text === 'string' && part.from === next.current && !reading.current) write(part);
    else void read();
  });
  useLayoutEffect(() => {
    const it = box.current;
    if (it && stuck.current) it.scrollTop = it.scrollHeight;
  }, [lines]);

  const onScroll = () => {
    const it = box.current;
    if (!it) return;
    stuck.current = it.scrollHeight - it.scrollTop - it.clientHeight < 24;
    setAway(!stuck.current);
  };
  const follow = () => {
    stuck.current = true;
    setAway(false);
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  };
  return (
    <div class="terminal-box">
      {cut && <p class="soft small">{words.cut}</p>}
      <pre class={terminal ? 'terminal' : 'terminal plain'} ref={box} tabIndex={0} role="log" aria-live="off" aria-label={words.output} onScroll={onScroll}>
        {lines?.length ? <OutputLines lines={lines} /> : <span class="soft">{lines ? (running ? words.noOutput : words.printedNothing) : words.loading}</span>}
      </pre>
      {away && <button type="button" class="bare terminal-follow" aria-label={words.follow} title={words.follow} onClick={follow}><Down /></button>}
    </div>
  );
}
