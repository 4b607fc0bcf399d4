// All notices nobody has dismissed yet; in Today they are a part of the page, and not a card above it.
import type { JSX } from 'preact';
import { dismissNotice, NoticeLine, notices } from '../notices';
import { text } from '../text';
import { today as words } from '../text/today';
import { Part } from './part';

export function DayNotices(): JSX.Element | null {
  const all = notices.value;
  if (!all.length) return null;
  const drop = (which: string) => {
    void dismissNotice(which);
    requestAnimationFrame(() => {
      if (document.activeElement && document.activeElement !== document.body) return;
      const next = document.querySelector<HTMLElement>('.part-notices button') ?? document.querySelector<HTMLElement>('main h1');
      next?.focus({ preventScroll: true });
    });
  };
  return (
    <Part name="notices" title={words.notices}>
      <ul class="day-notices">{all.map((notice) => <li key={notice.id}><NoticeLine notice={notice} onDrop={drop} /></li>)}</ul>
      {all.length > 1 && <p><button type="button" class="quiet" onClick={() => drop('all')}>{text.notices.dismissAll(all.length)}</button></p>}
    </Part>
  );
}
