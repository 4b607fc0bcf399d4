// Looks for model servers on this device and the household's computers, and uses one of them.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { chooseModel } from '../api';
import { useAction } from '../device/part';
import { Buttons, Notice, SelectField, TextField } from '../form';
import { facts } from '../text';
import { answers as words } from '../text/answers';
import * as api from './api';
import { addressOf, providerAt } from './key-forms';
import { reason } from './key-entry';

interface Props {
  providers: api.Provider[];
  onUsed: (used: { provider: api.Provider; model: string; models: string[] }) => void;
}

/** One server: its models, and a button that wakes it. */
function Server({ server, providers, onUsed }: { server: api.ModelServer } & Props): JSX.Element {
  const [model, setModel] = useState(server.suggested ?? '');
  const [tried, setTried] = useState<api.ProviderTest | null>(null);
  const act = useAction();
  const provider = providers.find(({ id }) => id === server.provider);
  const use = () => act.run(async () => {
    setTried(null);
    if (!provider) return;
    const outcome = await api.tryModel(provider.id, { url: server.url, model });
    if (!outcome.ok || !outcome.answered) return setTried(outcome);
    await chooseModel({ model: `${provider.id}/${outcome.answered}`, url: server.url });
    onUsed({ provider, model: outcome.answered, models: outcome.models });
  });
  return (
    <li class="server">
      <p><b>{server.name}</b> <span class="soft">{facts(server.host ? words.on(server.host) : words.here, words.offers(server.models.length))}</span></p>
      {server.models.length > 1 && model && (
        <SelectField label={words.model} value={model} options={server.models.map((name) => ({ value: name, label: name }))} onInput={(value) => (setModel(value), setTried(null))} />
      )}
      {!model && <p class="soft small">{words.noChat}</p>}
      {tried && !tried.ok && <Notice bad>{reason(tried, server.name, server.url)}</Notice>}
      {act.problem && <Notice bad>{act.problem}</Notice>}
      {model && <Buttons><button type="button" class="main" aria-disabled={act.busy} onClick={() => void use()}>{act.busy ? words.waking : words.wake}</button></Buttons>}
      <p class="unseen" role="status">{act.busy && words.waking}</p>
    </li>
  );
}

export function ServerFinder({ providers, onUsed }: Props): JSX.Element {
  const [found, setFound] = useState<api.FoundServers | null>(null);
  const [typing, setTyping] = useState(false);
  const [address, setAddress] = useState('');
  const [wrong, setWrong] = useState('');
  const look = useAction();
  const ask = useAction();
  const find = () => look.run(async () => {
    setFound(null);
    setFound(await api.findServers());
  });
  useEffect(() => void find(), []);

  /** A server at a typed address joins those that were found. */
  const add = () => {
    const url = addressOf(address);
    if (!url) return setWrong(words.addressWrong);
    void ask.run(async () => {
      const id = providerAt(url);
      const outcome = await api.testProvider(id, { url });
      if (!outcome.ok) return setWrong(reason(outcome, url, url));
      const name = id === 'custom' ? new URL(url).host : (providers.find((one) => one.id === id)?.name ?? id);
      const server: api.ModelServer = { provider: id, name, host: new URL(url).hostname, url, models: outcome.models, suggested: outcome.suggested };
      setFound((before) => ({ machines: before?.machines ?? 1, servers: [server, ...(before?.servers ?? []).filter((one) => one.url !== url)] }));
      setAddress('');
      setTyping(false);
    });
  };
  const none = found !== null && found.servers.length === 0;
  return (
    <div class="finder">
      <p class="soft" role="status">{look.busy ? words.looking : found && (none ? words.none(found.machines) : words.found(found.servers.length))}</p>
      {none && <p class="soft small">{words.noneHelp}</p>}
      {look.problem && <Notice bad>{look.problem}</Notice>}
      {found && found.servers.length > 0 && (
        <ul class="servers">{found.servers.map((server) => <Server key={server.url} server={server} providers={providers} onUsed={onUsed} />)}</ul>
      )}
      {typing || none ? (
        <form
          class="fields"
          noValidate
          aria-label={words.addressOpen}
          onSubmit={(event) => {
            event.preventDefault();
            add();
          }}
        >
          <TextField code type="url" label={words.address} help={words.addressHelp} error={wrong} value={address} onInput={(value) => (setAddress(value), setWrong(''), ask.clear())} />
          {ask.problem && <Notice bad>{ask.problem}</Notice>}
          <Buttons>
            <button aria-disabled={ask.busy}>{ask.busy ? words.checking : words.connect}</button>
            <button type="button" class="quiet" aria-disabled={look.busy} onClick={() => void find()}>{words.again}</button>
          </Buttons>
        </form>
      ) : found && (
        <Buttons>
          <button type="button" class="quiet" onClick={() => setTyping(true)}>{words.addressOpen}</button>
          <button type="button" class="quiet" aria-disabled={look.busy} onClick={() => void find()}>{words.again}</button>
        </Buttons>
      )}
    </div>
  );
}
