// The details of a thing: all that can be done with it, for how long, and the form of its name, area and what it is.
import type { JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import * as api from '../../api';
import { Buttons, Field, ListField, Notice, optionsOf, SelectField, SwitchField, TextField } from '../../form';
import { Close } from '../../icons';
import { href } from '../../rooms';
import { trouble } from '../../text';
import { things as words } from '../../text/things';
import { Asking, Controls, Level, useCommand } from './card';
import { PreviousIcon, ThingIcon } from './icons';
import { control, known, put, shown } from './store';
import { can, isSwitched, isThere, placeOf, stateWords, thingIn, type Command, type Kind, type Thing } from './thing';

interface Props {
  address: string;
  writer: boolean;
  areas: string[];
  onClose: () => void;
  onChanged: () => void;
}

export function Sheet({ address, writer, areas, onClose, onChanged }: Props): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [gone, setGone] = useState(false);
  const [, setRead] = useState(0);
  const it = known(address);
  useEffect(() => dialog.current?.showModal(), []);
  // What the list leaves out, such as whether voice may use it.
  useEffect(() => {
    const began = performance.now();
    api.execute('get_thing', { thing: address }).then(
      ({ result }) => {
        const found = thingIn(result);
        if (!found) return setGone(true);
        put(found, began);
        setRead((n) => n + 1);
      },
      () => setGone(!known(address)),
    );
  }, [address]);
  const thing = it && shown(it);
  return (
    <dialog ref={dialog} class="thing-sheet" aria-label={thing?.name ?? words.tab} onClose={onClose} onClick={(event) => event.target === event.currentTarget && event.currentTarget.close()}>
      <div class="sheet-inside">
        <header>
          {thing && <span class={thing.state.active ? 'thing-icon alive' : 'thing-icon'}><ThingIcon thing={thing} /></span>}
          <div>
            <h2>{thing?.name ?? ''}</h2>
            {thing && <p class="soft small">{[stateWords(thing), thing.area].filter(Boolean).join(' · ')}</p>}
          </div>
          <button type="button" class="bare" aria-label={words.sheet.close} onClick={() => dialog.current?.close()}><Close /></button>
        </header>
        {gone && !thing && <p class="soft">{words.sheet.gone}</p>}
        {thing && it && (
          <>
            {writer && isThere(thing) && <Doings thing={thing} />}
            {it.problem.value && <Notice bad>{it.problem.value}</Notice>}
            <Where thing={thing} />
            {writer && <EditForm key={`${thing.hidden}${thing.voice}`} thing={thing} areas={areas} onSaved={onChanged} />}
          </>
        )}
      </div>
    </dialog>
  );
}

function Where({ thing }: { thing: Thing }): JSX.Element {
  const { source, key } = placeOf(thing.address);
  return (
    <p class="soft small thing-where">
      {words.sheet.where(source, key)}
      {source === 'pin' && <> · <a href={href('home', 'pins', key)}>{words.sheet.toPin}</a></>}
    </p>
  );
}

const MINUTES = [5, 15, 30, 60];

function Doings({ thing }: { thing: Thing }): JSX.Element {
  const { asked, run, answer } = useCommand(thing);
  const [said, setSaid] = useState('');
  const { kind, state } = thing;
  if (asked) return <Asking thing={thing} command={asked} onAnswer={answer} />;
  const colours = can(thing, 'set_color');
  const on = can(thing, 'turn_on', 'toggle') && (isSwitched(thing) || kind === 'climate' || kind === 'media');
  const timed = async (minutes: number) => {
    if (await control(thing.address, { action: 'turn_on', for: `PT${minutes}M` })) setSaid(words.sheet.timed(thing.name, minutes));
  };
  return (
    <div class="sheet-doings">
      {on && <SwitchField label={words.word(state.active ? 'on' : 'off')} checked={state.active === true} onInput={(checked) => run({ action: checked ? 'turn_on' : 'turn_off' })} />}
      {(kind === 'light' || kind === 'fan') && can(thing, 'set_level') ? <LabelledLevel thing={thing} run={run} /> : <Controls thing={thing} run={run} />}
      {kind === 'media' && (
        <p class="thing-does">
          {can(thing, 'previous') && <button type="button" class="does" aria-label={words.of(words.previous, thing.name)} onClick={() => run({ action: 'previous' })}><PreviousIcon /></button>}
          {can(thing, 'mute') && <button type="button" class="does" onClick={() => run({ action: 'mute', mute: true })}>{words.mute}</button>}
          {can(thing, 'mute') && <button type="button" class="does" onClick={() => run({ action: 'mute', mute: false })}>{words.unmute}</button>}
        </p>
      )}
      {colours && (
        <div class="thing-colors" role="group" aria-label={words.color}>
          {Object.entries(words.colors).map(([color, label]) => (
            <button key={color} type="button" class="bare" aria-label={label} title={label} onClick={() => run({ action: 'set_color', text: color })}>
              <span class={`swatch ${color.replace(' ', '-')}`} />
            </button>
          ))}
        </div>
      )}
      {can(thing, 'turn_on') && isSwitched(thing) && !thing.guarded && (
        <div class="chips" role="group" aria-label={words.sheet.forHowLong}>
          <span class="soft small" aria-hidden="true">{words.sheet.forHowLong}</span>
          {MINUTES.map((n) => <button key={n} type="button" class="chip" onClick={() => void timed(n)}>{words.sheet.minutes(n)}</button>)}
        </div>
      )}
      <p class={said ? 'soft small' : 'unseen'} role="status">{said}</p>
    </div>
  );
}

