// The lists of the Memory room; loaded when the first of them is opened.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import * as api from '../api';
import { forgetDrafts } from '../forms/use-form';
import type { Section } from '../memory/sections';
import { records } from '../text/records';
import { Calendar } from './calendar';
import { Checklists } from './checklists';
import './checklists.css';
import { bookmarks, contacts, goals, notes, tasks } from './families';
import { useFocusKept } from './focus';
import { goalLooks } from './goal-steps';
import type { LineExtras } from './lines';
import { forgetWanted, RecordList } from './list';
import { Money } from './money';
import './records.css';
import { Schedules } from './schedules';
import { Tables } from './tables';
import { textOf } from './kinds';

export interface Props {
  section: Section;
  path: string[];
  session: api.Session;
}

const taskLooks: LineExtras = {
  tick: {
    on: (entry) => entry['status'] === 'completed',
    label: (entry) => (entry['status'] === 'completed' ? records.tasks.untick : records.tasks.tick)(textOf(entry, 'title')),
    press: async (entry) => {
      const over = entry['status'] === 'completed';
      if (over) await api.execute('update_task', { taskId: entry.id, status: 'pending' });
      else await api.execute('complete_task', { taskId: entry.id });
      return (over ? records.tasks.unticked : records.tasks.ticked)(textOf(entry, 'title'));
    },
  },
};

/** The person whose drafts and filters are kept. */
let before = '';

function inside({ section, path, session }: Props): JSX.Element {
  const writer = session.role !== 'viewer';
  switch (section) {
    case 'lists': return <Checklists writer={writer} />;
    case 'tasks': return <RecordList key={section} search={path[1]} family={tasks} looks={taskLooks} writer={writer} />;
    case 'notes': return <RecordList key={section} search={path[1]} family={notes} writer={writer} />;
    case 'contacts': return <RecordList key={section} search={path[1]} family={contacts} writer={writer} />;
    case 'bookmarks': return <RecordList key={section} search={path[1]} family={bookmarks} writer={writer} />;
    case 'goals': return <RecordList key={section} search={path[1]} family={goals} looks={goalLooks} writer={writer} />;
    case 'calendar': return <Calendar path={path} writer={writer} />;
    case 'money': return <Money path={path} writer={writer} />;
    case 'tables': return <Tables path={path} writer={writer} />;
    case 'schedules': return <Schedules writer={writer} rulesFirst={path[0] === 'rules'} />;
    // Loaded by the room itself.
    case 'graph':
    case 'bin': return <></>;
  }
}

export function Records(props: Props): JSX.Element {
  const room = useRef<HTMLDivElement>(null);
  useFocusKept(room);
  if (before !== props.session.user) {
    before = props.session.user;
    forgetDrafts();
    forgetWanted();
  }
  useLayoutEffect(() => scrollTo(0, 0), [props.section]);
  return <div class="lists" ref={room}>{inside(props)}</div>;
}
