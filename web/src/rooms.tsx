// The rooms: the current place (the hash of the address), the bar that links them, and its badges.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Session } from './api';
import { DeviceIcon, FilesIcon, Find, Flame, HomeIcon, MemoryIcon, TalkIcon, ToolsIcon } from './icons';
import { text } from './text';

export const ROOMS = ['talk', 'home', 'files', 'tools', 'memory', 'device'] as const;
export type Room = (typeof ROOMS)[number];

/** The props of every room. */
export interface RoomProps {
  session: Session;
  /** The rest of the address: `#/tools/gpio_write` is `['gpio_write']`. */
  path: string[];
  /** Reloads the session: the person, their role and the device's name. */
  onChanged: () => void;
}

/** The home's name, or the device's where it has none. */
export const homeName = ({ home, name }: Session) => home?.name || name;

export interface Place {
  room: Room;
  path: string[];
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The place a hash names; anything else is the Talk room. */
export function placeIn(hash: string): Place {
  const [first, ...rest] = hash.replace(/^#\/?/, '').split('/').filter(Boolean).map(decoded);
  const room = ROOMS.find((name) => name === first);
  return room ? { room, path: rest } : { room: 'talk', path: [] };
}

/** The address of a place, for links: `href('tools', 'gpio_write')`. */
export function href(room: Room, ...path: string[]): string {
  return `#/${[room, ...path].map(encodeURIComponent).join('/')}`;
}

/** Asked before the page leaves its place: `false` stays, and has to ask the person. */
let stays: ((to: string) => boolean) | undefined;

/** Sets what is asked before the page leaves its place, such as text that is not saved; answers how to end that. */
export function holdPlace(leave: (to: string) => boolean): () => void {
  stays = leave;
  return () => {
    if (stays === leave) stays = undefined;
  };
}

/** Navigates; with `replace` the back button skips the current place. */
export function go(room: Room, path: string[] = [], replace = false): void {
  const to = href(room, ...path);
  if (to === location.hash) return;
  if (!replace) {
    location.hash = to;
    return;
  }
  history.replaceState(null, '', to);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

/** The place the address names. */
export const currentPlace = signal(placeIn(location.hash));
let current = location.hash;
addEventListener('hashchange', () => {
  if (location.hash === current) return;
  if (stays && !stays(location.hash)) {
    history.pushState(null, '', current);
    return;
  }
  current = location.hash;
  currentPlace.value = placeIn(current);
});

const marks = signal<Partial<Record<Room, string>>>({});

/** Sets the badge of a room in words; '' removes it. */
export function mark(room: Room, words: string): void {
  if ((marks.value[room] ?? '') !== words) marks.value = { ...marks.value, [room]: words };
}

/** Calls `open` on `/` (not while typing) and on Ctrl+K. */
export function useFindKeys(open: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.matches('input, textarea, select, [contenteditable]');
      const slash = event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey;
      const k = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
      if (event.defaultPrevented || !(slash || k) || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      open();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [open]);
}

export const ICONS: Record<Room, () => JSX.Element> = {
  talk: TalkIcon, home: HomeIcon, files: FilesIcon, tools: ToolsIcon, memory: MemoryIcon, device: DeviceIcon,
};

/** The bar: at the bottom on a phone, at the left on a desktop. */
export function Bar({ room, alive, onFind }: { room: Room; alive: boolean; onFind: () => void }): JSX.Element {
  return (
    <nav class="bar" aria-label={text.rooms.label}>
      <Flame alive={alive} />
      {ROOMS.map((name) => {
        const Icon = ICONS[name];
        const words = marks.value[name];
        return (
          <a key={name} href={href(name)} aria-current={name === room ? 'page' : undefined}>
            <Icon />
            {text.rooms[name]}
            {words && <span class="badge"><span class="unseen">, {words}</span></span>}
          </a>
        );
      })}
      <button type="button" class="finder" aria-haspopup="dialog" aria-keyshortcuts="/ Control+K" title={text.find.hint} onClick={onFind}>
        <Find />
        {text.find.open}
      </button>
    </nav>
  );
}
