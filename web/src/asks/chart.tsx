// Line, bar, area and pie charts, with their data as a table.
import type { JSX } from 'preact';
import { Notice } from '../form';
import { Chevron } from '../icons';
import { asks as words } from '../text/asks';
import { list, object, plain, type Fields } from './blocks';

export interface Series {
  name: string;
  values: (number | null)[];
}

export interface Numbers {
  labels: string[];
  series: Series[];
}

const figure = (value: unknown): number | null => {
  const found = typeof value === 'number' ? value : typeof value === 'string' && value.trim() ? Number(value) : NaN;
  return Number.isFinite(found) ? found : null;
};

/** The most points drawn. */
const POINTS = 400;
const SERIES = 6;

/**
 * The numbers in the data of a chart. Models write them in a few ways: `{labels, datasets: [{label, data}]}`, `{labels, values}`,
 * `{x, y}`, `{data: [{name, value, …}]}`, or names with a number each.
 */
export function numbersIn(data: Fields): Numbers {
  const cut = (found: Numbers): Numbers => ({
    labels: found.labels.slice(0, POINTS),
    series: found.series.filter(({ values }) => values.some((value) => value !== null)).slice(0, SERIES).map(({ name, values }) => ({ name, values: values.slice(0, POINTS) })),
  });
  const labels = list(data['labels'] ?? data['categories'] ?? data['x']).map(plain);
  const sets = list(data['datasets'] ?? data['series']);
  if (sets.length) {
    const series = sets.map((set, n) => {
      const it = object(set);
      const values = list(Array.isArray(set) ? set : it['data'] ?? it['values']).map((one) => figure(typeof one === 'object' ? object(one)['y'] ?? object(one)['value'] : one));
      return { name: plain(it['label'] ?? it['name']) || `${words.value} ${n + 1}`, values };
    });
    const longest = Math.max(0, ...series.map(({ values }) => values.length));
    return cut({ labels: labels.length ? labels : Array.from({ length: longest }, (_, n) => String(n + 1)), series });
  }
  const values = list(data['values'] ?? data['y']);
  if (values.length) return cut({ labels: labels.length ? labels : values.map((_, n) => String(n + 1)), series: [{ name: plain(data['label']) || words.value, values: values.map(figure) }] });
  const rows = list(data['data'] ?? data['points'] ?? data['rows']);
  if (rows.length) {
    if (rows.every((row) => typeof row !== 'object')) return cut({ labels: labels.length ? labels : rows.map((_, n) => String(n + 1)), series: [{ name: words.value, values: rows.map(figure) }] });
    const all = rows.map(object);
    const keys = [...new Set(all.flatMap(Object.keys))];
    const named = plain(data['xKey'] ?? data['labelKey']) || keys.find((key) => /^(x|name|label|date|day|month|category)$/i.test(key)) || keys.find((key) => all.some((row) => typeof row[key] === 'string')) || '';
    const wanted = list(data['yKeys']).map(plain);
    const series = keys.filter((key) => key !== named && (!wanted.length || wanted.includes(key))).map((key) => ({ name: key, values: all.map((row) => figure(row[key])) }));
    return cut({ labels: all.map((row, n) => plain(row[named]) || String(n + 1)), series });
  }
  const pairs = Object.entries(data).filter(([, value]) => typeof value === 'number');
  return cut({ labels: pairs.map(([name]) => name), series: [{ name: words.value, values: pairs.map(([, value]) => figure(value)) }] });
}

const WIDE = 320;
const HIGH = 140;
const said = (value: number | null) => (value === null ? '' : value.toLocaleString([], { maximumFractionDigits: 3 }));

/** The range of the axis: round numbers that include all values. */
function bounds({ series }: Numbers): [number, number] {
  const all = series.flatMap(({ values }) => values).filter((value): value is number => value !== null);
  const least = Math.min(0, ...all);
  const most = Math.max(0, ...all);
  return least === most ? [least, least + 1] : [least, most];
}

