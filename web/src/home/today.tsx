// Today: what runs, what is due, what comes next, lists, devices and notices. The view a household leaves open on a tablet.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Notice } from '../form';
import { today as words } from '../text/today';
import { useHouseTime, wholeDay } from './clock';
import { DayNotices } from './day-notices';
import { Devices, useDevices } from './devices';
import { Due } from './due';
import { ComingUp } from './events';
import { Now } from './now';
import { OpenLists } from './open-lists';
import { OnNow } from './things/on-now';
import { forgetTicks } from './ticks';
import './today.css';
import { useToday, type Glance } from './use-today';

interface Props {
  writer: boolean;
  onSay: (words: string) => void;
}

export function TodayView({ writer, onSay }: Props): JSX.Element {
  const { glance, problem, renew } = useToday();
  useEffect(() => forgetTicks, []);
  if (!glance) return problem ? <Notice bad>{problem}</Notice> : <p class="soft nothing" role="status">{words.loading}</p>;
  return <Day glance={glance} problem={problem} writer={writer} onSay={onSay} onChanged={() => void renew()} />;
}

const isBusy = ({ tasks, events, reminders, lists }: Glance['today']) =>
  [tasks?.tasks, events?.events, reminders?.reminders, lists?.lists].some((all) => all && all.length > 0);

function Day({ glance, problem, writer, onSay, onChanged }: Props & { glance: Glance; problem: string; onChanged: () => void }): JSX.Element {
  const [said, setSaid] = useState('');
  const { day, time } = useHouseTime(glance.clock);
  const { tasks, lists } = glance.today;
  const { state: board, named } = useDevices();
  // Where there is something to see, an idle moment needs no words.
  const busy = isBusy(glance.today) || named.length > 0;
  const devices = <Devices state={board} named={named} writer={writer} onSay={onSay} />;
  const more = { today: day, writer, onSay, onSaid: setSaid };
  return (
    <>
      <header class="day-head">
        <h2>{wholeDay(day)}</h2>
        <p class="day-time"><time dateTime={`${day}T${time}`}>{time}</time></p>
      </header>
      {problem && <Notice bad>{problem}</Notice>}
      <p class="unseen" role="status">{said}</p>
      <div class="day-columns">
        <div>
          <DayNotices />
          <Now writer={writer} quiet={busy} onSay={onSay} />
          {tasks && <Due due={tasks} {...more} />}
          <ComingUp glance={glance} today={day} onSay={onSay} />
        </div>
        <div>
          {named.length > 0 && devices}
          <OnNow writer={writer} />
          {lists && <OpenLists lists={lists} {...more} onChanged={onChanged} />}
          {!named.length && devices}
        </div>
      </div>
    </>
  );
}
