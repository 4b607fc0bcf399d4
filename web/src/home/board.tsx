// The header as a drawing seen from above: lit where a pin is high, switched with a tap.
import type { JSX, TargetedKeyboardEvent } from 'preact';
import type { Level } from '../results';
import { text } from '../text';
import { pins as pinWords } from '../text/pins';
import { HEADER, type Place } from './header';
import type { PinMap } from './pin-map';
import type { BoardState } from './use-board';

/** Four states: on or off, driven or only read. */
function look(level: Level | undefined): string {
  if (!level) return 'held';
  return `${level.high ? 'high' : 'low'}${level.driven ? ' driven' : ''}`;
}

function label(place: Place, level: Level | undefined, warned: boolean): string {
  const words = [text.home.pin(place.pin ?? 0), text.home.physical(place.physical)];
  if (level?.name) words.push(level.name);
  if (!level) return [...words, text.home.held].join(', ');
  words.push(level.high ? text.home.on : text.home.off);
  if (!level.driven) words.push(text.home.read);
  if (place.bus) words.push(text.home.buses[place.bus].long);
  if (warned) words.push(pinWords.warned);
  return words.join(', ');
}

/** Arrow keys move over the header and skip fixed pins. */
function onKeyDown(event: TargetedKeyboardEvent<HTMLElement>): void {
  const step = { ArrowUp: -2, ArrowDown: 2, ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const from = Number((event.target as HTMLElement).dataset['physical']);
  if (!step || !from || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  if (Math.abs(step) === 1 && (step === 1) !== (from % 2 === 1)) return;
  for (let at = from + step; at >= 1 && at <= 40; at += step) {
    const pin = event.currentTarget.querySelector<HTMLElement>(`[data-physical="${at}"]`);
    if (pin) return pin.focus();
    if (Math.abs(step) === 1) return;
  }
}

/** The style sheet draws the number: the pin's label has it already. */
function Pad({ place }: { place: Place }): JSX.Element {
  return <span class={`pad${place.physical === 1 ? ' first' : ''}`} data-words={place.physical} />;
}

interface BoardProps {
  state: BoardState;
  map: PinMap;
  /** A tap sets a pin up instead of switching it. */
  onSetUp?: ((pin: number) => void) | undefined;
}

function Spot({ place, state, map, onSetUp }: BoardProps & { place: Place }): JSX.Element {
  if (place.fixed !== undefined || place.pin === undefined) {
    return (
      <span class={`spot fixed ${place.fixed === 'GND' ? 'ground' : 'power'}`}>
        <span class="name">{text.home.fixed[place.fixed ?? 'GND']}</span>
        <Pad place={place} />
      </span>
    );
  }
  const { pin } = place;
  const level = state.board?.levels.get(pin);
  const warned = level?.name !== undefined && (map.pins.get(pin)?.warnings?.length ?? 0) > 0;
  return (
    <button
      type="button"
      class={`spot ${look(level)}`}
      data-physical={place.physical}
      data-pin={pin}
      aria-label={label(place, level, warned)}
      aria-pressed={onSetUp ? undefined : (level?.high ?? false)}
      aria-haspopup={onSetUp ? 'dialog' : undefined}
      aria-disabled={level || onSetUp ? undefined : true}
      aria-busy={state.busy.has(pin) || undefined}
      onClick={() => (onSetUp ? onSetUp(pin) : state.toggle(pin))}
    >
      <span class="name">
        {text.home.pin(pin)}
        {warned && <small class="warned" data-words="!" />}
        {place.bus && <small data-words={text.home.buses[place.bus].short} />}
      </span>
      <Pad place={place} />
    </button>
  );
}

export function Board(props: BoardProps): JSX.Element {
  return (
    <>
      <div class="board" role="group" aria-label={text.home.header} onKeyDown={onKeyDown}>
        {HEADER.map((place) => <Spot key={place.physical} place={place} {...props} />)}
      </div>
      <ul class="legend" aria-hidden="true">
        <li class="high driven"><span class="pad" />{text.home.legend.on}</li>
        <li class="high"><span class="pad" />{text.home.legend.readsOn}</li>
        <li class="low driven"><span class="pad" />{text.home.legend.off}</li>
        <li class="low"><span class="pad" />{text.home.legend.readsOff}</li>
      </ul>
    </>
  );
}
