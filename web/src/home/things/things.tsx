// The devices of the home as cards, by area: all of them in a small home; in a large one the most used, and the areas to open.
import type { JSX } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../../api';
import { Notice } from '../../form';
import { Chevron, Close, Find } from '../../icons';
import { useNews } from '../../live';
import { go, href } from '../../rooms';
import { trouble } from '../../text';
import { things as words } from '../../text/things';
import { Card } from './card';
import { known, shown as asShown, useThingUpdates } from './store';
import { Sheet } from './sheet';
import { KINDS, type Thing } from './thing';
import { PAGE, useAreas, useOften, useThingList, type Area } from './use-things';
import './things.css';

/** The filters, kept while another room is open. */
let before: { query: string; area: string | null; active: boolean } = { query: '', area: null, active: false };

interface Props {
  /** The thing that the address names, whose details open. */
  wanted: string | undefined;
  writer: boolean;
}

export function Things({ wanted, writer }: Props): JSX.Element {
  const [filter, setFilter] = useState(before);
  const { query, area, active } = filter;
  const want = (change: Partial<typeof before>) => setFilter((before = { ...filter, ...change }));
  const narrowed = query.trim() !== '' || area !== null || active;
  const { areas, renew: renewAreas } = useAreas();
  const count = areas?.reduce((sum, one) => sum + one.count, 0) ?? 0;
  const large = count > PAGE;
  // A large home is not listed as a whole.
  const listed = narrowed || !large;
  const list = useThingList({ ...(query.trim() ? { query } : area !== null && { area }), ...(active && { active }) }, areas === null || !listed);
  const often = useOften(!large || narrowed);
  const renew = () => {
    renewAreas();
    list.renew();
  };
  useThingUpdates(renew);
  useNews(['pin-names:changed', 'things:changed', 'areas:changed', 'ha:connection', 'mqtt:connection'], renew);
  useEffect(renewAreas, [large]);

  const open = useCallback((address: string) => go('home', ['devices', address]), []);
  /** The card whose details were open has the focus again, also where it moved to another area. */
  const back = useRef('');
  const focusBack = () => {
    if (back.current && (!document.activeElement || document.activeElement === document.body)) document.querySelector<HTMLElement>(`[data-thing="${CSS.escape(back.current)}"] .thing-more`)?.focus({ preventScroll: true });
  };
  const close = useCallback(() => {
    back.current = wanted ?? '';
    go('home', ['devices']);
    requestAnimationFrame(focusBack);
  }, [wanted]);
  useEffect(focusBack, [list.shown]);

  const { shown, problem } = list;
  const nothing = areas !== null && count === 0 && shown?.things.length === 0 && !narrowed;
  const card = (address: string) => <Card key={address} address={address} writer={writer} onOpen={open} />;
  const inAreas = !query.trim() && area === null;
  return (
    <div class="things-inside">
      {!nothing && <Filters filter={filter} areas={areas ?? []} onWant={want} />}
      <p class="unseen" role="status">{narrowed && shown ? words.found(shown.total) : ''}</p>
      {problem && <Notice bad>{problem}</Notice>}
      {!areas && !problem && <p class="soft nothing" role="status">{words.loading}</p>}
      {nothing && <Empty />}
      {large && !narrowed && areas && (
        <>
          {often.length > 0 && <Group title={words.oftenUsed}>{often.map(card)}</Group>}
          <AreaList areas={areas} onChoose={(name) => (want({ area: name }), scrollTo(0, 0))} />
        </>
      )}
      {listed && shown && shown.things.length > 0 && (
        <>
          {inAreas
            ? groups(shown.things).map(([name, all]) => (
              <Group key={name} title={name || (all.length === shown.things.length ? '' : words.unplaced)} action={writer && !active && <LightsOff area={name} things={all} />}>{all.map(({ address }) => card(address))}</Group>
            ))
            : <Group title={query.trim() ? '' : area || words.unplaced} action={writer && area && !active && !query.trim() && <LightsOff area={area} things={shown.things} />}>{(query.trim() ? shown.things : sorted(shown.things)).map(({ address }) => card(address))}</Group>}
          {shown.total > shown.things.length && (
            <p class="read-on"><button type="button" aria-disabled={list.growing} onClick={() => !list.growing && list.grow()}>{list.growing ? words.moreLoading : words.more(Math.min(PAGE, shown.total - shown.things.length))}</button></p>
          )}
        </>
      )}
      {listed && shown && !shown.things.length && !nothing && <p class="soft nothing">{query.trim() ? words.noMatch(query.trim()) : active ? words.noneOn : words.noneHere}</p>}
      {wanted && <Sheet key={wanted} address={wanted} writer={writer} areas={(areas ?? []).map(({ name }) => name).filter(Boolean)} onClose={close} onChanged={renew} />}
    </div>
  );
}

/** What is switched comes before what is read. */
const sorted = (things: Thing[]): Thing[] => [...things].sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || a.name.localeCompare(b.name));

