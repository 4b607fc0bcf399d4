// The set-up after the claim: four short steps, each of which can be passed over and resumed, and three things to try.
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import * as server from '../api';
import { LoadState, useAction, useRead } from '../device/part';
import { Notice } from '../form';
import { Flame } from '../icons';
import { lazy } from '../lazy';
import { currentPlace, go } from '../rooms';
import { arrival as words } from '../text/arrival';
import './arrival.css';
import * as api from './api';
import { HomeStep } from './home';
import { PeopleStep } from './people';
import { Ways } from './shell';
import { Tries } from './tries';
import { You } from './you';

const WhatAnswers = lazy<{ onDone: () => void }>(() => import('../mind/what-answers').then((part) => part.WhatAnswers));

interface Props {
  session: server.Session;
  /** Reloads the session. */
  onChanged: () => Promise<void>;
}

/** The first step that is neither done nor passed over; after the last, the things to try. */
function firstOpen(steps: api.Arrival['steps']): number {
  const at = steps.findIndex(({ state }) => state === 'open');
  return at < 0 ? steps.length : at;
}

function Steps({ session, onChanged, arrival, onArrival }: Props & { arrival: api.Arrival; onArrival: (fresh: api.Arrival) => void }): JSX.Element {
  const { steps } = arrival;
  const [at, setAt] = useState(() => firstOpen(steps));
  const heading = useRef<HTMLHeadingElement>(null);
  const shown = useRef(at);
  const act = useAction();
  const step = steps[at]?.step;

  useLayoutEffect(() => {
    scrollTo(0, 0);
    // The first step shown leaves the focus where a reader begins.
    if (shown.current !== at) heading.current?.focus({ preventScroll: true });
    shown.current = at;
  }, [at]);

  const leave = () => act.run(async () => {
    await api.changeArrival({ open: false });
    // What was opened from the Device room ends in Talk.
    if (currentPlace.value.room !== 'talk') go('talk');
    await onChanged();
  });
  const settle = (state: api.StepState) => () => void act.run(async () => {
    if (!step) return;
    onArrival(await api.changeArrival({ step, state }));
    setAt(at + 1);
  });
  const common = {
    session,
    onChanged,
    onDone: settle('done'),
    onPass: settle('passed'),
    onBack: at > 0 ? () => setAt(at - 1) : undefined,
  };
  const named = session.person !== 'owner' ? session.person : '';
  const title = step ? words[step].title : named ? words.tries.titleNamed(named) : words.tries.title;
  const why = step ? words[step].why : words.tries.why;

  return (
    <>
      <div class="arrival-top">
        <Flame alive />
        <p class="soft small">{step ? words.stepOf(at + 1, steps.length) : ''}</p>
        <span class="dots" aria-hidden="true">{steps.map((one, n) => <i key={one.step} class={n === at ? 'now' : n < at ? 'past' : ''} />)}</span>
        {step && <button type="button" class="quiet small" aria-disabled={act.busy} onClick={() => void leave()}>{words.later}</button>}
      </div>
      <h1 tabIndex={-1} ref={heading}>{title}</h1>
      <p class="why">{why}</p>
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <div class="arrival-step" key={step ?? 'tries'}>
        {step === 'you' && <You {...common} />}
        {step === 'home' && <HomeStep {...common} settled={steps[at]?.state === 'done'} />}
        {step === 'people' && <PeopleStep {...common} />}
        {step === 'model' && (
          <>
            <WhatAnswers onDone={() => void onChanged().then(common.onDone)} />
            <Ways next="" onPass={common.onPass} onBack={common.onBack} />
          </>
        )}
        {!step && <Tries session={session} leftOver={steps.some(({ state }) => state === 'passed')} onLeave={() => void leave()} onBack={() => setAt(steps.length - 1)} />}
      </div>
    </>
  );
}

export function Arrival({ session, onChanged }: Props): JSX.Element {
  const read = useRead(api.arrival);
  useEffect(() => {
    document.title = words.label;
  }, []);
  return (
    <main class="arrival" aria-label={words.label}>
      <div class="arrival-sheet">
        <LoadState of={read} />
        {read.data && <Steps session={session} onChanged={onChanged} arrival={read.data} onArrival={read.set} />}
      </div>
    </main>
  );
}
