// The household's clock: every moment on the page is shown in its time zone, whatever this browser's own zone is.
import { signal } from '@preact/signals';

/** The IANA name of the household's zone; '' is this browser's own. */
const zone = signal('');

/** Whether this browser knows a zone. */
function isKnown(name: string): boolean {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: name }));
  } catch {
    return false;
  }
}

/** Follows the household's zone; one that this browser does not know leaves its own. */
export function setZone(name: string | undefined): void {
  zone.value = name && isKnown(name) ? name : '';
}

/** This browser's own zone, such as "Europe/Vienna"; '' where it does not say. */
export const browserZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone ?? '';

/** A moment as this browser's language writes it, in the household's zone or in `where`. */
export function written(at: Date | number | string, how: Intl.DateTimeFormatOptions, where = zone.value): string {
  return new Date(at).toLocaleString([], { ...how, ...(where && { timeZone: where }) });
}

/** "10:42", or "10:42:07" with `seconds`. */
export const timeOf = (at: Date | number | string, seconds = false, where = zone.value): string =>
  written(at, { hour: '2-digit', minute: '2-digit', ...(seconds && { second: '2-digit' }) }, where);

const formats = new Map<string, Intl.DateTimeFormat>();

function parts(at: Date | number | string): Record<string, string> {
  const name = zone.value;
  let format = formats.get(name);
  if (!format) {
    format = new Intl.DateTimeFormat('en', { calendar: 'gregory', numberingSystem: 'latn', hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', ...(name && { timeZone: name }) });
    formats.set(name, format);
  }
  return Object.fromEntries(format.formatToParts(new Date(at)).map(({ type, value }) => [type, value]));
}

/** The household's day at a moment: "2026-11-20". */
export function dayAt(at: Date | number | string = Date.now()): string {
  const { year = '', month = '', day = '' } = parts(at);
  return `${year.padStart(4, '0')}-${month}-${day}`;
}

/** The hour of the household's clock, 0 to 23. */
export const hourNow = (): number => Number(parts(Date.now())['hour']);
