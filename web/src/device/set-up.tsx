// The set-up after the claim, to go through again or to continue.
import type { JSX } from 'preact';
import * as api from '../arrival/api';
import { Notice } from '../form';
import { arrival } from '../text/arrival';
import { LoadState, Part, useAction, useHouse, useRead } from './part';

const words = arrival.part;

function Steps(): JSX.Element {
  const { onChanged } = useHouse();
  const read = useRead(api.arrival);
  const act = useAction();
  const steps = read.data?.steps ?? [];
  const left = steps.filter(({ state }) => state !== 'done');
  const open = () => void act.run(async () => {
    // What was passed over comes again; when nothing was, everything does.
    for (const { step, state } of left.length ? left : steps) if (state !== 'open') await api.changeArrival({ step, state: 'open' });
    await api.changeArrival({ open: true });
    onChanged();
  });
  return (
    <Part id="arrival" title={words.title} why={words.why}>
      <LoadState of={read} />
      {steps.length > 0 && (
        <dl class="facts-list">
          {steps.map(({ step, state }) => <div key={step}><dt>{words.steps[step]}</dt><dd>{words.states[state]}</dd></div>)}
        </dl>
      )}
      {act.problem && <Notice bad>{act.problem}</Notice>}
      {read.data && <div class="buttons"><button type="button" aria-disabled={act.busy} onClick={open}>{left.length ? words.resume : words.open}</button></div>}
    </Part>
  );
}

/** Only for the owner, whose set-up it is. */
export function SetUp(): JSX.Element | null {
  return useHouse().session.owner ? <Steps /> : null;
}
