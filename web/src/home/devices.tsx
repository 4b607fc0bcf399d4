// The named pins as cards: what is switched has a switch, a sensor its reading.
import type { JSX } from 'preact';
import { Notice } from '../form';
import type { Level } from '../results';
import { href } from '../rooms';
import { today as words } from '../text/today';
import { Opening } from './opening';
import { Nothing, Part } from './part';
import { useBoard, type BoardState } from './use-board';

export type Named = Level & { name: string };

const isNamed = (level: Level): level is Named => !!level.name;

function Card({ level, busy, writer, onToggle }: { level: Named; busy: boolean; writer: boolean; onToggle: () => void }): JSX.Element {
  const state = level.high ? words.on : words.off;
  const inside = (
    <>
      <span class="device-light" aria-hidden="true" />
      <span class="device-name">{level.name}</span>
      <span class="device-state" aria-hidden={level.sensor || !writer ? undefined : true}>{state}</span>
    </>
  );
  const look = `appliance${level.high ? ' high' : ''}`;
  if (level.sensor || !writer) return <li class={look} data-pin={level.pin}>{inside}</li>;
  return (
    <li>
      <button type="button" role="switch" class={look} data-pin={level.pin} aria-checked={level.high} aria-label={level.name} aria-busy={busy || undefined} onClick={onToggle}>
        {inside}
      </button>
    </li>
  );
}

/** The board, and its named pins by name. */
export function useDevices(): { state: BoardState; named: Named[] } {
  // Sensors are watched by the device, which says when one changes.
  const state = useBoard(false);
  const named = [...(state.board?.levels.values() ?? [])].filter(isNamed).sort((a, b) => a.name.localeCompare(b.name));
  return { state, named };
}

interface Props {
  state: BoardState;
  named: Named[];
  writer: boolean;
  onSay: (words: string) => void;
}

/** The cards of a board; nothing where there is no board. */
export function Devices({ state, named, writer, onSay }: Props): JSX.Element | null {
  if (!state.board) return null;
  return (
    <Part name="devices" title={words.devices} link={named.length ? { to: href('home', 'devices'), words: words.allDevices } : { to: href('home', 'pins'), words: words.pins }}>
      <Opening state={state} />
      {named.length
        ? <ul class="devices">{named.map((level) => <Card key={level.pin} level={level} busy={state.busy.has(level.pin)} writer={writer} onToggle={() => state.toggle(level.pin)} />)}</ul>
        : <Nothing why={words.nothingDevices} idea={words.deviceIdea} onSay={onSay} />}
      {state.problem && <Notice bad>{state.problem}</Notice>}
      <p class="unseen" aria-live="polite">{said(state)}</p>
    </Part>
  );
}

/** The last change made elsewhere, if it is of a named pin. */
function said({ elsewhere, board }: BoardState): string {
  const name = elsewhere && board?.levels.get(elsewhere.pin)?.name;
  return elsewhere && name ? words.switched(name, elsewhere.high) : '';
}