function Plot({ kind, numbers }: { kind: string; numbers: Numbers }): JSX.Element {
  const [least, most] = bounds(numbers);
  const count = Math.max(1, numbers.labels.length);
  const y = (value: number) => HIGH - ((value - least) / (most - least)) * HIGH;
  const zero = y(0);
  const slot = WIDE / count;
  const x = (n: number) => (count === 1 ? WIDE / 2 : (n / (count - 1)) * WIDE);
  return (
    <svg viewBox={`0 0 ${WIDE} ${HIGH}`} preserveAspectRatio="none" aria-hidden="true">
      <line class="zero" x1="0" x2={WIDE} y1={zero} y2={zero} />
      {numbers.series.map(({ name, values }, s) => {
        if (kind === 'bar') {
          const bar = (slot * 0.76) / numbers.series.length;
          return values.map((value, n) => value !== null && (
            <rect key={`${name}-${n}`} class={`c${s}`} x={n * slot + slot * 0.12 + s * bar} width={Math.max(0.5, bar)} y={Math.min(y(value), zero)} height={value ? Math.max(0.5, Math.abs(y(value) - zero)) : 0}>
              <title>{`${numbers.labels[n] ?? ''}: ${said(value)}`}</title>
            </rect>
          ));
        }
        const points = values.flatMap((value, n) => (value === null ? [] : [[x(n), y(value)] as const]));
        const path = points.map(([px, py], n) => `${n ? 'L' : 'M'}${px.toFixed(1)} ${py.toFixed(1)}`).join('');
        const [first, last] = [points[0], points.at(-1)];
        return (
          <g key={name} class={`c${s}`}>
            {kind === 'area' && first && last && <path class="area" d={`${path}L${last[0]} ${zero}L${first[0]} ${zero}Z`} />}
            <path class="stroke" d={path} />
            {points.length === 1 && first && <circle cx={first[0]} cy={first[1]} r="3" />}
          </g>
        );
      })}
    </svg>
  );
}

/** The slices of a pie; negative values have none. */
function Pie({ numbers }: { numbers: Numbers }): JSX.Element {
  const parts = (numbers.series[0]?.values ?? []).map((value) => Math.max(0, value ?? 0));
  const whole = parts.reduce((sum, part) => sum + part, 0) || 1;
  let from = 0;
  const at = (turn: number) => `${(50 + 48 * Math.sin(turn * 2 * Math.PI)).toFixed(2)} ${(50 - 48 * Math.cos(turn * 2 * Math.PI)).toFixed(2)}`;
  return (
    <svg class="pie" viewBox="0 0 100 100" aria-hidden="true">
      {parts.map((part, n) => {
        const share = part / whole;
        const [begin, end] = [from, (from += share)];
        if (!share) return null;
        if (share > 0.9999) return <circle key={n} class={`c${n % SERIES}`} cx="50" cy="50" r="48" />;
        return <path key={n} class={`c${n % SERIES}`} d={`M50 50L${at(begin)}A48 48 0 ${share > 0.5 ? 1 : 0} 1 ${at(end)}Z`} />;
      })}
    </svg>
  );
}

export function Chart({ kind, data }: { kind: string; data: Fields }): JSX.Element {
  const numbers = numbersIn(data);
  const { labels, series } = numbers;
  if (!series.length || !labels.length) return <Notice quiet>{words.chartEmpty}</Notice>;
  const title = plain(data['title']);
  const [least, most] = bounds(numbers);
  const pie = kind === 'pie';
  const whole = pie ? (series[0]?.values ?? []).reduce<number>((sum, value) => sum + Math.max(0, value ?? 0), 0) : 0;
  const each = kind === 'bar' && labels.length <= 12;
  const marks = each ? labels : [...new Set([0, Math.floor((labels.length - 1) / 2), labels.length - 1])].map((n) => labels[n] ?? '');
  return (
    <figure class={`chart ${pie ? 'of-pie' : ''}`}>
      <figcaption>{title || words.chartOf(words.chart[kind] ?? kind, pie ? labels.slice(0, 3) : series.map(({ name }) => name))}</figcaption>
      {pie ? <Pie numbers={numbers} /> : (
        <>
          <div class="plot">
            <div class="axis" aria-hidden="true"><span>{said(most)}</span><span>{said(least)}</span></div>
            <Plot kind={kind} numbers={numbers} />
            <div class={each ? 'marks-below each' : 'marks-below'} aria-hidden="true">{marks.map((mark, n) => <span key={n}>{mark}</span>)}</div>
          </div>
        </>
      )}
      {(pie || series.length > 1) && (
        <ul class="legend">
          {pie
            ? labels.map((label, n) => <li key={n}><span class={`key c${n % SERIES}`} />{words.share(label, said(series[0]?.values[n] ?? null), whole ? Math.round((Math.max(0, series[0]?.values[n] ?? 0) / whole) * 100) : 0)}</li>)
            : series.map(({ name }, n) => <li key={name}><span class={`key c${n}`} />{name}</li>)}
        </ul>
      )}
      <details>
        <summary><span class="soft small">{words.chartNumbers}</span><Chevron /></summary>
        <div class="sideways" tabIndex={0} role="group" aria-label={words.chartNumbers}>
          <table>
            <thead><tr><th scope="col">{words.chartLabel}</th>{series.map(({ name }) => <th key={name} scope="col" class="number">{name}</th>)}</tr></thead>
            <tbody>{labels.map((label, n) => <tr key={n}><th scope="row">{label}</th>{series.map(({ name, values }) => <td key={name} class="number">{said(values[n] ?? null)}</td>)}</tr>)}</tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}
