// A sentence of the device or of a tool's schema: what stands between backticks is shown as what one types.
import type { JSX } from 'preact';

export function Said({ words }: { words: string }): JSX.Element {
  const parts = words.split('`');
  // An odd one out is only a mark.
  if (parts.length % 2 === 0) return <>{words}</>;
  return <>{parts.map((part, n) => (n % 2 ? <code key={n}>{part}</code> : part))}</>;
}