function LabelledLevel({ thing, run }: { thing: Thing; run: (command: Command) => void }): JSX.Element {
  const label = thing.kind === 'fan' ? words.speed : words.brightness;
  const { level, active } = thing.state;
  return (
    <div class="labelled-level">
      <span aria-hidden="true">{label}</span>
      <Level thing={thing} label={label} run={run} />
      <span aria-hidden="true" class="soft">{active && level !== undefined ? words.percent(level) : ''}</span>
    </div>
  );
}

interface EditProps {
  thing: Thing;
  areas: string[];
  onSaved: () => void;
}

function EditForm({ thing, areas, onSaved }: EditProps): JSX.Element {
  const id = useId();
  const [open, setOpen] = useState(false);
  const begin = { name: thing.name, aliases: thing.aliases, area: thing.area, kind: thing.kind as Kind, hidden: thing.hidden === true, voice: thing.voice !== false };
  const [draft, setDraft] = useState(begin);
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState('');
  const [problem, setProblem] = useState('');
  const change = (some: Partial<typeof begin>) => {
    setDraft({ ...draft, ...some });
    setSaid('');
    setProblem('');
  };
  const nameless = !draft.name.trim();
  const save = async () => {
    if (busy || nameless) return;
    const now = { ...draft, name: draft.name.trim(), area: draft.area.trim(), aliases: draft.aliases.map((one) => one.trim()).filter(Boolean) };
    const changed = Object.fromEntries(Object.entries(now).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(begin[name as keyof typeof begin])));
    if (!Object.keys(changed).length) return setOpen(false);
    setBusy(true);
    setProblem('');
    const began = performance.now();
    try {
      await api.execute('update_thing', { thing: thing.address, ...changed });
      const { result } = await api.execute('get_thing', { thing: thing.address });
      const found = thingIn(result);
      if (found) put(found, began);
      setSaid(words.sheet.saved);
      setOpen(false);
      onSaved();
    } catch (cause) {
      setProblem(trouble(cause));
    } finally {
      setBusy(false);
    }
  };
  if (!open) {
    return (
      <>
        <p class="sheet-edit"><button type="button" onClick={() => (setDraft(begin), setOpen(true))}>{words.sheet.edit}</button></p>
        <p class={said ? 'soft small' : 'unseen'} role="status">{said}</p>
      </>
    );
  }
  return (
    <form class="fields sheet-form" noValidate aria-label={words.sheet.edit} onSubmit={(event) => (event.preventDefault(), void save())}>
      <TextField required label={words.sheet.name} error={nameless ? words.sheet.nameNeeded : ''} value={draft.name} onInput={(name) => change({ name })} />
      <ListField label={words.sheet.aliases} help={words.sheet.aliasesHelp} values={draft.aliases} onInput={(aliases) => change({ aliases })} />
      <Field label={words.area} help={words.sheet.areaHelp}>
        {(wired) => (
          <>
            <input {...wired} type="text" value={draft.area} list={`${id}-areas`} autocomplete="off" onInput={(event) => change({ area: event.currentTarget.value })} />
            <datalist id={`${id}-areas`}>{areas.map((area) => <option key={area} value={area} />)}</datalist>
          </>
        )}
      </Field>
      <SelectField label={words.sheet.kind} value={draft.kind} options={optionsOf(words.kinds)} onInput={(kind) => change({ kind })} />
      <SwitchField label={words.sheet.voice} help={words.sheet.voiceHelp} checked={draft.voice} onInput={(voice) => change({ voice })} />
      <SwitchField label={words.sheet.hidden} help={words.sheet.hiddenHelp} checked={draft.hidden} onInput={(hidden) => change({ hidden })} />
      {problem && <Notice bad>{problem}</Notice>}
      <Buttons>
        <button class="main" aria-disabled={busy || nameless}>{busy ? words.sheet.saving : words.sheet.save}</button>
        <button type="button" class="quiet" onClick={() => setOpen(false)}>{words.sheet.cancel}</button>
      </Buttons>
    </form>
  );
}
