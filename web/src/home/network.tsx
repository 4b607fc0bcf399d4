// Other devices on the network. Everything here comes from strangers and is shown as text.
import type { JSX } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import * as api from '../api';
import { deviceAway } from '../away';
import { Again } from '../icons';
import { Sentence } from '../sentence';
import { facts, sentence, text, trouble } from '../text';

/** Only web addresses become links: a stranger may announce anything. */
function opens(found: api.Neighbour): string | undefined {
  return found.url && /^https?:\/\//i.test(found.url) ? found.url : undefined;
}

function Line({ found }: { found: api.Neighbour }): JSX.Element {
  const url = opens(found);
  const where = found.host && (found.port ? `${found.host}:${found.port}` : found.host);
  return (
    <li>
      <p>
        {url && !found.self ? <a href={url} rel="noopener noreferrer">{found.name || url}</a> : <strong>{found.name}</strong>}
        {found.self && <span class="mark">{text.network.self}</span>}
        {found.kind === 'hob' && found.claimed === false && <span class="mark">{text.network.unclaimed}</span>}
      </p>
      <p class="soft small">{facts(text.network.kinds[found.kind] ?? found.kind, found.version, where)}</p>
    </li>
  );
}

export function Network(): JSX.Element {
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
    <section class="network" aria-labelledby="network">
      <div class="part-top">
        <h2 id="network">{text.network.title}</h2>
        <button type="button" class="bare" aria-label={text.network.again} title={text.network.again} aria-disabled={looking} onClick={() => !looking && void look()}>
          <Again />
        </button>
      </div>
      {found && found.length > 0 && <ul>{found.map((one) => <Line key={`${one.kind} ${one.name} ${one.host} ${one.port}`} found={one} />)}</ul>}
      <p class="soft small" role="status">
        {looking ? text.network.looking : why ? <Sentence words={why} /> : found && !others ? text.network.alone : ''}
      </p>
    </section>
  );
}
