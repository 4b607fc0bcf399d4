// The factory reset, confirmed by typing the device's name.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import * as api from '../api';
import { Notice, TextField } from '../form';
import { reset as words } from '../text/updates';
import { Edit, Part, SaveRow, useAction, useHouse } from './part';

export function Reset(): JSX.Element {
  const { session } = useHouse();
  const [typed, setTyped] = useState<string | null>(null);
  const [wrong, setWrong] = useState('');
  const [gone, setGone] = useState(false);
  const act = useAction();
  const name = session.name;
  const go = async () => {
    if (typed?.trim().toLowerCase() !== name.toLowerCase()) return setWrong(words.wrong(name));
    if (!(await act.run(() => api.factoryReset(name)))) return;
    setTyped(null);
    setGone(true);
  };
  return (
    <Part id="reset" title={words.title}>
      <p>{words.what}</p>
      {gone && <Notice>{words.gone}</Notice>}
      {typed === null && !gone && (
        <div class="buttons"><button type="button" class="bad" data-back onClick={() => setTyped('')}>{words.open}</button></div>
      )}
      {typed !== null && (
        <Edit label={words.ask} onSubmit={() => void go()} onCancel={() => setTyped(null)}>
          <TextField
            label={words.type(name)}
            error={wrong || act.problem}
            value={typed}
            onInput={(value) => {
              setTyped(value);
              setWrong('');
              act.clear();
            }}
          />
          <SaveRow busy={act.busy} save={words.yes} saving={words.going} onCancel={() => setTyped(null)} />
        </Edit>
      )}
    </Part>
  );
}
