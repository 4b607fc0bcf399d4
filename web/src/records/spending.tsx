// A chart of expenses: the total, a bar per day, and the share of each category.
import type { JSX } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { deviceAway } from '../away';
import { SelectField } from '../form';
import { useNews } from '../live';
import type { ExpenseSummary as Summary, Sum } from '../results';
import { records } from '../text/records';
import { amount } from './amounts';
import { dateOf, daysIn, longDay, monthName, type Day } from './days';

const words = records.money;

/** The totals of these days; a new `round` reloads them. */
function useSummary(args: object, topics: readonly string[], round: number): Summary | null {
  const [summary, setSummary] = useState<Summary | null>(null);
  const away = deviceAway.value;
  const asked = useRef(0);
  const key = JSON.stringify(args);
  const began = useRef(0);
  const read = useCallback(async () => {
    const mine = ++asked.current;
    began.current = performance.now();
    try {
      const { result } = await api.execute('expense_summary', JSON.parse(key) as object);
      if (mine === asked.current) setSummary(result);
    } catch {
      // The list below shows the error; the banner says that the device is away.
      if (mine === asked.current) setSummary(null);
    }
  }, [key]);
  useEffect(() => {
    if (!away) void read();
  }, [read, away, round]);
  useNews(topics, (heard) => began.current < heard && void read());
  return summary;
}

interface Props {
  /** A day of the month shown; '' is all months. */
  month: Day;
  args: object;
  topics: readonly string[];
  round: number;
  onPick: (category: string) => void;
}

export function Spending({ month, args, topics, round, onPick }: Props): JSX.Element | null {
  const summary = useSummary({ ...args, period: 'all', ...(month && { groupBy: 'day' }) }, topics, round);
  const [wanted, setWanted] = useState('');
  if (!summary?.totals.length) return null;
  const total = summary.totals.find((one) => one.currency === wanted) ?? summary.totals[0];
  if (!total) return null;
  const { currency } = total;
  const of = <T extends Sum>(sums: T[] | undefined) => (sums ?? []).filter((one) => one.currency === currency);
  const money = (value: number) => amount(value, currency);
  return (
    <section class="spending" aria-label={words.spent}>
      <div class="spent">
        <p><b class="called">{money(total.total)}</b></p>
        <p class="soft small">{words.average(money(total.average), total.count)}</p>
        {summary.totals.length > 1 && (
          <SelectField label={words.currencies} value={currency} options={summary.totals.map((one) => ({ value: one.currency, label: `${one.currency} · ${amount(one.total, one.currency)}` }))} onInput={setWanted} />
        )}
      </div>
      {month
        ? <Bars label={words.byDayLabel(monthName(month), currency)} bars={daysOf(month, of(summary.byDay))} money={money} />
        : <Bars label={words.byMonthLabel(currency)} bars={of(summary.byMonth).slice(-24).map((one) => ({ key: one.month, name: monthName(`${one.month}-01`), mark: dateOf(`${one.month}-01`).toLocaleDateString([], { month: 'short' }), value: one.total }))} money={money} />}
      <Shares shares={of(summary.byCategory)} money={money} onPick={onPick} />
    </section>
  );
}

interface Bar {
  key: string;
  /** The full label, for screen readers. */
  name: string;
  /** The short label below the bar. */
  mark: string;
  value: number;
}

/** Every day of the month, with or without expenses. */
function daysOf(month: Day, sums: (Sum & { day: Day })[]): Bar[] {
  const totals = new Map(sums.map((one) => [one.day, one.total]));
  return Array.from({ length: daysIn(month) }, (_, n) => {
    const day = `${month.slice(0, 8)}${String(n + 1).padStart(2, '0')}`;
    return { key: day, name: longDay(day), mark: n % 7 === 0 ? String(n + 1) : '', value: totals.get(day) ?? 0 };
  });
}

/** A bar chart, with a table for screen readers. */
function Bars({ label, bars, money }: { label: string; bars: Bar[]; money: (value: number) => string }): JSX.Element | null {
  const most = Math.max(0, ...bars.map((bar) => bar.value));
  if (!most) return null;
  const width = 100 / bars.length;
  return (
    <figure class="bars">
      <svg viewBox="0 0 100 40" preserveAspectRatio="none" aria-hidden="true">
        {bars.map((bar, n) => (
          <rect key={bar.key} x={n * width + width * 0.12} width={width * 0.76} y={40 - (bar.value / most) * 40} height={(bar.value / most) * 40} class={bar.value ? undefined : 'none'}>
            <title>{`${bar.name}: ${money(bar.value)}`}</title>
          </rect>
        ))}
      </svg>
      <div class="bar-marks" aria-hidden="true">{bars.map((bar) => <span key={bar.key}>{bar.mark}</span>)}</div>
      <div class="unseen">
        <table>
          <caption>{label}</caption>
          <thead><tr><th scope="col">{words.dayColumn}</th><th scope="col">{words.amountColumn}</th></tr></thead>
          <tbody>{bars.filter((bar) => bar.value).map((bar) => <tr key={bar.key}><th scope="row">{bar.name}</th><td>{money(bar.value)}</td></tr>)}</tbody>
        </table>
      </div>
    </figure>
  );
}

/** The total of each category; pressing one filters by it. */
function Shares({ shares, money, onPick }: { shares: Summary['byCategory']; money: (value: number) => string; onPick: (category: string) => void }): JSX.Element {
  return (
    <ul class="shares" aria-label={words.byCategory}>
      {shares.map((one) => (
        <li key={one.category}>
          <button type="button" onClick={() => onPick(one.category)}>
            <span class="share-name">{words.categories[one.category] ?? one.category}</span>
            <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
              <rect width="100" height="4" rx="2" class="all" />
              <rect width={Math.max(1, one.share)} height="4" rx="2" />
            </svg>
            <span class="share-sum">{money(one.total)}</span>
            <span class="share-part">{words.share(Math.round(one.share))}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
