// The pins of the board: the header as it is, and the names of what is connected to it.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Notice } from '../form';
import { Sentence } from '../sentence';
import { sentence, text } from '../text';
import { pins as words } from '../text/pins';
import { Board } from './board';
import { HEADER } from './header';
import { Opening } from './opening';
import { usePinMap } from './pin-map';
import { PinNames } from './pin-names';
import { PinSheet } from './pin-sheet';
import { useBoard } from './use-board';

/** `wanted`: the pin that the address names, which gets the focus. */
export function Pins({ wanted, writer }: { wanted: string | undefined; writer: boolean }): JSX.Element {
  const state = useBoard();
  const { board, none, problem, elsewhere } = state;
  const map = usePinMap();
  const [settingUp, setSettingUp] = useState(false);
  const [open, setOpen] = useState<number | null>(null);
  const [said, setSaid] = useState('');
  const drawn = board !== null;
  useEffect(() => {
    if (!wanted || !drawn) return;
    const pin = document.querySelector<HTMLElement>(`[data-pin="${CSS.escape(wanted)}"]`);
    pin?.scrollIntoView({ block: 'center' });
    pin?.focus({ preventScroll: true });
  }, [wanted, drawn]);
  const changed = () => {
    state.renew();
    map.renew();
  };
  /** What is known of a pin: its level is newer here than in the map. */
  const detailed = (pin: number) => {
    const level = board?.levels.get(pin);
    return { function: '', physical: HEADER.find((place) => place.pin === pin)?.physical ?? 0, ...map.pins.get(pin), ...(level && { high: level.high, driven: level.driven, ...(level.name && { name: level.name }) }), pin };
  };
  const close = () => {
    const back = open;
    setOpen(null);
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-set-up="${back}"], [data-pin="${back}"]`)?.focus({ preventScroll: true }));
  };
  return (
    <div class="home-parts">
      <section class="pins" aria-labelledby="pins">
        <div class="part-top"><h2 id="pins">{text.home.title}</h2></div>
        {none && <p class="soft"><Sentence words={none} /></p>}
        {board && (
          <>
            <p class="soft small">{board.driver === 'sim' ? text.home.simulated : text.home.invite}</p>
            {writer && map.pins.size > 0 && (
              <div class="chips board-modes" role="group" aria-label={words.modes}>
                <button type="button" class="chip" aria-pressed={!settingUp} onClick={() => setSettingUp(false)}>{words.toSwitch}</button>
                <button type="button" class="chip" aria-pressed={settingUp} onClick={() => setSettingUp(true)}>{words.toSetUp}</button>
              </div>
            )}
            <Opening state={state} />
            <Board state={state} map={map} onSetUp={settingUp ? setOpen : undefined} />
            {board.driver !== 'sim' && <p class="soft small why"><Sentence words={text.home.driver(board.driver, sentence(board.why))} /></p>}
          </>
        )}
        {problem && <div class="told"><Notice bad>{problem}</Notice></div>}
        <p class="unseen" aria-live="polite">{elsewhere && text.home.changed(elsewhere.pin, elsewhere.high)}</p>
      </section>
      {board && <PinNames levels={[...board.levels.values()]} map={map} writer={writer} onChanged={state.renew} onSetUp={setOpen} />}
      <p class="unseen" role="status">{said}</p>
      {open !== null && <PinSheet key={open} pin={detailed(open)} writer={writer} onClose={close} onChanged={(what) => (setSaid(what), changed())} />}
    </div>
  );
}
