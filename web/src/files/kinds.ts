// What a file is shown as.
import type { JSX } from 'preact';
import { FileIcon, FilmIcon, FolderIcon, LinkIcon, PictureIcon, SoundIcon } from '../icons';
import type { Entry } from './api';

export type Shown = 'text' | 'picture' | 'pdf' | 'sound' | 'film' | 'none';

/** What the device sends as a picture; an SVG is shown as the text it is. */
const PICTURES = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;
const TEXTS = /^(text\/.*|image\/svg\+xml|application\/([\w.-]+\+)?(json|xml|yaml|toml|javascript|sql|x-sh|x-shellscript|x-httpd-php|x-ndjson|typescript|graphql|x-tex|rtf|x-subrip))$/;
/** Names of text files that have no type of their own. */
const NAMES = /(^|[/.])(txt|md|log|conf|cfg|ini|toml|ya?ml|lock|env|gitignore|gitattributes|editorconfig|service|rs|go|kt|swift|lua|nix|zig|vue|svelte|proto|gradle|cmake|mk|diff|patch|csv|tsv|sql|rules|tf|hcl|jsonl|ndjson|dockerfile|makefile|license|readme|changelog)$/i;

type Named = Pick<Entry, 'name'> & { mediaType?: string | null };

export function shownAs({ name, mediaType }: Named): Shown {
  const type = (mediaType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (PICTURES.test(type)) return 'picture';
  if (type === 'application/pdf') return 'pdf';
  if (type.startsWith('audio/')) return 'sound';
  if (type.startsWith('video/')) return 'film';
  return TEXTS.test(type) || NAMES.test(name) || (!type && !name.includes('.')) ? 'text' : 'none';
}

const ICONS: Record<Shown, () => JSX.Element> = { text: FileIcon, picture: PictureIcon, pdf: FileIcon, sound: SoundIcon, film: FilmIcon, none: FileIcon };

export const iconOf = (entry: Named & Pick<Entry, 'kind'>): (() => JSX.Element) =>
  (entry.kind === 'folder' ? FolderIcon : entry.kind === 'link' ? LinkIcon : ICONS[shownAs(entry)]);
