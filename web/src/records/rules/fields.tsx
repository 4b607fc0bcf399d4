// The three parts of a rule as fields: when, only if, and what to do. Each is a list of choices.
import type { ComponentChildren, JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { AreaField, Field, NumberField, optionsOf, SelectField, SwitchField, TextField } from '../../form';
import type { Custom, CustomProps, Draft, Problems } from '../../forms/schema';
import { Close, Fresh } from '../../icons';
import { rules as words } from '../../text/rules';
import { schedules as scheduleWords } from '../../text/schedules';
import { Person } from '../action';
import { weekdayName } from '../days';
import { EachField } from '../../forms/fields';
import { WhenFields } from '../when-fields';
import { FillField, formFor } from './causes';
import {
  actionDraft, areaIn, beginCause, CALL, causeIn, conditionDraft, DAYS, NEW_ACTION, NEW_CONDITION, NEW_TRIGGER, ownCauses, readAction, readCondition, readTrigger, triggerDraft,
  type ActionDraft, type ConditionDraft, type Json, type TriggerDraft,
} from './drafts';
import { statesOf, thingAt, useHomeChoices, verbsOf } from './home';
import { isTold, PinField, SpanField, ThingField } from './pickers';
import { things as thingWords } from '../../text/things';

interface PartProps<T> {
  draft: T;
  put: (change: Partial<T>) => void;
  path: string;
  problems: Problems;
}

/** A list of parts, each chosen on its own. */
function Parts({ title, add, count, least, onAdd, onRemove, children }: {
  title: string; add: string; count: number; least: number; onAdd: () => void; onRemove: (n: number) => void; children: (n: number) => ComponentChildren;
}): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const focusLast = () => requestAnimationFrame(() => box.current?.querySelector<HTMLElement>('ol > li:last-child select')?.focus());
  return (
    <div class="rule-part" role="group" aria-label={title} ref={box}>
      <h3>{title}</h3>
      <ol>
        {Array.from({ length: count }, (_, n) => (
          <li key={n}>
            {count > least && <button type="button" class="bare" aria-label={words.removeNth(title, n + 1)} onClick={() => (onRemove(n), focusLast())}><Close /></button>}
            <div class="fields">{children(n)}</div>
          </li>
        ))}
      </ol>
      <button type="button" class="quiet" onClick={() => (onAdd(), focusLast())}><Fresh />{add}</button>
    </div>
  );
}

interface ListOf<T> {
  title: string;
  add: string;
  least: number;
  fresh: T;
  stored: (value: Json) => T;
  read: (draft: T, path: string, problems: Problems) => Json;
  Fields: (props: PartProps<T>) => JSX.Element;
}

function listOf<T>({ title, add, least, fresh, stored, read, Fields }: ListOf<T>): Custom {
  const begin = (given: unknown): T[] => {
    const all = Array.isArray(given) ? given : [];
    return all.length ? all.map((one) => stored(one as Json)) : Array.from({ length: least }, () => fresh);
  };
  function Component({ draft, onInput, problems, path }: CustomProps): JSX.Element {
    useHomeChoices();
    const all = draft as unknown as T[];
    const put = (now: T[]) => onInput(now as unknown as Draft);
    return (
      <Parts title={title} add={add} count={all.length} least={least} onAdd={() => put([...all, fresh])} onRemove={(n) => put(all.filter((_, other) => other !== n))}>
        {(n) => <Fields draft={all[n]!} path={`${path}.${n}`} problems={problems} put={(change) => put(all.map((one, other) => (other === n ? { ...one, ...change } : one)))} />}
      </Parts>
    );
  }
  return {
    begin: (given) => begin(given) as unknown as Draft,
    read: (draft, _, path, problems) => (draft as unknown as T[]).map((one, n) => read(one, `${path}.${n}`, problems)),
    Component,
  };
}

/** A choice in groups. */
function KindField({ label, value, groups, onInput }: { label: string; value: string; groups: [string, { value: string; label: string }[]][]; onInput: (value: string) => void }): JSX.Element {
  return (
    <div class="field">
      <select class="kind" aria-label={label} value={value} onChange={(event) => onInput(event.currentTarget.value)}>
        {groups.map(([name, options]) => (name
          ? <optgroup key={name} label={name}>{options.map((one) => <option key={one.value} value={one.value}>{one.label}</option>)}</optgroup>
          : options.map((one) => <option key={one.value} value={one.value}>{one.label}</option>)))}
      </select>
    </div>
  );
}

const options = (labels: Record<string, string>, ...names: string[]) => names.map((value) => ({ value, label: labels[value] ?? value }));

