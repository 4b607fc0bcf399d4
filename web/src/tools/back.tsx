// A link back.
import type { JSX } from 'preact';
import { Chevron } from '../icons';
import { href } from '../rooms';
import { text } from '../text';

export function Back({ to = href('tools'), children = text.toolsRoom.all }: { to?: string; children?: string }): JSX.Element {
  return <p class="back"><a href={to}><Chevron />{children}</a></p>;
}
