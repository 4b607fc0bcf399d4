// The addresses that speak to Hob by voice, and a person's decision about each.
import type { JSX } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import * as api from '../api';
import { useLive } from '../live';
import { facts, trouble } from '../text';
import { voice as words } from '../text/voice';

function Client({ client, onDone }: { client: api.VoiceClient; onDone: (problem?: string) => void }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const who = client.name || client.address;
  const act = (change: () => Promise<unknown>) => () => {
    if (busy) return;
    setBusy(true);
    change().then(() => onDone(), (cause: unknown) => onDone(trouble(cause))).finally(() => setBusy(false));
  };
  const decide = (status: 'approved' | 'denied') => act(() => api.decideVoiceClient(client.address, { status }));
  const waits = client.status === 'pending';
  return (
    <li>
      <p><strong>{waits ? words.wants(who) : who}</strong></p>
      <p class="soft small">{waits ? words.wantsWhy : facts(words.status[client.status], client.name && client.address)}</p>
      <div class="buttons">
        {client.status !== 'approved' && <button type="button" class={waits ? 'go' : 'small'} aria-label={words.approveOf(who)} aria-disabled={busy} onClick={decide('approved')}>{words.approve}</button>}
        {client.status !== 'denied' && <button type="button" class="small" aria-label={words.denyOf(who)} aria-disabled={busy} onClick={decide('denied')}>{words.deny}</button>}
        {!waits && <button type="button" class="quiet" aria-label={words.removeOf(who)} aria-disabled={busy} onClick={act(() => api.forgetVoiceClient(client.address))}>{words.remove}</button>}
      </div>
    </li>
  );
}

export function VoiceClients(): JSX.Element | null {
  const [clients, setClients] = useState<api.VoiceClient[]>([]);
  const [problem, setProblem] = useState('');
  const read = useCallback(async () => {
    try {
      setClients((await api.voiceClients()).clients);
    } catch (cause) {
      setProblem(trouble(cause));
    }
  }, []);
  useEffect(() => void read(), [read]);
  useLive(['voice:request', 'voice:decided'], () => void read());
  if (!clients.length && !problem) return null;
  const done = (why = '') => {
    setProblem(why);
    void read();
  };
  return (
    <section class="network" aria-labelledby="voice-clients">
      <div class="part-top"><h2 id="voice-clients">{words.clients}</h2></div>
      <p class="soft small">{words.clientsWhy}</p>
      <ul>{clients.map((client) => <Client key={client.address} client={client} onDone={done} />)}</ul>
      {problem && <p class="problem small" role="alert">{problem}</p>}
    </section>
  );
}
