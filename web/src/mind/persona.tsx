// The persona: the documents that form the system prompt.
import type { JSX } from 'preact';
import { Page, LoadState, useRead } from '../device/part';
import { day } from '../device/units';
import { Chevron } from '../icons';
import { useLive } from '../live';
import { href } from '../rooms';
import { Sentence } from '../sentence';
import { facts, sentence } from '../text';
import { mind } from '../text/mind';
import * as api from './api';
import { MemoryDocuments } from './memory-documents';

const words = mind.persona;

export function Persona(): JSX.Element {
  const read = useRead(api.documents);
  useLive(['document:changed'], () => void read.again());
  return (
    <Page title={words.title} back={mind.back} to={href('device')}>
      <LoadState of={read} />
      <ul class="documents" aria-label={words.documents}>
        {read.data?.documents.map((one) => (
          <li key={one.name}>
            <a href={href('device', 'persona', one.name)}>
              <span>
                <b>{one.title || one.name}</b>
                <small><Sentence words={sentence(one.about)} /></small>
                <small>{facts(one.length ? words.length(one.length.toLocaleString()) : one.version ? words.hollow : words.builtIn, one.updatedAt && words.changed(day(one.updatedAt)))}</small>
              </span>
              <Chevron />
            </a>
          </li>
        ))}
      </ul>
      <MemoryDocuments />
      <section>
        <h3>{words.told}</h3>
        <p class="soft small">{words.toldWhy}</p>
        <p class="buttons"><a class="button" href={href('device', 'prompt')}>{words.toldOpen}<Chevron /></a></p>
      </section>
    </Page>
  );
}
