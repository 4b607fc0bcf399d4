// The cards of results: one for a call, in its line; those of a whole answer, below its words.
import type { JSX } from 'preact';
import type { Call } from '../turns';
import './cards.css';
import { Checklist } from './checklist';
import { Events, Expenses, Hits, Readings, Spent } from './lists';
import { DiffCard, FilesCard, ProcessCard, ProgramCard, RepositoryCard } from './workshop';
import { MadeMedia } from '../media';
import { kindOf, merged, type Kind } from './read';

function OneKind({ of }: { of: Kind }): JSX.Element | null {
  switch (of.kind) {
    case 'tasks': return <Checklist tasks={of.items} />;
    case 'events': return <Events events={of.items} />;
    case 'expenses': return <Expenses expenses={of.items} />;
    case 'summary': return <Spent summary={of.summary} />;
    case 'hits': return <Hits hits={of.items} more={of.more} />;
    case 'program': return <ProgramCard run={of.run} />;
    case 'process': return <ProcessCard process={of.process} />;
    case 'diff': return <DiffCard {...of} />;
    case 'repository': return <RepositoryCard status={of.status} />;
    case 'files': return <FilesCard files={of.files} more={of.more} />;
    case 'media': return <MadeMedia files={of.files} />;
    case 'readings': return <Readings values={of.values} />;
  }
}

/** The result of one call; nothing where it is plain words. */
export function ResultCard({ call }: { call: Call }): JSX.Element | null {
  const kind = kindOf(call);
  return kind && <OneKind of={kind} />;
}

/** The results of an answer: each task, event and expense once, as it was left. */
export function ResultCards({ calls }: { calls: Call[] }): JSX.Element | null {
  const kinds = calls.map(kindOf);
  const [tasks, events, expenses] = [merged(kinds, 'tasks'), merged(kinds, 'events'), merged(kinds, 'expenses')];
  const summary = [...kinds].reverse().find((kind) => kind?.kind === 'summary');
  const made = kinds.flatMap((kind) => (kind?.kind === 'media' ? kind.files : []));
  if (!tasks.length && !events.length && !expenses.length && !summary && !made.length) return null;
  return (
    <div class="cards">
      {tasks.length > 0 && <Checklist tasks={tasks} />}
      {events.length > 0 && <Events events={events} />}
      {expenses.length > 0 && <Expenses expenses={expenses} />}
      {summary && <OneKind of={summary} />}
      {made.length > 0 && <MadeMedia files={made} />}
    </div>
  );
}
