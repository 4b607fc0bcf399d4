// Updates: what runs, what there is, an update from a file, and how far it is.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { deviceAway } from '../away';
import { Confirm, Notice } from '../form';
import { useLive } from '../live';
import { Sentence } from '../sentence';
import { trouble, when } from '../text';
import { updates as words } from '../text/updates';
import { LoadState, Part, useAction, useRead, type Read } from './part';
import { size } from './units';
import { NotABundle, sendBundle, type Sent } from './upload';
import './updates.css';

const EVENTS = ['update:state', 'update:progress', 'update:available'];
/** How often a trial is looked at, besides its events: a restart may lose one. */
const LOOK_MS = 2000;

const percent = (done: number, all: number) => (all > 0 ? Math.floor((100 * done) / all) : 100);

type StepState = keyof typeof words.stepState;

/** The three steps and where the update is. */
function stepStates({ state }: api.Update): Record<keyof typeof words.step, StepState> {
  switch (state) {
    case 'writing': return { writing: 'now', trying: 'next', committed: 'next' };
    case 'staged': return { writing: 'done', trying: 'next', committed: 'next' };
    case 'trying': return { writing: 'done', trying: 'now', committed: 'next' };
    case 'committed': return { writing: 'done', trying: 'done', committed: 'done' };
    case 'failed': return { writing: 'done', trying: 'failed', committed: 'next' };
    default: return { writing: 'next', trying: 'next', committed: 'next' };
  }
}

function Steps({ of }: { of: api.Update }): JSX.Element | null {
  if (of.state === 'idle') return null;
  const states = stepStates(of);
  return (
    <ol class="update-steps" aria-label={words.steps}>
      {(Object.keys(words.step) as (keyof typeof words.step)[]).map((step) => (
        <li key={step} class={states[step]} aria-current={states[step] === 'now' ? 'step' : undefined}>
          <span class="update-dot" aria-hidden="true" />
          {words.step[step]}
          <span class="unseen">: {words.stepState[states[step]]}</span>
        </li>
      ))}
    </ol>
  );
}

/** What is going on now, in a sentence; or how the last update ended. */
function Now({ of }: { of: api.Update }): JSX.Element | null {
  const { state, progress, lastOutcome } = of;
  const version = of.version ?? '';
  if (of.restarting) return <Notice quiet>{words.state.restarting}</Notice>;
  if (of.preparing) return <Notice quiet>{words.state.preparing(version)}</Notice>;
  if (of.problem) return <Notice bad>{words.problem(of.problem)}</Notice>;
  switch (state) {
    case 'writing': return <Notice quiet>{words.state.writing(version, progress ? percent(progress.done, progress.total) : null)}</Notice>;
    case 'staged': return <Notice quiet>{words.state.staged(version)}</Notice>;
    case 'trying': return <Notice quiet>{words.state.trying(version, progress?.done ?? 0, progress?.total ?? 0)}</Notice>;
    default: break;
  }
  if (!lastOutcome) return null;
  const bad = lastOutcome.what === 'failed';
  const said = words.outcome[lastOutcome.what]?.(lastOutcome.version, when(lastOutcome.at));
  if (!said) return null;
  return <Notice bad={bad} quiet={!bad && lastOutcome.what !== 'committed'}>{bad ? `${said} ${words.because(lastOutcome.why)}` : said}</Notice>;
}

type Choice = { what: 'install'; version: string; uploadId?: string; foundId?: string } | { what: 'rollback'; version: string };

