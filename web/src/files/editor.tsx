// The editor of a text file: a plain text area, Save, and both texts where somebody else saved meanwhile.
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Confirm, Notice } from '../form';
import { Chevron } from '../icons';
import { holdPlace } from '../rooms';
import { files as words } from '../text/files';
import type { Spot, TextFile } from './api';
import { DiffView } from './diff-view';
import { NameForm } from './name-form';
import { fileHref, nameOf, nextName, parentOf, within } from './paths';
import { useEditor, type Base, type Editor as Text } from './use-editor';

interface Props {
  at: Spot;
  /** The file as it was read; `null` where it is gone and only the edit is left. */
  file: TextFile | null;
  /** An edit to go on with. */
  given: { text: string; version: string | null } | null;
  onClose: () => void;
}

export function Editor({ at, file, given, onClose }: Props): JSX.Element {
  const begin: Base = file && { text: file.text, version: file.version };
  const it = useEditor(at, begin, given);
  const [leaving, setLeaving] = useState<string | null>(null);
  const [dropping, setDropping] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const name = nameOf(at.path);
  const release = useRef<() => void>(() => undefined);

  useLayoutEffect(() => area.current?.focus({ preventScroll: true }), []);
  useEffect(() => {
    if (!it.dirty) return;
    release.current = holdPlace((to) => {
      setLeaving(to);
      return false;
    });
    return () => release.current();
  }, [it.dirty]);

  const leave = (to: string) => {
    release.current();
    setLeaving(null);
    if (to) location.hash = to;
    else onClose();
  };
  const close = () => (it.dirty ? setLeaving('') : onClose());
  return (
    <section
      class="editor"
      aria-label={words.editor(name)}
      onKeyDown={(event) => {
        if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
        event.preventDefault();
        void it.save();
      }}
    >
      {file && file.encoding && !/^utf-?8/i.test(file.encoding) && <Notice quiet>{words.willBeUtf8(file.encoding)}</Notice>}
      {it.conflict && <Conflict it={it} at={at} theirs={it.conflict.theirs} onMoved={leave} />}
      <textarea
        ref={area}
        class="mono"
        aria-label={words.editor(name)}
        value={it.text}
        spellcheck={false}
        autocapitalize="off"
        autocomplete="off"
        rows={Math.min(40, Math.max(12, it.text.split('\n').length + 1))}
        onInput={(event) => it.setText(event.currentTarget.value)}
      />
      {it.problem && <Notice bad>{it.problem}</Notice>}
      {leaving !== null && (
        <Confirm
          title={words.leaveAsk}
          yes={words.leaveYes}
          no={words.leaveNo}
          onYes={() => leave(leaving)}
          onNo={() => (setLeaving(null), area.current?.focus())}
        >
          <p class="small soft">{it.unkept ? words.leaveLost : words.leaveWhy}</p>
          {!it.conflict && <div class="buttons"><button type="button" aria-disabled={it.busy} onClick={() => void it.save().then((done) => (done ? leave(leaving) : setLeaving(null)))}>{words.leaveSave}</button></div>}
        </Confirm>
      )}
      {dropping && (
        <Confirm title={words.dropAsk} yes={words.dropYes} no={words.leaveNo} onYes={() => (it.discard(), setDropping(false), area.current?.focus())} onNo={() => (setDropping(false), area.current?.focus())}>
          <p class="small soft">{words.dropWhy}</p>
        </Confirm>
      )}
      <div class="buttons editor-buttons">
        {!it.conflict && <button type="button" class="main" aria-disabled={it.busy || !it.dirty} onClick={() => it.dirty && void it.save()}>{it.busy ? words.saving : words.save}</button>}
        <button type="button" onClick={close}>{words.close}</button>
        {it.dirty && !it.conflict && file && <button type="button" class="quiet" onClick={() => setDropping(true)}>{words.dropYes}</button>}
        <span class="soft small" role="status">{it.dirty ? words.unsaved : it.saved ? words.saved : ''}</span>
      </div>
    </section>
  );
}

/** Both texts, and what can be done: nothing is saved or lost before the person says so. */
function Conflict({ it, at, theirs, onMoved }: { it: Text; at: Spot; theirs: string | null; onMoved: (to: string) => void }): JSX.Element {
  const [naming, setNaming] = useState(false);
  const [said, setSaid] = useState('');
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => box.current?.scrollIntoView({ block: 'nearest' }), []);
  return (
    <div class="confirm conflict" role="group" aria-label={words.conflict} ref={box}>
      <p class="question" role="alert">{theirs === null ? words.conflictGone : words.conflict}</p>
      {theirs !== null && <p class="small soft">{words.conflictWhy}</p>}
      {theirs !== null && (
        <>
          <details open>
            <summary>{words.differences}<Chevron /></summary>
            <p class="small soft">{words.differencesWhy}</p>
            <DiffView before={theirs} after={it.text} />
          </details>
          <details>
            <summary>{words.theirs}<Chevron /></summary>
            <pre tabIndex={0} role="group" aria-label={words.theirs}>{theirs}</pre>
          </details>
        </>
      )}
      {naming && (
        <NameForm
          label={words.saveAs}
          begin={nextName(nameOf(at.path))}
          yes={words.save}
          onCancel={() => setNaming(false)}
          onSave={async (name) => {
            const to = { place: at.place, path: within(parentOf(at.path), name) };
            await it.saveAs(to);
            setSaid(words.savedAs(name));
            setNaming(false);
            if (theirs === null) onMoved(fileHref(to));
          }}
        />
      )}
      <div class="buttons">
        <button type="button" class={theirs === null ? 'main' : undefined} aria-disabled={it.busy} onClick={() => void it.saveOver()}>{theirs === null ? words.saveAgain : words.saveOver}</button>
        {theirs !== null && <button type="button" onClick={it.takeTheirs}>{words.takeTheirs}</button>}
        {!naming && <button type="button" onClick={() => setNaming(true)}>{words.saveAs}</button>}
      </div>
      <p class="unseen" role="status">{said}</p>
    </div>
  );
}
