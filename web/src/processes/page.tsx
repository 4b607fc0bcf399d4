// The programs of this person, and one of them with its terminal.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Refused } from '../api';
import { Page, useHouse } from '../device/part';
import { Notice } from '../form';
import { href } from '../rooms';
import { facts, trouble, when } from '../text';
import { processes as words } from '../text/processes';
import * as api from './api';
import { Line, StopButton, useSeconds } from './line';
import { isRunning, known, renewProcesses } from './state';
import { Steer } from './steer';
import { Terminal } from './terminal';
import { failed, ran, statusWords } from './words';
import './processes.css';

export function Processes({ wanted }: { wanted: string }): JSX.Element {
  const all = known.value;
  useEffect(() => void renewProcesses(), []);
  if (wanted) return <One key={wanted} id={wanted} />;
  const running = all?.filter(isRunning) ?? [];
  const earlier = all?.filter((one) => !isRunning(one)) ?? [];
  return (
    <Page title={words.title} back={words.back} to={href('device')}>
      <p class="soft small">{words.why}</p>
      {!all && <p class="soft small">{words.loading}</p>}
      {all?.length === 0 && (
        <div class="nothing">
          <p>{words.none}</p>
          <p class="soft small">{words.noneHow}</p>
        </div>
      )}
      {running.length > 0 && <h3>{words.running}</h3>}
      <ul class="processes" aria-label={words.running}>{running.map((one) => <Line key={one.id} process={one} />)}</ul>
      {earlier.length > 0 && <h3>{words.earlier}</h3>}
      <ul class="processes" aria-label={words.earlier}>{earlier.map((one) => <Line key={one.id} process={one} />)}</ul>
    </Page>
  );
}

function One({ id }: { id: string }): JSX.Element {
  const [process, setProcess] = useState<api.Process | null>(null);
  const [problem, setProblem] = useState('');
  const { session } = useHouse();
  const writer = session.role !== 'viewer';
  const running = !!process && isRunning(process);
  useSeconds(running);
  useEffect(() => {
    api.process(id, 0, 1).then(({ output: _output, from: _from, next: _next, ...found }) => setProcess(found), (cause: unknown) => setProblem(cause instanceof Refused && cause.status === 404 ? words.gone : trouble(cause)));
  }, []);
  return (
    <Page title={process?.title || words.title} back={words.all} to={href('device', 'programs')}>
      {problem && <Notice bad>{problem}</Notice>}
      {!process && !problem && <p class="soft small">{words.loading}</p>}
      {process && (
        <>
          <div class="process-head">
            <p class={`small ${failed(process) ? 'problem' : 'soft'}`} role="status">{facts(words.kinds[process.kind] ?? process.kind, statusWords(process))}</p>
            <p class="soft small">{facts(ran(process), when(process.startedAt))}</p>
            {running && writer && <StopButton process={process} />}
          </div>
          <dl class="facts-list">
            <div><dt>{words.command}</dt><dd><code>{process.command}</code></dd></div>
            {process.folder && <div><dt>{words.folder}</dt><dd><code>{process.folder}</code></dd></div>}
          </dl>
          {process.outside && <p class="soft small">{words.outside}</p>}
          <Terminal process={process} mine={writer} onStatus={setProcess} />
          {running && writer && <Steer process={process} />}
        </>
      )}
    </Page>
  );
}
