// The model in use, and for admins a form to choose another.
import type { JSX } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import * as api from '../api';
import { Notice, SelectField, TextField } from '../form';
import { Chevron } from '../icons';
import { useLive } from '../live';
import { providers as readProviders, type Provider } from '../mind/api';
import { about, Choices, useKnownModels } from '../mind/known-models';
import { href } from '../rooms';
import { text } from '../text';
import { mind } from '../text/mind';
import { Edit, LoadState, SaveRow, useAction, useAdmin, useHouse, useRead } from './part';

const words = mind.model;

/** "custom/qwen3" is `['custom', 'qwen3']`. */
function parts(model: string): [string, string] {
  if (model === 'reflex' || !model) return ['reflex', ''];
  const slash = model.indexOf('/');
  return slash < 0 ? ['custom', model] : [model.slice(0, slash), model.slice(slash + 1)];
}

const nameOf = (kind: string, all: Provider[]) => all.find(({ id }) => id === kind)?.name ?? `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;

function sentence(choice: api.ModelInUse, all: Provider[]): string {
  const [kind, name] = parts(choice.model);
  if (kind === 'reflex') return words.reflexIs;
  if (kind === 'custom') return words.customIs(name, choice.url ?? '');
  // An address other than OpenAI's is another server with the same API.
  if (kind === 'openai') return /^(https:\/\/([\w-]+\.)*openai\.com\/|$)/.test(choice.url ?? '') ? words.openaiIs(name) : words.customIs(name, choice.url ?? '');
  if (all.find(({ id }) => id === kind)?.local) return words.customIs(name, choice.url ?? '');
  return words.providerIs(name, nameOf(kind, all));
}

function origin(choice: api.ModelInUse): string {
  return (choice.from && words.from[choice.from]) ?? (choice.changeable === false ? words.fixed : '');
}

interface Draft {
  kind: string;
  name: string;
  url: string;
  key: string;
}

/** Whether the stored key may stay: a key is sent only to the server it was given for. */
function sameServer(draft: Draft, choice: api.ModelInUse): boolean {
  const [kind] = parts(choice.model);
  return kind === draft.kind && (kind !== 'custom' || (choice.url ?? '') === draft.url.trim());
}

/** Whether there is a key for the choice. */
const hasKey = (draft: Draft, choice: api.ModelInUse, all: Provider[]) =>
  (choice.hasKey && sameServer(draft, choice)) || (draft.kind !== 'custom' && all.some(({ id, hasKey }) => id === draft.kind && hasKey));

function lacks(draft: Draft, choice: api.ModelInUse, all: Provider[]): Partial<Record<'name' | 'url' | 'key', string>> {
  if (draft.kind === 'reflex') return {};
  const wanted = draft.kind === 'openai' || (all.find(({ id }) => id === draft.kind)?.needsKey ?? false);
  return {
    ...(!draft.name.trim() && { name: words.needName }),
    ...(draft.kind === 'custom' && !/^https?:\/\/\S+$/.test(draft.url.trim()) && { url: words.needUrl }),
    ...(wanted && !draft.key.trim() && !hasKey(draft, choice, all) && { key: draft.kind === 'openai' ? words.needKey : words.needKeyOf(nameOf(draft.kind, all)) }),
  };
}

/** The request: the key only when it changes. */
function asked(draft: Draft, choice: api.ModelInUse): Parameters<typeof api.chooseModel>[0] {
  if (draft.kind === 'reflex') return { model: 'reflex' };
  const leaves = draft.kind === 'custom' && choice.hasKey && !sameServer(draft, choice);
  const key = draft.key.trim() || (leaves ? '' : undefined);
  return {
    model: `${draft.kind}/${draft.name.trim()}`,
    ...(draft.kind === 'custom' && { url: draft.url.trim() }),
    ...(key !== undefined && { key }),
  };
}

interface ChooseProps {
  choice: api.ModelInUse;
  all: Provider[];
  onDone: (choice: api.ModelInUse) => void;
  onCancel: () => void;
}

function Choose({ choice, all, onDone, onCancel }: ChooseProps): JSX.Element {
  const [kind, name] = parts(choice.model);
  const [draft, setDraft] = useState<Draft>({ kind, name, url: choice.url ?? '', key: '' });
  const [wrong, setWrong] = useState<ReturnType<typeof lacks>>({});
  const act = useAction();
  const known = useKnownModels();
  const id = useId();
  const put = (change: Partial<Draft>) => {
    setDraft({ ...draft, ...change });
    setWrong({});
    act.clear();
  };
  const save = async () => {
    const found = lacks(draft, choice, all);
    setWrong(found);
    if (Object.keys(found).length) return;
    await act.run(async () => onDone(await api.chooseModel(asked(draft, choice))));
  };
  // Providers with a key, the one in use, and the three built-in choices.
  const [reflex, openai, custom] = words.kinds;
  const usable = all.filter(({ id: which, hasKey: has, local }) => which !== 'openai' && which !== 'custom' && (has || local || which === kind));
  const rest = kind === 'reflex' || kind === 'openai' || kind === 'custom' || usable.some(({ id: which }) => which === kind) ? [] : [{ value: kind, label: nameOf(kind, all) }];
  const kinds = [reflex, openai, ...usable.map((one) => ({ value: one.id, label: one.name })), ...rest, custom].filter((one) => one !== undefined);
  const mine = known.filter((one) => one.model.startsWith(`${draft.kind}/`));
  const chosen = mine.find((one) => one.name === draft.name.trim());
  const there = hasKey(draft, choice, all);
  const moves = draft.kind === 'custom' && choice.hasKey && !sameServer(draft, choice);
  const keyHelp = there ? words.keyKept : moves ? words.keyDropped : words.keyHelp;
  const asksKey = draft.kind === 'openai' || draft.kind === 'custom' || (draft.kind !== 'reflex' && !there && !all.find(({ id: which }) => which === draft.kind)?.local);
  const nameHelp = (chosen && about(chosen)) || (words.nameHelp[draft.kind] ?? words.nameHelpOf(nameOf(draft.kind, all)));
  return (
    <Edit label={words.change} onSubmit={() => void save()} onCancel={onCancel}>
      <SelectField
        label={words.who}
        value={draft.kind}
        options={kinds}
        onInput={(value) => put({ kind: value, name: value === kind ? name : '', url: value === kind ? (choice.url ?? '') : '' })}
      />
      {draft.kind !== 'reflex' && (
        <TextField key="name" code list={`${id}-known`} label={words.name} help={nameHelp} error={wrong.name} value={draft.name} onInput={(value) => put({ name: value })} />
      )}
      {mine.length > 0 && <Choices id={`${id}-known`} models={mine} />}
      {draft.kind === 'custom' && (
        <TextField key="url" code type="url" label={words.url} help={words.urlHelp} error={wrong.url} value={draft.url} onInput={(value) => put({ url: value })} />
      )}
      {asksKey && (
        <TextField key="key" code type="password" label={words.key} help={keyHelp} error={wrong.key} value={draft.key} onInput={(value) => put({ key: value })} />
      )}
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <SaveRow busy={act.busy} save={text.device.save} onCancel={onCancel} />
    </Edit>
  );
}

/** `onward`: with a link to the Models page. */
export function Model({ onward = false }: { onward?: boolean }): JSX.Element {
  const read = useRead(api.model);
  const admin = useAdmin();
  const { onChanged } = useHouse();
  const [all, setAll] = useState<Provider[]>([]);
  const readAll = () => void (admin && readProviders().then(({ providers }) => setAll(providers), () => undefined));
  useLive(['model:changed'], () => {
    void read.again();
    readAll();
  });
  useEffect(readAll, [admin]);
  const [open, setOpen] = useState(false);
  const [done, setDone] = useState('');
  const act = useAction();
  const choice = read.data;
  const free = admin && choice?.changeable !== false;

  const took = (fresh: api.ModelInUse, said: string) => {
    read.set(fresh);
    setOpen(false);
    setDone(said);
    onChanged();
  };
  const forget = () => act.run(async () => took(await api.chooseModel({ model: '' }), words.undone));
  const dropKey = () => choice && act.run(async () => read.set(await api.chooseModel({ model: choice.model, key: '' })));

  return (
    <>
      <LoadState of={read} />
      {choice && !open && (
        <>
          <p class="say">{sentence(choice, all)}</p>
          <p class="soft small">{origin(choice)}</p>
          {choice.hasKey && (
            <div class="key-line">
              <p class="soft small">{words.keySet}</p>
              {free && <button type="button" class="small" aria-disabled={act.busy} onClick={() => void dropKey()}>{words.removeKey}</button>}
            </div>
          )}
          {act.problem && <Notice bad>{act.problem}</Notice>}
          {done && <Notice>{done}</Notice>}
          {(free || onward) && (
            <div class="buttons">
              {free && <button type="button" data-back onClick={() => (readAll(), setOpen(true), setDone(''))}>{words.change}</button>}
              {free && choice.from === 'page' && <button type="button" class="quiet" onClick={() => void forget()}>{words.undo}</button>}
              {onward && <a class="button quiet" href={href('device', 'models')}>{text.device.mind.models}<Chevron /></a>}
            </div>
          )}
        </>
      )}
      {choice && open && (
        <Choose
          choice={choice}
          all={all}
          onCancel={() => setOpen(false)}
          onDone={(fresh) => took(fresh, words.saved(parts(fresh.model)[1] || words.reflex))}
        />
      )}
    </>
  );
}
