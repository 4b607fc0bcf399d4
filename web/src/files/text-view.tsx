// Text with its colours and line numbers; Markdown as what it says, or as its source.
import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { size } from '../device/units';
import { Markdown } from '../talk/markdown';
import { files as words } from '../text/files';
import type { TextFile } from './api';
import type { Run } from './highlight';
import './highlight.css';

/** Runs of code; plain until they are there. */
export function Code({ text, language, label }: { text: string; language: string; label: string }): JSX.Element {
  const [runs, setRuns] = useState<{ of: string; runs: Run[] | null }>({ of: '', runs: null });
  useEffect(() => {
    let over = false;
    // Where the code of the highlighter does not come, the text is plain.
    if (language) void import('./highlight').then(({ highlight }) => highlight(text, language)).then((found) => over || setRuns({ of: text, runs: found }), () => undefined);
    return () => void (over = true);
  }, [text, language]);
  const shown = runs.of === text ? runs.runs : null;
  return (
    <pre class="code" tabIndex={0} role="group" aria-label={label}>
      <code>{shown ? shown.map((run, n) => (run.kind ? <span key={n} class={`hl-${run.kind}`}>{run.text}</span> : run.text)) : text}</code>
    </pre>
  );
}

export function TextView({ file, name, language }: { file: TextFile; name: string; language: string }): JSX.Element {
  const rich = language === 'markdown';
  const [asked, setSource] = useState(false);
  const source = asked || !rich;
  const lines = useMemo(() => file.text.replace(/\n$/, '').split('\n').length, [file.text]);
  const numbers = useMemo(() => Array.from({ length: lines }, (_, n) => n + 1).join('\n'), [lines]);
  return (
    <>
      {rich && (
        <div class="chips" role="group" aria-label={words.content}>
          <button type="button" class="chip" aria-pressed={!source} onClick={() => setSource(false)}>{words.formatted}</button>
          <button type="button" class="chip" aria-pressed={source} onClick={() => setSource(true)}>{words.source}</button>
        </div>
      )}
      {rich && !source
        ? <div class="rich"><Markdown source={file.text} /></div>
        : (
          <div class="numbered">
            <pre class="numbers" aria-hidden="true">{numbers}</pre>
            <Code text={file.text} language={language} label={name} />
          </div>
        )}
      {file.truncated && <p class="soft small">{words.truncated(size(new Blob([file.text]).size), size(file.size))}</p>}
    </>
  );
}
