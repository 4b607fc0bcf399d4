// A key is pasted, recognised, tested with a real answer, and used.
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { chooseModel } from '../api';
import { useAction } from '../device/part';
import { Buttons, Notice, SelectField, TextField } from '../form';
import { Chevron } from '../icons';
import { Sentence } from '../sentence';
import { sentence } from '../text';
import { answers as words } from '../text/answers';
import * as api from './api';
import { BIG, choicesFor, providersOf } from './key-forms';

/** Why a test failed, in plain words. */
export function reason(tried: api.ProviderTest, provider: string, url?: string): string {
  switch (tried.problem) {
    case 'key': return words.problem.key(provider);
    case 'credit': return words.problem.credit(provider);
    case 'busy': return words.problem.busy(provider);
    case 'network': return url ? words.problem.networkAtHome(url) : words.problem.network(provider);
    default: return sentence(tried.message);
  }
}

interface Props {
  providers: api.Provider[];
  /** The key works, and its model answers from now on. */
  onUsed: (used: { provider: api.Provider; model: string; models: string[] }) => void;
  /** More buttons. */
  children?: ComponentChildren;
}

export function KeyEntry({ providers, onUsed, children }: Props): JSX.Element {
  const [key, setKey] = useState('');
  const [picked, setPicked] = useState('');
  const [wrong, setWrong] = useState<{ key?: string; whose?: string }>({});
  const [tried, setTried] = useState<api.ProviderTest | null>(null);
  const act = useAction();
  const typed = key.trim();
  const likely = providersOf(typed, providers);
  const sure = likely.length === 1 ? likely[0] : undefined;
  const choices = choicesFor(typed, providers);
  const id = sure ?? picked;
  const provider = providers.find((one) => one.id === id);
  const asks = typed.length >= 8 && !sure;

  const clear = () => {
    setWrong({});
    setTried(null);
    act.clear();
  };
  const use = async (to: api.Provider, model: string, models: string[]) => {
    await chooseModel({ model: `${to.id}/${model}`, key: typed });
    onUsed({ provider: to, model, models });
  };
  const connect = () => act.run(async () => {
    setTried(null);
    if (!provider) return;
    const outcome = await api.tryModel(provider.id, { key: typed, model: '' });
    if (outcome.ok && outcome.answered) return use(provider, outcome.answered, outcome.models);
    setTried(outcome);
  });
  const submit = () => {
    const lacks = { ...(!typed && { key: words.keyMissing }), ...(typed && !provider && { whose: words.keyPickFirst }) };
    setWrong(lacks);
    if (!Object.keys(lacks).length) void connect();
  };
  // With no credit the key is still right: whoever pays later need not paste it again.
  const anyway = tried && !tried.ok && (tried.problem === 'credit' || tried.problem === 'busy') ? tried.suggested : null;
  return (
    <form
      class="fields"
      noValidate
      aria-label={words.ways.key.title}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <TextField
        code
        type="password"
        label={words.key}
        help={provider && sure ? words.keyOf(provider.name) : words.keyHelp}
        error={wrong.key}
        value={key}
        onInput={(value) => {
          setKey(value);
          setPicked('');
          clear();
        }}
      />
      {asks && (
        <SelectField
          label={words.keyWhose}
          help={likely.length ? words.keyWhoseHelp : words.keyUnknown}
          error={wrong.whose}
          value={picked}
          options={[{ value: '', label: words.keyPick }, ...choices.map((one) => ({ value: one.id, label: one.name }))]}
          onInput={(value) => {
            setPicked(value);
            clear();
          }}
        />
      )}
      {tried && provider && !tried.ok && <Notice bad>{reason(tried, provider.name)}</Notice>}
      {tried && provider && tried.problem === 'key' && provider.keyHint && <p class="soft small"><Sentence words={sentence(provider.keyHint)} /></p>}
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <Buttons>
        <button class="main" aria-disabled={act.busy}>{act.busy ? words.connecting : words.connect}</button>
        {anyway && provider && <button type="button" aria-disabled={act.busy} onClick={() => void act.run(() => use(provider, anyway, tried?.models ?? []))}>{words.connectAnyway}</button>}
        {children}
      </Buttons>
      <p class="unseen" role="status">{act.busy && words.connecting}</p>
      {!typed && (
        <details class="hints">
          <summary><span class="soft small">{words.keyNone}</span><Chevron /></summary>
          <dl class="small">{providers.filter((one) => BIG.includes(one.id)).map((one) => <div key={one.id}><dt>{one.name}</dt><dd class="soft"><Sentence words={sentence(one.keyHint)} /></dd></div>)}</dl>
        </details>
      )}
    </form>
  );
}
