// The second step: what the home is called, its time zone and its units.
import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { browserZone, timeOf } from '../clock';
import { useAction } from '../device/part';
import { Field, Notice, TextField } from '../form';
import { arrival } from '../text/arrival';
import * as api from './api';
import { Ways, type StepProps } from './shell';
import { likelyUnits, regions, zoneName } from './zones';

const words = arrival.home;

/** The time in a zone; '' where this browser does not know the zone. */
function timeThere(zone: string): string {
  try {
    return timeOf(Date.now(), false, zone);
  } catch {
    return '';
  }
}

export function HomeStep({ session, settled, onDone, onPass, onBack, onChanged }: StepProps & { settled: boolean }): JSX.Element {
  const own = browserZone();
  const [name, setName] = useState(session.home.name);
  // What was chosen before stays; else what this browser suggests.
  const [zone, setZone] = useState(settled ? session.home.timeZone : own || session.home.timeZone);
  const [units, setUnits] = useState(settled ? session.home.units : likelyUnits());
  const [, tick] = useState(0);
  const act = useAction();
  const all = useMemo(() => regions([own, session.home.timeZone]), []);
  const there = timeThere(zone);

  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 10_000);
    return () => clearInterval(timer);
  }, []);

  const save = async () => {
    const given = name.trim();
    const went = await act.run(async () => {
      await api.changeHome({ timeZone: zone, units, ...(given && { name: given }) });
      await onChanged();
    });
    if (went) onDone();
  };

  return (
    <form
      class="fields"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <TextField label={words.name} help={words.nameHelp} value={name} onInput={(value) => (setName(value), act.clear())} />
      <Field label={words.zone}>
        {(wired) => (
          <>
            <select {...wired} value={zone} aria-describedby={`${wired.id}-now`} onChange={(event) => (setZone(event.currentTarget.value), act.clear())}>
              {own && <optgroup label={words.here}><option value={own}>{zoneName(own)}</option></optgroup>}
              {all.map((region) => (
                <optgroup key={region.name} label={region.name}>
                  {region.zones.filter(({ value }) => value !== own).map((one) => <option key={one.value} value={one.value}>{one.label}</option>)}
                </optgroup>
              ))}
            </select>
            <p class="help below" id={`${wired.id}-now`}>{there && words.now(there)}</p>
          </>
        )}
      </Field>
      <fieldset class="units">
        <legend>{words.units}</legend>
        {(['metric', 'imperial'] as const).map((one) => (
          <label key={one} class="choice">
            <input type="radio" name="units" value={one} checked={units === one} onChange={() => setUnits(one)} />
            <span><b>{words[one]}</b> <small>{words[`${one}Why`]}</small></span>
          </label>
        ))}
      </fieldset>
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <Ways busy={act.busy} onPass={onPass} onBack={onBack} />
    </form>
  );
}
