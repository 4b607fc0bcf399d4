// The pictures, sounds and files of a message.
import type { JSX } from 'preact';
import { fileAt, type StoredFile } from '../api';
import { text } from '../text';
import { FileIcon } from '../icons';

function One({ file }: { file: StoredFile }): JSX.Element {
  const { id, name = '', mediaType = '' } = file;
  const at = fileAt(id);
  if (mediaType.startsWith('image/')) {
    return <a class="shown-picture" href={at} target="_blank" rel="noopener"><img src={at} alt={name || text.talk.picture} loading="lazy" /></a>;
  }
  if (mediaType.startsWith('audio/')) return <audio controls preload="none" src={at} aria-label={name || text.talk.sound} />;
  return <a class="shown-file" href={at} target="_blank" rel="noopener"><FileIcon />{name || text.talk.file}</a>;
}

export function Media({ files }: { files: StoredFile[] }): JSX.Element {
  return <ul class="media">{files.map((file) => <li key={file.id}><One file={file} /></li>)}</ul>;
}
