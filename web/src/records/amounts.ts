// Formats amounts of money for the browser's locale.

const known = new Map<string, Intl.NumberFormat | null>();

function format(currency: string): Intl.NumberFormat | null {
  let found = known.get(currency);
  if (found === undefined) {
    try {
      found = new Intl.NumberFormat([], { style: 'currency', currency });
    } catch {
      // A currency unknown to this browser is written after its number.
      found = null;
    }
    known.set(currency, found);
  }
  return found;
}

export const amount = (value: number, currency: string): string =>
  format(currency)?.format(value) ?? [value.toLocaleString(), currency].filter(Boolean).join('\u00a0');
