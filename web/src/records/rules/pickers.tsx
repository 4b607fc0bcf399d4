// Choosing a device, a pin, or a length of time.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Field, optionsOf, SelectField, TextField } from '../../form';
import type { Kind, Thing } from '../../home/things/thing';
import { text } from '../../text';
import { rules as words } from '../../text/rules';
import { things as thingWords } from '../../text/things';
import { areaValue, type Span } from './drafts';
import { homePins, homeThings, searchThings, verbsOf } from './home';

interface ThingProps {
  label: string;
  value: string;
  error: string | undefined;
  onInput: (address: string) => void;
  /** Which devices are offered; all of them otherwise. */
  fits?: (thing: Thing) => boolean;
  /** Whole areas are offered too. */
  areas?: boolean;
}

const REST_MS = 250;
/** Kinds that are switched as a whole area. */
const TOGETHER: readonly Kind[] = ['light', 'cover', 'switch', 'media'];

/** A device by area and name; in a large home one searches. */
export function ThingField({ label, value, error, onInput, fits = () => true, areas = false }: ThingProps): JSX.Element {
  const known = homeThings.value;
  const [query, setQuery] = useState('');
  const [found, setFound] = useState<Thing[] | null>(null);
  const large = known !== null && known.total > known.things.length;
  useEffect(() => {
    if (!large || !query.trim()) return setFound(null);
    let current = true;
    const timer = setTimeout(() => searchThings(query.trim()).then((all) => current && setFound(all), () => undefined), REST_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [query, large]);
  const offered = (found ?? known?.things ?? []).filter(fits);
  const named = [...new Set(offered.map(({ area }) => area))].sort((a, b) => Number(!a) - Number(!b) || a.localeCompare(b));
  const kinds = (area: string) => TOGETHER.filter((kind) => offered.filter((thing) => thing.area === area && thing.kind === kind).length > 1);
  const whole = areas ? named.filter(Boolean).map((area) => ({ area, kinds: kinds(area) })) : [];
  const all = new Set([...offered.map(({ address }) => address), ...whole.flatMap(({ area, kinds }) => ['', ...kinds].map((kind) => areaValue(area, kind)))]);
  return (
    <>
      {large && <TextField label={words.thingSearch} type="search" value={query} onInput={setQuery} />}
      <Field required label={label} error={error}>
        {(wired) => (
          <select {...wired} value={value} onChange={(event) => onInput(event.currentTarget.value)}>
            <option value="">{words.thingChoose}</option>
            {value && !all.has(value) && <option value={value}>{known?.things.find(({ address }) => address === value)?.name ?? value.replace(/^area:\w*:/, '')}</option>}
            {named.map((area) => (
              <optgroup key={area} label={area || thingWords.unplaced}>
                {offered.filter((thing) => thing.area === area).map(({ address, name }) => <option key={address} value={address}>{name}</option>)}
              </optgroup>
            ))}
            {whole.length > 0 && (
              <optgroup label={words.areasGroup}>
                {whole.map(({ area, kinds: some }) => (
                  <>
                    {some.map((kind) => <option key={kind} value={areaValue(area, kind)}>{words.allOf(`${thingWords.kind(kind)}s`, area)}</option>)}
                    <option value={areaValue(area, '')}>{words.everythingOf(area)}</option>
                  </>
                ))}
              </optgroup>
            )}
          </select>
        )}
      </Field>
    </>
  );
}

/** Whether a device can be told anything. */
export const isTold = (thing: Thing) => verbsOf(thing).length > 0;

/** A pin by its name, or by its number. */
export function PinField({ value, error, onInput }: { value: string; error: string | undefined; onInput: (pin: string) => void }): JSX.Element {
  const pins = [...homePins.value].sort((a, b) => Number(!a.name) - Number(!b.name) || a.pin - b.pin);
  const options = pins.map(({ pin, name }) => ({ value: String(pin), label: name ? words.pinNamed(name, pin) : text.home.pin(pin) }));
  if (value && !options.some((one) => one.value === value)) options.unshift({ value, label: text.home.pin(Number(value)) });
  return <SelectField required label={words.pin} error={error} value={value} options={[{ value: '', label: words.pinChoose }, ...options]} onInput={onInput} />;
}

interface SpanProps {
  label: string;
  help?: string;
  span: Span;
  error: string | undefined;
  required?: boolean;
  onInput: (span: Span) => void;
}

/** A length of time: a number and its unit. */
export function SpanField({ label, help, span, error, required = false, onInput }: SpanProps): JSX.Element {
  return (
    <Field label={label} help={help} error={error} required={required}>
      {(wired) => (
        <span class="span">
          <input {...wired} class="number" inputmode="decimal" autocomplete="off" value={span.n} onInput={(event) => onInput({ ...span, n: event.currentTarget.value })} />
          <select aria-label={words.unitOf(label)} value={span.unit} onChange={(event) => onInput({ ...span, unit: event.currentTarget.value })}>
            {optionsOf(words.units).map((unit) => <option key={unit.value} value={unit.value}>{unit.label}</option>)}
          </select>
        </span>
      )}
    </Field>
  );
}
