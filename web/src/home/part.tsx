// What the parts of Today have in common: a card with a heading, its link, and words for when there is nothing.
import type { ComponentChildren, JSX } from 'preact';
import { today as words } from '../text/today';

interface PartProps {
  name: string;
  title: string;
  link?: { to: string; words: string } | undefined;
  children: ComponentChildren;
}

export function Part({ name, title, link, children }: PartProps): JSX.Element {
  return (
    <section class={`day-part part-${name}`} aria-labelledby={`day-${name}`}>
      <div class="part-top">
        <h2 id={`day-${name}`}>{title}</h2>
        {link && <a href={link.to}>{link.words}</a>}
      </div>
      {children}
    </section>
  );
}

/** Nothing there, and what to say in Talk to change that. */
export function Nothing({ why, idea, onSay }: { why: string; idea?: string; onSay: (words: string) => void }): JSX.Element {
  return (
    <div class="day-nothing">
      <p>{why}</p>
      {idea && <p class="soft small">{words.say} <button type="button" class="quiet idea" onClick={() => onSay(idea)}>{words.sayThis(idea)}</button></p>}
    </div>
  );
}
