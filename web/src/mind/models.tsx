// The Models page: model in use, fallbacks, budget, providers and spending.
import type { JSX } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import * as house from '../api';
import { Model } from '../device/model';
import { Page, LoadState, useAction, useAdmin, useRead } from '../device/part';
import { Buttons, Notice, optionsOf, SelectField, SwitchField, TextField } from '../form';
import { Close, Down, Fresh, Up } from '../icons';
import { useLive } from '../live';
import { href } from '../rooms';
import { text, when } from '../text';
import { answers } from '../text/answers';
import { mind } from '../text/mind';
import { modelTrouble } from '../text/model-trouble';
import { dollars } from './amounts';
import * as api from './api';
import { KeyEntry } from './key-entry';
import { about, Choices, useKnownModels } from './known-models';
import { Providers } from './providers';
import { Spending } from './spending';
import { WhatAnswers } from './what-answers';

const words = mind.models;

interface TermsProps {
  terms: api.ModelTerms;
  admin: boolean;
  known: api.KnownModel[];
  onDone: (terms: api.ModelTerms) => void;
}

/** The fallback models: added, moved and removed, each change saved immediately. */
function StandIns({ terms, admin, known, onDone }: TermsProps): JSX.Element {
  const [adding, setAdding] = useState<string | null>(null);
  const [wrong, setWrong] = useState('');
  const [announced, setAnnounced] = useState('');
  const act = useAction();
  const id = useId();
  const list = useRef<HTMLOListElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const { fallback } = terms;

  const save = (next: string[], say: string, then?: () => void) =>
    act.run(async () => {
      onDone(await api.adjust({ fallback: next }));
      setAnnounced(say);
      requestAnimationFrame(() => then?.());
    });
  const move = (from: number, to: number) => {
    const name = fallback[from] ?? '';
    const next = fallback.filter((_, n) => n !== from);
    next.splice(to, 0, name);
    // The focus follows the moved line; at an end, its other arrow takes it.
    const focus = () => {
      const row = list.current?.children[to];
      const [up, down] = [...(row?.querySelectorAll<HTMLButtonElement>('.arrow') ?? [])];
      const wanted = to < from ? up : down;
      (wanted?.disabled ? (to < from ? down : up) : wanted)?.focus();
    };
    void save(next, words.moved(name, to + 1), focus);
  };
  const remove = (at: number) => {
    const name = fallback[at] ?? '';
    void save(fallback.filter((_, n) => n !== at), words.removed(name), () => (list.current?.querySelector<HTMLElement>('.remove') ?? opener.current)?.focus());
  };
  const add = async () => {
    const name = (adding ?? '').trim();
    if (!/^[\w.-]+\/\S+$/.test(name)) return setWrong(words.addWrong);
    if (fallback.includes(name)) return setWrong(words.addTwice);
    const went = await save([...fallback, name], '');
    if (!went) return;
    setAdding(null);
    requestAnimationFrame(() => opener.current?.focus());
  };

  return (
    <section aria-labelledby={`${id}-h`}>
      <h3 id={`${id}-h`}>{words.standIn}</h3>
      <p class="soft small">{words.standInWhy}</p>
      {fallback.length === 0 && <p>{words.none}</p>}
      {fallback.length > 0 && terms.automaticFallback && <p class="soft small">{words.automatic}</p>}
      <ol class="stand-ins" ref={list}>
        {fallback.map((name, n) => {
          const one = known.find(({ model }) => model === name);
          return (
            <li key={name}>
              <span class="stand-in"><code>{name}</code>{one && <small>{about(one)}</small>}</span>
              {admin && (
                <span class="stand-in-buttons">
                  <button type="button" class="bare arrow" aria-label={words.up(name)} disabled={n === 0} onClick={() => move(n, n - 1)}><Up /></button>
                  <button type="button" class="bare arrow" aria-label={words.down(name)} disabled={n === fallback.length - 1} onClick={() => move(n, n + 1)}><Down /></button>
                  <button type="button" class="bare remove" aria-label={words.remove(name)} onClick={() => remove(n)}><Close /></button>
                </span>
              )}
            </li>
          );
        })}
      </ol>
      {admin && adding === null && <Buttons><button type="button" ref={opener} onClick={() => (setAdding(''), setWrong(''), setAnnounced(''))}><Fresh />{words.add}</button></Buttons>}
      {admin && adding !== null && (
        <form
          class="edit fields"
          aria-label={words.add}
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            void add();
          }}
        >
          <TextField code list={`${id}-known`} label={words.addLabel} help={words.addHelp} error={wrong} value={adding} onInput={(value) => (setAdding(value), setWrong(''))} />
          <Choices id={`${id}-known`} models={known.filter(({ model }) => !fallback.includes(model))} whole />
          <Buttons>
            <button class="main" aria-disabled={act.busy}>{words.add}</button>
            <button type="button" class="quiet" onClick={() => setAdding(null)}>{text.device.cancel}</button>
          </Buttons>
        </form>
      )}
      <p class="unseen" role="status">{announced}</p>
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <Strategy terms={terms} admin={admin} onDone={onDone} />
    </section>
  );
}

function Strategy({ terms, admin, onDone }: Pick<TermsProps, 'terms' | 'admin' | 'onDone'>): JSX.Element {
  // The two settings are saved independently.
  const order = useAction();
  const reflex = useAction();
  return (
    <div class="fields">
      <SelectField
        label={words.strategy}
        value={terms.strategy}
        disabled={!admin}
        options={optionsOf(words.strategies)}
        onInput={(strategy) => void order.run(async () => onDone(await api.adjust({ strategy })))}
      />
      <SwitchField
        label={words.reflexFirst}
        help={words.reflexFirstWhy}
        checked={terms.preferReflex}
        disabled={!admin}
        onInput={(preferReflex) => void reflex.run(async () => onDone(await api.adjust({ preferReflex })))}
      />
      {(order.problem || reflex.problem) && <Notice bad>{order.problem || reflex.problem}</Notice>}
    </div>
  );
}

