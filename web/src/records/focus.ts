// Keeps the focus in a list: a line that moves keeps it, and the next one takes it when a line goes away.
import { useEffect } from 'preact/hooks';

const LINES = '.records > li';
const reachable = (place: Element | null | undefined) => place?.querySelector<HTMLElement>('a[href], button, input, select, textarea') ?? null;

export function useFocusKept(room: { current: HTMLElement | null }): void {
  useEffect(() => {
    const within = room.current;
    if (!within) return;
    let had: HTMLElement | null = null;
    let line: Element | null = null;
    let place = 0;
    const onFocus = (event: FocusEvent) => {
      had = event.target instanceof HTMLElement ? event.target : null;
      line = had?.closest(LINES) ?? null;
      place = line ? [...within.querySelectorAll(LINES)].indexOf(line) : 0;
    };
    // Pressing elsewhere releases it.
    const onPointer = () => (had = null);
    const watch = new MutationObserver(() => {
      if (!had || (document.activeElement && document.activeElement !== document.body)) return;
      const lines = within.querySelectorAll(LINES);
      const next = had.isConnected
        ? had
        : (reachable(line?.isConnected ? line : lines[Math.min(place, lines.length - 1)]) ?? within.querySelector<HTMLElement>('.add'));
      had = null;
      next?.focus({ preventScroll: true });
    });
    within.addEventListener('focusin', onFocus);
    addEventListener('pointerdown', onPointer, true);
    watch.observe(within, { childList: true, subtree: true });
    return () => {
      within.removeEventListener('focusin', onFocus);
      removeEventListener('pointerdown', onPointer, true);
      watch.disconnect();
    };
  }, []);
}
