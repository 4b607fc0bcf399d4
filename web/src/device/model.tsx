// What thinks of the answers: which model, who chose it, and, for an admin, another one.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import * as api from '../api';
import { Notice, SelectField, TextField } from '../form';
import { useLive } from '../live';
import { text } from '../text';
import { Edit, Part, Reading, SaveRow, useAct, useAdmin, useHouse, useRead } from './part';

const words = text.device.model;

type Kind = 'reflex' | 'openai' | 'custom';

/** "custom/qwen3" is `['custom', 'qwen3']`; what this page does not know yet is taken for a server of one's own. */
function parts(model: string): [Kind, string] {
  if (model === 'reflex' || !model) return ['reflex', ''];
  const slash = model.indexOf('/');
  return [model.startsWith('openai/') ? 'openai' : 'custom', model.slice(slash + 1)];
}

function sentence(choice: api.ModelChoice): string {
  const [kind, name] = parts(choice.model);
  if (kind === 'reflex') return words.reflexIs;
  // An address that is not OpenAI's own means that another server stands in for it.
  const elsewhere = kind === 'custom' || !/^(https:\/\/([\w-]+\.)*openai\.com\/|$)/.test(choice.url ?? '');
  return elsewhere ? words.customIs(name, choice.url ?? '') : words.openaiIs(name);
}

function origin(choice: api.ModelChoice): string {
  return (choice.from && words.from[choice.from]) ?? (choice.changeable === false ? words.fixed : '');
}

interface Draft {
  kind: Kind;
  name: string;
  url: string;
  key: string;
}

/** Whether the key that is kept may stay: a key goes to no other server than the one it was given for. */
function sameServer(draft: Draft, choice: api.ModelChoice): boolean {
  const [kind] = parts(choice.model);
  return kind === draft.kind && (kind === 'openai' || (choice.url ?? '') === draft.url.trim());
}

function lacks(draft: Draft, choice: api.ModelChoice): Partial<Record<'name' | 'url' | 'key', string>> {
  if (draft.kind === 'reflex') return {};
  const keeps = choice.hasKey && sameServer(draft, choice);
  return {
    ...(!draft.name.trim() && { name: words.needName }),
    ...(draft.kind === 'custom' && !/^https?:\/\/\S+$/.test(draft.url.trim()) && { url: words.needUrl }),
    ...(draft.kind === 'openai' && !draft.key.trim() && !keeps && { key: words.needKey }),
  };
}

/** What is sent: the key only when there is something to say about it. */
function asked(draft: Draft, choice: api.ModelChoice): Parameters<typeof api.chooseModel>[0] {
  if (draft.kind === 'reflex') return { model: 'reflex' };
  const key = draft.key.trim() || (choice.hasKey && !sameServer(draft, choice) ? '' : undefined);
  return {
    model: `${draft.kind}/${draft.name.trim()}`,
    ...(draft.kind === 'custom' && { url: draft.url.trim() }),
    ...(key !== undefined && { key }),
  };
}

function Choose({ choice, onDone, onCancel }: { choice: api.ModelChoice; onDone: (choice: api.ModelChoice) => void; onCancel: () => void }): JSX.Element {
  const [kind, name] = parts(choice.model);
  const [draft, setDraft] = useState<Draft>({ kind, name, url: choice.url ?? '', key: '' });
  const [wrong, setWrong] = useState<ReturnType<typeof lacks>>({});
  const act = useAct();
  const put = (change: Partial<Draft>) => {
    setDraft({ ...draft, ...change });
    setWrong({});
    act.clear();
  };
  const save = async () => {
    const found = lacks(draft, choice);
    setWrong(found);
    if (Object.keys(found).length) return;
    await act.run(async () => onDone(await api.chooseModel(asked(draft, choice))));
  };
  const keyHelp = !choice.hasKey ? words.keyHelp : sameServer(draft, choice) ? words.keyKept : words.keyDropped;
  return (
    <Edit label={words.change} onSubmit={() => void save()} onCancel={onCancel}>
      <SelectField
        label={words.who}
        value={draft.kind}
        options={words.kinds}
        onInput={(value) => put({ kind: value as Kind, name: value === kind ? name : '', url: value === kind ? (choice.url ?? '') : '' })}
      />
      {draft.kind !== 'reflex' && (
        <TextField key="name" code label={words.name} help={words.nameHelp[draft.kind]} error={wrong.name} value={draft.name} onInput={(value) => put({ name: value })} />
      )}
      {draft.kind === 'custom' && (
        <TextField key="url" code type="url" label={words.url} help={words.urlHelp} error={wrong.url} value={draft.url} onInput={(value) => put({ url: value })} />
      )}
      {draft.kind !== 'reflex' && (
        <TextField key="key" code type="password" label={words.key} help={keyHelp} error={wrong.key} value={draft.key} onInput={(value) => put({ key: value })} />
      )}
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <SaveRow busy={act.busy} save={text.device.save} onCancel={onCancel} />
    </Edit>
  );
}

export function Model(): JSX.Element {
  const read = useRead(api.model);
  const admin = useAdmin();
  const { onChanged } = useHouse();
  useLive(['model:changed'], () => void read.again());
  const [open, setOpen] = useState(false);
  const [done, setDone] = useState('');
  const act = useAct();
  const choice = read.data;
  const free = admin && choice?.changeable !== false;

  const took = (fresh: api.ModelChoice, said: string) => {
    read.set(fresh);
    setOpen(false);
    setDone(said);
    onChanged();
  };
  const forget = () => act.run(async () => took(await api.chooseModel({ model: '' }), words.undone));
  const dropKey = () => choice && act.run(async () => read.set(await api.chooseModel({ model: choice.model, key: '' })));

  return (
    <Part id="model" title={words.title} why={words.why}>
      <Reading of={read} />
      {choice && !open && (
        <>
          <p class="say">{sentence(choice)}</p>
          <p class="soft small">{origin(choice)}</p>
          {choice.hasKey && (
            <div class="key-line">
              <p class="soft small">{words.keySet}</p>
              {free && <button type="button" class="small" aria-disabled={act.busy} onClick={() => void dropKey()}>{words.removeKey}</button>}
            </div>
          )}
          {act.problem && <Notice bad>{act.problem}</Notice>}
          {done && <Notice>{done}</Notice>}
          {free && (
            <div class="buttons">
              <button type="button" data-back onClick={() => (setOpen(true), setDone(''))}>{words.change}</button>
              {choice.from === 'page' && <button type="button" class="quiet" onClick={() => void forget()}>{words.undo}</button>}
            </div>
          )}
        </>
      )}
      {choice && open && (
        <Choose
          choice={choice}
          onCancel={() => setOpen(false)}
          onDone={(fresh) => took(fresh, words.saved(parts(fresh.model)[1] || words.reflex))}
        />
      )}
    </Part>
  );
}
