// The model providers: their keys and addresses, with a connection test.
import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { Edit, LoadState, useAction, useRead } from '../device/part';
import { Buttons, Notice, TextField } from '../form';
import { Chevron } from '../icons';
import { useLive } from '../live';
import { Sentence } from '../sentence';
import { facts, sentence, text } from '../text';
import { mind } from '../text/mind';
import * as api from './api';
import { BIG } from './key-forms';

const words = mind.models;

/** How many model names a test shows. */
const NAMES = 12;

function standing({ hasKey, keyFrom, needsKey, local }: api.Provider): string {
  return facts(hasKey ? (keyFrom === 'environment' ? words.envKey : words.ownKey) : needsKey ? words.noKey : words.noNeed, local && words.own);
}

function Outcome({ tried }: { tried: api.ProviderTest }): JSX.Element {
  const rest = tried.models.length - NAMES;
  return (
    <div class="tried">
      <Notice bad={!tried.ok}>{sentence(tried.message)}</Notice>
      {tried.ok && (
        <>
          <p class="small">{words.offers(tried.models.length)}</p>
          <ul class="names">{tried.models.slice(0, NAMES).map((name) => <li key={name}><code>{name}</code></li>)}{rest > 0 && <li class="soft small">{words.moreModels(rest)}</li>}</ul>
        </>
      )}
    </div>
  );
}

function SetUp({ provider, onDone, onCancel }: { provider: api.Provider; onDone: (fresh: api.Provider) => void; onCancel: () => void }): JSX.Element {
  const [key, setKey] = useState('');
  const own = provider.url === provider.defaultUrl ? '' : provider.url;
  const [url, setUrl] = useState(own);
  const [wrong, setWrong] = useState('');
  const [tried, setTried] = useState<api.ProviderTest | null>(null);
  const save = useAction();
  const trial = useAction();
  const moved = url.trim() !== own;
  const change = (): api.ProviderChange => ({ ...(moved && { url: url.trim() }), ...(key.trim() && { key: key.trim() }) });
  const right = () => {
    const fits = !url.trim() || /^https?:\/\/\S+$/.test(url.trim());
    setWrong(fits ? '' : words.addressWrong);
    return fits;
  };
  const typed = () => {
    setTried(null);
    setWrong('');
    save.clear();
    trial.clear();
  };
  const keyHelp = provider.hasKey ? (moved ? words.keyMoves : provider.keyFrom === 'environment' ? words.keyEnv : words.keyKept) : provider.keyHint ? sentence(provider.keyHint) : undefined;
  return (
    <Edit label={words.setUp(provider.name)} onSubmit={() => void (right() && save.run(async () => onDone(await api.changeProvider(provider.id, change()))))} onCancel={onCancel}>
      <TextField code type="password" label={words.key} help={keyHelp} value={key} onInput={(value) => (setKey(value), typed())} />
      <TextField code type="url" label={words.address} help={words.addressHelp(provider.defaultUrl)} error={wrong} value={url} onInput={(value) => (setUrl(value), typed())} />
      {tried && <Outcome tried={tried} />}
      {(save.problem || trial.problem) && <Notice bad>{save.problem || trial.problem}</Notice>}
      <div class="with-remove">
        <Buttons>
          <button class="main" aria-disabled={save.busy}>{save.busy ? text.device.saving : words.save}</button>
          <button type="button" aria-disabled={trial.busy} onClick={() => void (right() && trial.run(async () => setTried(await api.testProvider(provider.id, change()))))}>{trial.busy ? words.trying : words.try}</button>
          <button type="button" class="quiet" onClick={onCancel}>{text.device.cancel}</button>
        </Buttons>
        {provider.hasKey && provider.keyFrom === 'page' && (
          <button type="button" class="quiet bad" aria-disabled={save.busy} onClick={() => void save.run(async () => onDone(await api.changeProvider(provider.id, { key: '' })))}>{words.removeKey}</button>
        )}
      </div>
    </Edit>
  );
}

export function Providers(): JSX.Element {
  const read = useRead(api.providers);
  const [open, setOpen] = useState('');
  const [done, setDone] = useState({ id: '', words: '' });
  const id = useId();
  useLive(['model:changed'], () => void read.again());
  const all = read.data?.providers ?? [];
  const set = all.filter((one) => one.hasKey || (one.url !== '' && one.url !== one.defaultUrl));
  const visible = [...set, ...all.filter((one) => !set.includes(one) && (one.local || BIG.includes(one.id)))];
  const others = all.filter((one) => !visible.includes(one));

  const took = (fresh: api.Provider) => {
    const before = all.find((one) => one.id === fresh.id);
    read.set({ providers: all.map((one) => (one.id === fresh.id ? fresh : one)) });
    setOpen('');
    setDone({ id: fresh.id, words: before?.hasKey && !fresh.hasKey ? words.keyGone : words.saved });
  };
  const rows = (some: api.Provider[]) => (
    <ul class="rows">
      {some.map((one) => (
        <li key={one.id}>
          <div class="row">
            <div>
              <p>{one.name}</p>
              <p class="soft small">{facts(standing(one), one.url !== one.defaultUrl && one.url)}</p>
            </div>
            {open !== one.id && <button type="button" class="small" data-back aria-label={one.hasKey ? text.device.changeOf(one.name) : words.setUp(one.name)} onClick={() => (setOpen(one.id), setDone({ id: '', words: '' }))}>{one.hasKey ? text.device.change : words.setUpShort}</button>}
          </div>
          {one.keyHint && open !== one.id && others.includes(one) && one.needsKey && <p class="soft small"><Sentence words={sentence(one.keyHint)} /></p>}
          {done.id === one.id && <Notice>{done.words}</Notice>}
          {open === one.id && <SetUp provider={one} onDone={took} onCancel={() => setOpen('')} />}
        </li>
      ))}
    </ul>
  );
  return (
    <section aria-labelledby={`${id}-h`}>
      <h3 id={`${id}-h`}>{words.providers}</h3>
      <p class="soft small">{words.providersWhy}</p>
      <LoadState of={read} />
      {rows(visible)}
      {others.length > 0 && (
        <details class="others">
          <summary><span>{words.others(others.length)}</span><Chevron /></summary>
          {rows(others)}
        </details>
      )}
      <Catalogue />
    </section>
  );
}

/** The list of known models, and a button to refresh it. */
function Catalogue(): JSX.Element | null {
  const read = useRead(api.models);
  const [done, setDone] = useState('');
  const act = useAction();
  if (!read.data) return null;
  const { models, source } = read.data;
  return (
    <div class="catalogue">
      <p class="soft small">{words.known(models.length, source)}</p>
      <button type="button" class="small" aria-disabled={act.busy} onClick={() => void act.run(async () => {
        const { models: n } = await api.refreshModels();
        setDone(words.refreshed(n));
        await read.again();
      })}>{act.busy ? words.refreshing : words.refresh}</button>
      {act.problem && <Notice bad>{act.problem}</Notice>}
      {done && <Notice>{done}</Notice>}
    </div>
  );
}
