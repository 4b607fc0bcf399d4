// A pin in full: where it is and what it is for, what speaks against using it, and the form that sets it up.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Buttons, Confirm, Notice } from '../form';
import { changes } from '../forms/draft';
import { EachField } from '../forms/fields';
import { overlaid, type Group, type GroupDraft, type Overlay } from '../forms/schema';
import { useForm } from '../forms/use-form';
import { Close } from '../icons';
import { facts, sentence, text, trouble } from '../text';
import { pins as words } from '../text/pins';
import { toolDetails } from '../tools/use-tools';
import type { MapPin } from './pin-map';

const { labels, help } = words;

const field = (name: keyof typeof labels, more: object = {}) => ({ title: labels[name], ...(help[name] && { description: help[name] }), ...more });

/** The form: what is connected, then what keeps it safe, then what rarely changes. */
const FIELDS: Overlay = {
  name: field('name', { type: 'string', format: 'line' }),
  kind: field('kind', { enum: Object.keys(words.kinds).filter(Boolean), labels: words.kinds }),
  direction: field('direction', { enum: ['input', 'output'], labels: words.directions }),
  active_low: field('active_low', { type: 'boolean', default: false }),
  max_on_seconds: field('max_on_seconds', { type: 'integer', minimum: 0, maximum: undefined }),
  pwm_hertz: field('pwm_hertz', { type: 'integer', minimum: 0, maximum: undefined }),
  fail_safe: field('fail_safe', { enum: ['keep', 'off', 'on'], labels: words.rests }),
  boot: field('boot', { enum: ['keep', 'off', 'on'], labels: words.rests }),
  interlock: field('interlock', { type: 'string', format: 'line' }),
  interlock_switches: field('interlock_switches', { type: 'boolean', default: false }),
  pull: field('pull', { enum: ['off', 'up', 'down'], labels: words.pulls, rare: true }),
  debounce_ms: field('debounce_ms', { type: 'integer', minimum: 0, maximum: undefined, rare: true }),
  long_press_ms: field('long_press_ms', { type: 'integer', minimum: 0, maximum: undefined, rare: true }),
  double_press_ms: field('double_press_ms', { type: 'integer', minimum: 0, maximum: undefined, rare: true }),
};

const INPUTS = ['contact', 'sensor', 'button'];

interface Props {
  pin: MapPin & { pin: number };
  writer: boolean;
  onClose: () => void;
  onChanged: (said: string) => void;
}

export function PinSheet({ pin, writer, onClose, onChanged }: Props): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const close = () => dialog.current?.close();
  const state = pin.high === undefined ? text.home.held : pin.high ? text.home.on : text.home.off;
  return (
    <dialog ref={dialog} class="thing-sheet" aria-label={words.title(pin.pin, pin.name)} onClose={onClose} onClick={(event) => event.target === event.currentTarget && close()}>
      <div class="sheet-inside">
        <header>
          <span class={`pad sheet-pad${pin.high ? ' lit' : ''}`} aria-hidden="true">{pin.physical}</span>
          <div>
            <h2>{words.title(pin.pin, pin.name)}</h2>
            <p class="soft small">{words.where(pin.pin, pin.physical)}</p>
          </div>
          <button type="button" class="bare" aria-label={words.close} onClick={close}><Close /></button>
        </header>
        <p class="soft small">{facts(state, pin.driven && words.driven, pin.watched && words.watched, pin.pwm && words.pwm(pin.pwm.hertz, pin.pwm.percent), pin.function && words.functions(pin.function), pin.changes && words.changes(pin.changes.told, pin.changes.coalesced))}</p>
        {pin.warnings?.map((warning) => <p key={warning} class="notice aside pin-warning">{sentence(warning)}</p>)}
        {writer ? <SetUp pin={pin} onDone={(said) => (onChanged(said), close())} onCancel={close} /> : <p class="soft small">{words.onlyMembers}</p>}
      </div>
    </dialog>
  );
}

