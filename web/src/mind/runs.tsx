// Recent runs: their state and steps, stopped while running, resumed after a failure.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { cancel } from '../api';
import { deviceAway } from '../away';
import { Page, useAction } from '../device/part';
import { Notice, optionsOf, SelectField } from '../form';
import { Chevron } from '../icons';
import { useNews } from '../live';
import { href } from '../rooms';
import { duration, facts, moment, sentence, text, trouble } from '../text';
import { mind } from '../text/mind';
import { dollars, short } from './amounts';
import * as api from './api';

const words = mind.runs;

const COUNT = 25;
/** The most runs of an answer. */
const MOST = 200;
const STATES = [{ value: '' as const, label: words.any }, ...optionsOf(words.states)];
const LOOKS: Record<string, string> = { done: '', running: 'rests', queued: 'rests', waiting: 'rests' };
/** The longest text of a step that is shown. */
const LONG = 600;

const cut = (value: unknown): string => {
  const whole = typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value, null, 2);
  return whole.length > LONG ? `${whole.slice(0, LONG)}…` : whole;
};

function tokensOf(usage: api.Run['usage']): number {
  return usage.promptTokens + usage.completionTokens || usage.totalTokens;
}

function Step({ step }: { step: api.RunStep }): JSX.Element {
  const name = 'name' in step && <code>{step.name}</code>;
  const said = cut(step.kind === 'call' ? step.arguments : step.kind === 'result' ? step.content : step.text);
  return (
    <li>
      <p class="small">
        <b>{words.kinds[step.kind] ?? step.kind}</b> {name}{' '}
        <span class="soft">{step.kind === 'call' ? (words.callStates[step.state] ?? step.state)
          : step.kind === 'result' ? facts(step.isError && words.failed, duration(Math.max(1, step.durationMs))) : step.kind === 'answer' && step.model}</span>
      </p>
      {said && said !== '{}' && <pre tabIndex={0} role="group" aria-label={words.kinds[step.kind] ?? step.kind}>{said}</pre>}
    </li>
  );
}

/** The models tried for an answer. */
function Routed({ routing }: { routing: api.Routing }): JSX.Element {
  return (
    <ul class="routed small soft" aria-label={words.routing}>
      {routing.attempts.map((attempt, n) => (
        <li key={n}>
          {facts(attempt.model, attempt.outcome === 'answered' ? words.answered(routing.reason) : words.unanswered(sentence(attempt.error ?? '')))}
        </li>
      ))}
    </ul>
  );
}

function Entry({ run, onChanged }: { run: api.Run; onChanged: (said: string) => void }): JSX.Element {
  const [steps, setSteps] = useState<api.RunStep[] | null>(null);
  const [routing, setRouting] = useState<api.Routing | null>(null);
  const act = useAction();
  const at = moment(run.startedAt, true);
  const over = run.endedAt ?? 0;
  const alive = run.state === 'running' || run.state === 'queued' || run.state === 'waiting';
  const tokens = tokensOf(run.usage);
  const open = () => act.run(async () => {
    const found = await api.run(run.id);
    setSteps(found.steps);
    setRouting(found.routing);
  });
  // Reloads the open steps as the run proceeds.
  useEffect(() => {
    if (steps) void open();
  }, [run]);
  return (
    <li class={`act ${LOOKS[run.state] ?? 'bad'}`}>
      <span class="dot" />
      <div>
        <p class="act-head"><span class="asked">{run.asked || (run.conversationId ? words.wordless : words.byProgram)}</span> <time class="soft small" dateTime={new Date(run.startedAt).toISOString()}>{at}</time></p>
        <p class="soft small">
          {facts(
            words.states[run.state] ?? run.state, run.model === 'reflex' ? text.talk.reflex : run.model, over > run.startedAt && duration(over - run.startedAt), run.toolCalls !== undefined && run.toolCalls > 0 && words.calls(run.toolCalls),
            tokens > 0 && words.tokens(short(tokens)), run.cost ? dollars(run.cost) : '', run.resumed ? words.resumed(run.resumed) : '',
          )}
        </p>
        {run.error && <p class="small">{sentence(run.error.message)}</p>}
        <div class="run-buttons">
          {alive && <button type="button" class="quiet" aria-disabled={act.busy} aria-label={words.cancelOf(at)} onClick={() => void act.run(async () => (await cancel(run.id), onChanged(words.cancelled)))}>{words.cancel}</button>}
          {(run.state === 'failed' || run.state === 'cancelled') && <button type="button" class="quiet" aria-disabled={act.busy} aria-label={words.resumeOf(at)} onClick={() => void act.run(async () => (await api.resume(run.id), onChanged(words.resumedNow)))}>{words.resume}</button>}
          {run.conversationId && <a class="quiet button" href={href('talk', run.conversationId)}>{words.conversation}</a>}
        </div>
        {act.problem && <Notice bad>{act.problem}</Notice>}
        <details class="steps" onToggle={(event) => event.currentTarget.open && !steps && void open()}>
          <summary><span class="soft small">{words.steps}</span><Chevron /></summary>
          {routing && <Routed routing={routing} />}
          {steps === null ? <p class="soft small">{mind.loading}</p> : <ol>{steps.map((step, n) => <Step key={n} step={step} />)}</ol>}
        </details>
      </div>
    </li>
  );
}

