// A sentence of the device: what stands between backticks is shown as what one types.
import type { JSX } from 'preact';

export function Said({ words }: { words: string }): JSX.Element {
  return <>{words.split('`').map((part, n) => (n % 2 ? <code key={n}>{part}</code> : part))}</>;
}
