// The top of every room: its name, a quiet word about where, what can be done there, and the banner while the device is away.
import type { ComponentChildren, JSX } from 'preact';
import { useAway } from './away';
import { Flame } from './icons';
import { text } from './text';

interface Props {
  title: string;
  where?: string | undefined;
  /** Buttons at the right; `<button class="bare">` with an icon fits. */
  actions?: ComponentChildren;
  /** Hob is at work here. */
  alive?: boolean;
  /** Nothing scrolls under it, and light may shine through. */
  clear?: boolean;
}

export function Top({ title, where, actions, alive = false, clear = false }: Props): JSX.Element {
  const away = useAway();
  return (
    <header class={clear ? 'top clear' : 'top'}>
      <div>
        <Flame alive={alive} />
        <h1 tabIndex={-1}>{title}</h1>
        <span class="where">{where}</span>
        {actions}
        <p class="banner" role="status">{away && <span>{text.away}</span>}</p>
      </div>
    </header>
  );
}
