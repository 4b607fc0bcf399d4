// What answers: a service with a key, a model server at home, or this device alone. Each is tested before it is used.
import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { chooseModel, model as readModel, type ModelInUse } from '../api';
import { LoadState, useAction, useRead } from '../device/part';
import { Buttons, Notice, SelectField } from '../form';
import { answers as words } from '../text/answers';
import * as api from './api';
import { KeyEntry } from './key-entry';
import { about, useKnownModels } from './known-models';
import { ServerFinder } from './server-finder';
import './what-answers.css';

type Way = 'key' | 'server' | 'device';
const WAYS: Way[] = ['key', 'server', 'device'];

interface Used {
  provider: api.Provider;
  model: string;
  models: string[];
}

/** "anthropic/claude-haiku-5-5" is claude-haiku-5-5. */
const short = (model: string) => model.slice(model.indexOf('/') + 1);

/** It works: the model that was chosen, and others to choose instead. */
function Answered({ used, onDone, onward }: { used: Used; onDone: () => void; onward: string }): JSX.Element {
  const [model, setModel] = useState(used.model);
  const [said, setSaid] = useState(words.answered(used.provider.name, used.model));
  const box = useRef<HTMLDivElement>(null);
  const act = useAction();
  // The form that had the focus is gone.
  useLayoutEffect(() => {
    box.current?.focus({ preventScroll: true });
    box.current?.scrollIntoView({ block: 'center' });
  }, []);
  const known = useKnownModels().filter((one) => one.model.startsWith(`${used.provider.id}/`) && one.tools);
  // Those that are known to use tools; of a server of one's own nothing is known.
  const sound = used.models.filter((name) => known.some((one) => one.name === name));
  const options = [...new Set([model, ...(sound.length ? sound : used.models)])];
  const one = known.find(({ name }) => name === model);
  const change = (name: string) => act.run(async () => {
    await chooseModel({ model: `${used.provider.id}/${name}` });
    setModel(name);
    setSaid(words.changed(name));
  });
  return (
    <div class="fields it-works" tabIndex={-1} ref={box}>
      <Notice>{said}</Notice>
      {options.length > 1 && (
        <SelectField label={words.model} help={(one && about(one)) || words.modelHelp} value={model} options={options.map((name) => ({ value: name, label: name }))} onInput={(name) => void change(name)} />
      )}
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <Buttons><button type="button" class="main" onClick={onDone}>{onward}</button></Buttons>
    </div>
  );
}

/** This device alone needs nothing. */
function Alone({ onUsed }: { onUsed: () => void }): JSX.Element {
  const act = useAction();
  return (
    <>
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <Buttons>
        <button type="button" class="main" aria-disabled={act.busy} onClick={() => void act.run(async () => (await chooseModel({ model: 'reflex' }), onUsed()))}>{words.device}</button>
      </Buttons>
    </>
  );
}

function Chosen({ said, onDone, onward, children }: { said: string; onDone: () => void; onward: string; children?: ComponentChildren }): JSX.Element {
  return (
    <>
      <p>{said}</p>
      <Buttons><button type="button" class="main" onClick={onDone}>{onward}</button>{children}</Buttons>
    </>
  );
}

/** `onDone` is called once something answers, and the person goes on. `onward` is what the button to go on says. */
export function WhatAnswers({ onDone, onward = words.onward }: { onDone: () => void; onward?: string }): JSX.Element {
  const providers = useRead(api.providers);
  const now = useRead<ModelInUse>(readModel);
  const [way, setWay] = useState<Way | null>(null);
  const [used, setUsed] = useState<Used | null>(null);
  const id = useId();
  if (!providers.data || !now.data) return <LoadState of={providers.problem ? providers : now} />;
  const all = providers.data.providers;
  const { model, changeable } = now.data;
  if (!changeable) return <Chosen said={words.fixed(short(model))} onDone={onDone} onward={onward} />;
  if (used) return <Answered used={used} onDone={onDone} onward={onward} />;
  return (
    <div class="what-answers">
      {model !== 'reflex' && <Chosen said={words.now(short(model))} onDone={onDone} onward={words.keep} />}
      <fieldset>
        <legend class="unseen">{words.label}</legend>
        {WAYS.map((one) => (
          <div key={one} class={`way${way === one ? ' chosen' : ''}`}>
            <label>
              <input type="radio" name={id} checked={way === one} onChange={() => setWay(one)} />
              <span><b>{words.ways[one].title}</b><small>{words.ways[one].why}</small></span>
            </label>
            {way === one && (
              <div class="way-body">
                {one === 'key' && <KeyEntry providers={all} onUsed={setUsed} />}
                {one === 'server' && <ServerFinder providers={all} onUsed={setUsed} />}
                {one === 'device' && <Alone onUsed={onDone} />}
              </div>
            )}
          </div>
        ))}
      </fieldset>
    </div>
  );
}
