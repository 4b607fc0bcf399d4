// Where timers are shown: above the composer, and over other rooms when one rings; in Today they are a part of the day.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import { deviceAway } from '../away';
import { Chevron } from '../icons';
import { holdLine, useLive } from '../live';
import { timers as words } from '../text/timers';
import { notify, sound, takeBack } from './alarm';
import { TimerRow } from './row';
import { clock, hearTimer, inCards, leftMs, readTimers, ringing, tick, timers, type Timer } from './state';

const TICK_MS = 250;

function Rows({ of, small }: { of: Timer[]; small?: boolean }): JSX.Element {
  return <ul aria-label={words.label}>{of.map((one) => <li key={one.id}><TimerRow timer={one} small={small ?? false} /></li>)}</ul>;
}

/** The timers above the composer, but for those that a card on screen shows; several that only run are one line that opens. */
export function TalkTimers(): JSX.Element | null {
  const all = timers.value.filter(({ id }) => !inCards.value.has(id));
  const [open, setOpen] = useState(false);
  if (!all.length) return null;
  const loud = all.filter(({ state }) => state === 'ringing');
  const quiet = all.filter(({ state }) => state !== 'ringing').sort((a, b) => leftMs(a) - leftMs(b));
  const folds = quiet.length > 1;
  const next = quiet.find(({ state }) => state === 'running') ?? quiet[0];
  return (
    <div class="timers strip">
      {folds && (
        <button type="button" class="timers-fold" aria-expanded={open} onClick={() => setOpen(!open)}>
          <b>{words.count(quiet.length)}</b>
          <span>{!open && next && (next.name || next.title)}</span>
          {!open && next && <span class="timer-left">{clock(leftMs(next))}</span>}
          <Chevron />
        </button>
      )}
      <Rows of={folds && !open ? loud : [...loud, ...quiet]} small />
    </div>
  );
}

/** Listens for timers, rings, and shows those that ring over rooms that show none (`shownThere`). */
export function TimerWatch({ shownThere }: { shownThere: boolean }): JSX.Element {
  const said = useSignal('');
  const heard = useRef(new Set<string>());
  const away = deviceAway.value;
  const all = timers.value;
  const loud = ringing.value;

  useEffect(() => {
    if (!away) void readTimers();
  }, [away]);
  useLive(['timer'], ({ topic, data }) => (topic === 'resync' ? void readTimers() : hearTimer(data)));

  const runs = all.some(({ state }) => state === 'running');
  useEffect(() => {
    holdLine(all.length > 0);
    if (!runs) return;
    const beat = setInterval(() => void tick(), TICK_MS);
    return () => clearInterval(beat);
  }, [runs, all.length > 0]);

  useEffect(() => {
    sound(loud.length > 0);
    const fresh = loud.filter(({ id }) => !heard.current.has(id));
    for (const id of heard.current) if (!loud.some((one) => one.id === id)) takeBack(id);
    heard.current = new Set(loud.map(({ id }) => id));
    fresh.forEach(notify);
    if (fresh.length) said.value = fresh.map(({ title }) => words.done(title)).join('. ');
    else if (!loud.length) said.value = '';
  }, [loud]);
  useEffect(() => () => sound(false), []);

  return (
    <>
      {said.value && <p class="unseen" role="alert">{said.value}</p>}
      {!shownThere && loud.length > 0 && <aside class="timers over" aria-label={words.label}><Rows of={loud} small /></aside>}
    </>
  );
}
