// The knowledge graph: a picture of entities and facts, and the same as a list for keyboards and screen readers.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import * as api from '../../api';
import { Notice } from '../../form';
import { Find } from '../../icons';
import { go, href } from '../../rooms';
import { trouble } from '../../text';
import { graph as words } from '../../text/graph';
import { HEIGHT, layout, WIDTH } from './layout';
import './graph.css';

type Entity = api.GraphView['entities'][number];
type Fact = api.GraphView['facts'][number];

const SELF = 'me';
const WAIT_MS = 250;
/** More than so many letters of a name do not fit into the picture. */
const LABEL = 22;

const shown = (name: string) => (name === SELF ? words.self : name);
const short = (name: string) => (name.length > LABEL ? `${name.slice(0, LABEL - 1)}…` : name);

/** `#/memory/graph/ID` is what is around one entity. */
export function Graph({ path, writer }: { path: string[]; writer: boolean }): JSX.Element {
  const entity = path[1] ?? '';
  const [query, setQuery] = useState('');
  const [found, setFound] = useState<api.GraphView | null>(null);
  const [problem, setProblem] = useState('');
  const [said, setSaid] = useState('');
  const reading = useRef(0);

  const read = async () => {
    const number = ++reading.current;
    try {
      const graph = await api.graph(entity ? { entity, depth: 2 } : query.trim() ? { query, depth: 1 } : { depth: 1 });
      // A later one may have been quicker.
      if (number !== reading.current) return;
      setFound(graph);
      setProblem('');
    } catch (cause) {
      if (number === reading.current) setProblem(trouble(cause));
    }
  };
  useEffect(() => {
    const timer = setTimeout(() => void read(), query ? WAIT_MS : 0);
    return () => clearTimeout(timer);
  }, [entity, query]);

  const remove = async (fact: Fact) => {
    try {
      await api.execute('delete_knowledge', { factId: fact.id });
      setSaid(words.removed(sentence(fact)));
      await read();
    } catch (cause) {
      setProblem(trouble(cause));
    }
  };
  return (
    <>
      <div class="searcher" role="search">
        <Find />
        <input
          type="search"
          aria-label={words.search}
          placeholder={words.placeholder}
          value={query}
          autocomplete="off"
          onInput={(event) => {
            setQuery(event.currentTarget.value);
            if (entity) go('memory', ['graph'], true);
          }}
        />
      </div>
      {problem && <Notice bad>{problem}</Notice>}
      <p class="unseen" role="status">{said}</p>
      {!found && !problem && <p class="soft nothing">{words.loading}</p>}
      {found && !found.entities.length && (
        <div class="nothing">
          <p>{query || entity ? words.noMatch : words.nothing}</p>
          {!query && !entity && <p class="soft small">{words.nothingWhy}</p>}
        </div>
      )}
      {found && found.entities.length > 0 && (
        <>
          <Picture found={found} at={entity} />
          {entity && <p><a href={href('memory', 'graph')}>{words.all}</a></p>}
          <List found={found} writer={writer} onRemove={(fact) => void remove(fact)} />
        </>
      )}
    </>
  );
}

function Picture({ found, at }: { found: api.GraphView; at: string }): JSX.Element {
  const { entities, facts } = found;
  const { spots, links } = useMemo(() => {
    const places = new Map(entities.map(({ id }, n) => [id, n]));
    const links = facts.flatMap((fact) => {
      const [from, to] = [places.get(fact.subject.id ?? ''), places.get(fact.object.id ?? '')];
      return from === undefined || to === undefined ? [] : [{ fact, from, to }];
    });
    return { spots: layout(entities.length, links.map(({ from, to }) => [from, to])), links };
  }, [found]);
  return (
    <svg class="graph" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={words.picture(entities.length, facts.length)}>
      {links.map(({ fact, from, to }) => {
        const [a, b] = [spots[from], spots[to]];
        return a && b && (
          <g key={fact.id} class={fact.current ? undefined : 'past'}>
            <line x1={a.x} y1={a.y} x2={b.x} y2={b.y} />
            {links.length <= 40 && <text class="fact" x={(a.x + b.x) / 2} y={(a.y + b.y) / 2 - 3}>{short(fact.predicate)}</text>}
            <title>{sentence(fact)}</title>
          </g>
        );
      })}
      {entities.map((entity, n) => {
        const spot = spots[n];
        return spot && (
          <g key={entity.id} class={`entity ${entity.type}${entity.id === at ? ' at' : ''}`} onClick={() => go('memory', ['graph', entity.id])}>
            <circle cx={spot.x} cy={spot.y} r={entity.distance === 0 ? 9 : 6} />
            <text x={spot.x} y={spot.y - 13}>{short(shown(entity.name))}</text>
            <title>{shown(entity.name)}</title>
          </g>
        );
      })}
    </svg>
  );
}

function sentence(fact: Fact): string {
  return `${shown(fact.subject.name)} – ${fact.predicate} – ${shown(fact.object.name)}`;
}

function List({ found, writer, onRemove }: { found: api.GraphView; writer: boolean; onRemove: (fact: Fact) => void }): JSX.Element {
  const of = (entity: Entity) => found.facts.filter((fact) => fact.subject.id === entity.id);
  return (
    <ul class="graph-list">
      {found.entities.map((entity) => (
        <li key={entity.id}>
          <p>
            <a href={href('memory', 'graph', entity.id)} aria-label={words.of(shown(entity.name))}>{shown(entity.name)}</a>{' '}
            <span class="soft small">{words.kinds[entity.type] ?? entity.type}{entity.aliases?.length ? ` · ${entity.aliases.join(', ')}` : ''}</span>
          </p>
          {entity.summary && <p class="small">{entity.summary}</p>}
          <ul aria-label={words.facts}>
            {of(entity).map((fact) => (
              <li key={fact.id} class={fact.current ? undefined : 'past'}>
                <span>{fact.predicate} <strong>{shown(fact.object.name)}</strong></span>{' '}
                <span class="soft small">{about(fact)}</span>
                {writer && <button type="button" class="bare small" aria-label={words.removeOf(sentence(fact))} onClick={() => onRemove(fact)}>{words.remove}</button>}
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  );
}

/** Whether and when a fact holds, and where it comes from. */
function about(fact: Fact): string {
  const dates = [fact.validFrom && words.from(fact.validFrom), fact.validTo && words.to(fact.validTo), !fact.current && words.past];
  const source = fact.source.type === 'hand' ? words.byHand : words.byMemory(fact.source.quote ?? '');
  return [...dates, source].filter(Boolean).join(' · ');
}
