// What the steps of the set-up share: their props, and the buttons under them.
import type { JSX } from 'preact';
import type { Session } from '../api';
import { arrival as words } from '../text/arrival';

export interface StepProps {
  session: Session;
  onDone: () => void;
  /** Leaves the step for later. */
  onPass: () => void;
  /** Goes to the step before; none at the first. */
  onBack: (() => void) | undefined;
  /** Reloads the session. */
  onChanged: () => Promise<void>;
}

interface WaysProps extends Pick<StepProps, 'onPass' | 'onBack'> {
  busy?: boolean;
  /** The words of the main button; '' where the step has its own. */
  next?: string;
  /** Where the main button is no submit button of a form. */
  onNext?: () => void;
}

/** On, over, and back. */
export function Ways({ busy = false, next = words.next, onNext, onPass, onBack }: WaysProps): JSX.Element {
  return (
    <div class="ways">
      {next && <button class="main" type={onNext ? 'button' : 'submit'} aria-disabled={busy} onClick={onNext}>{busy ? words.saving : next}</button>}
      <button type="button" class="quiet" onClick={onPass}>{words.pass}</button>
      {onBack && <button type="button" class="quiet back" onClick={onBack}>{words.back}</button>}
    </div>
  );
}
