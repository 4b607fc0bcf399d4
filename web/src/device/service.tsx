// One service: its description, users and entries. Keys are write-only.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Confirm, Notice, TextField } from '../form';
import { blank, readAll } from '../forms/draft';
import { Fields } from '../forms/fields';
import { groupOf, label as labelled, type Group, type GroupDraft, type Schema } from '../forms/schema';
import * as policy from '../policy';
import { prefilled } from '../prefill';
import { go, href } from '../rooms';
import { Sentence } from '../sentence';
import { sentence, text } from '../text';

import { useFocusKept } from './focus';
import { Edit, Page, SaveRow, useAction, useAdmin, useHouse } from './part';

const words = text.services;

const isSecret = (field: policy.ServiceField) => field.secret || field.type === 'secret';

const TYPES: Record<string, Schema> = { number: { type: 'number' }, boolean: { type: 'boolean' }, url: { type: 'string', format: 'uri' } };

/** What every entry with secrets may have besides. */
const EXTRAS: Record<'hosts' | 'raw', Schema> = {
  hosts: { type: 'array', items: { type: 'string', format: 'line' }, title: words.hosts, description: words.hostsHelp },
  raw: { type: 'boolean', title: words.raw, description: words.rawHelp, default: false },
};

/** The form of an entry, in the order of the service's fields. `entry`: the one that is changed. */
function formOf(fields: policy.ServiceField[], entry?: policy.ServiceEntry): Group {
  const schemaOf = (field: policy.ServiceField): Schema => {
    const kept = entry?.secretsSet.includes(field.name) ?? false;
    const secret = isSecret(field);
    const help = [field.description && sentence(field.description), secret && (kept ? words.secretKept : words.secretHelp)];
    return {
      ...(secret ? { writeOnly: true, kept } : field.type === 'select' ? { enum: field.options ?? [] } : TYPES[field.type] ?? { type: 'string', format: 'line' }),
      title: field.label || labelled(field.name), description: help.filter(Boolean).join(' '),
      ...(!entry && { default: field.default }),
    };
  };
  const properties = Object.fromEntries(fields.map((field) => [field.name, schemaOf(field)]));
  return groupOf({ required: fields.filter((field) => field.required).map((field) => field.name), properties: { ...properties, ...(fields.some(isSecret) && EXTRAS) } }, true);
}

interface EntryFormProps {
  service: policy.Service;
  entry?: policy.ServiceEntry;
  /** The key field to focus. */
  replacing?: string;
  onDone: () => void;
  onCancel: () => void;
}

function EntryForm({ service, entry, replacing, onDone, onCancel }: EntryFormProps): JSX.Element {
  const form = formOf(service.schema, entry);
  const [draft, setDraft] = useState(() => blank(form, entry?.fields ?? prefilled(service.name)) as GroupDraft);
  const [label, setLabel] = useState(entry?.label ?? (service.entries.length ? '' : words.first));
  const [tried, setTried] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const act = useAction();
  const { values: fields, problems } = readAll(form, draft);
  useLayoutEffect(() => {
    const at = service.schema.filter(isSecret).findIndex((field) => field.name === replacing);
    if (at >= 0) box.current?.querySelectorAll<HTMLElement>('input[type="password"]')[at]?.focus();
  }, []);
  const unlabelled = label.trim() ? '' : words.labelWrong;
  const save = async () => {
    setTried(true);
    if (unlabelled || Object.keys(problems).length) {
      requestAnimationFrame(() => box.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus());
      return;
    }
    // Emptied fields are deleted; a key that was not typed stays.
    const emptied = Object.keys(entry?.fields ?? {}).filter((name) => form.fields.some((field) => field.name === name) && !(name in fields));
    const given = { fields: { ...fields, ...Object.fromEntries(emptied.map((name) => [name, null])) } };
    const done = await act.run(() => (entry
      ? policy.changeEntry(service.name, entry.label, { ...given, ...(label.trim() !== entry.label && { label: label.trim() }) })
      : policy.addEntry(service.name, { label: label.trim(), ...given })));
    if (done) onDone();
  };
  return (
    <Edit label={entry ? words.changeOf(entry.label) : words.setUp} onSubmit={() => void save()} onCancel={onCancel}>
      <div class="fields" ref={box}>
        {service.multiEntry && (
          <TextField required label={words.label} help={words.labelHelp} error={tried ? unlabelled : ''} value={label} onInput={(value) => (setLabel(value), act.clear())} />
        )}
        <Fields group={form} draft={draft} onInput={(value) => (setDraft(value), act.clear())} problems={tried ? problems : {}} />
      </div>
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <SaveRow busy={act.busy} save={words.save} onCancel={onCancel} />
    </Edit>
  );
}

