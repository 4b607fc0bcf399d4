// Command tools: a command with places for parameters, written, tried, approved and deleted.
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ToolRun } from '../api';
import { LoadState, useAction, useRead } from '../device/part';
import { blank, read as readDraft } from '../forms/draft';
import { formOf, type Draft, type Problems } from '../forms/schema';
import { AreaField, Buttons, Confirm, Notice, NumberField, SwitchField, TextField } from '../form';
import { Fresh } from '../icons';
import { useLive } from '../live';
import { go, href } from '../rooms';
import { Sentence } from '../sentence';
import { facts, text, when } from '../text';
import { forms } from '../text/workshop-forms';
import { Back } from '../tools/back';
import { carried, Trial } from '../tools/editor';
import { Result } from '../tools/result';
import { changeCommandTool, commandTools, createCommandTool, decideCommandTool, deleteCommandTool, tryCommandTool, type CommandDraft, type CommandTool } from './api';
import { pairsOf } from './lines';
import './workshop.css';

const words = forms.commands;
const room = text.toolsRoom;

export function CommandTools({ path, admin, writer }: { path: string[]; admin: boolean; writer: boolean }): JSX.Element {
  const read = useRead(commandTools);
  useLive(['tools:changed'], () => void read.again());
  const [wanted] = path;
  const all = read.data;
  if (wanted === 'new' && writer) return <Editor onDone={(id) => void read.again().then(() => go('tools', ['commands', id], true))} onCancel={() => go('tools', ['commands'])} />;
  if (wanted) {
    const tool = all?.find((one) => one.id === wanted);
    return tool
      ? <One key={wanted} tool={tool} admin={admin} writer={writer} onChanged={read.again} />
      : <article class="tool"><Back to={href('tools', 'commands')}>{words.all}</Back>{all ? <Notice quiet>{words.gone}</Notice> : <LoadState of={read} />}</article>;
  }
  return (
    <article class="tool">
      <Back />
      <h2>{words.title}</h2>
      <p class="soft small">{words.why}</p>
      <LoadState of={read} />
      {all?.length === 0 && <p class="soft">{words.none}</p>}
      <ul class="own">
        {all?.map((tool) => (
          <li key={tool.id}>
            <a class="tool-row" href={href('tools', 'commands', tool.id)}>
              <span class="tool-name">{tool.name}</span>
              <span class="tool-about"><Sentence words={tool.description} /></span>
              <span class="status-line"><span><i class={`dot is-${tool.status}`} />{room.status[tool.status] ?? tool.status}</span><span>{room.by[tool.createdBy] ?? tool.createdBy}</span></span>
            </a>
          </li>
        ))}
      </ul>
      {writer && all && <div class="buttons"><a class="button" href={href('tools', 'commands', 'new')}><Fresh />{words.fresh}</a></div>}
    </article>
  );
}

interface OneProps {
  tool: CommandTool;
  admin: boolean;
  writer: boolean;
  onChanged: () => Promise<void>;
}

