// Events, money, readings and hits as cards.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { label, readable } from '../../forms/schema';
import { amount } from '../../records/amounts';
import { dateOf, relativeDay, span, wall } from '../../records/days';
import { facts, moment, text, when } from '../../text';
import { talk } from '../../text/talk';
import { list, words, type Fields, type Summary } from './read';

const texts = talk.card;

/** How many lines a card shows at first. */
const SHOWN = 12;

/** The lines of a list, the first ones until somebody asks for all. */
function useShown<T>(all: T[]): { shown: T[]; rest: JSX.Element | null } {
  const [whole, setWhole] = useState(false);
  const shown = whole || all.length <= SHOWN + 1 ? all : all.slice(0, SHOWN);
  return { shown, rest: shown.length < all.length ? <button type="button" class="quiet" onClick={() => setWhole(true)}>{texts.all(all.length)}</button> : null };
}

function Event({ event }: { event: Fields }): JSX.Element {
  const start = wall(event['startTime']);
  const allDay = event['isAllDay'] === true;
  const date = start && dateOf(start.day);
  const place = words(event['location']);
  return (
    <li class="event">
      {date && (
        <span class="leaf" aria-hidden="true">
          <small>{date.toLocaleDateString([], { month: 'short' })}</small>
          <b>{date.getDate()}</b>
        </span>
      )}
      <span>
        <b>{words(event['title']) || texts.untitled}</b>
        <small>{facts(start && relativeDay(start.day), allDay ? texts.wholeDay : span(event['startTime'], event['endTime'], allDay), place)}</small>
      </span>
    </li>
  );
}

export function Events({ events }: { events: Fields[] }): JSX.Element {
  const { shown, rest } = useShown(events);
  return <section class="card" aria-label={texts.events}><ul>{shown.map((event, n) => <Event key={words(event['id']) || n} event={event} />)}</ul>{rest}</section>;
}

const currencyOf = (one: Fields) => words(one['currency']);
const money = (one: Fields, name: string) => (typeof one[name] === 'number' ? amount(one[name], currencyOf(one)) : '');

export function Expenses({ expenses }: { expenses: Fields[] }): JSX.Element {
  const { shown, rest } = useShown(expenses);
  const totals = new Map<string, number>();
  for (const one of expenses) totals.set(currencyOf(one), (totals.get(currencyOf(one)) ?? 0) + Number(one['amount']));
  return (
    <section class="card" aria-label={texts.money}>
      <div class="sideways" tabIndex={0} role="group" aria-label={texts.money}>
        <table>
          <thead><tr><th scope="col">{texts.what}</th><th scope="col">{texts.day}</th><th scope="col" class="number">{texts.amount}</th></tr></thead>
          <tbody>
            {shown.map((one, n) => (
              <tr key={words(one['id']) || n}>
                <td>{words(one['description']) || words(one['category']) || texts.untitled}</td>
                <td>{wall(one['date']) && relativeDay(words(one['date']))}</td>
                <td class="number">{money(one, 'amount')}</td>
              </tr>
            ))}
          </tbody>
          {expenses.length > 1 && (
            <tfoot>{[...totals].map(([currency, sum]) => <tr key={currency}><th scope="row" colSpan={2}>{texts.total}</th><td class="number">{amount(sum, currency)}</td></tr>)}</tfoot>
          )}
        </table>
      </div>
      {rest}
    </section>
  );
}

export function Spent({ summary }: { summary: Summary }): JSX.Element {
  return (
    <section class="card" aria-label={texts.money}>
      <div class="sideways" tabIndex={0} role="group" aria-label={texts.money}>
        <table>
          <thead><tr><th scope="col">{texts.what}</th><th scope="col" class="number">{texts.share}</th><th scope="col" class="number">{texts.amount}</th></tr></thead>
          <tbody>
            {summary.byCategory.map((one, n) => (
              <tr key={n}>
                <td>{words(one['category']) || texts.untitled}</td>
                <td class="number">{typeof one['share'] === 'number' ? `${Math.round(one['share'])} %` : ''}</td>
                <td class="number">{money(one, 'total')}</td>
              </tr>
            ))}
          </tbody>
          <tfoot>{summary.totals.map((one, n) => <tr key={n}><th scope="row" colSpan={2}>{texts.total}</th><td class="number">{money(one, 'total')}</td></tr>)}</tfoot>
        </table>
      </div>
    </section>
  );
}

