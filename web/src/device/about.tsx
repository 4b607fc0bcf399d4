// Version and licences.
import type { JSX } from 'preact';
import { text } from '../text';
import * as texts from '../text/backup';
import { Part, useHouse } from './part';

export function About(): JSX.Element {
  const { session } = useHouse();
  return (
    <Part id="about" title={texts.about.title}>
      <p>{session.version ? texts.about.version(session.version) : text.name}. {texts.about.licence}</p>
      <p class="soft small">{texts.about.on}</p>
    </Part>
  );
}
