// The tool groups: their tools, dependencies and switches.
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Notice, SwitchField } from '../form';
import { Chevron } from '../icons';
import * as policy from '../policy';
import { href } from '../rooms';
import { Sentence } from '../sentence';
import { facts, sentence, text, trouble } from '../text';
import { Back } from './back';
import { groupName, readTools, type Known } from './use-tools';

const words = text.groups;

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
  const names = new Set(known.tools.map((tool) => tool.name));
  const empty = known.groups.filter((group) => !group.tools.length);
  const list = (groups: policy.Group[]) => (
    <ul class="groups">
      {groups.map((group) => <One key={group.id} group={group} all={known.groups} tools={names} admin={admin} open={group.id === wanted} />)}
    </ul>
  );
  return (
    <article class="tool">
      <Back />
      <h2 tabIndex={-1} ref={heading}>{words.title}</h2>
      <p class="soft small">{words.why} {!admin && words.adminOnly}</p>
      {list(known.groups.filter((group) => group.tools.length > 0))}
      {empty.length > 0 && (
        <details class="empty-groups" open={empty.some((group) => group.id === wanted)}>
          <summary><h3>{words.empty(empty.length)}</h3><Chevron /></summary>
          {list(empty)}
        </details>
      )}
    </article>
  );
}

interface OneProps {
  group: policy.Group;
  all: policy.Group[];
  /** The names of all tools. */
  tools: Set<string>;
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
          <ul class="names">
            {group.tools.map((name) => (
              <li key={name}>{tools.has(name) ? <a href={href('tools', name)}>{name}</a> : <span class="soft">{name}</span>}</li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}
