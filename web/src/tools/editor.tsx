// The editor of a custom tool, with a test run before it is saved.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { blank, read } from '../forms/draft';
import { Fields } from '../forms/fields';
import { formOf, type Draft, type GroupDraft, type Problems, type Shape } from '../forms/schema';
import { AreaField, Buttons, Notice, optionsOf, SwitchField, TextField } from '../form';
import { go, href } from '../rooms';
import { text, trouble } from '../text';
import { Back } from './back';
import { Result } from './result';
import { readTools } from './use-tools';

const words = text.toolsRoom;

interface Written {
  name: string;
  description: string;
  parameters: string;
  code: string;
  permissions: NonNullable<api.ToolDraft['permissions']>;
}

const BEGIN: Written = {
  name: '',
  description: '',
  parameters: JSON.stringify({ type: 'object', properties: { year: { type: 'integer', description: 'A year.' } }, required: ['year'] }, null, 2),
  code: 'return { age: new Date().getFullYear() - args.year };',
  permissions: [],
};

/** An unfinished tool is kept while another place is open. */
let unfinished: Written = BEGIN;

interface Props {
  tool?: api.CustomTool;
  onDone?: () => void;
}

export function Editor({ tool, onDone }: Props): JSX.Element {
  const [written, setWritten] = useState<Written>(() => (tool ? { ...tool, parameters: JSON.stringify(tool.parameters, null, 2) } : unfinished));
  const [trial, setTrial] = useState<{ of: string; draft: Draft }>({ of: '', draft: {} });
  const [tried, setTried] = useState<'' | 'test' | 'keep'>('');
  const [busy, setBusy] = useState<'' | 'test' | 'keep'>('');
  const [problem, setProblem] = useState('');
  const [ran, setRan] = useState<api.ToolRun | null>(null);
  const form = useRef<HTMLFormElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);

  useLayoutEffect(() => {
    scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }, []);

  const set = (change: Partial<Written>) => {
    const now = { ...written, ...change };
    if (!tool) unfinished = now;
    setWritten(now);
    setProblem('');
  };

  const problems: Problems = {};
  const schema = check(written, problems);
  const shape = schema && formOf(schema);
  const of = JSON.stringify(schema);
  const typed = !shape ? '' : trial.of === of ? trial.draft : carried(shape, trial.draft);
  const trialProblems: Problems = {};
  const args = shape ? (read(shape, typed, true, '', trialProblems) ?? {}) : {};
  const shown = tried ? problems : {};

  const draft = (): api.ToolDraft => ({
    name: written.name.trim(),
    description: written.description.trim(),
    parameters: schema,
    code: written.code,
    permissions: written.permissions,
  });

  const attempt = async (what: 'test' | 'keep', action: () => Promise<void>) => {
    if (busy) return;
    setTried(what);
    setProblem('');
    const wrong = Object.keys(problems).length || (what === 'test' && Object.keys(trialProblems).length);
    if (wrong) {
      requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus());
      return;
    }
    setBusy(what);
    if (what === 'test') setRan(null);
    try {
      await action();
    } catch (cause) {
      setProblem(trouble(cause));
    } finally {
      setBusy('');
    }
  };

  const test = () => attempt('test', async () => setRan(await api.testTool(draft(), args)));
  const keep = () =>
    attempt('keep', async () => {
      const kept = tool ? await api.changeTool(tool.id, draft()) : await api.createTool(draft());
      if (!tool) unfinished = BEGIN;
      await readTools();
      if (onDone) onDone();
      else go('tools', ['custom', kept.id], true);
    });

  const may = (permission: Written['permissions'][number], on: boolean) =>
    set({ permissions: on ? [...written.permissions, permission] : written.permissions.filter((one) => one !== permission) });

  return (
    <article class="tool">
      {tool ? null : <Back />}
      <h2 tabIndex={-1} ref={heading}>{tool ? words.editTitle(tool.name) : words.fresh}</h2>
      <form
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void keep();
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
          event.preventDefault();
          void test();
        }}
      >
        <div class="fields">
          <TextField label={words.name} help={words.nameHelp} error={shown['name']} required code value={written.name} onInput={(name) => set({ name })} />
          <AreaField label={words.description} help={words.descriptionHelp} error={shown['description']} required value={written.description} onInput={(description) => set({ description })} />
          <AreaField label={words.parameters} help={words.parametersHelp} error={shown['parameters']} code rows={6} value={written.parameters} onInput={(parameters) => set({ parameters })} />
          <AreaField label={words.code} help={words.codeHelp} error={shown['code']} required code rows={8} value={written.code} onInput={(code) => set({ code })} />
          <fieldset class="several">
            <legend>{words.permissions}</legend>
            {optionsOf(words.may).map(({ value: permission, label }) => (
              <SwitchField key={permission} label={label} checked={written.permissions.includes(permission)} onInput={(on) => may(permission, on)} />
            ))}
          </fieldset>
        </div>
        {shape && (
          <section class="trial under" aria-labelledby="trial">
            <h3 id="trial">{words.tryTitle}</h3>
            <p class="soft small">{words.tryHelp}</p>
            <Trial shape={shape} draft={typed} onInput={(draft) => setTrial({ of, draft })} problems={tried === 'test' ? trialProblems : {}} />
            <Buttons>
              <button type="button" aria-disabled={busy !== ''} aria-keyshortcuts="Control+Enter" onClick={() => void test()}>
                {busy === 'test' ? words.testing : words.test}
              </button>
            </Buttons>
            {problem && tried === 'test' && <Notice bad>{problem}</Notice>}
            {ran && <Result ran={ran} title={words.tested} />}
          </section>
        )}
        <Buttons>
          <button class="main" aria-disabled={busy !== ''}>{busy === 'keep' ? words.saving : tool ? words.save : words.create}</button>
          {onDone
            ? <button type="button" class="quiet" onClick={onDone}>{words.cancel}</button>
            : <a class="button quiet" href={href('tools')}>{words.cancel}</a>}
        </Buttons>
        {problem && tried !== 'test' && <Notice bad>{problem}</Notice>}
      </form>
    </article>
  );
}

