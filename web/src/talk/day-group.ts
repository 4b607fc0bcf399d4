// Under which heading a conversation stands: today, yesterday, the last week, then its month; by the household's days.
import { dayAt, written } from '../clock';
import { talk } from '../text/talk';

const DAY = 86_400_000;

export function dayGroup(at: number | string): string {
  const [day, today] = [dayAt(at), dayAt()];
  const days = Math.round((Date.parse(today) - Date.parse(day)) / DAY);
  if (days <= 0) return talk.drawer.today;
  if (days === 1) return talk.drawer.yesterday;
  if (days <= 7) return talk.drawer.week;
  return written(at, { month: 'long', ...(day.slice(0, 4) !== today.slice(0, 4) && { year: 'numeric' }) });
}