/** By area, in the order of their names; what has none comes last. */
function groups(things: Thing[]): [string, Thing[]][] {
  const by = new Map<string, Thing[]>();
  for (const thing of sorted(things)) by.set(thing.area, [...(by.get(thing.area) ?? []), thing]);
  return [...by].sort(([a], [b]) => Number(!a) - Number(!b) || a.localeCompare(b));
}

interface FiltersProps {
  filter: typeof before;
  areas: Area[];
  onWant: (change: Partial<typeof before>) => void;
}

function Filters({ filter: { query, area, active }, areas, onWant }: FiltersProps): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  // `/` is at hand here for what is here; Ctrl+K finds everything.
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.matches('input:not([type="range"]), textarea, select');
      if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      field.current?.focus();
      field.current?.select();
    };
    addEventListener('keydown', onKey, true);
    return () => removeEventListener('keydown', onKey, true);
  }, []);
  const named = areas.filter(({ name }) => name);
  return (
    <div class="things-top">
      <div class="searcher" role="search">
        <Find />
        <input
          ref={field} type="search" aria-label={words.search} aria-keyshortcuts="/" placeholder={words.placeholder} value={query} autocomplete="off" enterkeyhint="search"
          onInput={(event) => onWant({ query: event.currentTarget.value })}
          onKeyDown={(event) => event.key === 'Escape' && query && (event.preventDefault(), onWant({ query: '' }))}
        />
        {query && <button type="button" class="bare" aria-label={words.sheet.close} onClick={() => (onWant({ query: '' }), field.current?.focus())}><Close /></button>}
      </div>
      <div class="chips" role="group" aria-label={words.filters}>
        <button type="button" class="chip" aria-pressed={active} onClick={() => onWant({ active: !active })}>{words.onNow}</button>
        {named.length > 0 && (
          <select class={area === null ? 'chip' : 'chip chosen'} aria-label={words.area} value={area === null ? '*' : `=${area}`} onChange={(event) => onWant({ area: event.currentTarget.value === '*' ? null : event.currentTarget.value.slice(1), query: '' })}>
            <option value="*">{words.allAreas}</option>
            {areas.map(({ name }) => <option key={name} value={`=${name}`}>{name || words.unplaced}</option>)}
          </select>
        )}
      </div>
    </div>
  );
}

function Group({ title, action, children }: { title: string; action?: JSX.Element | false | '' | null; children: JSX.Element[] }): JSX.Element {
  return (
    <section class="thing-group" aria-label={title || words.tab}>
      {title && <div class="part-top"><h2>{title}</h2>{action}</div>}
      <ul class="thing-cards">{children}</ul>
    </section>
  );
}

/** Turns off the lights of an area, where one is on. */
function LightsOff({ area, things }: { area: string; things: Thing[] }): JSX.Element | null {
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  if (!area) return null;
  const lights = things.filter(({ kind }) => kind === 'light').map(({ address }) => known(address)).filter((one) => one !== undefined);
  // Each one is read, so that this appears and goes with them.
  if (lights.map((one) => asShown(one).state.active).filter(Boolean).length < 2) return null;
  const off = async () => {
    if (busy) return;
    setBusy(true);
    setProblem('');
    try {
      await api.execute('control_thing', { area, kind: 'light', action: 'turn_off' }, 30_000);
    } catch (cause) {
      setProblem(trouble(cause));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button type="button" class="quiet" aria-busy={busy || undefined} aria-label={words.lightsOffIn(area)} onClick={() => void off()}>{words.lightsOff}</button>
      {problem && <Notice bad>{problem}</Notice>}
    </>
  );
}

function AreaList({ areas, onChoose }: { areas: Area[]; onChoose: (name: string) => void }): JSX.Element {
  return (
    <section class="thing-group" aria-label={words.areas}>
      <div class="part-top"><h2>{words.areas}</h2></div>
      <ul class="thing-areas">
        {[...areas].sort((a, b) => Number(!a.name) - Number(!b.name) || a.name.localeCompare(b.name)).map(({ name, count, on }) => (
          <li key={name}>
            <button type="button" class={on ? 'alive' : undefined} onClick={() => onChoose(name)}>
              <span><b>{name || words.unplaced}</b><small>{words.areaLine(count, on)}</small></span>
              <Chevron />
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** How things come here. */
function Empty(): JSX.Element {
  const ways = [
    { ...words.empty.pin, to: href('home', 'pins') },
    { ...words.empty.homeAssistant, to: href('device', 'services', 'home_assistant', 'new') },
    { ...words.empty.mqtt, to: href('device', 'services', 'mqtt', 'new') },
  ];
  return (
    <section class="things-empty" aria-labelledby="things-empty">
      <h2 id="things-empty">{words.empty.title}</h2>
      <p class="soft">{words.empty.why}</p>
      <ul>
        {ways.map(({ title, why, go: press, to }) => (
          <li key={title}>
            <h3>{title}</h3>
            <p class="soft small">{why}</p>
            <a class="button" href={to}>{press}</a>
          </li>
        ))}
      </ul>
    </section>
  );
}