/** Formats a plain value. */
function shown(value: unknown): string {
  if (typeof value === 'boolean') return value ? words.yes : words.no;
  if (Array.isArray(value)) return value.join(', ');
  return value === undefined || value === null || value === '' ? words.isNotSet : String(value);
}

interface EntryProps {
  service: policy.Service;
  entry: policy.ServiceEntry;
  may: boolean;
  onChanged: (said: string) => void;
}

function Entry({ service, entry, may, onChanged }: EntryProps): JSX.Element {
  const [open, setOpen] = useState<'' | 'change' | 'drop'>('');
  const [replacing, setReplacing] = useState('');
  const act = useAction();
  const free = may && entry.from !== 'file';
  const change = async (given: policy.EntryChange) => {
    if (await act.run(() => policy.changeEntry(service.name, entry.label, given))) onChanged(words.saved);
  };
  const drop = async () => {
    if (await act.run(() => policy.deleteEntry(service.name, entry.label))) onChanged(words.dropped);
  };
  const edit = (key = '') => {
    setReplacing(key);
    setOpen('change');
  };
  if (open === 'change') {
    return (
      <li>
        <EntryForm service={service} entry={entry} replacing={replacing} onCancel={() => setOpen('')} onDone={() => (setOpen(''), onChanged(words.saved))} />
      </li>
    );
  }
  return (
    <li>
      <div class="entry" role="group" aria-label={words.entry(entry.label)}>
        <p class="row"><strong>{entry.label}</strong> {entry.isDefault && service.multiEntry && <span class="mark">{words.isDefault}</span>}</p>
        <dl class="facts-list">
          {service.schema.map((field) => {
            const set = entry.secretsSet.includes(field.name);
            const name = field.label || labelled(field.name);
            return (
              <div key={field.name}>
                <dt>{name}</dt>
                <dd class={isSecret(field) ? 'row' : undefined}>
                  <span>{isSecret(field) ? (set ? words.isSet : words.isNotSet) : shown(entry.fields[field.name])}</span>
                  {isSecret(field) && set && free && !open && (
                    <span class="row">
                      <button type="button" class="quiet" aria-label={words.replaceOf(name)} onClick={() => edit(field.name)}>{words.replace}</button>
                      {!field.required && (
                        <button type="button" class="quiet" aria-label={words.takeAwayOf(name)} aria-disabled={act.busy} onClick={() => void change({ fields: { [field.name]: null } })}>
                          {words.takeAway}
                        </button>
                      )}
                    </span>
                  )}
                </dd>
              </div>
            );
          })}
          {Object.entries(EXTRAS).filter(([name]) => entry.fields[name] !== undefined).map(([name, { title }]) => (
            <div key={name}>
              <dt>{title}</dt>
              <dd>{shown(entry.fields[name])}</dd>
            </div>
          ))}
        </dl>
        {act.problem && <Notice bad>{act.problem}</Notice>}
        {open === 'drop' && (
          <Confirm title={words.dropAsk(entry.label)} yes={words.drop} busy={act.busy} onYes={() => void drop()} onNo={() => setOpen('')}>
            <p class="small">{words.dropWhy}</p>
          </Confirm>
        )}
        {free && !open && (
          <div class="buttons">
            <button type="button" class="small" data-back aria-label={words.changeOf(entry.label)} onClick={() => edit()}>{words.change}</button>
            {!entry.isDefault && (
              <button type="button" class="small" aria-label={words.makeDefaultOf(entry.label)} aria-disabled={act.busy} onClick={() => void change({ default: true })}>{words.makeDefault}</button>
            )}
            <button type="button" class="quiet" aria-label={words.dropOf(entry.label)} onClick={() => setOpen('drop')}>{words.drop}</button>
          </div>
        )}
      </div>
    </li>
  );
}

