// The icons, hidden from screen readers: their buttons have labels.
import type { JSX } from 'preact';

const line = (d: string) => () => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={d} />
  </svg>
);

export const Fresh = line('M12 5v14M5 12h14');
export const Menu = line('M4 7h16M4 12h16M4 17h10');
export const Close = line('M6 6l12 12M18 6L6 18');
export const Down = line('M12 5v14M6 13l6 6 6-6');
export const Up = line('M12 19V5M6 11l6-6 6 6');
export const Send = Up;
export const Chevron = line('M9 6l6 6-6 6');

export const Pause = line('M8 5v14M16 5v14');
export const Play = line('M8 5l11 7-11 7z');

export const Find = line('M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5L20 20');
export const Bin = line('M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13');
export const Pen = line('M5 19l1-4L16 5l3 3L9 18zM14 7l3 3');
export const Again = line('M19 12a7 7 0 1 1-2-5l2 2M19 4v5h-5');

export const Two = line('M9 9h10v11H9zM5 15V4h10');
export const Check = line('M5 13l4 4L19 7');

export const Clip = line('M19 11l-7.5 7.5a4.6 4.6 0 0 1-6.5-6.5l8-8a3 3 0 0 1 4.3 4.3l-8 8a1.5 1.5 0 0 1-2.1-2.1L14 7.5');
export const MicIcon = line('M12 15a3 3 0 0 0 3-3V6a3 3 0 0 0-6 0v6a3 3 0 0 0 3 3zM6 11v1a6 6 0 0 0 12 0v-1M12 18v3');
export const SpeakerIcon = line('M5 9v6h4l5 4V5L9 9zM17 9a4 4 0 0 1 0 6M19.5 6.5a8 8 0 0 1 0 11');
export const FileIcon = line('M7 3h7l4 4v14H7zM14 3v4h4');
export const Fork = line('M7 4v16M7 13c6 0 10-2 10-8M14 8l3-3 3 3');
export const Save = line('M12 4v11M7 11l5 5 5-5M5 20h14');
export const Bring = line('M12 16V5M7 9l5-5 5 5M5 20h14');

export const FolderIcon = line('M3 6h6l2 2h10v11H3z');
export const PictureIcon = line('M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9h.01');
export const SoundIcon = line('M9 18a2.5 2.5 0 1 1-2.5-2.5H9zM9 15.5V5l10-2v10.5M19 16a2.5 2.5 0 1 1-2.5-2.5H19z');
export const FilmIcon = line('M4 5h16v14H4zM10 9l5 3-5 3z');
export const LinkIcon = line('M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1');
export const More = line('M6 12h.01M12 12h.01M18 12h.01');

export const FilesIcon = FolderIcon;
export const TalkIcon = line('M4 5h16v11H9l-5 4z');
export const HomeIcon = line('M4 11l8-7 8 7v9H4zM10 20v-6h4v6');
export const ToolsIcon = line('M14 7a4 4 0 0 1 5-4l-3 3 2 2 3-3a4 4 0 0 1-5 5L8 18a2 2 0 0 1-3-3z');
export const MemoryIcon = line('M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11');
export const DeviceIcon = line('M8 6h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H8a2 2 0 0 1-2-2V8a2 2 0 0 1 2-2zM9 2v4M15 2v4M9 18v4M15 18v4M2 9h4M2 15h4M18 9h4M18 15h4');

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
