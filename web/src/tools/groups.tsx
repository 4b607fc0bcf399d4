// The tool groups: their tools, dependencies and switches.
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Notice, SwitchField } from '../form';
import { Chevron } from '../icons';
import * as policy from '../policy';
import { href } from '../rooms';
import { Sentence } from '../sentence';
import { facts, sentence, text, trouble } from '../text';
import { areas } from '../text/groups';
import { Back } from './back';
import { groupName, readTools, type Known } from './use-tools';

const words = text.groups;

/** Ids that only gather tools of other groups. */
const GATHERED = new Set(['fs', 'runtime', 'web', 'automation', 'delegation', 'media_gen', 'media_read', 'goclaw']);
/** Where the groups of Hob belong; those of plugins and servers come last. */
const AREAS = [
  { title: areas.everyday, ids: ['tasks', 'lists', 'timers', 'calendar', 'notes', 'contacts', 'bookmarks', 'memory', 'goals', 'finance', 'customData', 'undo'] },
  { title: areas.home, ids: ['gpio', 'notices', 'scheduler', 'triggers', 'utilities'] },
  { title: areas.numbers, ids: ['core', 'dateTime', 'conversion', 'mathStats', 'generation', 'textUtils', 'listOps', 'extraction', 'validation'] },
  { title: areas.hob, ids: ['system', 'interaction', 'persona', 'prompts', 'customTools', 'config', 'state'] },
];

interface Props {
  known: Known;
  admin: boolean;
  /** The group in the address. */
  wanted: string;
}

export function Groups({ known, admin, wanted }: Props): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }, []);
  useEffect(() => {
    document.getElementById(`group-${wanted}`)?.scrollIntoView({ block: 'center' });
  }, [wanted]);
  const about = new Map(known.tools.map((tool) => [tool.name, tool.description]));
  // A group without tools switches nothing, and one that only gathers tools under a name is for lists in a configuration.
  const shown = known.groups.filter(({ id, tools, switchable }) => id === wanted || (tools.length > 0 && (switchable || !GATHERED.has(id))));
  const sections = [...AREAS, { title: areas.more, ids: [] }].map((area, n) => ({
    title: area.title,
    groups: n < AREAS.length
      ? area.ids.flatMap((id) => shown.find((group) => group.id === id) ?? [])
      : shown.filter(({ id }) => AREAS.every(({ ids }) => !ids.includes(id))),
  })).filter(({ groups }) => groups.length);
  return (
    <article class="tool">
      <Back />
      <h2 tabIndex={-1} ref={heading}>{words.title}</h2>
      <p class="soft small">{words.why} {!admin && words.adminOnly}</p>
      {sections.map(({ title, groups }) => (
        <section key={title} class="group-area" aria-label={title}>
          {sections.length > 1 && <h3>{title}</h3>}
          <ul class="groups">
            {groups.map((group) => <One key={group.id} group={group} all={known.groups} tools={about} admin={admin} open={group.id === wanted} />)}
          </ul>
        </section>
      ))}
    </article>
  );
}

interface OneProps {
  group: policy.Group;
  all: policy.Group[];
  /** What each tool does, by its name. */
  tools: ReadonlyMap<string, string>;
  admin: boolean;
  open: boolean;
}

function One({ group, all, tools, admin, open }: OneProps): JSX.Element {
  // The new state while it is being saved.
  const [wish, setWish] = useState<boolean | null>(null);
  const [problem, setProblem] = useState('');
  const on = wish ?? group.enabled;
  const turn = async (to: boolean) => {
    if (wish !== null) return;
    setWish(to);
    setProblem('');
    try {
      await policy.switchGroup(group.id, to);
      await readTools();
    } catch (cause) {
      setProblem(trouble(cause));
    } finally {
      setWish(null);
    }
  };
  const needs = group.dependsOn.map((one) => groupName(all, one));
  return (
    <li id={`group-${group.id}`}>
      {admin && group.switchable
        ? <SwitchField label={group.name} checked={on} onInput={(to) => void turn(to)} />
        : <p class="group-name"><strong>{group.name}</strong> <span class="soft small">{on ? words.on : words.off}</span></p>}
      <p class="soft small">
        <Sentence words={sentence(group.description)} /> {needs.length > 0 && words.needs(needs)} {group.offElsewhere.length > 0 && words.offElsewhere(group.offElsewhere)} {group.missing.length > 0 && words.missing(group.missing)}
      </p>
      {problem && <Notice bad>{problem}</Notice>}
      {group.tools.length > 0 && (
        <details open={open}>
          <summary>
            <span class="soft small">{facts(words.tools(group.tools.length), group.enabled !== group.defaultEnabled && words.usually(group.defaultEnabled))}</span>
            <Chevron />
          </summary>
          <ul class="group-tools">
            {group.tools.map((name) => (
              <li key={name}>{tools.has(name) ? <a href={href('tools', name)}><Sentence words={sentence(tools.get(name) || name)} /></a> : <span class="soft">{name}</span>}</li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}
