// Words of a schema, in which `this` is a name.
import type { JSX } from 'preact';

export function Ticked({ words }: { words: string }): JSX.Element {
  const parts = words.split('`');
  // An odd one out is only a mark.
  if (parts.length % 2 === 0) return <>{words}</>;
  return <>{parts.map((part, n) => (n % 2 ? <code key={n}>{part}</code> : part))}</>;
}
