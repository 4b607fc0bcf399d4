// The uploads of this browser: how far each is, what is to be decided, and cancel.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { Notice } from '../form';
import { Again, Close } from '../icons';
import { facts } from '../text';
import { files as words } from '../text/files';
import { size } from '../device/units';
import { nameOf } from './paths';
import { cancelUpload, cancelUploads, decideUpload, dismissUploads, retryUpload, uploads, uploadsProblem, type Upload } from './uploads';

/** How long a list of only successes is there. */
const SHOWN_MS = 6000;
/** The most lines shown: the finished ones are counted only. */
const LINES = 8;

function Line({ one }: { one: Upload }): JSX.Element {
  const name = nameOf(one.at.path);
  const under = one.state === 'waiting' || one.state === 'running';
  const percent = Math.round(one.part * 100);
  return (
    <li>
      <p class="upload-name">{name}</p>
      <p class="soft small upload-state">
        {facts(size(one.file.size), one.state === 'waiting' && words.waiting, one.state === 'cancelled' && words.cancelled, one.state === 'running' && `${percent} %`)}
      </p>
      {under && <button type="button" class="bare" aria-label={words.cancelOne(name)} onClick={() => cancelUpload(one.key)}><Close /></button>}
      {one.state === 'failed' && <button type="button" class="bare" aria-label={words.retryOne(name)} title={words.retry} onClick={() => retryUpload(one.key)}><Again /></button>}
      {one.state === 'running' && <progress max={100} value={percent} aria-label={words.uploading(name)} />}
      {one.problem && <Notice bad>{one.problem}</Notice>}
      {one.state === 'clash' && (
        <div class="upload-clash" role="group" aria-label={words.clash(name)}>
          <p class="small">{words.clash(name)}</p>
          <div class="buttons">
            <button type="button" onClick={() => decideUpload(one.key, 'both')}>{words.keepBoth}</button>
            <button type="button" onClick={() => decideUpload(one.key, 'replace')}>{words.replace}</button>
            <button type="button" class="quiet" onClick={() => decideUpload(one.key, 'skip')}>{words.skip}</button>
          </div>
        </div>
      )}
    </li>
  );
}

/** What is open comes first. */
const RANK: Record<Upload['state'], number> = { clash: 0, failed: 1, running: 2, waiting: 3, cancelled: 4, done: 5 };

export function UploadList(): JSX.Element | null {
  const all = uploads.value;
  const done = all.filter(({ state }) => state === 'done').length;
  const under = all.filter(({ state }) => state === 'waiting' || state === 'running').length;
  const over = all.length > 0 && all.every(({ state }) => state === 'done');
  useEffect(() => {
    if (!over) return;
    const timer = setTimeout(dismissUploads, SHOWN_MS);
    return () => clearTimeout(timer);
  }, [over, all.length]);
  const problem = uploadsProblem.value;
  if (!all.length && !problem) return null;
  const shown = all.filter(({ state }) => state !== 'done').sort((a, b) => RANK[a.state] - RANK[b.state] || a.key - b.key);
  return (
    <section class="uploads" aria-label={words.uploads}>
      <div class="uploads-head">
        <p role="status">{over || !under ? words.uploaded(done) : words.progress(done, all.length)}</p>
        {under > 1 && <button type="button" class="quiet" onClick={cancelUploads}>{words.cancelAll}</button>}
        {!under && <button type="button" class="bare" aria-label={words.dismiss} onClick={dismissUploads}><Close /></button>}
      </div>
      {problem && <Notice bad>{problem}</Notice>}
      {shown.length > 0 && <ul>{shown.slice(0, LINES).map((one) => <Line key={one.key} one={one} />)}</ul>}
      {shown.length > LINES && <p class="soft small">{`+ ${shown.length - LINES}`}</p>}
    </section>
  );
}
