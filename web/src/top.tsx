// The top of every room: its name, a quiet word about where, what can be done there, and in its place, while the device is away, that it is.
import type { ComponentChildren, JSX } from 'preact';
import { deviceAway } from './away';
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
  const away = deviceAway.value;
  return (
    <header class={clear ? 'top clear' : 'top'}>
      <div>
        <Flame alive={alive} />
        {/* The words about Hob being away begin with its name. */}
        <h1 tabIndex={-1} class={away && title === text.name ? 'unseen' : undefined}>{title}</h1>
        {!away && <span class="where">{where}</span>}
        <p class={away ? 'banner' : 'unseen'} role="status">{away && <span>{text.away}</span>}</p>
        {actions}
      </div>
    </header>
  );
}
