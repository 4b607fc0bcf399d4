// Keeps the last words of the conversation in view when something takes height away from it, such as a notice.

const GAP = 12;

/** Runs a change of the layout, and scrolls by as much as it pushed the last words behind the composer. */
export function keepingLastWords(change: () => void): void {
  const words = [...document.querySelectorAll<HTMLElement>('.exchange > .hob')].at(-1);
  const dock = document.querySelector<HTMLElement>('.dock');
  const line = () => parseFloat(document.documentElement.style.getPropertyValue('--change')) || 0;
  const hidden = () => (words && dock ? words.getBoundingClientRect().bottom + GAP + line() - dock.getBoundingClientRect().top : 0);
  const before = hidden();
  change();
  // Words that were hidden before are being read elsewhere.
  if (before <= GAP && hidden() > 0) scrollBy({ top: hidden(), behavior: 'instant' });
}
