// The card of a thing: what it is and how it is, and what one does with it most.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Confirm, Notice } from '../../form';
import { things as words } from '../../text/things';
import { Fresh } from '../../icons';
import { CloseIcon, Dots, Minus, NextIcon, OpenIcon, PauseIcon, PlayIcon, StopIcon, ThingIcon } from './icons';
import { control, known, shown } from './store';
import { asksFirst, can, isSwitched, isThere, stateWords, type Command, type Thing } from './thing';

interface CardProps {
  address: string;
  writer: boolean;
  /** Opens its details. */
  onOpen: (address: string) => void;
}

/** Asks first where somebody would be let in. */
export function useCommand(thing: Thing): { asked: Command | null; run: (command: Command) => void; answer: (yes: boolean) => void } {
  const [asked, setAsked] = useState<Command | null>(null);
  return {
    asked,
    run: (command) => {
      if (asksFirst(thing, command)) setAsked(command);
      else void control(thing.address, command);
    },
    answer: (yes) => {
      if (yes && asked) void control(thing.address, asked);
      setAsked(null);
      // The button that asked has gone meanwhile: its successor takes the focus.
      const place = document.querySelector('dialog[open]') ?? document.querySelector(`[data-thing="${CSS.escape(thing.address)}"]`);
      requestAnimationFrame(() => place?.querySelector<HTMLElement>('.does, .thing-face[role], [type="checkbox"]')?.focus({ preventScroll: true }));
    },
  };
}

/** The question before something opens. */
export function Asking({ thing, command, onAnswer }: { thing: Thing; command: Command; onAnswer: (yes: boolean) => void }): JSX.Element {
  const ask = words.asks[command.action] ?? words.asks['other']!;
  return <Confirm title={ask(thing.name)} yes={words.yes[command.action] ?? words.yes['open']!} no={words.no} onYes={() => onAnswer(true)} onNo={() => onAnswer(false)} />;
}

export function Card({ address, writer, onOpen }: CardProps): JSX.Element | null {
  const it = known(address);
  if (!it) return null;
  const thing = shown(it);
  const there = isThere(thing);
  const switched = writer && there && isSwitched(thing);
  const { asked, run, answer } = useCommand(thing);
  const state = stateWords(thing);
  const live = thing.state.active === true && thing.kind !== 'sensor';
  const look = ['thing', `kind-${thing.kind}`, live && 'alive', !there && 'lost', thing.state.value === 'triggered' && 'alarmed'].filter(Boolean).join(' ');
  const face = (
    <>
      <span class="thing-icon"><ThingIcon thing={thing} /></span>
      <span class="thing-name">{thing.name}</span>
      {state && <span class={thing.kind === 'sensor' ? 'thing-state reading' : 'thing-state'}>{state}</span>}
    </>
  );
  const busy = it.busy.value || undefined;
  return (
    <li class={asked ? `${look} asking` : look} data-thing={address}>
      {switched
        ? (
          <button
            type="button" role="switch" class="thing-face" aria-checked={thing.state.active === true} aria-label={thing.name} aria-busy={busy}
            onClick={() => run({ action: thing.state.active ? (can(thing, 'turn_off') ? 'turn_off' : 'toggle') : can(thing, 'turn_on') ? 'turn_on' : 'toggle' })}
          >
            {face}
          </button>
        )
        : <div class="thing-face" aria-busy={busy}>{face}</div>}
      <button type="button" class="bare thing-more" aria-label={words.details(thing.name)} aria-haspopup="dialog" onClick={() => onOpen(address)}><Dots /></button>
      {asked ? <Asking thing={thing} command={asked} onAnswer={answer} /> : writer && there && <Controls thing={thing} run={run} />}
      {it.problem.value && <Notice bad>{it.problem.value}</Notice>}
    </li>
  );
}

interface ControlsProps {
  thing: Thing;
  run: (command: Command) => void;
}

