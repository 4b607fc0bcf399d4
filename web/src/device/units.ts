// Formats sizes and durations as the daemon does, without line breaks inside.
import { dayAt, written } from '../clock';

/** "12.3 GB", "400 MB". */
export function size(bytes: number): string {
  if (bytes >= 1e12) return `${(bytes / 1e12).toFixed(1)}\u00a0TB`;
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(1)}\u00a0GB`;
  if (bytes >= 1e6) return `${Math.round(bytes / 1e6)}\u00a0MB`;
  return `${Math.max(1, Math.round(bytes / 1e3))}\u00a0kB`;
}

/** The largest suitable unit: "3 days", "5 hours", "12 minutes". */
export function span(seconds: number): string {
  if (seconds < 120) return 'a minute';
  if (seconds < 7200) return `${Math.floor(seconds / 60)} minutes`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} hours`;
  return `${Math.floor(seconds / 86_400)} days`;
}

/** "3 Oct", with the year when it is another one. */
export function day(at: number | null | undefined): string {
  if (at === null || at === undefined) return '';
  const otherYear = dayAt(at).slice(0, 4) !== dayAt().slice(0, 4);
  return written(at, { day: 'numeric', month: 'short', ...(otherYear && { year: 'numeric' }) }).replaceAll(' ', '\u00a0');
}
