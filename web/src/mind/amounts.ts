// Formats money and counts.

/** "$2.40"; below a cent with two significant digits: "$0.0031". */
export function dollars(value: number): string {
  const small = value !== 0 && Math.abs(value) < 0.01;
  return new Intl.NumberFormat([], {
    style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol', ...(small ? { minimumSignificantDigits: 1, maximumSignificantDigits: 2 } : {}),
  }).format(value);
}

/** "812", "12.4k", "3.1M". */
export function short(count: number): string {
  if (count >= 999_500) return `${(count / 1e6).toFixed(count < 1e7 ? 1 : 0)}M`;
  if (count >= 9_950) return `${Math.round(count / 1e3)}k`;
  if (count >= 1000) return `${(count / 1e3).toFixed(1)}k`;
  return String(Math.round(count));
}
