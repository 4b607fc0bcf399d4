// The names of pins: what is connected to each, written and changed here.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Buttons, Notice, SelectField, SwitchField, TextField } from '../form';
import { Bin, DeviceIcon, Fresh, Pen } from '../icons';
import type { Level } from '../results';
import { facts, text, trouble } from '../text';
import { pins as pinWords } from '../text/pins';
import { today } from '../text/today';
import type { PinMap } from './pin-map';

const words = today.names;

interface Props {
  levels: Level[];
  map: PinMap;
  writer: boolean;
  onChanged: () => void;
  /** Opens what a pin is set to. */
  onSetUp: (pin: number) => void;
}

export function PinNames({ levels, map, writer, onChanged, onSetUp }: Props): JSX.Element {
  const [at, setAt] = useState<number | 'new' | null>(null);
  const [said, setSaid] = useState('');
  const [problem, setProblem] = useState('');
  const title = useRef<HTMLHeadingElement>(null);
  const named = levels.filter(({ name }) => name);
  const back = () => {
    setAt(null);
    requestAnimationFrame(() => title.current?.focus());
  };
  const done = (what: string) => {
    setSaid(what);
    onChanged();
    back();
  };
  const drop = async ({ pin, name = '' }: Level) => {
    setProblem('');
    try {
      await api.execute('name_pin', { pin, name: '' });
      done(words.dropped(name));
    } catch (cause) {
      setProblem(trouble(cause));
    }
  };
  return (
    <section class="pin-names" aria-labelledby="pin-names">
      <div class="part-top"><h2 id="pin-names" tabIndex={-1} ref={title}>{words.title}</h2></div>
      <p class="soft small">{named.length ? words.about : `${words.none} ${words.about}`}</p>
      <p class="unseen" role="status">{said}</p>
      <ul>
        {named.map((level) => (
          <li key={level.pin}>
            {at === level.pin
              ? <NameForm levels={levels} level={level} onDone={done} onCancel={back} />
              : (
                <div class="pin-name">
                  <p><b>{level.name}</b><small>{facts(text.home.pin(level.pin), level.sensor && words.sensorMark, ...settled(map, level.pin))}</small>{map.pins.get(level.pin)?.warnings?.map((one) => <small key={one} class="warned">{one}</small>)}</p>
                  {writer && (
                    <>
                      {map.pins.size > 0 && <button type="button" class="bare" data-set-up={level.pin} aria-haspopup="dialog" aria-label={pinWords.setUp(level.name ?? '')} title={pinWords.setUp(level.name ?? '')} onClick={() => onSetUp(level.pin)}><DeviceIcon /></button>}
                      <button type="button" class="bare" aria-label={words.of(words.edit, level.name ?? '')} onClick={() => setAt(level.pin)}><Pen /></button>
                      <button type="button" class="bare" aria-label={words.of(words.drop, level.name ?? '')} onClick={() => void drop(level)}><Bin /></button>
                    </>
                  )}
                </div>
              )}
          </li>
        ))}
      </ul>
      {problem && <Notice bad>{problem}</Notice>}
      {writer && (at === 'new'
        ? <NameForm levels={levels} onDone={done} onCancel={back} />
        : <button type="button" class="quiet add" onClick={() => setAt('new')}><Fresh />{words.add}</button>)}
    </section>
  );
}

/** What a pin is set to, as far as it is not usual. */
function settled(map: PinMap, pin: number): string[] {
  const { kind, maxOnSeconds, interlock } = map.pins.get(pin) ?? {};
  return [kind ? (pinWords.kinds[kind] ?? kind).toLowerCase() : '', maxOnSeconds ? pinWords.most(maxOnSeconds) : '', interlock ? pinWords.group(interlock) : ''].filter(Boolean);
}

interface FormProps {
  levels: Level[];
  /** The pin whose name is changed. */
  level?: Level;
  onDone: (said: string) => void;
  onCancel: () => void;
}

function NameForm({ levels, level, onDone, onCancel }: FormProps): JSX.Element {
  const free = levels.filter(({ name, pin }) => !name || pin === level?.pin);
  const [pin, setPin] = useState(String(level?.pin ?? ''));
  const [name, setName] = useState(level?.name ?? '');
  const [sensor, setSensor] = useState(level?.sensor ?? false);
  const [wrong, setWrong] = useState<{ pin?: string; name?: string; problem?: string }>({});
  const [busy, setBusy] = useState(false);
  const save = async () => {
    if (busy) return;
    if (!pin || !name.trim()) return setWrong({ ...(!pin && { pin: words.pinNeeded }), ...(!name.trim() && { name: words.needed }) });
    setBusy(true);
    try {
      const { say } = await api.execute('name_pin', { pin: Number(pin), name: name.trim(), sensor });
      onDone(say ?? words.named(Number(pin), name.trim()));
    } catch (cause) {
      setWrong({ problem: trouble(cause) });
      setBusy(false);
    }
  };
  const options = [...(level ? [] : [{ value: '', label: '…' }]), ...free.map((one) => ({ value: String(one.pin), label: text.home.pin(one.pin) }))];
  return (
    <form class="writing" noValidate aria-label={words.add} onSubmit={(event) => (event.preventDefault(), void save())} onKeyDown={(event) => event.key === 'Escape' && onCancel()}>
      {!level && <SelectField required label={words.pin} error={wrong.pin ?? ''} value={pin} options={options} onInput={(value) => (setPin(value), setWrong({}))} />}
      <TextField required label={words.name} help={words.nameHelp} error={wrong.name ?? ''} value={name} onInput={(value) => (setName(value), setWrong({}))} />
      <SwitchField label={words.sensor} checked={sensor} onInput={setSensor} />
      <Buttons>
        <button class="main" aria-disabled={busy}>{busy ? words.saving : words.save}</button>
        <button type="button" class="quiet" onClick={onCancel}>{words.cancel}</button>
      </Buttons>
      {wrong.problem && <Notice bad>{wrong.problem}</Notice>}
    </form>
  );
}