/** Fields that mean nothing to people. */
const INNER = /^(id|.*Id|createdMs|updatedAt|createdAt|updatedMs|truncated|hasMore|byMeaning|score|uses|unixMs|unix)$/;
const BYTES = /^(total|free|available|used|ownMemory|size|bytes)$/;

function value(name: string, one: unknown): string {
  if (typeof one === 'boolean') return name === 'high' ? (one ? texts.on : texts.off) : one ? texts.yes : texts.no;
  if (typeof one === 'number') {
    if (BYTES.test(name) && one > 1e5) return one >= 1e9 ? `${(one / 1e9).toFixed(1)} GB` : text.talk.bytes(one);
    if (/(Time|At)$/.test(name) && one > 1e9 && one < 5e9) return moment(one * 1000);
    if (name === 'uptime') return texts.uptime(Math.floor(one / 86_400), Math.floor(one / 3600) % 24, Math.floor(one / 60) % 60);
    return readable(one);
  }
  if (Array.isArray(one)) return one.filter((part) => typeof part !== 'object').map((part) => value(name, part)).join(', ');
  if (typeof one === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(one)) return moment(Date.parse(one));
  if (typeof one === 'string') return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(one) ? [relativeDay(one.slice(0, 10)), one.slice(11, 16)].join(', ') : one;
  return '';
}

/** The fields of an object for people, one level deep: "Disk free: 35 GB". */
function lines(of: Fields, before = '', depth = 0): [string, string][] {
  return Object.entries(of).flatMap(([name, one]): [string, string][] => {
    if (INNER.test(name) || one === null || one === undefined || one === '') return [];
    const title = [before, before ? label(name).toLowerCase() : label(name)].filter(Boolean).join(' ');
    if (typeof one === 'object' && !Array.isArray(one)) return depth ? [] : lines(one as Fields, title, depth + 1);
    const shown = value(name, one);
    return shown ? [[title, shown]] : [];
  });
}

export function Readings({ values }: { values: Fields }): JSX.Element | null {
  const { shown, rest } = useShown(lines(values));
  if (!shown.length) return null;
  return (
    <section class="card" aria-label={texts.readings}>
      <dl class="values">{shown.map(([name, one], n) => <div key={n}><dt>{name}</dt><dd>{one}</dd></div>)}</dl>
      {rest}
    </section>
  );
}

const TITLES = ['title', 'name', 'subject', 'content', 'text', 'question', 'description', 'url', 'tool'];

function Hit({ hit }: { hit: Fields }): JSX.Element {
  const main = TITLES.find((name) => words(hit[name]));
  if (!main) return <li class="found-line"><span>{lines(hit).map(([name, one]) => `${name}: ${one}`).slice(0, 4).join(' · ') || texts.untitled}</span></li>;
  const more = ['content', 'description', 'author', 'phone', 'email', 'url', 'why'].filter((name) => name !== main).map((name) => words(hit[name])).filter(Boolean).slice(0, 2);
  const at = words(hit['createdAt']) || (typeof hit['createdMs'] === 'number' ? hit['createdMs'] : undefined);
  return (
    <li class="found-line">
      <span><span class="found-title">{words(hit[main])}</span><small>{facts(...more, at !== undefined && when(at), ...list(hit['tags']).map(words))}</small></span>
    </li>
  );
}

export function Hits({ hits, more }: { hits: Fields[]; more: number }): JSX.Element {
  const { shown, rest } = useShown(hits);
  return (
    <section class="card" aria-label={texts.hits}>
      <ul>{shown.map((hit, n) => <Hit key={n} hit={hit} />)}</ul>
      {rest}
      {more > 0 && <p class="soft small">{texts.more(more)}</p>}
    </section>
  );
}