/** The form of the arguments a tool is tried with. */
export function Trial({ shape, draft, onInput, problems }: { shape: Shape; draft: Draft; onInput: (draft: Draft) => void; problems: Problems }): JSX.Element {
  if (shape.kind === 'group') return <Fields group={shape} draft={draft as GroupDraft} onInput={onInput} problems={problems} />;
  return <AreaField label={words.json} code value={draft as string} onInput={onInput} error={problems['']} />;
}

/** Collects problems; returns the parameters as a schema where they are valid. */
function check(written: Written, problems: Problems): object | null {
  const name = written.name.trim();
  if (!name) problems['name'] = words.wrong.needed;
  else if (!/^[a-z][a-z0-9_]{0,63}$/.test(name)) problems['name'] = words.nameWrong;
  if (!written.description.trim()) problems['description'] = words.wrong.needed;
  if (!written.code.trim()) problems['code'] = words.wrong.needed;
  const typed = written.parameters.trim() || '{"type": "object", "properties": {}}';
  try {
    const schema = JSON.parse(typed) as unknown;
    if (typeof schema === 'object' && schema && !Array.isArray(schema)) return schema;
    problems['parameters'] = words.schemaObject;
  } catch (cause) {
    problems['parameters'] = words.wrong.json(cause instanceof Error ? cause.message : '');
  }
  return null;
}

/** The test arguments carried over to changed parameters, where the fields still exist. */
export function carried(shape: Shape, trial: Draft): Draft {
  const fresh = blank(shape);
  if (shape.kind !== 'group') return typeof trial === 'string' ? trial : fresh;
  const now = fresh as GroupDraft;
  const before = (typeof trial === 'object' && !Array.isArray(trial) ? trial : {}) as GroupDraft;
  const kept = shape.fields.map(({ name, shape: { kind } }) => {
    const same = kind !== 'choice' && !Array.isArray(before[name]) && typeof before[name] === typeof now[name] && typeof now[name] !== 'object';
    return [name, (same ? before[name] : now[name]) as Draft];
  });
  return Object.fromEntries(kept) as Draft;
}
