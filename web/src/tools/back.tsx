// The way back to all tools.
import type { JSX } from 'preact';
import { Chevron } from '../icons';
import { href } from '../rooms';
import { text } from '../text';

export function Back(): JSX.Element {
  return <p class="back"><a href={href('tools')}><Chevron />{text.toolsRoom.all}</a></p>;
}