/** What the channel offers. */
function Channel({ read, onInstall }: { read: Read<api.Update>; onInstall: (version: string) => void }): JSX.Element {
  const act = useAction();
  const { channel, canInstall, state } = read.data as api.Update;
  if (!channel) return <p class="soft small"><Sentence words={words.noChannel} /></p>;
  const { available, checkedAt, problem } = channel;
  const check = () => act.run(async () => read.set(await api.checkUpdate()));
  return (
    <div class="update-channel">
      {available && (
        <>
          <p>{words.available(available.version, available.bytes ? size(available.bytes) : '')}</p>
          {available.notes && <details><summary>{words.notes}</summary><p class="update-notes">{available.notes}</p></details>}
        </>
      )}
      {!available && <p class="soft small">{checkedAt ? words.newest(when(checkedAt)) : words.neverChecked}</p>}
      {(act.problem || problem) && <Notice bad>{act.problem || words.channelTrouble(problem ?? '')}</Notice>}
      <div class="buttons">
        {available && canInstall && state !== 'trying' && <button type="button" class="main" onClick={() => onInstall(available.version)}>{words.install(available.version)}</button>}
        <button type="button" class="quiet" aria-disabled={act.busy} onClick={() => void check()}>{act.busy ? words.checking : words.check}</button>
      </div>
    </div>
  );
}

/** Bundles on a stick, or in the folder of hob.toml. */
function Found({ of, onInstall }: { of: api.Update; onInstall: (version: string, foundId: string) => void }): JSX.Element | null {
  if (of.found.length === 0) return null;
  return (
    <ul class="update-found" aria-label={words.found}>
      {of.found.map(({ id, path, bytes, version, notes, newer, problem }) => (
        <li key={path}>
          <p>{version ? words.foundVersion(version, path, size(bytes)) : path}</p>
          {notes && <details><summary>{words.notes}</summary><p class="update-notes">{notes}</p></details>}
          {problem && <p class="soft small">{words.foundTrouble(problem)}</p>}
          {newer && id && version && of.canInstall && (
            <div class="buttons"><button type="button" onClick={() => onInstall(version, id)}>{words.install(version)}</button></div>
          )}
        </li>
      ))}
    </ul>
  );
}

/** An update from a file: chosen or dropped, sent, and offered for installation. */
function FromFile({ update, onComplete }: { update: api.Update; onComplete: (uploadId: string, version: string) => void }): JSX.Element {
  const [sent, setSent] = useState<Sent | null>(null);
  const [reading, setReading] = useState(false);
  const [problem, setProblem] = useState('');
  const [over, setOver] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []);
  const busy = reading || sent !== null;
  const { upload } = update;

  const begin = async (file: File | undefined) => {
    if (!file || busy) return;
    const abort = new AbortController();
    stop.current = abort;
    setProblem('');
    setReading(true);
    let version = '';
    try {
      const id = await sendBundle(file, (now) => {
        version = now.version;
        setReading(false);
        setSent(now);
      }, abort.signal);
      onComplete(id, version);
    } catch (cause) {
      if (abort.signal.aborted) return;
      setProblem(cause instanceof NotABundle ? words.notABundle : cause instanceof DOMException ? words.changedFile : trouble(cause));
    } finally {
      setReading(false);
      setSent(null);
    }
  };
  const cancel = async () => {
    stop.current?.abort();
    const id = update.upload?.id;
    if (id) await api.cancelUpload(id).catch((cause: unknown) => setProblem(trouble(cause)));
  };

  return (
    <div
      class={`update-file${over ? ' over' : ''}`}
      onDragOver={(event) => (event.preventDefault(), setOver(true))}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void begin(event.dataTransfer?.files[0]);
      }}
    >
      {sent ? (
        <>
          <p role="status">{deviceAway.value ? words.paused : words.sending(percent(sent.needed - sent.left, sent.needed), size(sent.left))}</p>
          <progress max={Math.max(1, sent.needed)} value={sent.needed - sent.left} aria-label={words.file} />
        </>
      ) : (
        <p class="soft small">{upload && update.state === 'writing' ? words.resume(upload.version) : words.drop}</p>
      )}
      {problem && <Notice bad>{problem}</Notice>}
      <div class="buttons">
        <button type="button" aria-disabled={busy} onClick={() => !busy && picker.current?.click()}>{reading ? words.reading : words.file}</button>
        <input
          ref={picker}
          type="file"
          hidden
          aria-label={words.file}
          onChange={(event) => {
            const input = event.currentTarget;
            void begin(input.files?.[0]);
            // Allows choosing the same file again.
            input.value = '';
          }}
        />
        {(sent || upload) && <button type="button" class="quiet" onClick={() => void cancel()}>{words.cancel}</button>}
      </div>
    </div>
  );
}

