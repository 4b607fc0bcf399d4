// The header of every room: title, subtitle, actions, and a banner while the device is away.
import type { ComponentChildren, JSX } from 'preact';
import { deviceAway } from './away';
import { Flame } from './icons';
import { text } from './text';

interface Props {
  title: string;
  where?: string | undefined;
  /** Buttons at the right, such as `<button class="bare">` with an icon. */
  actions?: ComponentChildren;
  /** Hob is working here. */
  alive?: boolean;
  /** Nothing scrolls under it: the background may be transparent. */
  clear?: boolean;
}

export function Top({ title, where, actions, alive = false, clear = false }: Props): JSX.Element {
  const away = deviceAway.value;
  return (
    <header class={clear ? 'top clear' : 'top'}>
      <div>
        <Flame alive={alive} />
        {/* The banner begins with the title. */}
        <h1 tabIndex={-1} class={away && title === text.name ? 'unseen' : undefined}>{title}</h1>
        {!away && <span class="where">{where}</span>}
        <p class={away ? 'banner' : 'unseen'} role="status">{away && <span>{text.away}</span>}</p>
        {actions}
      </div>
    </header>
  );
}
