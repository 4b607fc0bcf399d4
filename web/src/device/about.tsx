// Version and licences.
import type { JSX } from 'preact';
import { text } from '../text';
import { Part, useHouse } from './part';

export function About(): JSX.Element {
  const { session } = useHouse();
  return (
    <Part id="about" title={text.device.about.title}>
      <p>{session.version ? text.device.about.version(session.version) : text.name}. {text.device.about.licence}</p>
      <p class="soft small">{text.device.about.on}</p>
    </Part>
  );
}