function Asked({ choice, onDone, onClose }: { choice: Choice; onDone: () => void; onClose: () => void }): JSX.Element {
  const act = useAction();
  const install = choice.what === 'install';
  const go = async () => {
    const went = await act.run(() => (choice.what === 'install' ? api.installUpdate(choice) : api.rollBack()));
    if (!went) return;
    onDone();
    onClose();
  };
  return (
    <>
      <Confirm
        title={install ? words.installAsk(choice.version) : words.rollbackAsk(choice.version)}
        yes={act.busy ? words.installing : install ? words.installYes : words.rollbackYes}
        busy={act.busy}
        onYes={() => void go()}
        onNo={onClose}
      >
        <p class="small">{install ? words.installWhat : words.rollbackWhat}</p>
      </Confirm>
      {act.problem && <Notice bad>{act.problem}</Notice>}
    </>
  );
}

export function Updates(): JSX.Element {
  const read = useRead(api.update);
  const [choice, setChoice] = useState<Choice>();
  const act = useAction();
  const update = read.data;
  useLive(EVENTS, () => void read.again());
  const trying = update?.state === 'trying';
  const waiting = trying || update?.preparing || update?.restarting;
  useEffect(() => {
    if (!waiting) return;
    const timer = setInterval(() => document.hidden || void read.again(), LOOK_MS);
    return () => clearInterval(timer);
  }, [waiting]);

  if (!update) return <Part id="updates" title={words.title}><LoadState of={read} /></Part>;
  const { running, other, canInstall, whyNot, upload } = update;
  const quiet = !update.preparing && !update.restarting;
  const staged = quiet && update.state === 'staged' && upload ? upload : undefined;
  return (
    <Part id="updates" title={words.title} why={words.why}>
      <p>{words.running(running.version)}{other && update.canRollBack ? ` ${words.other(other.version)}` : ''}</p>
      <Steps of={update} />
      <Now of={update} />
      {act.problem && <Notice bad>{act.problem}</Notice>}
      {!canInstall && whyNot && <p class="soft small"><Sentence words={whyNot} /></p>}
      {trying && !update.restarting && (
        <div class="buttons">
          <button type="button" aria-disabled={act.busy} title={words.confirmWhat} onClick={() => void act.run(async () => read.set(await api.confirmUpdate()))}>{words.confirm}</button>
        </div>
      )}
      {staged && !choice && (
        <div class="buttons">
          <button type="button" class="main" onClick={() => setChoice({ what: 'install', version: staged.version, uploadId: staged.id })}>{words.install(staged.version)}</button>
        </div>
      )}
      {choice ? (
        <Asked choice={choice} onDone={() => void read.again()} onClose={() => setChoice(undefined)} />
      ) : (
        <>
          <Channel read={read} onInstall={(version) => setChoice({ what: 'install', version })} />
          <Found of={update} onInstall={(version, foundId) => setChoice({ what: 'install', version, foundId })} />
          {canInstall && !trying && quiet && <FromFile update={update} onComplete={(uploadId, version) => setChoice({ what: 'install', version, uploadId })} />}
          {update.canRollBack && quiet && (
            <div class="buttons">
              <button type="button" class="quiet" onClick={() => setChoice({ what: 'rollback', version: other?.version ?? '' })}>{words.rollback}</button>
            </div>
          )}
        </>
      )}
    </Part>
  );
}