export function ServicePage({ service, fresh, onChanged }: { service: policy.Service; fresh: boolean; onChanged: () => Promise<void> }): JSX.Element {
  const admin = useAdmin();
  const [adding, setAdding] = useState(admin && fresh && service.from !== 'file' && !service.entries.length);
  const [removing, setRemoving] = useState(false);
  const [done, setDone] = useState('');
  const box = useRef<HTMLDivElement>(null);
  const act = useAction();
  useFocusKept(box);
  const may = admin && service.from !== 'file';
  const { session } = useHouse();
  const { entries } = service;
  // A person's entry overrides the one in the file.
  const free = service.multiEntry || entries.every((entry) => entry.from === 'file');
  const changed = (said: string) => {
    setDone(said);
    void onChanged();
  };
  const remove = async () => {
    if (!(await act.run(() => policy.deleteService(service.name)))) return;
    go('device', ['services'], true);
    await onChanged();
  };
  return (
    <Page title={policy.serviceName(service)} back={words.all} to={href('device', 'services')}>
      <div class="part-body" ref={box}>
        {service.description && <p><Sentence words={sentence(service.description)} /></p>}
        <p class="dotted">
          <code>{service.name}</code>
          {words.from[service.from] && <span>{words.from[service.from]}</span>}
          {/^https?:\/\//i.test(service.docsUrl ?? '') && <a href={service.docsUrl ?? ''} target="_blank" rel="noopener noreferrer">{words.docs}</a>}
        </p>
        {service.neededBy.length > 0 && (
          <p class="small">{words.neededBy} {service.neededBy.map((tool, n) => <>{n > 0 && ', '}<a key={tool} href={href('tools', tool)}>{tool}</a></>)}</p>
        )}
        {service.from === 'file' && <Notice quiet>{words.fileWhy}</Notice>}
        {!admin && <p class="soft small">{words.adminOnly}</p>}
        {session.role !== 'viewer' && !entries.length && !adding && <p class="soft">{sentence(words.notSet)}</p>}
        {entries.length > 0 && (
          <ul class="rows">
            {entries.map((entry) => <Entry key={entry.label} service={service} entry={entry} may={may} onChanged={changed} />)}
          </ul>
        )}
        {done && !adding && <Notice>{done}</Notice>}
        {adding && <EntryForm service={service} onCancel={() => setAdding(false)} onDone={() => (setAdding(false), changed(words.saved))} />}
        {act.problem && <Notice bad>{act.problem}</Notice>}
        {removing && (
          <Confirm title={words.removeAsk(policy.serviceName(service))} yes={words.removeYes} busy={act.busy} onYes={() => void remove()} onNo={() => setRemoving(false)} />
        )}
        {may && !adding && !removing && (
          <div class="buttons">
            {free && (
              <button type="button" data-back onClick={() => (setAdding(true), setDone(''))}>{entries.length ? words.another : words.setUp}</button>
            )}
            {service.from === 'person' && <button type="button" class="quiet" onClick={() => setRemoving(true)}>{words.remove}</button>}
          </div>
        )}
      </div>
    </Page>
  );
}
