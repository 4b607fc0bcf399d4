// One timer: its name, the time that is left, and what can be done with it.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { timeOf } from '../clock';
import { Close, Pause, Play } from '../icons';
import { timers as words } from '../text/timers';
import { act, clock, leftMs, type Timer } from './state';
import './timers.css';

const MINUTE = 'PT1M';

const capital = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);

export function TimerRow({ timer, small }: { timer: Timer; small?: boolean }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const { state, title, name } = timer;
  const left = leftMs(timer);
  const part = timer.durationSeconds ? Math.min(1, Math.max(0, left / 1000 / timer.durationSeconds)) : 0;
  const run = (tool: string, more?: object) => async () => {
    if (busy) return;
    setBusy(true);
    try {
      await act(tool, timer, more);
    } finally {
      setBusy(false);
    }
    // A button that has gone leaves the focus in the room.
    requestAnimationFrame(() => {
      if (document.activeElement && document.activeElement !== document.body) return;
      document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
    });
  };
  return (
    <div class={`timer ${state}${small ? ' small' : ''}`} data-timer={timer.id}>
      <p class="timer-words">
        <span class="timer-name">{name ? capital(name) : title}</span>
        {state === 'ringing'
          ? <b class="timer-done">{words.ringing}</b>
          : <b class="timer-left" role="timer" aria-label={words.left(title)}>{clock(left)}</b>}
        {state === 'paused' && <span class="mark">{words.paused}</span>}
        {timer.late && <span class="timer-late">{words.late(timer.endsAt ? timeOf(timer.endsAt) : '')}</span>}
      </p>
      <p class="timer-buttons">
        {state === 'ringing' ? (
          <>
            <button type="button" aria-disabled={busy} aria-label={words.snoozeOne(title)} onClick={run('snooze_timer')}>{words.snooze}</button>
            <button type="button" class="go" aria-disabled={busy} aria-label={words.stopOne(title)} onClick={run('stop_timer')}>{words.stop}</button>
          </>
        ) : (
          <>
            {!small && <button type="button" class="quiet" aria-disabled={busy} aria-label={words.minuteOne(title)} onClick={run('adjust_timer', { duration: MINUTE })}>{words.minute}</button>}
            {state === 'running'
              ? <button type="button" class="bare" aria-disabled={busy} aria-label={words.pause(title)} title={words.pause(title)} onClick={run('pause_timer')}><Pause /></button>
              : <button type="button" class="bare" aria-disabled={busy} aria-label={words.resume(title)} title={words.resume(title)} onClick={run('resume_timer')}><Play /></button>}
            <button type="button" class="bare" aria-disabled={busy} aria-label={words.cancel(title)} title={words.cancel(title)} onClick={run('cancel_timer')}><Close /></button>
          </>
        )}
      </p>
      <span class="timer-part" style={{ transform: `scaleX(${part})` }} />
    </div>
  );
}