function One({ tool, admin, writer, onChanged }: OneProps): JSX.Element {
  const [editing, setEditing] = useState(false);
  const [asking, setAsking] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const act = useAction();
  useLayoutEffect(() => {
    if (!editing) heading.current?.focus({ preventScroll: true });
  }, [editing]);
  const then = (what: () => Promise<unknown>) => void act.run(what).then((done) => (done ? onChanged() : undefined));
  const decide = (what: Parameters<typeof decideCommandTool>[1]) => then(() => decideCommandTool(tool.id, what));
  const remove = async () => {
    if (!(await act.run(() => deleteCommandTool(tool.id)))) return;
    await onChanged();
    go('tools', ['commands'], true);
  };
  if (editing) return <Editor tool={tool} onDone={() => void onChanged().then(() => setEditing(false))} onCancel={() => setEditing(false)} />;
  return (
    <article class="tool page">
      <Back to={href('tools', 'commands')}>{words.all}</Back>
      <h2 tabIndex={-1} ref={heading}>{tool.name}</h2>
      <p><Sentence words={tool.description} /></p>
      <p class="soft small">
        {facts(room.status[tool.status] ?? tool.status, room.by[tool.createdBy] ?? tool.createdBy, tool.network ? words.online : words.offline, tool.requiresApproval && words.asks, room.used(tool.usageCount), room.changed(when(tool.updatedAt)))}
      </p>
      {tool.status === 'pending_approval' && (
        <section class="confirm">
          <p class="question">{words.decide}</p>
          {admin ? (
            <Buttons>
              <button type="button" class="go" aria-disabled={act.busy} onClick={() => decide('approve')}>{words.approve}</button>
              <button type="button" aria-disabled={act.busy} onClick={() => decide('reject')}>{words.reject}</button>
            </Buttons>
          ) : <p class="small">{room.adminDecides}</p>}
        </section>
      )}
      <pre class="command-line" tabIndex={0} role="region" aria-label={words.command}>{tool.command}</pre>
      {tool.envNames.length > 0 && <p class="soft small">{words.env}: <code>{tool.envNames.join(', ')}</code></p>}
      {act.problem && <Notice bad>{act.problem}</Notice>}
      {asking ? (
        <Confirm title={words.removeAsk(tool.name)} yes={words.remove} busy={act.busy} onYes={() => void remove()} onNo={() => setAsking(false)}>
          <p class="small soft">{words.removeWhy}</p>
        </Confirm>
      ) : (
        <Buttons>
          {tool.status === 'active' && <a class="button" href={href('tools', tool.name)}>{words.run}</a>}
          {writer && <button type="button" onClick={() => setEditing(true)}>{words.edit}</button>}
          {writer && tool.status === 'active' && <button type="button" aria-disabled={act.busy} onClick={() => decide('disable')}>{words.disable}</button>}
          {writer && tool.status === 'disabled' && <button type="button" aria-disabled={act.busy} onClick={() => decide('enable')}>{words.enable}</button>}
          {admin && tool.status === 'rejected' && <button type="button" aria-disabled={act.busy} onClick={() => decide('approve')}>{words.approve}</button>}
          {writer && <button type="button" class="quiet" onClick={() => setAsking(true)}>{words.remove}</button>}
        </Buttons>
      )}
    </article>
  );
}

/** The parameters of a command that says nothing more of them: every place is a text that has to be given. */
function placesOf(command: string): object {
  const names = [...new Set([...command.matchAll(/\{\{\s*([A-Za-z_]\w*)\s*\}\}/g)].map(([, name = '']) => name))];
  return { type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])), required: names };
}

interface Written {
  name: string;
  description: string;
  command: string;
  parameters: string;
  workingDir: string;
  seconds: string;
  env: string;
  network: boolean;
  requiresApproval: boolean;
}

const EMPTY: Written = { name: '', description: '', command: '', parameters: '', workingDir: '', seconds: '60', env: '', network: false, requiresApproval: false };
/** An unfinished tool is kept while another place is open. */
let unfinished = EMPTY;

const writtenOf = (tool: CommandTool): Written => ({
  name: tool.name, description: tool.description, command: tool.command, parameters: JSON.stringify(tool.parameters, null, 2), workingDir: tool.workingDir,
  seconds: String(tool.timeoutSeconds), env: '', network: tool.network, requiresApproval: tool.requiresApproval,
});

/** The schema, where it is one; problems go to `problems`. */
function check(written: Written, problems: Problems): object | null {
  if (!/^[a-z][a-z0-9_]{0,63}$/.test(written.name.trim())) problems['name'] = written.name.trim() ? words.nameWrong : room.wrong.needed;
  if (!written.description.trim()) problems['description'] = room.wrong.needed;
  if (!written.command.trim()) problems['command'] = room.wrong.needed;
  if (!(Number(written.seconds) >= 1 && Number(written.seconds) <= 300)) problems['seconds'] = words.timeoutWrong;
  if (!pairsOf(written.env)) problems['env'] = words.envWrong;
  if (!written.parameters.trim()) return placesOf(written.command);
  try {
    const schema = JSON.parse(written.parameters) as unknown;
    if (typeof schema === 'object' && schema && !Array.isArray(schema)) return schema;
    problems['parameters'] = room.schemaObject;
  } catch (cause) {
    problems['parameters'] = room.wrong.json(cause instanceof Error ? cause.message : '');
  }
  return null;
}