function SetUp({ pin, onDone, onCancel }: { pin: Props['pin']; onDone: (said: string) => void; onCancel: () => void }): JSX.Element {
  const schema = toolDetails('configure_pin')?.parameters ?? {};
  const group = overlaid(schema, FIELDS);
  const given = {
    ...(pin.kind !== undefined && { kind: pin.kind }), ...(pin.maxOnSeconds !== undefined && { max_on_seconds: pin.maxOnSeconds }), ...(pin.interlock !== undefined && { interlock: pin.interlock }),
    ...pin.settings, name: pin.name ?? '',
  };
  const save = async (_: Record<string, unknown>, draft: GroupDraft, before: GroupDraft) => {
    const { name, ...changed } = changes(group, before, draft, '');
    let said = '';
    if (name !== undefined) {
      const kind = draft['kind'] as string;
      ({ say: said = '' } = (await api.execute('name_pin', { pin: pin.pin, name: String(name).trim(), ...(kind && { sensor: INPUTS.includes(kind) }) })) as { say?: string });
    }
    // What was emptied is no limit and no group; what was chosen before stays.
    const settings = Object.fromEntries(Object.entries(changed).map(([key, value]) => [key, value === null && /_(ms|seconds|hertz)$/.test(key) ? 0 : value === '' && key !== 'interlock' ? undefined : value]).filter(([, value]) => value !== undefined));
    if (Object.keys(settings).length) ({ say: said = '' } = (await api.execute('configure_pin', { pin: pin.pin, ...settings })) as { say?: string });
    onDone(said);
  };
  const form = useForm({ group, given, save });
  const part = (rare: boolean): Group => ({ kind: 'group', fields: group.fields.filter((one) => one.rare === rare && fits(one.name, form.draft)) });
  const fields = { draft: form.draft, problems: form.problems, onInput: form.set };
  return (
    <form ref={form.ref} class="fields sheet-form" noValidate aria-label={words.setUp(words.title(pin.pin, pin.name))} onSubmit={form.submit}>
      <EachField group={part(false)} {...fields} />
      <details class="rare">
        <summary>{words.edges}</summary>
        <div class="fields"><EachField group={part(true)} {...fields} /></div>
      </details>
      {form.problem && <Notice bad>{form.problem}</Notice>}
      {(pin.name || Object.keys(pin.settings ?? {}).some((name) => name !== 'pin')) && <Reset pin={pin} onDone={onDone} />}
      <Buttons>
        <button class="main" aria-disabled={form.busy}>{form.busy ? words.saving : words.save}</button>
        <button type="button" class="quiet" onClick={onCancel}>{words.cancel}</button>
      </Buttons>
    </form>
  );
}

/** Takes back the name and every setting, after a second tap. */
function Reset({ pin, onDone }: { pin: Props['pin']; onDone: (said: string) => void }): JSX.Element {
  const [step, setStep] = useState<'idle' | 'sure' | 'busy'>('idle');
  const [problem, setProblem] = useState('');
  const reset = async () => {
    setStep('busy');
    setProblem('');
    try {
      await api.execute('configure_pin', { pin: pin.pin, reset: ['all'] });
      if (pin.name) await api.execute('name_pin', { pin: pin.pin, name: '' });
      onDone(words.wasReset(pin.pin));
    } catch (cause) {
      setProblem(cause instanceof api.Refused ? sentence(cause.message) : trouble(cause));
      setStep('idle');
    }
  };
  return (
    <div class="pin-reset">
      {problem && <Notice bad>{problem}</Notice>}
      {step === 'idle'
        ? <button type="button" class="quiet" onClick={() => setStep('sure')}>{words.reset}</button>
        : <Confirm title={words.resetSure} yes={step === 'busy' ? words.resetting : words.resetYes} no={words.cancel} busy={step === 'busy'} onYes={() => void reset()} onNo={() => setStep('idle')} />}
    </div>
  );
}

/** What belongs to outputs is not asked of inputs, and the other way round. */
function fits(name: string, draft: GroupDraft): boolean {
  const kind = draft['kind'] as string;
  const input = kind ? INPUTS.includes(kind) : draft['direction'] === 'input';
  const output = kind ? !input : draft['direction'] === 'output';
  if (name === 'direction') return !kind;
  if (['max_on_seconds', 'fail_safe', 'boot', 'interlock'].includes(name)) return !input;
  if (name === 'pwm_hertz') return !kind || kind === 'light' || kind === 'fan' ? !input : false;
  if (name === 'interlock_switches') return !input && Boolean(draft['interlock']);
  if (name === 'long_press_ms' || name === 'double_press_ms') return kind === 'button' || !kind;
  if (name === 'pull' || name === 'debounce_ms') return !output;
  return true;
}
