// The steps of a goal: ticked, added and deleted; when all are done, asks whether the goal is reached.
import type { JSX } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Buttons, Confirm, Notice, TextField } from '../form';
import { Bin } from '../icons';
import { useNews } from '../live';
import { trouble } from '../text';
import { records } from '../text/records';
import { goals as family } from './families';
import { entriesIn, numberOf, textOf, type Entry } from './kinds';
import { Checkbox, type LineState, type LineExtras } from './lines';

const words = records.goals;

const done = (step: Entry) => step['done'] === true;

interface Details {
  steps: Entry[];
  parts: Entry[];
  parents: Entry[];
}

function detailsIn(result: Record<string, unknown>): Details {
  return { steps: entriesIn(result, 'steps'), parts: entriesIn(result, 'subGoals'), parents: entriesIn(result, 'parents') };
}

function Steps({ entry, line }: { entry: Entry; line: LineState }): JSX.Element {
  const [details, setDetails] = useState<Details | null>(null);
  const [problem, setProblem] = useState('');
  const began = useRef(0);
  const read = useCallback(() => {
    began.current = performance.now();
    api.execute('get_goal_details', { goalId: entry.id }).then(
      ({ result }) => (setDetails(detailsIn(result)), setProblem('')),
      (cause: unknown) => setProblem(trouble(cause)),
    );
  }, [entry.id]);
  useEffect(read, [read]);
  useNews(family.topics, (heard) => began.current < heard && read());

  const name = family.title(entry);
  const finish = (step: Entry) => {
    const title = textOf(step, 'title');
    const act = done(step)
      ? () => api.execute('update_step', { stepId: step.id, done: false }).then(() => words.unticked(title))
      : () => api.execute('complete_step', { stepId: step.id }).then(() => words.ticked(title));
    return line.act(act).then(read);
  };
  const mayFinish = details !== null && details.steps.length > 0 && details.steps.every(done) && entry['status'] === 'active' && line.writer;
  return (
    <div class="under steps" role="group" aria-label={words.stepsOf(name)}>
      {problem && <Notice bad>{problem}</Notice>}
      {!details && !problem && <p class="soft small">{records.loading}</p>}
      {details && details.parents.length > 0 && <p class="soft small">{details.parents.map((goal) => words.partOf(textOf(goal, 'title'))).join(', ')}</p>}
      {details && !details.steps.length && <p class="soft small">{words.noSteps}</p>}
      <ol>
        {details?.steps.map((step) => <Step key={step.id} step={step} line={line} onTick={() => void finish(step)} onGone={read} />)}
      </ol>
      {details && details.parts.length > 0 && (
        <>
          <p class="soft small">{words.parts}</p>
          <ul>{details.parts.map((goal) => <li key={goal.id} class="part-goal"><span>{textOf(goal, 'title')}</span><ProgressBar goal={goal} /></li>)}</ul>
        </>
      )}
      {mayFinish && (
        <div class="buttons">
          <p>{words.complete}</p>
          <button type="button" onClick={() => void line.act(() => api.execute('update_goal', { goalId: entry.id, status: 'completed' }), words.completed(name))}>{words.completeYes}</button>
        </div>
      )}
      {line.writer && details && <NewStep goal={entry} onAdded={(title) => line.act(() => Promise.resolve(words.stepAdded(title))).then(read)} />}
    </div>
  );
}

interface StepProps {
  step: Entry;
  line: LineState;
  onTick: () => void;
  onGone: () => void;
}

function Step({ step, line, onTick, onGone }: StepProps): JSX.Element {
  const [asking, setAsking] = useState(false);
  const remover = useRef<HTMLButtonElement>(null);
  const title = textOf(step, 'title');
  const result = textOf(step, 'result');
  const back = () => {
    setAsking(false);
    requestAnimationFrame(() => remover.current?.focus());
  };
  const remove = async () => {
    if (await line.act(() => api.execute('delete_step', { stepId: step.id }), records.removed(title))) onGone();
    else back();
  };
  return (
    <li class={done(step) ? 'over' : undefined}>
      <div class="record with-tick">
        <Checkbox on={done(step)} label={(done(step) ? words.untick : words.tick)(title)} disabled={!line.writer || line.busy} onPress={onTick} />
        <div class="record-words">
          <p class="record-title">{title}</p>
          {textOf(step, 'description') && <p class="record-body">{textOf(step, 'description')}</p>}
          {result && <p class="soft small">{words.result(result)}</p>}
        </div>
        {line.writer && (
          <div class="doings with-icons">
            <button type="button" class="quiet" ref={remover} aria-label={records.about(records.remove, title)} onClick={() => setAsking(true)}><Bin /><span>{records.remove}</span></button>
          </div>
        )}
      </div>
      {asking && <Confirm title={words.removeStepAsk(title)} yes={records.removeYes} busy={line.busy} onYes={() => void remove()} onNo={back} />}
    </li>
  );
}

function NewStep({ goal, onAdded }: { goal: Entry; onAdded: (title: string) => void }): JSX.Element {
  const [title, setTitle] = useState('');
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const add = async (event: Event) => {
    event.preventDefault();
    const said = title.trim();
    if (busy) return;
    if (!said) return setProblem(records.needed);
    setBusy(true);
    try {
      await api.execute('decompose_goal', { goalId: goal.id, steps: [{ title: said }] });
      setTitle('');
      setProblem('');
      onAdded(said);
      form.current?.querySelector('input')?.focus();
    } catch (cause) {
      setProblem(trouble(cause));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form ref={form} class="new-step" noValidate onSubmit={(event) => void add(event)}>
      <TextField label={words.newStep} value={title} error={problem} onInput={(value) => (setTitle(value), setProblem(''))} />
      <Buttons><button aria-disabled={busy}>{words.addStep}</button></Buttons>
    </form>
  );
}

/** The progress as a bar and a percentage. */
export function ProgressBar({ goal }: { goal: Entry }): JSX.Element {
  const progress = Math.max(0, Math.min(100, numberOf(goal, 'progress') ?? 0));
  return (
    <span class="reached">
      <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect width="100" height="4" rx="2" class="all" />
        <rect width={progress} height="4" rx="2" />
      </svg>
      {words.reached(progress)}
    </span>
  );
}

export const goalLooks: LineExtras = {
  more: (entry, line) => {
    const words = records.goals.stepsCount(numberOf(entry, 'stepsDone') ?? 0, numberOf(entry, 'steps') ?? 0);
    return (
      <>
        <button type="button" class="quiet" aria-expanded={line.open} aria-label={records.about(words, family.title(entry))} onClick={() => line.setOpen(!line.open)}>{words}</button>
        <ProgressBar goal={entry} />
      </>
    );
  },
  Below: ({ entry, line }) => (line.open ? <Steps entry={entry} line={line} /> : null),
};
