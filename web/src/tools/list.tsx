// All tools by family, custom tools first, with a filter.
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { CustomTool, Tool } from '../api';
import { Close, Chevron, Find, Fresh } from '../icons';
import type { Group } from '../policy';
import { href } from '../rooms';
import { forms } from '../text/workshop-forms';
import { Sentence } from '../sentence';
import { text } from '../text';
import { StatusLine } from './marks';
import { groupName, type Known } from './use-tools';

const words = text.toolsRoom;
/** Families start closed above this number of tools. */
const MANY = 60;

/** The filter and scroll position, kept while a tool is open. */
let query = '';
let scrolled = 0;
const closed = new Set<string>();
let counted = false;

export function ToolList({ known }: { known: Known }): JSX.Element {
  const [typed, setTyped] = useState(query);
  const fits = fitting(typed);
  const waits = (tool: CustomTool) => (tool.status === 'pending_approval' ? 0 : 1);
  const custom = known.custom.filter((tool) => fits(tool.name, tool.description)).sort((a, b) => waits(a) - waits(b));
  const made = new Set(known.custom.map((tool) => tool.name));
  const tools = known.tools.filter((tool) => !made.has(tool.name) && fits(tool.name, tool.description, ...tool.aliases, tool.category));
  const count = custom.length + tools.length;
  const looking = typed.trim() !== '';

  useLayoutEffect(() => scrollTo(0, scrolled), []);
  useEffect(() => {
    const keep = () => (scrolled = scrollY);
    addEventListener('scroll', keep, { passive: true });
    return () => removeEventListener('scroll', keep);
  }, []);

  const type = (value: string) => {
    query = value;
    setTyped(value);
  };

  return (
    <>
      <div class="searcher" role="search">
        <Find />
        <input
          type="search"
          aria-label={words.filter}
          placeholder={words.placeholder}
          value={typed}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => type(event.currentTarget.value)}
          onKeyDown={(event) => event.key === 'Escape' && typed && (event.preventDefault(), type(''))}
        />
        {typed && <button type="button" class="bare" aria-label={words.clear} onClick={() => type('')}><Close /></button>}
      </div>
      <p class="unseen" role="status">{looking && words.matches(count)}</p>
      {looking && !count && <p class="soft nothing">{words.noMatch(typed.trim())}</p>}
      {(!looking || custom.length > 0) && <Own tools={custom} none={!known.custom.length} />}
      {!looking && <p class="to-groups"><a class="onward" href={href('tools', 'commands')}>{forms.commands.open}<Chevron /></a></p>}
      {!looking && known.groups.length > 0 && <GroupsLink groups={known.groups} />}
      {families(tools).map(([name, family]) => <Family key={name} name={name} tools={family} groups={known.groups} looking={looking} many={known.tools.length > MANY} />)}
    </>
  );
}

/** Whether one of the texts contains every word. */
function fitting(typed: string): (...texts: string[]) => boolean {
  const wanted = typed.toLowerCase().split(/[\s_]+/).filter(Boolean);
  return (...texts) => {
    const all = texts.join('\n').toLowerCase();
    return wanted.every((word) => all.includes(word));
  };
}

/** The name of a family; categories that differ only in their capitals are one. */
function familyName(category: string): string {
  return words.families[category.toLowerCase()] ?? category.charAt(0).toUpperCase() + category.slice(1);
}

function families(tools: Tool[]): [string, Tool[]][] {
  const by = new Map<string, Tool[]>();
  for (const tool of tools) {
    const name = familyName(tool.category || tool.group);
    by.set(name, [...(by.get(name) ?? []), tool]);
  }
  return [...by].sort(([a], [b]) => a.localeCompare(b));
}

function Own({ tools, none }: { tools: CustomTool[]; none: boolean }): JSX.Element {
  return (
    <section class="own" aria-labelledby="own">
      <div class="own-head">
        <div>
          <h2 id="own">{words.own}</h2>
          <p class="soft small">{none ? words.ownNone : words.ownWhy}</p>
        </div>
        <a class="button" href={href('tools', 'custom', 'new')}><Fresh />{words.fresh}</a>
      </div>
      <ul>
        {tools.map((tool) => (
          <li key={tool.id}>
            <a class="tool-row" href={href('tools', 'custom', tool.id)}>
              <span class="tool-name">{tool.name}</span>
              <span class="tool-about"><Sentence words={tool.description} /></span>
              <StatusLine tool={tool} />
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function GroupsLink({ groups }: { groups: Group[] }): JSX.Element {
  const filled = groups.filter(({ tools }) => tools.length > 0);
  const on = filled.filter(({ enabled }) => enabled).length;
  return <p class="to-groups"><a class="onward" href={href('tools', 'groups')}>{text.groups.link(on, filled.length - on)}<Chevron /></a></p>;
}

interface FamilyProps {
  name: string;
  tools: Tool[];
  groups: Group[];
  looking: boolean;
  many: boolean;
}

function Family({ name, tools, groups, looking, many }: FamilyProps): JSX.Element {
  if (many && !counted) closed.add(name);
  const [open, setOpen] = useState(!closed.has(name));
  useEffect(() => void (counted = true), []);
  const shown = looking || open;
  return (
    <details
      class="family"
      open={shown}
      onToggle={(event) => {
        const now = event.currentTarget.open;
        if (looking || now === open) return;
        if (now) closed.delete(name);
        else closed.add(name);
        setOpen(now);
      }}
    >
      <summary><h2>{name}</h2><span class="soft small">{tools.length}</span><Chevron /></summary>
      <ul>
        {tools.map((tool) => (
          <li key={tool.name}>
            <a class={tool.enabled ? 'tool-row' : 'tool-row off'} href={href('tools', tool.name)}>
              <span class="tool-name">{tool.name}</span>
              <span class="tool-risk">{tool.enabled ? (words.risk[tool.risk] ?? tool.risk) : text.groups.turnOn(groupName(groups, tool.group))}</span>
              <span class="tool-about"><Sentence words={tool.description} /></span>
              {tool.aliases.length > 0 && <span class="tool-also">{words.also(tool.aliases)}</span>}
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}