function Editor({ tool, onDone, onCancel }: { tool?: CommandTool; onDone: (id: string) => void; onCancel: () => void }): JSX.Element {
  const [written, setWritten] = useState(() => (tool ? writtenOf(tool) : unfinished));
  const [trial, setTrial] = useState<{ of: string; draft: Draft }>({ of: '', draft: {} });
  const [tried, setTried] = useState<'' | 'test' | 'keep'>('');
  const [ran, setRan] = useState<ToolRun | null>(null);
  const act = useAction();
  const form = useRef<HTMLFormElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }, []);
  useEffect(() => {
    if (!tool) unfinished = written;
  }, [written]);
  const put = (change: Partial<Written>) => {
    setWritten({ ...written, ...change });
    act.clear();
  };
  const problems: Problems = {};
  const schema = check(written, problems);
  const shape = schema && formOf(schema);
  const of = JSON.stringify(schema);
  const typed: Draft = !shape ? '' : trial.of === of ? trial.draft : trial.of ? carried(shape, trial.draft) : blank(shape);
  const trialProblems: Problems = {};
  const given = shape ? (readDraft(shape, typed, true, '', trialProblems) ?? {}) : {};
  const shown = tried ? problems : {};
  const base = (): Omit<CommandDraft, 'env'> => ({
    name: written.name.trim(), description: written.description.trim(), command: written.command, parameters: schema ?? {}, workingDir: written.workingDir.trim(),
    timeoutSeconds: Math.round(Number(written.seconds)), network: written.network, requiresApproval: written.requiresApproval,
  });
  const env = Object.entries(pairsOf(written.env) ?? {});
  const wrong = (what: 'test' | 'keep') => {
    setTried(what);
    const is = Object.keys(problems).length > 0 || (what === 'test' && Object.keys(trialProblems).length > 0);
    if (is) requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus());
    return is;
  };
  const test = async () => {
    if (wrong('test')) return;
    setRan(null);
    await act.run(async () => setRan(await tryCommandTool({ ...base(), env: Object.fromEntries(env.filter(([, value]) => value)) }, given)));
  };
  const keep = async () => {
    if (wrong('keep')) return;
    await act.run(async () => {
      // A stored value is replaced, or removed by an empty one; the others stay.
      const saved = tool
        ? await changeCommandTool(tool.id, { ...base(), ...(env.length && { env: Object.fromEntries(env.map(([name, value]) => [name, value || null])) }) })
        : await createCommandTool({ ...base(), env: Object.fromEntries(env.filter(([, value]) => value)) });
      if (!tool) unfinished = EMPTY;
      onDone(saved.id);
    });
  };
  return (
    <article class="tool">
      <Back to={href('tools', 'commands')}>{words.all}</Back>
      <h2 tabIndex={-1} ref={heading}>{tool ? tool.name : words.fresh}</h2>
      <form
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void keep();
        }}
      >
        <div class="fields">
          <TextField code required label={words.name} help={words.nameHelp} error={shown['name']} value={written.name} onInput={(name) => put({ name })} />
          <AreaField required label={words.description} help={words.descriptionHelp} error={shown['description']} value={written.description} onInput={(description) => put({ description })} />
          <AreaField code required rows={3} label={words.command} help={words.commandHelp} error={shown['command']} value={written.command} onInput={(command) => put({ command })} />
          <AreaField code rows={3} label={words.parameters} help={words.parametersHelp} error={shown['parameters']} value={written.parameters} onInput={(parameters) => put({ parameters })} />
          <TextField code label={words.workingDir} help={words.workingDirHelp} value={written.workingDir} onInput={(workingDir) => put({ workingDir })} />
          <NumberField whole label={words.timeout} error={shown['seconds']} value={written.seconds} onInput={(seconds) => put({ seconds })} />
          <AreaField code label={words.env} help={tool?.envNames.length ? words.envStays(tool.envNames.join(', ')) : words.envHelp} error={shown['env']} value={written.env} onInput={(value) => put({ env: value })} />
          <SwitchField label={words.network} checked={written.network} onInput={(network) => put({ network })} />
          <SwitchField label={words.approval} checked={written.requiresApproval} onInput={(requiresApproval) => put({ requiresApproval })} />
        </div>
        {shape && (
          <section class="trial under" aria-labelledby="trial">
            <h3 id="trial">{words.tryTitle}</h3>
            <p class="soft small">{words.tryHelp}</p>
            <Trial shape={shape} draft={typed} onInput={(draft) => setTrial({ of, draft })} problems={tried === 'test' ? trialProblems : {}} />
            <Buttons><button type="button" aria-disabled={act.busy} onClick={() => void test()}>{act.busy && tried === 'test' ? words.testing : words.test}</button></Buttons>
            {ran && <Result ran={ran} title={words.tried} />}
          </section>
        )}
        {act.problem && <Notice bad>{act.problem}</Notice>}
        <Buttons>
          <button class="main" aria-disabled={act.busy}>{tool ? forms.save : words.create}</button>
          <button type="button" class="quiet" onClick={onCancel}>{room.cancel}</button>
        </Buttons>
      </form>
    </article>
  );
}
