// Arguments, and the patterns that cover them, as a person reads them: a name and a value in each line.
import type { JSX } from 'preact';
import type { Pattern } from './policy';
import { text } from './text';
import { label } from './forms/schema';

const words = text.approvals;

/** So many values stand on the card; the rest is in the exact call. */
const LINES = 8;
/** A value up to this long stands whole. */
const LONG = 240;

/** A value as a person reads it. */
function readable(value: unknown): string {
  if (value === null || value === undefined || value === '') return words.nothing;
  if (typeof value === 'boolean') return value ? words.yes : words.no;
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return value.length ? value.map(readable).join(', ') : words.nothing;
  const whole = typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value);
  return whole.length > LONG ? `${whole.slice(0, LONG)}…` : whole;
}

const object = (value: unknown): [string, unknown][] =>
  (value && typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : []);

/** Values by their names, a line each; what is left out is said. */
export function Values({ of }: { of: unknown }): JSX.Element | null {
  const all = object(of);
  if (!all.length) return null;
  const rest = all.length - LINES;
  return (
    <>
      <dl class="values">
        {all.slice(0, LINES).map(([name, value]) => (
          <div key={name}>
            <dt>{label(name)}</dt>
            <dd>{readable(value)}</dd>
          </div>
        ))}
      </dl>
      {rest > 0 && <p class="soft small">{words.more(rest)}</p>}
    </>
  );
}

/** Whether there is a pattern that covers less than everything. */
export const narrow = (pattern: Pattern | undefined): pattern is Record<string, unknown> => pattern !== undefined && pattern !== '*';

/** Whether a pattern leaves nothing open: a text with a star that is not escaped would. */
export function exact(pattern: Pattern): boolean {
  const open = (value: unknown): boolean =>
    typeof value === 'string' ? /(^|[^\\])(\\\\)*\*/.test(value) : typeof value === 'object' && value !== null && Object.values(value).some(open);
  return pattern !== '*' && !open(pattern);
}

/** A pattern that fits these values alone. */
export function exactly(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/[\\*]/g, '\\$&');
  if (Array.isArray(value)) return value.map(exactly);
  return value && typeof value === 'object' ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, exactly(one)])) : value;
}

/** The tool behind a name: `weather#fetch` is something `weather` wants while it runs. */
export const toolOf = (name: string) => name.split('#')[0] ?? name;
