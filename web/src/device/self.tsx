// This device: its name, addresses and certificate fingerprint.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Copy } from '../copy';
import { TextField } from '../form';
import { Sentence } from '../sentence';
import { text, when } from '../text';
import { onlyHere } from './invite';
import { Edit, Part, LoadState, SaveRow, useAction, useAdmin, useHouse, type Read } from './part';

const NAME = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/** "AB:CD:…" in groups of four bytes, for comparison by eye. */
function groups(fingerprint: string): string[] {
  const bytes = fingerprint.split(':');
  const all: string[] = [];
  for (let at = 0; at < bytes.length; at += 4) all.push(bytes.slice(at, at + 4).join(':'));
  return all;
}

function Fingerprint({ value }: { value: string }): JSX.Element {
  const shown = useRef<HTMLElement>(null);
  const all = groups(value);
  return (
    <div class="print">
      <code ref={shown}>
        {all.map((group, n) => <span key={n}>{group}{n < all.length - 1 && <span class="unseen">:</span>}</span>)}
      </code>
      <p class="soft small">{text.device.self.compare}</p>
      <Copy value={value} label={text.device.self.copyPrint} shown={shown} />
    </div>
  );
}

function Name({ read, facts }: { read: Read<api.Device>; facts: api.Device }): JSX.Element {
  const admin = useAdmin();
  const { onChanged } = useHouse();
  const [name, setName] = useState<string | null>(null);
  const [wrong, setWrong] = useState('');
  const act = useAction();
  const words = text.device.self;

  const save = async () => {
    if (name === null) return;
    const given = name.trim();
    if (!NAME.test(given)) return setWrong(words.nameBad);
    const went = await act.run(async () => read.set(await api.renameDevice(given)));
    if (!went) return;
    setName(null);
    // The other rooms read the device's name from the session.
    onChanged();
  };

  if (name === null) {
    return (
      <div class="row">
        <div>
          <p class="called">{facts.name}</p>
          {facts.hostname && <p class="soft small">{facts.hostname}</p>}
        </div>
        {admin && facts.renameable && <button type="button" class="small" data-back onClick={() => setName(facts.name)}>{words.rename}</button>}
      </div>
    );
  }
  const given = name.trim();
  return (
    <Edit label={words.rename} onSubmit={() => void save()} onCancel={() => setName(null)}>
      <TextField
        label={words.name}
        help={NAME.test(given) ? words.becomes(`${given.toLowerCase()}.local`) : words.nameHelp}
        error={wrong || act.problem}
        value={name}
        onInput={(value) => {
          setName(value);
          setWrong('');
          act.clear();
        }}
      />
      <SaveRow busy={act.busy} save={text.device.save} onCancel={() => setName(null)} />
    </Edit>
  );
}

export function Self({ read }: { read: Read<api.Device> }): JSX.Element {
  const words = text.device.self;
  const facts = read.data;
  return (
    <Part id="self" title={words.title}>
      <LoadState of={read} />
      {facts && (
        <>
          <Name read={read} facts={facts} />
          <dl class="facts-list">
            <div><dt>{words.version}</dt><dd>{facts.version}</dd></div>
            {facts.startedAt !== undefined && <div><dt>{words.running}</dt><dd>{when(facts.startedAt)}</dd></div>}
            <div>
              <dt>{words.addresses}</dt>
              <dd>
                <ul>{facts.addresses?.map((address) => <li key={address}>{address}</li>)}</ul>
                {onlyHere(facts.listensOn) && <p class="soft small"><Sentence words={words.alone} /></p>}
              </dd>
            </div>
            {facts.tls && (
              <>
                <div><dt>{words.secure}</dt><dd><a href={facts.tls.url}>{facts.tls.url}</a></dd></div>
                <div class="wide"><dt>{words.fingerprint}</dt><dd><Fingerprint value={facts.tls.fingerprint} /></dd></div>
              </>
            )}
            {facts.tls === null && <div><dt>{words.secure}</dt><dd class="soft">{text.device.none}</dd></div>}
          </dl>
        </>
      )}
    </Part>
  );
}
