// What is going on: timers that count down or ring, answers that Hob is working on, and programs that run.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import * as api from '../api';
import { isRunning, known } from '../processes/state';
import { RunningPrograms } from '../processes/strip';
import { href } from '../rooms';
import { trouble } from '../text';
import { timers as timerWords } from '../text/timers';
import { today as words } from '../text/today';
import { TimerRow } from '../timers/row';
import { timers } from '../timers/state';
import { Nothing, Part } from './part';
import { useRuns, type UnderWay } from './use-runs';

function Run({ run, writer, onChanged }: { run: UnderWay; writer: boolean; onChanged: () => void }): JSX.Element {
  const [stopping, setStopping] = useState(false);
  const [problem, setProblem] = useState('');
  const name = run.title || (run.conversationId ? words.untitled : words.aProgram);
  const state = run.state === 'waiting' ? words.waiting : run.state === 'queued' ? words.queued : words.running;
  const stop = async () => {
    if (stopping) return;
    setStopping(true);
    setProblem('');
    try {
      await api.cancel(run.id);
    } catch (cause) {
      // It has ended meanwhile.
      if (!(cause instanceof api.Refused && cause.status === 404)) setProblem(trouble(cause));
      setStopping(false);
    }
    onChanged();
  };
  return (
    <li class="day-run" data-run={run.id}>
      <p>
        {run.conversationId ? <a href={href('talk', run.conversationId)}>{name}</a> : <b>{name}</b>}
        <small class={run.state === 'running' ? 'alive' : undefined}>{state}</small>
      </p>
      {writer && <button type="button" aria-disabled={stopping} aria-label={words.stopOne(name)} onClick={() => void stop()}>{stopping ? words.stopping : words.stop}</button>}
      {problem && <p class="small problem" role="alert">{problem}</p>}
    </li>
  );
}

interface Props {
  writer: boolean;
  /** Nothing is said where nothing is going on. */
  quiet: boolean;
  onSay: (words: string) => void;
}

export function Now({ writer, quiet, onSay }: Props): JSX.Element | null {
  const { runs, renew } = useRuns();
  const all = timers.value;
  const programs = known.value?.some(isRunning) ?? false;
  if (quiet && !all.length && !runs.length && !programs) return null;
  return (
    <Part name="now" title={words.now}>
      {all.length > 0 && <div class="timers"><ul aria-label={timerWords.label}>{all.map((one) => <li key={one.id}><TimerRow timer={one} /></li>)}</ul></div>}
      {runs.length > 0 && <ul class="day-runs">{runs.map((run) => <Run key={run.id} run={run} writer={writer} onChanged={() => void renew()} />)}</ul>}
      {programs && <RunningPrograms rows />}
      {!all.length && !runs.length && !programs && <Nothing why={words.nothingNow} idea={words.timerIdea} onSay={onSay} />}
    </Part>
  );
}
