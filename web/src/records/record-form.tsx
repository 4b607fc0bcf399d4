// The form of a record: a new one, or an existing one in its place.
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import * as api from '../api';
import { Buttons, Notice } from '../form';
import { blank, changes, readAll } from '../forms/draft';
import { EachField } from '../forms/fields';
import { overlaid, type Group, type GroupDraft, type Schema } from '../forms/schema';
import { useForm } from '../forms/use-form';
import { Chevron } from '../icons';
import { approvals, forgetSettled, isPending } from '../questions';
import { ApprovalCard } from '../talk/approval-card';
import { text, trouble } from '../text';
import { records as words } from '../text/records';
import { knownTools, toolDetails, toolsProblem } from '../tools/use-tools';
import { toolOf } from '../values';
import type { Entry, Family } from './kinds';

interface Props {
  family: Family;
  /** The record that is changed; without it a new one is made. */
  entry?: Entry;
  /** The values a new one begins with. */
  begin?: object;
  onDone: (name: string, saved: Entry | undefined) => void;
  onCancel: () => void;
}

/** A shared record belongs to somebody else, who alone may change it. */
export const refusal = (cause: unknown, entry: Entry | undefined): string =>
  (entry?.['shared'] === true && cause instanceof api.Refused && cause.status === 403 ? words.notYours : trouble(cause));

/** A tool answers the record, or the record under its name. */
export function recordIn(result: unknown): Entry | undefined {
  const candidates = [result, ...(result && typeof result === 'object' ? Object.values(result) : [])];
  return candidates.find((one): one is Entry => typeof (one as Entry | null)?.id === 'string');
}

/** The fields by the schemas of the tools that add and update; a field that only the latter knows is for existing records. */
function groupOf(family: Family, existing: boolean): Group {
  const of = (name: string): Schema => family.schema ?? toolDetails(name)?.parameters ?? {};
  const [add, update] = [of(family.tools.add), of(family.tools.update)];
  const properties = existing ? { ...update.properties, ...add.properties } : add.properties ?? {};
  const overlay = Object.entries(family.fields).filter(([name]) => existing || name in properties || !(name in (update.properties ?? {})));
  return overlaid({ ...add, properties }, Object.fromEntries(overlay));
}

/** Whether the schemas of the family's tools are here. They are read when a form first needs them. */
function isRead({ schema, tools, ready }: Family): boolean {
  if (ready && !ready()) return false;
  if (schema) return true;
  const all = knownTools.value?.tools;
  return !!all && [tools.add, tools.update].filter((name) => all.some((tool) => tool.name === name)).map(toolDetails).every(Boolean);
}

export function RecordForm(props: Props): JSX.Element {
  if (!isRead(props.family)) return <p class="soft small">{toolsProblem.value || words.loading}</p>;
  return <LoadedForm {...props} />;
}

function LoadedForm({ family, entry, begin, onDone, onCancel }: Props): JSX.Element {
  const { tools, which, fixed = {}, wrap } = family;
  const group = groupOf(family, !!entry);
  const given = entry ? (family.given?.(entry) ?? entry) : { ...family.begin?.(), ...begin };
  const run = family.asksFirst ? api.runTool : api.execute;

  const save = async (values: Record<string, unknown>, draft: GroupDraft, before: GroupDraft) => {
    const changed = entry ? changes(group, before, draft, wrap ? null : '') : values;
    if (entry && !Object.keys(changed).length) return onDone(family.title(entry), entry);
    const sent = family.send?.(changed, draft, entry) ?? changed;
    const args = wrap ? { [wrap]: sent } : sent;
    const { result } = await (entry ? run(tools.update, { ...fixed, [which]: entry.id, ...args }) : run(tools.add, { ...fixed, ...args }));
    const saved = recordIn(result);
    onDone(family.title(saved ?? ({ ...draft, id: entry?.id ?? '' } as Entry)), saved);
  };
  const form = useForm({
    group, given, save,
    keepAs: entry ? undefined : `${tools.add} ${JSON.stringify(fixed)}`,
    sentence: (cause) => refusal(cause, entry),
  });

  useLayoutEffect(() => {
    form.ref.current?.querySelector<HTMLElement>('input, textarea, select')?.focus();
    return forgetSettled;
  }, []);

  const part = (rare: boolean): Group => ({ kind: 'group', fields: group.fields.filter((field) => field.rare === rare) });
  const rare = part(true);
  const empty = blank(rare) as GroupDraft;
  const filled = rare.fields.some(({ name, usual }) => !usual && JSON.stringify(form.draft[name]) !== JSON.stringify(empty[name]));
  const later = family.asksFirst?.(form.draft) ?? [];
  const asked = approvals.value.filter((one) => (isPending(one) || one.mine) && later.includes(toolOf(one.tool)));
  const fields = { draft: form.draft, problems: form.problems, onInput: form.set };
  return (
    <Frame label={entry ? words.about(words.edit, family.title(entry)) : family.words.add} form={form.ref} onSubmit={form.submit} onEscape={entry ? undefined : onCancel}>
      <EachField group={part(false)} {...fields} />
      {rare.fields.length > 0 && <Rare open={filled}><EachField group={rare} {...fields} /></Rare>}
      {family.Preview && <Previewed Preview={family.Preview} group={group} draft={form.draft} id={entry?.id ?? ''} />}
      <Buttons>
        <button class="main" aria-disabled={form.busy}>{form.busy ? words.saving : entry ? words.save : words.add}</button>
        <button type="button" class="quiet" onClick={() => (form.drop(), onCancel())}>{words.cancel}</button>
        <span class="soft small keys">{text.toolsRoom.keys}</span>
      </Buttons>
      {asked.map((one) => <ApprovalCard key={one.id} asked={one} />)}
      {form.problem && <Notice bad>{form.problem}</Notice>}
    </Frame>
  );
}

function Previewed({ Preview, group, draft, id }: { Preview: NonNullable<Family['Preview']>; group: Group; draft: GroupDraft; id: string }): JSX.Element {
  const { values, problems } = readAll(group, draft);
  return <Preview values={values} wrong={Object.keys(problems).length > 0} id={id} />;
}

interface FrameProps {
  label: string;
  form: { current: HTMLFormElement | null };
  onSubmit: (event?: Event) => unknown;
  onEscape?: (() => void) | undefined;
  children: ComponentChildren;
}

/** A form in the flow of a list; Ctrl+Enter saves from any field. */
export function Frame({ label, form, onSubmit, onEscape, children }: FrameProps): JSX.Element {
  return (
    <form
      class="writing"
      ref={form}
      noValidate
      aria-label={label}
      onSubmit={onSubmit}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && onEscape) return onEscape();
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
        event.preventDefault();
        void onSubmit();
      }}
    >
      {children}
    </form>
  );
}

/** Rarely needed fields, folded away unless one is filled. */
function Rare({ open, children }: { open: boolean; children: ComponentChildren }): JSX.Element {
  const [begun] = useState(open);
  return (
    <details class="rare" open={begun}>
      <summary><Chevron />{words.rare}</summary>
      <div class="fields">{children}</div>
    </details>
  );
}