export function Runs(): JSX.Element {
  const [state, setState] = useState<api.Run['state'] | ''>('');
  const [runs, setRuns] = useState<api.Run[] | null>(null);
  const [next, setNext] = useState('');
  const [problem, setProblem] = useState('');
  const [done, setDone] = useState('');
  const away = deviceAway.value;
  const asked = useRef(0);
  /** Reads the newest runs again; older ones that are on the page stay. */
  const read = async (many: number) => {
    const turn = ++asked.current;
    try {
      const found = await api.runs(state, Math.min(many, MOST));
      if (turn !== asked.current) return;
      const last = found.runs.at(-1);
      const rest = many > MOST && last ? (runs ?? []).filter((run) => run.id < last.id) : [];
      setRuns([...found.runs, ...rest]);
      if (!rest.length) setNext(found.next ?? '');
      setProblem('');
    } catch (cause) {
      if (turn === asked.current) setProblem(trouble(cause));
    }
  };
  const readOlder = async () => {
    const turn = ++asked.current;
    try {
      const found = await api.runs(state, COUNT, next);
      if (turn !== asked.current) return;
      setRuns((all) => [...(all ?? []), ...found.runs]);
      setNext(found.next ?? '');
      setProblem('');
    } catch (cause) {
      if (turn === asked.current) setProblem(trouble(cause));
    }
  };
  const shown = Math.max(COUNT, runs?.length ?? 0);
  useEffect(() => {
    if (!away) void read(COUNT);
  }, [state, away]);
  useNews(['run:started', 'run:ended', 'run:resumed', 'interaction:pending', 'interaction:ended', 'approval:asked', 'approval:settled'], () => void read(shown));
  return (
    <Page title={words.title} back={words.back} to={href('device', 'activity')}>
      <p class="soft small">{words.why}</p>
      <div class="sieve"><SelectField label={words.state} value={state} options={STATES} onInput={(value) => setState(value)} /></div>
      {problem && <Notice bad>{problem}</Notice>}
      {done && <Notice>{done}</Notice>}
      <p class="soft" role="status">{!problem && (runs === null ? mind.loading : !runs.length && (state ? words.noneLike : words.none))}</p>
      <ul class="acts">
        {runs?.map((run) => <Entry key={run.id} run={run} onChanged={(said) => (setDone(said), void read(shown))} />)}
      </ul>
      <div class="buttons">
        {next && <button type="button" onClick={() => void readOlder()}>{words.older}</button>}
        <button type="button" class="quiet" onClick={() => void read(shown)}>{text.activity.again}</button>
      </div>
    </Page>
  );
}