/** The daily budget, and how much of it is spent. */
function Budget({ terms, usage, admin, onDone }: Pick<TermsProps, 'terms' | 'admin' | 'onDone'> & { usage: api.Usage | null }): JSX.Element {
  const [typed, setTyped] = useState<string | null>(null);
  const [wrong, setWrong] = useState('');
  const [done, setDone] = useState('');
  const act = useAction();
  const id = useId();
  const budget = terms.dailyBudget;
  const value = typed ?? (budget === null ? '' : String(budget));
  const save = async () => {
    const amount = value.trim().replace(',', '.').replace(/^\$\s*/, '');
    const next = amount === '' ? null : Number(amount);
    if (next !== null && (!Number.isFinite(next) || next < 0)) return setWrong(words.budgetWrong);
    const went = await act.run(async () => onDone(await api.adjust({ dailyBudget: next })));
    if (!went) return;
    setTyped(null);
    setDone(words.budgetSaved(next === null ? '' : dollars(next)));
  };
  const today = usage?.today;
  const used = today && budget ? Math.min(100, Math.round((today.cost / budget) * 100)) : 0;
  return (
    <section aria-labelledby={`${id}-h`}>
      <h3 id={`${id}-h`}>{words.budget}</h3>
      {today && <p>{words.today(dollars(today.cost), today.requests)} {budget !== null && words.left(dollars(Math.max(0, today.left ?? budget - today.cost)), dollars(budget))}</p>}
      {today && budget !== null && <progress class={used >= 100 ? 'spent-bar over' : 'spent-bar'} max={100} value={used} aria-label={words.used(used)} />}
      {admin && (
        <form
          class="edit fields"
          aria-label={words.budget}
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            void save();
          }}
        >
          <TextField
            label={words.budgetLabel}
            help={words.budgetHelp}
            error={wrong}
            value={value}
            onInput={(next) => {
              setTyped(next);
              setWrong('');
              setDone('');
            }}
          />
          {act.problem && <Notice bad>{act.problem}</Notice>}
          {done && <Notice>{done}</Notice>}
          {typed !== null && typed !== (budget === null ? '' : String(budget)) && <Buttons><button class="main" aria-disabled={act.busy}>{words.budgetSave}</button></Buttons>}
        </form>
      )}
    </section>
  );
}

/** The models that do not answer, since when, and what to do. */
function Troubles({ of, admin, onDone }: { of: house.ModelInUse; admin: boolean; onDone: () => void }): JSX.Element | null {
  const act = useAction();
  const all = of.trouble ?? [];
  if (!all.length) return null;
  return (
    <div class="troubles">
      {all.map((one) => <Notice key={one.model} bad>{`${modelTrouble.since(one, when(one.since))} ${modelTrouble.todo[one.problem](one)}`}</Notice>)}
      {act.problem && <Notice bad>{act.problem}</Notice>}
      {admin && <Buttons><button type="button" aria-disabled={act.busy} onClick={() => void act.run(async () => (await house.checkModel(), onDone()))}>{act.busy ? words.checkingAgain : words.checkAgain}</button></Buttons>}
    </div>
  );
}

/** A key comes first; where nothing is chosen yet, all ways are open. */
function Choose({ reflex }: { reflex: boolean }): JSX.Element {
  const [all, setAll] = useState(reflex);
  const [done, setDone] = useState('');
  const providers = useRead(api.providers);
  const id = useId();
  return (
    <section aria-labelledby={`${id}-h`}>
      <h3 id={`${id}-h`}>{all ? answers.label : words.addKey}</h3>
      {!all && <p class="soft small">{words.addKeyWhy}</p>}
      {done && <Notice>{done}</Notice>}
      {all ? <WhatAnswers onDone={() => setAll(false)} onward={words.done} /> : providers.data && (
        <KeyEntry key={done} providers={providers.data.providers} onUsed={({ provider, model }) => setDone(answers.answered(provider.name, model))}>
          <button type="button" class="quiet" onClick={() => (setAll(true), setDone(''))}>{words.otherWays}</button>
        </KeyEntry>
      )}
    </section>
  );
}

export function Models(): JSX.Element {
  const admin = useAdmin();
  const read = useRead(house.model);
  const known = useKnownModels();
  const usage = useRead<api.Usage | null>(() => (admin ? api.usage() : Promise.resolve(null)));
  useLive(['model:changed', 'model:trouble', 'budget:spent', 'run:ended'], ({ topic }) => {
    if (topic !== 'run:ended') void read.again();
    void usage.again();
  });
  const terms = read.data;
  const put = (fresh: api.ModelTerms) => terms && read.set({ ...terms, ...fresh });
  return (
    <Page title={words.title} back={mind.back} to={href('device')}>
      {!admin && <p class="soft small">{words.adminOnly}</p>}
      <section class="first"><Model /></section>
      <LoadState of={read} />
      {terms && <Troubles of={terms} admin={admin} onDone={() => void read.again()} />}
      {admin && terms?.changeable && <Choose reflex={terms.model === 'reflex'} />}
      {admin && <Providers />}
      {terms && (
        <>
          <StandIns terms={terms} admin={admin} known={known} onDone={put} />
          <Budget terms={terms} usage={usage.data} admin={admin} onDone={put} />
        </>
      )}
      {admin && <Spending usage={usage.data} problem={usage.problem} />}
    </Page>
  );
}
