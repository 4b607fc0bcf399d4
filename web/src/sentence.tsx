// A sentence from the device or a schema; text between backticks is shown as code.
import type { JSX } from 'preact';

export function Sentence({ words }: { words: string }): JSX.Element {
  const parts = words.split('`');
  // An odd number of backticks marks nothing.
  if (parts.length % 2 === 0) return <>{words}</>;
  return <>{parts.map((part, n) => (n % 2 ? <code key={n}>{part}</code> : part))}</>;
}
