// The parts of the Memory room as links: a row that scrolls on a phone, and beside the part where there is room for it.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { href } from '../rooms';
import { text } from '../text';
import { SECTIONS, type Section } from './sections';

const words = text.memoryRoom;

export function Tabs({ at }: { at: Section | undefined }): JSX.Element {
  const row = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const box = row.current;
    const here = box?.querySelector<HTMLElement>('[aria-current]');
    // Scrolls the row, not the page.
    if (box && here) box.scrollLeft = here.offsetLeft - (box.clientWidth - here.offsetWidth) / 2;
  }, [at]);
  const tab = (section: Section | undefined, label: string) => (
    <a key={label} href={section ? href('memory', section) : href('memory')} aria-current={section === at ? 'page' : undefined}>{label}</a>
  );
  return (
    <nav class="tabs" aria-label={words.sectionsLabel} ref={row}>
      {tab(undefined, words.memories)}
      {SECTIONS.map((section) => tab(section, words.sections[section]))}
    </nav>
  );
}
