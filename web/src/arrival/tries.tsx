// The last card of the set-up: three things to try that work on this device.
import type { JSX } from 'preact';
import type { Session } from '../api';
import { Chevron } from '../icons';
import { draft } from '../storage';
import { arrival } from '../text/arrival';

const words = arrival.tries;

interface Props {
  session: Session;
  /** Whether a step was passed over. */
  leftOver: boolean;
  onLeave: () => void;
  onBack: () => void;
}

export function Tries({ session, leftOver, onLeave, onBack }: Props): JSX.Element {
  const all = session.model === 'reflex' ? arrival.plain : arrival.withModel;
  return (
    <>
      <ul class="tries">
        {all.map(({ say, why }) => (
          <li key={say}>
            <button
              type="button"
              onClick={() => {
                // Talk begins with the draft.
                draft.set(say);
                onLeave();
              }}
            >
              <span><b>{say}</b> <small>{why}</small></span>
              <Chevron />
            </button>
          </li>
        ))}
      </ul>
      {leftOver && <p class="soft small">{words.leftOver}</p>}
      <div class="ways">
        <button type="button" class="main" onClick={onLeave}>{words.go}</button>
        <button type="button" class="quiet back" onClick={onBack}>{arrival.back}</button>
      </div>
    </>
  );
}
