// The autonomy level: chosen, then saved, so that an arrow key alone changes nothing.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Notice } from '../form';
import { useLive } from '../live';
import * as policy from '../policy';
import { Sentence } from '../sentence';
import { sentence, text } from '../text';
import { LoadState, useAction, useRead } from './part';

const words = text.autonomy;

export function Autonomy(): JSX.Element {
  const read = useRead(policy.autonomy);
  const [chosen, setChosen] = useState<policy.Autonomy['level'] | ''>('');
  const [done, setDone] = useState(false);
  const act = useAction();
  useLive(['policy:changed'], () => void read.again());
  const now = read.data;
  const level = chosen || now?.level;

  const choose = (value: policy.Autonomy['level']) => {
    setChosen(value);
    setDone(false);
    act.clear();
  };
  const save = () => act.run(async () => {
    if (chosen) read.set(await policy.setAutonomy(chosen));
    setChosen('');
    setDone(true);
  });

  return (
    <form
      class="autonomy"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <fieldset>
        <legend>{words.title}</legend>
        <LoadState of={read} />
        {now?.from && <p class="soft small">{words.from[now.from]}</p>}
        {now?.levels.map((one) => (
          <label key={one.level} class="choice">
            <input type="radio" name="autonomy" value={one.level} checked={one.level === level} onChange={() => choose(one.level)} />
            <span>
              <b>{words.names[one.level] ?? one.level}</b>
              <span class="soft small"><Sentence words={sentence(one.about)} /></span>
            </span>
          </label>
        ))}
      </fieldset>
      {act.problem && <Notice bad>{act.problem}</Notice>}
      {done && <Notice>{words.saved}</Notice>}
      {now && level !== now.level && (
        <div class="buttons">
          <button class="main" aria-disabled={act.busy}>{act.busy ? text.device.saving : words.save}</button>
          <button type="button" class="quiet" onClick={() => setChosen('')}>{text.device.cancel}</button>
        </div>
      )}
    </form>
  );
}