/** What is done with it most, by its kind. */
export function Controls({ thing, run }: ControlsProps): JSX.Element | null {
  const { kind, state } = thing;
  const does = (label: string, command: Command, Icon?: () => JSX.Element, main = false) => (
    <button key={label} type="button" class={main ? 'does chief' : 'does'} aria-label={words.of(label, thing.name)} title={Icon && label} onClick={() => run(command)}>{Icon ? <Icon /> : label}</button>
  );
  const playing = state.value === 'playing';
  switch (kind) {
    case 'light': return can(thing, 'set_level') && state.active ? <Level thing={thing} label={words.brightness} run={run} /> : null;
    case 'fan': return can(thing, 'set_level') && state.active ? <Level thing={thing} label={words.speed} run={run} /> : null;
    case 'cover': return (
      <>
        <p class="thing-does">
          {can(thing, 'open') && does(words.open, { action: 'open' }, OpenIcon)}
          {can(thing, 'stop') && does(words.stop, { action: 'stop' }, StopIcon)}
          {can(thing, 'close') && does(words.close, { action: 'close' }, CloseIcon)}
        </p>
        {can(thing, 'set_level') && <Level thing={thing} label={words.position} run={run} />}
      </>
    );
    case 'climate': return can(thing, 'set_temperature') || can(thing, 'set_mode') ? <Climate thing={thing} run={run} /> : null;
    case 'media': return (
      <>
        <p class="thing-does">
          {can(thing, 'play', 'pause') && does(playing ? words.pause : words.play, { action: playing ? 'pause' : 'play' }, playing ? PauseIcon : PlayIcon)}
          {can(thing, 'next') && does(words.next, { action: 'next' }, NextIcon)}
          {!can(thing, 'play', 'pause') && can(thing, 'turn_on', 'turn_off') && does(state.active ? words.yes['turn_off']! : words.yes['turn_on']!, { action: state.active ? 'turn_off' : 'turn_on' })}
        </p>
        {can(thing, 'set_level') && state.level !== undefined && <Level thing={thing} label={words.volume} run={run} />}
      </>
    );
    case 'lock': return (
      <p class="thing-does">
        {state.active === false || state.value === 'locked' ? can(thing, 'unlock') && does(words.unlock, { action: 'unlock' }) : can(thing, 'lock') && does(words.lock, { action: 'lock' }, undefined, true)}
      </p>
    );
    case 'alarm': {
      const armed = state.value !== 'disarmed' && state.value !== 'off';
      return <p class="thing-does">{armed ? can(thing, 'disarm') && does(words.disarm, { action: 'disarm' }) : can(thing, 'arm') && does(words.arm, { action: 'arm' })}</p>;
    }
    case 'vacuum': return (
      <p class="thing-does">
        {state.active ? can(thing, 'stop', 'turn_off', 'pause') && does(words.stop, { action: can(thing, 'stop') ? 'stop' : can(thing, 'pause') ? 'pause' : 'turn_off' }, StopIcon) : can(thing, 'turn_on') && does(words.start, { action: 'turn_on' }, PlayIcon)}
        {can(thing, 'return') && does(words.toBase, { action: 'return' })}
      </p>
    );
    case 'scene': return can(thing, 'activate', 'turn_on') ? <Press thing={thing} run={run} /> : null;
    default: return null;
  }
}

/** A scene or button: it says that it was pressed. */
function Press({ thing, run }: ControlsProps): JSX.Element {
  const [pressed, setPressed] = useState(false);
  useEffect(() => {
    if (!pressed) return;
    const timer = setTimeout(() => setPressed(false), 2000);
    return () => clearTimeout(timer);
  }, [pressed]);
  const failed = known(thing.address)?.problem.value;
  return (
    <p class="thing-does">
      <button type="button" class="does" aria-label={words.of(words.press, thing.name)} onClick={() => (setPressed(true), run({ action: can(thing, 'activate') ? 'activate' : 'turn_on' }))}>
        {pressed && !failed ? words.pressed : words.press}
      </button>
    </p>
  );
}

/** A slider, which moves under the finger and is sent when it is let go. */
export function Level({ thing, label, run }: ControlsProps & { label: string }): JSX.Element {
  const [held, setHeld] = useState<number | null>(null);
  const level = held ?? thing.state.level ?? (thing.state.active ? 100 : 0);
  return (
    <label class="thing-level" style={{ '--level': `${level}%` }}>
      <span class="unseen">{words.of(label, thing.name)}</span>
      <input
        type="range" min={0} max={100} step={1} value={level} aria-valuetext={words.percent(level)}
        onInput={(event) => setHeld(Number(event.currentTarget.value))}
        onChange={(event) => {
          run({ action: 'set_level', level: Number(event.currentTarget.value) });
          setHeld(null);
        }}
      />
    </label>
  );
}

/** Taps rest this long before they are sent: four taps are one command. */
const REST_MS = 700;

function Climate({ thing, run }: ControlsProps): JSX.Element {
  const { state } = thing;
  const [wanted, setWanted] = useState<number | null>(null);
  const newest = useRef(run);
  newest.current = run;
  useEffect(() => {
    if (wanted === null) return;
    const timer = setTimeout(() => {
      newest.current({ action: 'set_temperature', temperature: wanted });
      setWanted(null);
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [wanted]);
  const target = wanted ?? state.target;
  const step = state.unit?.includes('F') ? 1 : 0.5;
  const by = (n: number) => setWanted(Math.round(((target ?? state.temperature ?? 20) + n) * 2) / 2);
  return (
    <>
      {can(thing, 'set_temperature') && (
        <p class="thing-target" role="group" aria-label={words.of(words.target, thing.name)}>
          <button type="button" class="does" aria-label={words.of(words.cooler, thing.name)} onClick={() => by(-step)}><Minus /></button>
          <output aria-live="polite">{target === undefined ? '–' : words.degrees(target, state.unit)}</output>
          <button type="button" class="does" aria-label={words.of(words.warmer, thing.name)} onClick={() => by(step)}><Fresh /></button>
        </p>
      )}
      {can(thing, 'set_mode') && <Mode thing={thing} run={run} />}
    </>
  );
}

function Mode({ thing, run }: ControlsProps): JSX.Element {
  const now = thing.state.value;
  const modes = Object.keys(words.modes);
  const all = modes.includes(now) || now === 'unknown' ? modes : [now, ...modes];
  return (
    <select class="thing-mode" aria-label={words.of(words.mode, thing.name)} value={now} onChange={(event) => run({ action: 'set_mode', text: event.currentTarget.value })}>
      {all.map((mode) => <option key={mode} value={mode}>{words.modes[mode] ?? words.word(mode)}</option>)}
    </select>
  );
}
