// Under which heading a conversation stands: today, yesterday, the last week, then its month.
import { talk } from '../text/talk';

const DAY = 86_400_000;

export function dayGroup(at: number | string): string {
  const date = new Date(at);
  const now = new Date();
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const days = Math.ceil((midnight - date.getTime()) / DAY);
  if (days <= 0) return talk.drawer.today;
  if (days === 1) return talk.drawer.yesterday;
  if (days <= 7) return talk.drawer.week;
  return date.toLocaleDateString([], { month: 'long', ...(date.getFullYear() !== now.getFullYear() && { year: 'numeric' }) });
}