function Raw({ json }: { json: Json }): JSX.Element {
  const { words: said, ...rest } = json;
  return <p class="soft small">{words.rawWhy} <code>{typeof said === 'string' ? said : JSON.stringify(rest)}</code></p>;
}

// When.

function TriggerFields({ draft, put, path, problems }: PartProps<TriggerDraft>): JSX.Element {
  const { kind } = draft;
  const error = (name: string) => problems[`${path}.${name}`];
  const cause = causeIn(kind);
  const groups: [string, { value: string; label: string }[]][] = [
    [words.groups.home, options(words.causes, 'press', 'pin', 'thing', 'threshold', 'mqtt')],
    [words.groups.time, options(words.causes, 'schedule', 'sun')],
    [words.groups.rest, [...ownCauses(), ...options(words.causes, 'check', 'event')]],
    ...(kind === 'raw' ? [['', options(words.causes, 'raw')] as [string, { value: string; label: string }[]]] : []),
  ];
  const lasting = <SpanField label={words.lasts} help={words.lastsHelp} span={draft.lasts} error={error('lasts')} onInput={(lasts) => put({ lasts })} />;
  return (
    <>
      <KindField label={words.whenKind} value={kind} groups={groups} onInput={(value) => put({ kind: value, fill: beginCause(value) })} />
      {(kind === 'press' || kind === 'pin') && (
        <div class="pair">
          <PinField value={draft.pin} error={error('pin')} onInput={(pin) => put({ pin })} />
          {kind === 'press'
            ? <SelectField label={words.press} value={draft.press} options={optionsOf(words.presses)} onInput={(press) => put({ press })} />
            : <SelectField label={words.edge} value={draft.edge} options={optionsOf(words.edges)} onInput={(edge) => put({ edge })} />}
        </div>
      )}
      {kind === 'pin' && lasting}
      {kind === 'thing' && (
        <>
          <div class="pair">
            <ThingField label={words.thing} value={draft.thing} error={error('thing')} fits={(thing) => thing.kind !== 'scene'} onInput={(thing) => put({ thing, to: statesOf(thingAt(thing))[0] ?? '' })} />
            <SelectField label={words.becomes} value={draft.to} options={stateOptions(draft.thing, draft.to, true)} onInput={(to) => put({ to })} />
          </div>
          {lasting}
        </>
      )}
      {kind === 'threshold' && (
        <>
          <ThingField label={words.value} value={draft.thing} error={error('thing')} fits={(thing) => thing.state.number !== undefined || thing.state.temperature !== undefined || thing.kind === 'sensor'} onInput={(thing) => put({ thing })} />
          <div class="pair">
            <NumberField label={words.above} value={draft.above} error={error('above')} onInput={(above) => put({ above })} />
            <NumberField label={words.below} value={draft.below} error={error('below')} onInput={(below) => put({ below })} />
          </div>
          <NumberField label={words.hysteresis} help={words.hysteresisHelp} value={draft.hysteresis} error={error('hysteresis')} onInput={(hysteresis) => put({ hysteresis })} />
          {lasting}
        </>
      )}
      {kind === 'schedule' && <WhenFields when={draft.when} error={error('when')} onInput={(when) => put({ when })} />}
      {kind === 'sun' && (
        <div class="pair">
          <SelectField label={words.sun} value={draft.sun} options={optionsOf(words.suns)} onInput={(sun) => put({ sun })} />
          <SelectField label={words.sunDays} value={draft.date} options={[...optionsOf(words.sunDay), ...(draft.date && draft.date !== 'next' ? [{ value: draft.date, label: words.sunOn(draft.date) }] : [])]} onInput={(date) => put({ date })} />
          <NumberField label={words.offset} help={words.offsetHelp} value={draft.offset} error={error('offset')} onInput={(offset) => put({ offset })} />
        </div>
      )}
      {kind === 'mqtt' && (
        <>
          <TextField required code label={words.topic} help={words.topicHelp} value={draft.topic} error={error('topic')} onInput={(topic) => put({ topic })} />
          <TextField label={words.payload} help={words.payloadAny} value={draft.payload} onInput={(payload) => put({ payload })} />
        </>
      )}
      {kind === 'event' && <EachField group={formFor('event', draft.event)} draft={draft.event} problems={problems} path={path} onInput={(event) => put({ event })} />}
      {kind === 'check' && <EachField group={formFor('condition', draft.check)} draft={draft.check} problems={problems} path={path} onInput={(check) => put({ check })} />}
      {cause?.fields.map((field) => <FillField key={field.path} field={field} value={draft.fill[field.path] ?? ''} error={error(field.path)} onInput={(value) => put({ fill: { ...draft.fill, [field.path]: value } })} />)}
      {kind === 'raw' && <Raw json={draft.raw} />}
    </>
  );
}

