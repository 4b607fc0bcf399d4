// The system prompt: its parts with their lengths, and the full text.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Page, LoadState, useAction, useRead } from '../device/part';
import { Buttons, Notice, TextField } from '../form';
import { useLive } from '../live';
import { href } from '../rooms';
import { mind } from '../text/mind';
import * as api from './api';

const words = mind.prompt;

const plain = (name: string) => `${name.charAt(0).toUpperCase()}${name.slice(1).replace(/[_-]+/g, ' ')}`;

export function Prompt(): JSX.Element {
  const [message, setMessage] = useState('');
  const read = useRead(() => api.prompt(''));
  const act = useAction();
  useLive(['document:changed'], () => void (message || read.again()));
  const told = read.data;
  return (
    <Page title={words.title} back={mind.persona.back} to={href('device', 'persona')}>
      <form
        class="fields"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void act.run(async () => read.set(await api.prompt(message.trim())));
        }}
      >
        <TextField label={words.for} help={words.forHelp} value={message} onInput={setMessage} />
        <Buttons><button aria-disabled={act.busy}>{words.show}</button></Buttons>
      </form>
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <LoadState of={read} />
      {told && (
        <>
          <p role="status">{words.whole(told.length.toLocaleString(), told.tokens.toLocaleString())}</p>
          <div class="wide-table" tabIndex={0} role="group" aria-label={words.sections}>
            <table>
              <caption class="unseen">{words.sections}</caption>
              <thead><tr><th scope="col">{words.part}</th><th scope="col">{words.length}</th><th scope="col"><span class="unseen">{words.told}</span></th></tr></thead>
              <tbody>
                {told.sections.map((one) => (
                  <tr key={one.name} class={one.shown ? undefined : 'soft'}>
                    <th scope="row">{plain(one.name)}</th>
                    <td>{one.length.toLocaleString()}</td>
                    <td>{one.shown ? words.told : words.leftOut}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <pre class="document" tabIndex={0} role="group" aria-label={words.text}>{told.prompt}</pre>
        </>
      )}
    </Page>
  );
}
