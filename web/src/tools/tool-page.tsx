// One tool: its description, a form to run it, and the result.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { blank, read } from '../forms/draft';
import { Fields } from '../forms/fields';
import { formOf, type Draft, type GroupDraft, type Problems, type Shape } from '../forms/schema';
import { AreaField, Buttons, Confirm, Notice } from '../form';
import { Chevron } from '../icons';
import type { Group } from '../policy';
import { approvals, forgetSettled, isPending } from '../questions';
import { href } from '../rooms';
import { Sentence } from '../sentence';
import { ApprovalCard } from '../talk/approval-card';
import { text, trouble } from '../text';
import { toolOf } from '../values';
import { Back } from './back';
import { Result } from './result';
import { Needs, ToolPolicy } from './tool-policy';
import { groupName } from './use-tools';

const words = text.toolsRoom;

/** The draft and result of each tool, kept while the page is open. */
interface Work {
  draft: Draft;
  tried: boolean;
  running: boolean;
  ran: api.ToolRun | null;
  problem: string;
}

const works = new Map<string, Work>();

const ASKS = new Set(['destroy', 'actuate', 'admin']);

interface Props {
  tool: api.ToolDetails;
  custom: api.CustomTool | undefined;
  groups: Group[];
  admin: boolean;
}

export function ToolPage({ tool, custom, groups, admin }: Props): JSX.Element {
  const shape = formOf(tool.parameters);
  const [, look] = useState(0);
  const asked = approvals.value.filter((one) => toolOf(one.tool) === tool.name && (isPending(one) || one.mine));
  const [asking, setAsking] = useState<object | null>(null);
  const runner = useRef<HTMLButtonElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);

  // The parameters of a custom tool may change.
  const key = `${tool.name} ${JSON.stringify(tool.parameters)}`;
  let work = works.get(key);
  if (!work) works.set(key, (work = { draft: blank(shape), tried: false, running: false, ran: null, problem: '' }));
  const now = work;
  const set = (change: Partial<Work>) => {
    Object.assign(now, change);
    look((n) => n + 1);
  };

  useLayoutEffect(() => {
    scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
    return forgetSettled;
  }, []);

  const problems: Problems = {};
  const args = (read(shape, now.draft, true, '', problems) ?? {}) as object;
  const wrong = Object.keys(problems).length;

  const run = async (given: object) => {
    setAsking(null);
    set({ running: true, problem: '' });
    try {
      set({ running: false, tried: false, ran: await api.runTool(tool.name, given) });
    } catch (cause) {
      set({ running: false, ran: null, problem: trouble(cause) });
    }
  };

  const submit = (event?: Event) => {
    event?.preventDefault();
    if (now.running || asking || !tool.enabled) return;
    set({ tried: true, problem: '' });
    if (wrong) {
      requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus());
      return;
    }
    if (ASKS.has(tool.risk) || tool.requiresConfirmation) setAsking(args);
    else void run(args);
  };

  const refuse = () => {
    setAsking(null);
    requestAnimationFrame(() => runner.current?.focus());
  };

  const kind = ASKS.has(tool.risk) ? tool.risk : 'other';
  const fresh = JSON.stringify(now.draft) === JSON.stringify(blank(shape));
  return (
    <article class="tool">
      <Back />
      <h2 tabIndex={-1} ref={heading}>{tool.name}</h2>
      <p><Sentence words={tool.description} /></p>
      <p class="dotted">
        <span>{tool.category}</span>
        <span>{words.risk[tool.risk] ?? tool.risk}</span>
        {tool.aliases.length > 0 && <span>{words.also(tool.aliases)}</span>}
        {custom && <a href={href('tools', 'custom', custom.id)}>{words.seeCode}</a>}
      </p>
      {!tool.enabled && (
        <>
          <Notice quiet>{(admin ? text.groups.offWhy : text.groups.offWhyAdmin)(groupName(groups, tool.group))}</Notice>
          {groups.some((group) => group.id === tool.group) && (
            <p><a class="onward" href={href('tools', 'groups', tool.group)}>{text.groups.toGroup(groupName(groups, tool.group))}<Chevron /></a></p>
          )}
        </>
      )}
      <Needs tool={tool.name} />
      <form
        ref={form}
        noValidate
        onSubmit={submit}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
          event.preventDefault();
          submit();
        }}
      >
        <Body shape={shape} draft={now.draft} onInput={(draft) => (setAsking(null), set({ draft }))} problems={now.tried ? problems : {}} />
        {asking ? (
          <Confirm title={words.ask[kind] ?? ''} yes={words.askYes[kind] ?? words.run} onYes={() => void run(asking)} onNo={refuse}>
            <p class="soft small">{words.riskLong[tool.risk]}</p>
            <pre>{`${tool.name} ${JSON.stringify(asking, null, 2)}`}</pre>
          </Confirm>
        ) : (
          <Buttons>
            <button class="go" ref={runner} aria-disabled={now.running || !tool.enabled} aria-keyshortcuts="Control+Enter">
              {now.running ? words.running : words.run}
            </button>
            {!fresh && !now.running && (
              <button type="button" class="quiet" onClick={() => set({ draft: blank(shape), tried: false, problem: '' })}>{words.reset}</button>
            )}
            <span class="soft small keys">{words.keys}</span>
          </Buttons>
        )}
        {now.tried && wrong > 0 && !asking && <Notice bad>{words.fix(wrong)}</Notice>}
        {now.problem && <Notice bad>{now.problem}</Notice>}
      </form>
      {asked.map((one) => <ApprovalCard key={one.id} asked={one} />)}
      {now.ran && !now.running && <Result ran={now.ran} />}
      <ToolPolicy tool={tool.name} version={custom?.version} />
    </article>
  );
}

interface BodyProps {
  shape: Shape;
  draft: Draft;
  onInput: (draft: Draft) => void;
  problems: Problems;
}

function Body({ shape, draft, onInput, problems }: BodyProps): JSX.Element {
  if (shape.kind !== 'group') {
    return <AreaField label={words.json} code rows={4} value={draft as string} onInput={onInput} error={problems['']} />;
  }
  if (!shape.fields.length) return <p class="soft">{words.none}</p>;
  return <Fields group={shape} draft={draft as GroupDraft} onInput={onInput} problems={problems} />;
}
