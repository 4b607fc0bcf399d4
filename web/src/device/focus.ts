// Keeps the focus: when the focused element goes away, the nearest one takes it.
import { useEffect } from 'preact/hooks';

/** Candidates for the focus: the button that opened the form, else the part's heading. */
function nearest(places: (Element | null)[]): HTMLElement | null {
  for (const place of places) {
    const found = place?.isConnected ? place.querySelector<HTMLElement>('[data-back]') : null;
    if (found) return found;
  }
  return places.at(-1)?.querySelector('h2') ?? null;
}

export function useFocusKept(room: { current: HTMLElement | null }): void {
  useEffect(() => {
    const within = room.current;
    if (!within) return;
    let had: Element | null = null;
    let places: (Element | null)[] = [];
    const onFocus = (event: FocusEvent) => {
      had = event.target instanceof Element ? event.target : null;
      places = had ? [had.closest('li'), had.closest('.part-body'), had.closest('.part')] : [];
    };
    const watch = new MutationObserver(() => {
      if (!had || had.isConnected || (document.activeElement && document.activeElement !== document.body)) return;
      had = null;
      nearest(places)?.focus({ preventScroll: true });
    });
    within.addEventListener('focusin', onFocus);
    watch.observe(within, { childList: true, subtree: true });
    return () => {
      within.removeEventListener('focusin', onFocus);
      watch.disconnect();
    };
  }, []);
}
