// Other devices on the network. Everything here comes from strangers and is shown as text.
import type { JSX } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import * as api from '../api';
import { deviceAway } from '../away';
import { Again } from '../icons';
import { prefill } from '../prefill';
import { href } from '../rooms';
import { Sentence } from '../sentence';
import { facts, sentence, text, trouble } from '../text';
import { nearby as words } from '../text/voice';
import { VoiceClients } from './voice-clients';

/** Only web addresses become links: a stranger may announce anything. */
function opens(found: api.Neighbour): string | undefined {
  return found.url && /^https?:\/\//i.test(found.url) ? found.url : undefined;
}

/** The service that a device belongs to, and the fields of its form. */
function serviceFor(found: api.Neighbour): { name: string; fields: Record<string, string | number> } | undefined {
  const at = found.url?.replace(/^[a-z]+:\/\//, '').replace(/\/$/, '') ?? '';
  switch (found.kind) {
    case 'home-assistant': return { name: 'home_assistant', fields: { url: found.url ?? '' } };
    case 'mqtt': return { name: 'mqtt', fields: { host: at.replace(/:\d+$/, ''), port: found.port } };
    case 'wyoming': return { name: 'wyoming', fields: { address: at } };
    default: return undefined;
  }
}

function Line({ found, admin }: { found: api.Neighbour; admin: boolean }): JSX.Element {
  const url = opens(found);
  const where = found.host && (found.port ? `${found.host}:${found.port}` : found.host);
  // A Hob's voice door has the id of the Hob, and is nothing to connect.
  const service = admin && !found.id?.length || found.kind === 'home-assistant' ? serviceFor(found) : undefined;
  return (
    <li>
      <p>
        {url && !found.self ? <a href={url} rel="noopener noreferrer">{found.name || url}</a> : <strong>{found.name}</strong>}
        {found.self && <span class="mark">{text.network.self}</span>}
        {found.kind === 'hob' && found.claimed === false && <span class="mark">{text.network.unclaimed}</span>}
        {admin && service && (
          <a class="connect" href={href('device', 'services', service.name, 'new')} aria-label={words.connectOf(found.name)} onClick={() => prefill(service.name, service.fields)}>{words.connect}</a>
        )}
      </p>
      <p class="soft small">{facts(text.network.kinds[found.kind] ?? found.kind, found.version, where)}</p>
    </li>
  );
}

export function Network({ admin }: { admin: boolean }): JSX.Element {
  const [found, setFound] = useState<api.Neighbour[] | null>(null);
  const [why, setWhy] = useState('');
  const [looking, setLooking] = useState(false);
  const away = deviceAway.value;

  const look = useCallback(async () => {
    setLooking(true);
    setWhy('');
    try {
      const answer = await api.discover();
      setFound(answer.found);
      if (answer.why) setWhy(sentence(answer.why));
    } catch (cause) {
      if (cause instanceof api.Refused) setFound([]);
      setWhy(trouble(cause));
    } finally {
      setLooking(false);
    }
  }, []);

  useEffect(() => {
    if (!away) void look();
  }, [away, look]);

  const others = found?.filter((one) => !one.self).length ?? 0;
  return (
    <>
    {admin && <VoiceClients />}
    <section class="network" aria-labelledby="network">
      <div class="part-top">
        <h2 id="network">{text.network.title}</h2>
        <button type="button" class="bare" aria-label={text.network.again} title={text.network.again} aria-disabled={looking} onClick={() => !looking && void look()}>
          <Again />
        </button>
      </div>
      {Object.entries(words.kinds).map(([kind, title]) => {
        const these = found?.filter((one) => one.kind === kind) ?? [];
        return these.length > 0 && (
          <div key={kind} role="group" aria-label={title}>
            <h3>{title}</h3>
            <ul>{these.map((one) => <Line key={`${one.name} ${one.host} ${one.port}`} found={one} admin={admin} />)}</ul>
          </div>
        );
      })}
      <p class="soft small" role="status">
        {looking ? text.network.looking : why ? <Sentence words={why} /> : found && !others ? text.network.alone : ''}
      </p>
      {admin && <p class="small"><a href={href('device', 'models')}>{words.modelsLook}</a> <span class="soft">{words.modelsWhy}</span></p>}
    </section>
    </>
  );
}
