// Arguments and grant patterns as lines of name and value.
import type { JSX } from 'preact';
import type { Pattern } from './policy';
import { text } from './text';
import { label } from './forms/schema';

const words = text.approvals;

/** The most values shown; the rest is in the exact call. */
const LINES = 8;
/** Longer values are truncated. */
const LONG = 240;

/** Formats a value for people. */
function readable(value: unknown): string {
  if (value === null || value === undefined || value === '') return words.nothing;
  if (typeof value === 'boolean') return value ? words.yes : words.no;
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return value.length ? value.map(readable).join(', ') : words.nothing;
  const whole = typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value);
  return whole.length > LONG ? `${whole.slice(0, LONG)}…` : whole;
}

const object = (value: unknown): [string, unknown][] =>
  (value && typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : []);

/** Values by name, with a count of those left out. */
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
            <dd><bdi>{readable(value)}</bdi></dd>
          </div>
        ))}
      </dl>
      {rest > 0 && <p class="soft small">{words.more(rest)}</p>}
    </>
  );
}

/** Whether the pattern covers less than everything. */
export const narrow = (pattern: Pattern | undefined): pattern is Record<string, unknown> => pattern !== undefined && pattern !== '*';

/** Whether a pattern has no wildcard: no star that is not escaped. */
export function exact(pattern: Pattern): boolean {
  const open = (value: unknown): boolean =>
    typeof value === 'string' ? /(^|[^\\])(\\\\)*\*/.test(value) : typeof value === 'object' && value !== null && Object.values(value).some(open);
  return pattern !== '*' && !open(pattern);
}

/** The pattern that matches exactly these values. */
export function exactPattern(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/[\\*]/g, '\\$&');
  if (Array.isArray(value)) return value.map(exactPattern);
  return value && typeof value === 'object' ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, exactPattern(one)])) : value;
}

/** The tool of a call: `weather#fetch` is a call that `weather` makes. */
export const toolOf = (name: string) => name.split('#')[0] ?? name;
