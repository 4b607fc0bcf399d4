// What models cost in the last 30 days: a bar for each day, and a table by model.
import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { dayAt } from '../clock';
import { Notice, SelectField } from '../form';
import { mind } from '../text/mind';
import { dollars, short } from './amounts';
import type { Usage } from './api';

const words = mind.spending;
const DAYS = 30;

type Use = Omit<Usage['days'][number], 'date' | 'models' | 'guessed'>;

/** All of the last days, earliest first; the newest is today. */
function lastDays(usage: Usage): { date: string; use: Use | undefined }[] {
  const by = new Map(usage.days.map((day) => [day.date, day]));
  const today = dayAt();
  const newest = usage.days.reduce((latest, { date }) => (date > latest ? date : latest), today);
  const at = Date.parse(`${newest}T12:00:00Z`);
  return Array.from({ length: DAYS }, (_, n) => {
    const date = new Date(at - (DAYS - 1 - n) * 86_400_000).toISOString().slice(0, 10);
    return { date, use: by.get(date) };
  });
}

const named = (date: string) => new Date(`${date}T12:00:00`).toLocaleDateString([], { day: 'numeric', month: 'short' });

function byModel(usage: Usage): (Use & { model: string; unpriced: number })[] {
  const sums = new Map<string, Use & { model: string; unpriced: number }>();
  for (const { models } of usage.days) {
    for (const one of models) {
      const sum = sums.get(one.model) ?? { model: one.model, requests: 0, promptTokens: 0, cachedTokens: 0, completionTokens: 0, cost: 0, unpriced: 0 };
      sums.set(one.model, {
        model: one.model, requests: sum.requests + one.requests, promptTokens: sum.promptTokens + one.promptTokens, cachedTokens: sum.cachedTokens + one.cachedTokens,
        completionTokens: sum.completionTokens + one.completionTokens, cost: sum.cost + one.cost, unpriced: sum.unpriced + (one.unpriced ?? 0),
      });
    }
  }
  return [...sums.values()].sort((a, b) => b.cost - a.cost || b.requests - a.requests);
}

const tokensOf = (use: Use) => use.promptTokens + use.completionTokens;

export function Spending({ usage, problem }: { usage: Usage | null; problem: string }): JSX.Element {
  const [what, setWhat] = useState('');
  const id = useId();
  const days = usage ? lastDays(usage) : [];
  const uses = days.flatMap(({ use }) => use ?? []);
  const cost = uses.reduce((sum, use) => sum + use.cost, 0);
  const tokens = uses.reduce((sum, use) => sum + tokensOf(use), 0);
  const requests = uses.reduce((sum, use) => sum + use.requests, 0);
  // If nothing cost money, show tokens.
  const shown = what || (cost > 0 ? 'money' : 'tokens');
  const value = (use: Use | undefined) => (use ? (shown === 'money' ? use.cost : tokensOf(use)) : 0);
  const said = (n: number) => (shown === 'money' ? dollars(n) : short(n));
  const most = Math.max(0, ...days.map(({ use }) => value(use)));
  const models = usage ? byModel(usage) : [];
  return (
    <section aria-labelledby={`${id}-h`}>
      <h3 id={`${id}-h`}>{words.title}</h3>
      <p class="soft small">{words.why}</p>
      {problem && <Notice bad>{problem}</Notice>}
      {usage && requests === 0 && <p>{words.nothing}</p>}
      {requests > 0 && (
        <>
          <div class="spent-head">
            <div>
              <p class="called">{words.total(dollars(cost))}</p>
              <p class="soft small">{words.tokens(short(tokens), requests)}</p>
            </div>
            <SelectField label={words.show} value={shown} options={[{ value: 'money', label: words.money }, { value: 'tokens', label: words.tokensWord }]} onInput={setWhat} />
          </div>
          <figure class="day-bars">
            <svg viewBox="0 0 300 80" preserveAspectRatio="none" aria-hidden="true">
              {days.map(({ date, use }, n) => {
                const high = most ? (value(use) / most) * 78 : 0;
                return <rect key={date} class={high ? undefined : 'none'} x={n * 10 + 1.2} width={7.6} y={80 - Math.max(high, 1)} height={Math.max(high, 1)}><title>{`${named(date)}: ${said(value(use))}`}</title></rect>;
              })}
            </svg>
            <div class="marks-below" aria-hidden="true"><span>{named(days[0]?.date ?? '')}</span><span>{words.most(said(most))}</span><span>{named(days.at(-1)?.date ?? '')}</span></div>
            <div class="unseen">
              <table>
                <caption>{words.byDay(shown === 'money' ? words.money : words.tokensWord)}</caption>
                <thead><tr><th scope="col">{words.day}</th><th scope="col">{shown === 'money' ? words.money : words.tokensWord}</th></tr></thead>
                <tbody>{days.filter(({ use }) => use).map(({ date, use }) => <tr key={date}><th scope="row">{named(date)}</th><td>{said(value(use))}</td></tr>)}</tbody>
              </table>
            </div>
          </figure>
          <div class="wide-table" tabIndex={0} role="group" aria-label={words.byModel}>
            <table>
              <caption class="unseen">{words.byModel}</caption>
              <thead><tr><th scope="col">{words.model}</th><th scope="col">{words.cost}</th><th scope="col">{words.questions}</th><th scope="col">{words.read}</th><th scope="col">{words.cached}</th><th scope="col">{words.written}</th></tr></thead>
              <tbody>
                {models.map((one) => (
                  <tr key={one.model}>
                    <th scope="row"><code>{one.model}</code></th>
                    <td>{one.cost === 0 && one.unpriced > 0 ? words.unknown : dollars(one.cost)}</td>
                    <td>{one.requests}</td>
                    <td>{short(one.promptTokens)}</td>
                    <td>{short(one.cachedTokens)}</td>
                    <td>{short(one.completionTokens)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </section>
  );
}