function stateOptions(thing: string, value: string, any: boolean): { value: string; label: string }[] {
  const states = statesOf(thingAt(thing));
  const all = value && !states.includes(value) ? [value, ...states] : states;
  return [...all.map((state) => ({ value: state, label: thingWords.word(state) })), ...(any ? [{ value: '', label: words.anyState }] : [])];
}

// Only if.

/** The weekdays as they are called here. */
const dayLabel = (n: number, length: 'short' | 'long') => weekdayName(`2024-01-0${n + 1}`, length);

function ConditionFields({ draft, put, path, problems }: PartProps<ConditionDraft>): JSX.Element {
  const { kind } = draft;
  const error = (name: string) => problems[`${path}.${name}`];
  const time = (name: 'after' | 'before', label: string) => (
    <Field label={label} error={error(name)}>
      {(wired) => <input {...wired} class="when" type="time" value={draft[name]} onInput={(event) => put({ [name]: event.currentTarget.value })} />}
    </Field>
  );
  return (
    <>
      <KindField label={words.ifKind} value={kind} groups={[['', [...options(words.conditions, 'time', 'days', 'sun', 'thing', 'value', 'pin'), ...(kind === 'raw' ? options(words.conditions, 'raw') : [])]]]} onInput={(value) => put({ kind: value })} />
      {kind === 'time' && <div class="pair">{time('after', words.after)}{time('before', words.before)}</div>}
      {kind === 'days' && (
        <div class="field" role="group" aria-label={words.conditions['days']}>
          <span class="chips">
            {DAYS.map((day, n) => (
              <button key={day} type="button" class="chip" aria-pressed={draft.days.includes(day)} onClick={() => put({ days: draft.days.includes(day) ? draft.days.filter((one) => one !== day) : [...draft.days, day] })}>
                <span class="unseen">{dayLabel(n, 'long')}</span><span aria-hidden="true">{dayLabel(n, 'short')}</span>
              </button>
            ))}
          </span>
          {error('days') && <p class="problem small" role="alert">{error('days')}</p>}
        </div>
      )}
      {kind === 'sun' && <SelectField label={words.sunIs} value={draft.sun} options={optionsOf(words.sunStates)} onInput={(sun) => put({ sun })} />}
      {kind === 'thing' && (
        <div class="pair">
          <ThingField label={words.thing} value={draft.thing} error={error('thing')} fits={(thing) => thing.kind !== 'scene'} onInput={(thing) => put({ thing, is: statesOf(thingAt(thing))[0] ?? '' })} />
          <SelectField label={words.is} value={draft.is} error={error('is')} options={stateOptions(draft.thing, draft.is, false)} onInput={(is) => put({ is })} />
        </div>
      )}
      {kind === 'value' && (
        <>
          <ThingField label={words.value} value={draft.thing} error={error('thing')} fits={(thing) => thing.state.number !== undefined || thing.state.temperature !== undefined || thing.kind === 'sensor'} onInput={(thing) => put({ thing })} />
          <div class="pair">
            <NumberField label={words.isAbove} value={draft.above} error={error('above')} onInput={(above) => put({ above })} />
            <NumberField label={words.isBelow} value={draft.below} error={error('below')} onInput={(below) => put({ below })} />
          </div>
        </>
      )}
      {kind === 'pin' && (
        <div class="pair">
          <PinField value={draft.pin} error={error('pin')} onInput={(pin) => put({ pin })} />
          <SelectField label={words.is} value={draft.high} options={options({ on: words.on, off: words.off }, 'on', 'off')} onInput={(high) => put({ high })} />
        </div>
      )}
      {kind === 'raw' ? <Raw json={draft.raw} /> : <SwitchField label={words.not} checked={draft.not} onInput={(not) => put({ not })} />}
    </>
  );
}

// Do this.

