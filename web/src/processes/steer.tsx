// Input for a running program: lines, and the keys a phone does not have.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { useAction } from '../device/part';
import { Notice, TextField } from '../form';
import { processes as words } from '../text/processes';
import * as api from './api';

const KEYS = { enter: '\r', escape: '\x1b', tab: '\t', up: '\x1b[A', down: '\x1b[B', interrupt: '\x03' } as const;
type Key = keyof typeof KEYS;

export function Steer({ process: { id, terminal } }: { process: api.Process }): JSX.Element {
  const [line, setLine] = useState('');
  const before = useRef<string[]>([]);
  const at = useRef(0);
  const act = useAction();
  const send = async () => {
    const typed = line;
    // A terminal's Enter is a carriage return.
    if (!(await act.run(() => api.input(id, `${typed}${terminal ? '\r' : '\n'}`)))) return;
    if (typed) before.current = [...before.current.filter((one) => one !== typed), typed].slice(-50);
    at.current = before.current.length;
    setLine('');
  };
  const press = (key: Key) => void act.run(() => api.input(id, KEYS[key]));
  const recall = (by: number) => {
    at.current = Math.max(0, Math.min(before.current.length, at.current + by));
    setLine(before.current[at.current] ?? '');
  };
  return (
    <form
      class="steer"
      aria-label={words.input}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onKeyDown={(event) => {
        const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
        if (by === undefined || !(event.target instanceof HTMLInputElement) || !before.current.length) return;
        event.preventDefault();
        recall(by);
      }}
    >
      <div class="steer-line">
        <TextField code label={words.input} placeholder={words.inputHint} value={line} onInput={setLine} />
        <button aria-disabled={act.busy}>{words.send}</button>
      </div>
      {terminal ? (
        <div class="steer-keys" role="group" aria-label={words.keys}>
          {(Object.keys(KEYS) as Key[]).map((key) => (
            <button key={key} type="button" aria-label={words.keyNames[key]} aria-disabled={act.busy} onClick={() => press(key)}>{words.key[key]}</button>
          ))}
        </div>
      ) : <button type="button" class="quiet" title={words.endWhy} onClick={() => void act.run(() => api.input(id))}>{words.end}</button>}
      {act.problem && <Notice bad>{act.problem}</Notice>}
    </form>
  );
}
