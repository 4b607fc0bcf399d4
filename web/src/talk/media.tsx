// The pictures, sounds and files of a message.
import type { JSX } from 'preact';
import { fileAt, type StoredFile } from '../api';
import { text } from '../text';
import { FileIcon } from '../icons';

function One({ at, name, mediaType }: { at: string; name: string; mediaType: string }): JSX.Element {
  if (mediaType.startsWith('image/')) {
    return <a class="shown-picture" href={at} target="_blank" rel="noopener"><img src={at} alt={name || text.talk.picture} loading="lazy" /></a>;
  }
  // The workspace serves films to play; of what people sent, only pictures and sound.
  if (mediaType.startsWith('video/') && at.startsWith('/api/v1/workspace/')) return <video controls preload="metadata" src={at} aria-label={name || text.talk.file} />;
  if (mediaType.startsWith('audio/')) return <audio controls preload="none" src={at} aria-label={name || text.talk.sound} />;
  return <a class="shown-file" href={at} target="_blank" rel="noopener"><FileIcon />{name || text.talk.file}</a>;
}

export function Media({ files }: { files: StoredFile[] }): JSX.Element {
  return <ul class="media">{files.map(({ id, name = '', mediaType = '' }) => <li key={id}><One at={fileAt(id)} name={name} mediaType={mediaType} /></li>)}</ul>;
}

/** What a tool made, as the workspace or the device serves it. */
export function MadeMedia({ files }: { files: Record<string, unknown>[] }): JSX.Element {
  const of = (file: Record<string, unknown>, key: string) => String(file[key] ?? '');
  return <ul class="media">{files.map((file) => <li key={of(file, 'url')}><One at={of(file, 'url')} name={of(file, 'path') || of(file, 'name')} mediaType={of(file, 'mediaType')} /></li>)}</ul>;
}
