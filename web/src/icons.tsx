// The few line drawings the page uses; all hidden from readers, their buttons carry the words.
import type { JSX } from 'preact';

const line = (d: string) => () => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={d} />
  </svg>
);

export const Send = line('M12 19V5M6 11l6-6 6 6');
export const Fresh = line('M12 5v14M5 12h14');
export const Menu = line('M4 7h16M4 12h16M4 17h10');
export const Close = line('M6 6l12 12M18 6L6 18');
export const Down = line('M12 5v14M6 13l6 6 6-6');
export const Chevron = line('M9 6l6 6-6 6');

export function Stop(): JSX.Element {
  return (
    <svg class="icon solid" viewBox="0 0 24 24" aria-hidden="true">
      <rect x="6" y="6" width="12" height="12" rx="2.5" />
    </svg>
  );
}

/** Hob's mark: still when idle, breathing while it works. */
export function Flame({ alive = false, big = false }: { alive?: boolean; big?: boolean }): JSX.Element {
  return (
    <svg class={`flame${alive ? ' alive' : ''}${big ? ' big' : ''}`} viewBox="0 0 32 32" aria-hidden="true">
      <path d="M16 2c1 6 9 9 9 17a9 9 0 0 1-18 0c0-4 2-6 4-8 0 3 1 4 2 5 2-4 1-9 3-14z" />
      <path class="core" d="M16 17c1 3 4 4 4 7a4 4 0 0 1-8 0c0-3 3-4 4-7z" />
    </svg>
  );
}