function ThingAction({ draft, put, path, problems }: PartProps<ActionDraft>): JSX.Element {
  const error = (name: string) => problems[`${path}.${name}`];
  const where = areaIn(draft.thing);
  const thing = thingAt(draft.thing);
  const verbs = where ? (where.kind === 'cover' ? ['open', 'close'] : where.kind === 'light' ? ['turn_on', 'turn_off', 'set_level'] : where.kind === 'media' ? ['play', 'pause', 'turn_off'] : ['turn_off', 'turn_on']) : verbsOf(thing);
  const offered = draft.verb && !verbs.includes(draft.verb) ? [...verbs, draft.verb] : verbs;
  const choose = (address: string) => {
    const own = areaIn(address) ? ['turn_on', 'turn_off', 'open', 'close'] : verbsOf(thingAt(address));
    put({ thing: address, verb: own.includes(draft.verb) ? draft.verb : areaIn(address)?.kind === 'cover' ? 'close' : (own[0] ?? draft.verb) });
  };
  const { verb } = draft;
  return (
    <>
      <div class="pair">
        <ThingField areas label={words.thing} value={draft.thing} error={error('thing')} fits={isTold} onInput={choose} />
        <SelectField label={words.verb} value={verb} options={offered.map((one) => ({ value: one, label: words.verbs[one] ?? one }))} onInput={(value) => put({ verb: value })} />
      </div>
      {verb === 'set_level' && <NumberField required whole label={words.level} value={draft.level} error={error('level')} onInput={(level) => put({ level })} />}
      {verb === 'set_temperature' && <NumberField required label={words.temperature} value={draft.temperature} error={error('temperature')} onInput={(temperature) => put({ temperature })} />}
      {(verb === 'set_mode' || verb === 'set_color') && <TextField required label={words.text} value={draft.text} error={error('text')} onInput={(said) => put({ text: said })} />}
      {['turn_on', 'turn_off', 'open', 'close', 'set_level'].includes(verb) && <SpanField label={words.forHowLong} help={words.forHelp} span={draft.lasts} error={error('lasts')} onInput={(lasts) => put({ lasts })} />}
    </>
  );
}

function ActionFields({ draft, put, path, problems }: PartProps<ActionDraft>): JSX.Element {
  const { kind } = draft;
  const error = (name: string) => problems[`${path}.${name}`];
  return (
    <>
      <KindField label={words.doKind} value={kind} groups={[['', [...options(words.actions, 'thing', 'message', 'prompt', 'wait', 'pulse', 'mqtt', 'ha', 'tool'), ...(kind === 'raw' ? options(words.actions, 'raw') : [])]]]} onInput={(value) => put({ kind: value })} />
      {kind === 'thing' && <ThingAction draft={draft} put={put} path={path} problems={problems} />}
      {kind === 'message' && (
        <>
          <AreaField required label={scheduleWords.message} value={draft.message} error={error('message')} onInput={(message) => put({ message })} />
          <Person person={draft.person} onInput={(person) => put({ person })} />
        </>
      )}
      {kind === 'prompt' && <AreaField required label={scheduleWords.prompt} help={scheduleWords.promptHelp} value={draft.prompt} error={error('prompt')} onInput={(prompt) => put({ prompt })} />}
      {kind === 'wait' && <SpanField required label={words.wait} span={draft.lasts} error={error('lasts')} onInput={(lasts) => put({ lasts })} />}
      {kind === 'pulse' && (
        <div class="pair">
          <PinField value={draft.pin} error={error('pin')} onInput={(pin) => put({ pin })} />
          <NumberField whole label={words.milliseconds} value={draft.milliseconds} error={error('milliseconds')} onInput={(milliseconds) => put({ milliseconds })} />
        </div>
      )}
      {kind === 'mqtt' && (
        <>
          <TextField required code label={words.topic} value={draft.topic} error={error('topic')} onInput={(topic) => put({ topic })} />
          <TextField label={words.payload} value={draft.payload} onInput={(payload) => put({ payload })} />
          <SwitchField label={words.retain} checked={draft.retain} onInput={(retain) => put({ retain })} />
        </>
      )}
      {kind === 'ha' && (
        <div class="pair">
          <TextField required code label={words.service} help={words.serviceHelp} value={draft.service} error={error('service')} onInput={(service) => put({ service })} />
          <TextField code label={words.entity} value={draft.entity} onInput={(entity) => put({ entity })} />
        </div>
      )}
      {kind === 'tool' && (
        <CALL.Component
          field={{ name: 'call', label: words.does, help: '', required: true, rare: false, usual: false, shape: { kind: 'custom', custom: CALL }, default: undefined }}
          draft={draft.call as unknown as Draft} problems={problems} path={path} onInput={(call) => put({ call: call as unknown as ActionDraft['call'] })}
        />
      )}
      {kind === 'raw' && <Raw json={draft.raw} />}
    </>
  );
}

export const ruleTriggers = listOf<TriggerDraft>({ title: words.when, add: words.orWhen, least: 1, fresh: NEW_TRIGGER, stored: triggerDraft, read: readTrigger, Fields: TriggerFields });
export const ruleConditions = listOf<ConditionDraft>({ title: words.ifs, add: words.addIf, least: 0, fresh: NEW_CONDITION, stored: conditionDraft, read: readCondition, Fields: ConditionFields });
export const ruleActions = listOf<ActionDraft>({ title: words.does, add: words.addDo, least: 1, fresh: NEW_ACTION, stored: actionDraft, read: readAction, Fields: ActionFields });
