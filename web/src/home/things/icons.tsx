// A drawing for each kind of thing.
import type { JSX } from 'preact';
import type { Kind, Thing } from './thing';

const line = (d: string): (() => JSX.Element) => () => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={d} />
  </svg>
);

const Locked = line('M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3');
const Unlocked = line('M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 6.7-1.4');
const Door = line('M6 21V4h9v17M3 21h18M12 12.5v.01');
const DoorOpen = line('M6 21V4h9v17M3 21h18M15 5l4 2v14M12 12.5v.01');

const ICONS: Record<Kind, () => JSX.Element> = {
  light: line('M9 18h6M10 21h4M9 18c0-2-3-3.6-3-8a6 6 0 0 1 12 0c0 4.4-3 6-3 8'),
  switch: line('M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4'),
  fan: line('M12 12m-1.6 0a1.6 1.6 0 1 0 3.200 0 1.600 1.600 0 1 0-3.200 0M12 10.400C9 8 9.500 3 12.500 3s3 4.500 1 7.800M13.600 12.500c3-1.600 7-.6 7 2s-4.200 2.400-7.800-.7M10.800 13c-.2 3.600-3.400 6.600-5.500 5.100s-.3-5 4.500-6.300'),
  cover: line('M4 4h16M6 4v12M18 4v12M6 8h12M6 12h12M6 16h12M12 16v4'),
  climate: line('M14 14.500V5a2 2 0 0 0-4 0v9.500a4 4 0 1 0 4 0zM12 9v7'),
  media: line('M7 3h10v18H7zM12 7v.01M12 17a3 3 0 1 0 0-6 3 3 0 0 0 0 6z'),
  lock: Locked,
  alarm: line('M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6z'),
  vacuum: line('M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM7 5.600h10'),
  sensor: line('M4.500 17a8.500 8.500 0 1 1 15 0M12 16l3.500-5M12 17v-.01'),
  contact: Door,
  scene: line('M12 3l2 6.500L20.500 12 14 14l-2 7-2-7-6.500-2L10 9.500z'),
};

export function ThingIcon({ thing: { kind, state } }: { thing: Thing }): JSX.Element {
  const Icon = kind === 'lock' && state.active ? Unlocked : kind === 'contact' && state.active ? DoorOpen : ICONS[kind];
  return <Icon />;
}

export const Minus = line('M6 12h12');
export const PlayIcon = line('M8 5l11 7-11 7z');
export const PauseIcon = line('M8 5v14M16 5v14');
export const NextIcon = line('M6 5l9 7-9 7zM18 5v14');
export const PreviousIcon = line('M18 5l-9 7 9 7zM6 5v14');
export const StopIcon = line('M7 7h10v10H7z');
export const OpenIcon = line('M6 14l6-6 6 6');
export const CloseIcon = line('M6 10l6 6 6-6');
export const Dots = line('M6 12v.01M12 12v.01M18 12v.01');
