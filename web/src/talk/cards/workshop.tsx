// Results of the workshop as cards: what a program printed, what changed in a text, and files with links into their room.
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { size } from '../../device/units';
import { UnifiedDiff } from '../../files/diff-view';
import { FileRef } from '../../files/refs';
import { Chevron } from '../../icons';
import { OutputLines } from '../../processes/output';
import { shownText } from '../../processes/screen';
import { processHref } from '../../processes/line';
import { duration, facts } from '../../text';
import { talk } from '../../text/talk';
import { workshop } from '../../text/workshop';
import { list, words, type Fields } from './read';

const texts = workshop.card;
/** The most files listed at first. */
const SHOWN = 12;

function Printed({ title, text }: { title: string; text: string }): JSX.Element | null {
  const lines = useMemo(() => shownText(text), [text]);
  if (!lines.length) return null;
  return (
    <div class="printed">
      <p class="card-title">{title}</p>
      <pre tabIndex={0} role="group" aria-label={title}><OutputLines lines={lines} /></pre>
    </div>
  );
}

export function ProgramCard({ run }: { run: Fields }): JSX.Element {
  const code = run['exitCode'];
  const [stdout, stderr, ended] = [String(run['stdout'] ?? ''), String(run['stderr'] ?? ''), words(run['ended'])];
  const bad = ended || (typeof code === 'number' && code !== 0) || run['success'] === false;
  const result = run['result'];
  const changed = list(run['changedFiles']).map(words).filter(Boolean);
  const more = Number(run['moreChangedFiles'] ?? 0);
  return (
    <div class="card program" role="group" aria-label={texts.program}>
      <p class={bad ? 'small problem' : 'small soft'}>
        {facts(ended || (typeof code === 'number' ? (code ? texts.failed(code) : texts.ok) : ''), typeof run['durationMs'] === 'number' && duration(run['durationMs']))}
      </p>
      {result !== undefined && result !== null && <Printed title={texts.result} text={typeof result === 'string' ? result : JSON.stringify(result, null, 2)} />}
      <Printed title={texts.stdout} text={stdout} />
      <Printed title={texts.stderr} text={stderr} />
      {!stdout.trim() && !stderr.trim() && (result === undefined || result === null) && <p class="small soft">{texts.nothing}</p>}
      {run['truncated'] === true && <p class="small soft">{texts.longer}</p>}
      {changed.length > 0 && (
        <>
          <p class="card-title">{texts.changed}</p>
          <ul>{changed.map((path) => <li key={path} class="file-ref"><FileRef path={path} /></li>)}</ul>
          {more > 0 && <p class="small soft">{texts.moreChanged(more)}</p>}
        </>
      )}
    </div>
  );
}

interface Diff {
  diff: string;
  path: string;
  added: number;
  removed: number;
}

export function DiffCard({ diff, path, added, removed }: Diff): JSX.Element {
  return (
    <div class="card changes" role="group" aria-label={texts.diff}>
      {(path || added > 0 || removed > 0) && <p class="card-title">{path && <FileRef path={path} />}{added + removed > 0 && <span>{texts.lines(added, removed)}</span>}</p>}
      {diff.trim() ? <UnifiedDiff diff={diff} label={texts.diff} /> : <p class="small soft">{texts.noDiff}</p>}
    </div>
  );
}

const PARTS = ['conflicted', 'staged', 'unstaged', 'untracked'] as const;

/** The state of a repository: its branch, and the files that differ. */
export function RepositoryCard({ status }: { status: Fields }): JSX.Element {
  const base = words(status['repository']).replace(/\/$/, '');
  const open = PARTS.filter((part) => list(status[part]).length);
  return (
    <div class="card" role="group" aria-label={texts.repository}>
      <p class="card-title">{facts(words(status['branch']), !open.length && texts.clean)}</p>
      {open.map((part) => (
        <div key={part}>
          <p class="card-title">{texts.parts[part]}</p>
          <ul>
            {list(status[part]).slice(0, SHOWN).map((one, n) => {
              const path = typeof one === 'string' ? one : words((one as Fields)['path']);
              const change = typeof one === 'string' ? '' : words((one as Fields)['change']);
              return <li key={n} class="file-ref"><FileRef path={base && base !== '.' ? `${base}/${path}` : path}>{path}</FileRef>{change && <small>{change}</small>}</li>;
            })}
          </ul>
          {list(status[part]).length > SHOWN && <p class="soft small">{talk.card.more(list(status[part]).length - SHOWN)}</p>}
        </div>
      ))}
    </div>
  );
}

export function FilesCard({ files, more }: { files: Fields[]; more: number }): JSX.Element {
  const [whole, setWhole] = useState(false);
  const shown = whole || files.length <= SHOWN + 1 ? files : files.slice(0, SHOWN);
  return (
    <div class="card" role="group" aria-label={texts.files}>
      <ul>
        {shown.map((file, n) => {
          const path = words(file['path']);
          const isFolder = /^(folder|directory|dir)$/.test(words(file['kind']) || words(file['type']));
          const line = typeof file['line'] === 'number' ? `:${file['line']}` : '';
          const found = words(file['text']) || words(file['snippet']);
          return (
            <li key={n} class="file-ref">
              {/* Documents of a person have paths, too, and are no files. */}
              {words(file['kind']) === 'document' ? <span>{path}</span> : <FileRef path={path} isFolder={isFolder}>{`${path}${line}`}</FileRef>}
              {found ? <code>{found}</code> : typeof file['size'] === 'number' && !isFolder && <small>{size(file['size'])}</small>}
            </li>
          );
        })}
      </ul>
      {shown.length < files.length && <button type="button" class="quiet" onClick={() => setWhole(true)}>{talk.card.all(files.length)}</button>}
      {more > 0 && <p class="soft small">{talk.card.more(more)}</p>}
    </div>
  );
}

export function ProcessCard({ process }: { process: Fields }): JSX.Element {
  const running = process['status'] === 'running';
  return (
    <div class="card" role="group" aria-label={texts.program}>
      {running && <p class="small soft">{texts.runs}</p>}
      <p class="file-ref"><a href={processHref(words(process['id']))}>{running ? texts.watch : texts.look}<Chevron /></a></p>
    </div>
  );
}
