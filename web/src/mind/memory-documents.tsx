// Memory documents: the list under the personality, and the page of one with its editor.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Refused } from '../api';
import { LoadState, Page, useAction, useAdmin, useHouse, useRead } from '../device/part';
import { day } from '../device/units';
import { AreaField, Buttons, Confirm, Notice, SwitchField, TextField } from '../form';
import { Chevron } from '../icons';
import { useLive } from '../live';
import { go, href } from '../rooms';
import { facts, moment } from '../text';
import { knowledge } from '../text/knowledge';
import * as api from './knowledge-api';

const words = knowledge.documents;

const LARGEST = 128 * 1024;
const kb = (bytes: number) => Math.max(1, Math.round(bytes / 1024)).toLocaleString();
const bytes = (value: string) => new TextEncoder().encode(value).length;

export function MemoryDocuments(): JSX.Element {
  const read = useRead(api.memoryFiles);
  const { session } = useHouse();
  useLive(['memory-document:changed'], () => void read.again());
  return (
    <section aria-labelledby="memory-documents">
      <h3 id="memory-documents">{words.title}</h3>
      <p class="soft small">{words.why}</p>
      <LoadState of={read} />
      {read.data?.documents.length === 0 && <p class="soft">{words.none}</p>}
      <ul class="documents" aria-label={words.title}>
        {read.data?.documents.map((one) => (
          <li key={one.path}>
            <a href={href('device', 'persona', one.path)}>
              <span>
                <b>{one.path}</b>
                <small>{facts(words.size(kb(one.size)), one.updatedAt && words.changed(day(one.updatedAt)), one.shared && words.shared)}</small>
              </span>
              <Chevron />
            </a>
          </li>
        ))}
      </ul>
      {session.role !== 'viewer' && <p class="buttons"><a class="button" href={href('device', 'persona', words.start)}>{words.add}</a></p>}
    </section>
  );
}

interface EditorProps {
  file: api.MemoryFile | null;
  onSaved: (file: api.MemoryFile) => void;
  onCancel: () => void;
}

function Editor({ file, onSaved, onCancel }: EditorProps): JSX.Element {
  const [path, setPath] = useState(file?.path ?? words.start);
  const [value, setValue] = useState(file?.text ?? '');
  const [base, setBase] = useState(file?.shared ? 0 : file?.version ?? 0);
  const [shared, setShared] = useState(false);
  const [wrong, setWrong] = useState('');
  const [conflict, setConflict] = useState(false);
  const admin = useAdmin();
  const act = useAction();
  const save = async () => {
    if (!value.trim()) return setWrong(words.empty);
    if (bytes(value) > LARGEST) return setWrong(words.tooLong);
    await act.run(async () => {
      try {
        onSaved(await api.writeFile(path.trim(), value, shared && file ? undefined : base, shared));
      } catch (cause) {
        if (!(cause instanceof Refused) || cause.status !== 409 || !file) throw cause;
        setBase((await api.readFile(path)).version);
        setConflict(true);
      }
    });
  };
  return (
    <form
      class="edit fields"
      aria-label={words.edit}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {!file && <TextField code label={words.path} help={words.pathHelp} value={path} onInput={setPath} />}
      <AreaField
        code
        rows={12}
        label={words.text}
        help={words.textHelp}
        error={wrong}
        value={value}
        onInput={(next) => {
          setValue(next);
          setWrong('');
          act.clear();
        }}
      />
      {admin && <SwitchField label={words.everybody} help={words.everybodyHelp} checked={shared} onInput={setShared} />}
      {conflict && <Notice bad>{words.conflict}</Notice>}
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <Buttons>
        <button class="main" aria-disabled={act.busy}>{act.busy ? words.saving : words.save}</button>
        <button type="button" class="quiet" onClick={onCancel}>{words.cancel}</button>
      </Buttons>
    </form>
  );
}

const toList = () => go('device', ['persona']);

export function NewMemoryDocument(): JSX.Element {
  return (
    <Page title={words.add} back={words.back} to={href('device', 'persona')}>
      <Editor file={null} onCancel={toList} onSaved={(file) => go('device', ['persona', file.path], true)} />
    </Page>
  );
}

export function MemoryDocument({ path }: { path: string }): JSX.Element {
  const read = useRead(() => api.readFile(path));
  const { session } = useHouse();
  const admin = useAdmin();
  const [editing, setEditing] = useState(false);
  const [asking, setAsking] = useState(false);
  const [done, setDone] = useState('');
  const act = useAction();
  const file = read.data;
  useLive(['memory-document:changed'], ({ topic, data }) => {
    if (!editing && (topic === 'resync' || (data['path'] === path && data['version'] !== 0))) void read.again();
  });
  const remove = (which: api.MemoryFile) => act.run(async () => {
    await api.deleteFile(which.path, which.shared);
    toList();
  });
  const writer = session.role !== 'viewer';
  return (
    <Page title={path} back={words.back} to={href('device', 'persona')}>
      <LoadState of={read} />
      {done && <Notice>{done}</Notice>}
      {file && !editing && (
        <>
          <p class="soft small">{facts(file.version > 0 && words.version(file.version), file.updatedAt && words.changed(moment(file.updatedAt)), file.shared && words.shared)}</p>
          {file.shared && writer && <p class="soft small">{words.sharedAbout}</p>}
          <pre class="document" tabIndex={0} role="group" aria-label={words.text}>{file.text}</pre>
          {act.problem && <Notice bad>{act.problem}</Notice>}
          {asking && (
            <Confirm title={words.removeAsk(file.path)} yes={words.removeYes} busy={act.busy} onYes={() => void remove(file)} onNo={() => setAsking(false)}>
              <p class="soft small">{words.removeWhy}</p>
            </Confirm>
          )}
          {writer && !asking && (
            <Buttons>
              <button type="button" onClick={() => (setEditing(true), setDone(''))}>{words.edit}</button>
              {(!file.shared || admin) && <button type="button" class="quiet" onClick={() => setAsking(true)}>{words.remove}</button>}
            </Buttons>
          )}
        </>
      )}
      {file && editing && (
        <Editor
          file={file}
          onCancel={() => setEditing(false)}
          onSaved={(fresh) => {
            read.set(fresh);
            setDone(words.saved);
            setEditing(false);
          }}
        />
      )}
    </Page>
  );
}
