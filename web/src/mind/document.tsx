// One persona document: viewed, edited with a version check, and rolled back.
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Refused } from '../api';
import { Page, LoadState, useAction, useHouse, useRead } from '../device/part';
import { AreaField, Buttons, Confirm, Notice } from '../form';
import { useLive } from '../live';
import { href } from '../rooms';
import { facts, moment, sentence, trouble } from '../text';
import { mind } from '../text/mind';
import * as api from './api';

const words = mind.persona;

const LARGEST = 64 * 1024;
const PAGE = 20;

const bytes = (value: string) => new TextEncoder().encode(value).length;

interface EditorProps {
  document: api.Document;
  onSaved: (fresh: api.Document) => void;
  onCancel: () => void;
}

/** The editor; on a conflict both texts stay and the person decides. */
function Editor({ document, onSaved, onCancel }: EditorProps): JSX.Element {
  const [value, setValue] = useState(document.text);
  const [base, setBase] = useState(document.version);
  const [newer, setNewer] = useState<api.Document | null>(null);
  const [see, setSee] = useState(false);
  const [wrong, setWrong] = useState('');
  const form = useRef<HTMLFormElement>(null);
  const act = useAction();
  useLayoutEffect(() => form.current?.querySelector('textarea')?.focus(), []);

  const save = async (version: number) => {
    if (bytes(value) > LARGEST) return setWrong(words.tooLong);
    await act.run(async () => {
      try {
        onSaved(await api.writeDocument(document.name, value, version));
      } catch (cause) {
        if (!(cause instanceof Refused) || cause.status !== 409) throw cause;
        const fresh = await api.readDocument(document.name);
        setNewer(fresh);
        setBase(fresh.version);
      }
    });
  };

  return (
    <form
      ref={form}
      class="edit fields"
      aria-label={words.edit}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!newer) void save(base);
      }}
    >
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
      {!value && document.builtIn && <p><button type="button" class="quiet" onClick={() => setValue(document.builtIn ?? '')}>{words.startFrom}</button></p>}
      {newer && <Notice bad>{words.conflict}</Notice>}
      {newer && see && (
        <div>
          <p class="soft small">{words.newer(newer.version)}</p>
          <pre class="document" tabIndex={0} role="group" aria-label={words.newer(newer.version)}>{newer.text}</pre>
        </div>
      )}
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <Buttons>
        {newer
          ? <button type="button" class="go" aria-disabled={act.busy} onClick={() => void save(base)}>{words.conflictOver}</button>
          : <button class="main" aria-disabled={act.busy}>{act.busy ? words.saving : words.save}</button>}
        {newer && !see && <button type="button" onClick={() => setSee(true)}>{words.conflictSee}</button>}
        <button type="button" class="quiet" onClick={onCancel}>{words.cancel}</button>
      </Buttons>
    </form>
  );
}

interface HistoryProps {
  document: api.Document;
  writer: boolean;
  onRolled: (fresh: api.Document, old: number) => void;
}

function History({ document, writer, onRolled }: HistoryProps): JSX.Element {
  const [versions, setVersions] = useState<api.Version[] | null>(null);
  const [count, setCount] = useState(0);
  const [open, setOpen] = useState<api.Version & { text: string } | null>(null);
  const [asking, setAsking] = useState(false);
  const [problem, setProblem] = useState('');
  const act = useAction();
  const list = useRef<HTMLUListElement>(null);

  const read = async (after: api.Version[] = []) => {
    try {
      const found = await api.history(document.name, PAGE, after.length);
      const known = new Set(after.map(({ version }) => version));
      setVersions([...after, ...found.versions.filter(({ version }) => !known.has(version))]);
      setCount(found.count);
      setProblem('');
    } catch (cause) {
      setProblem(trouble(cause));
    }
  };
  useEffect(() => void read(), [document.version]);

  const look = (which: number) => act.run(async () => {
    setAsking(false);
    setOpen(open?.version === which ? null : await api.version(document.name, which));
  });
  const roll = (which: number) => act.run(async () => {
    const fresh = await api.rollback(document.name, which);
    setOpen(null);
    setAsking(false);
    onRolled(fresh, which);
  });

  return (
    <section aria-labelledby="history">
      <h3 id="history" tabIndex={-1}>{words.history}</h3>
      {problem && <Notice bad>{problem}</Notice>}
      {versions?.length === 0 && <p class="soft">{words.noHistory}</p>}
      <ul class="rows versions" ref={list}>
        {versions?.map((one) => (
          <li key={one.version}>
            <div class="row">
              <div>
                <p>{words.at(one.version)}{one.version === document.version && <> · {words.current}</>}</p>
                <p class="soft small">{facts(moment(one.at), (one.by === 'agent' && one.person ? words.byHobFor(one.person) : one.person && words.byName(one.person)) || (words.by[one.by] ?? one.by), words.operations[one.operation] ?? one.operation, one.length !== undefined && words.length(one.length.toLocaleString()))}</p>
              </div>
              <button type="button" class="small" aria-expanded={open?.version === one.version} aria-label={words.look(one.version)} onClick={() => void look(one.version)}>{words.lookShort}</button>
            </div>
            {open?.version === one.version && (
              <div class="version">
                <pre class="document" tabIndex={0} role="group" aria-label={words.at(one.version)}>{open.text || words.nothing}</pre>
                {writer && one.version !== document.version && (asking
                  ? <Confirm title={words.rollbackAsk(one.version)} yes={words.rollbackYes} busy={act.busy} onYes={() => void roll(one.version)} onNo={() => setAsking(false)}><p class="soft small">{words.rollbackWhy}</p></Confirm>
                  : <Buttons><button type="button" onClick={() => setAsking(true)}>{words.rollback}</button></Buttons>)}
              </div>
            )}
          </li>
        ))}
      </ul>
      {act.problem && <Notice bad>{act.problem}</Notice>}
      {versions && versions.length < count && <Buttons><button type="button" onClick={() => void read(versions)}>{words.older}</button></Buttons>}
    </section>
  );
}

export function Document({ name }: { name: string }): JSX.Element {
  const read = useRead(() => api.readDocument(name));
  const all = useRead(api.documents);
  const { session } = useHouse();
  const [editing, setEditing] = useState(false);
  const [done, setDone] = useState('');
  const opener = useRef<HTMLButtonElement>(null);
  const writer = session.role !== 'viewer';
  const document = read.data;
  const line = all.data?.documents.find((one) => one.name === name);
  useLive(['document:changed'], ({ topic, data }) => {
    if (!editing && (topic === 'resync' || data['name'] === name)) void read.again();
  });

  const leave = () => {
    setEditing(false);
    requestAnimationFrame(() => opener.current?.focus({ preventScroll: true }));
  };
  return (
    <Page title={line?.title ?? name} back={words.back} to={href('device', 'persona')}>
      {line?.about && <p class="soft small">{sentence(line.about)}</p>}
      <LoadState of={read} />
      {done && <Notice>{done}</Notice>}
      {document && !editing && (
        <>
          <p class="soft small">{document.version ? facts(words.version(document.version), document.updatedAt && words.changed(moment(document.updatedAt))) : document.builtIn ? words.usesBuiltIn : words.nothing}</p>
          {(document.text || document.builtIn) && (
            <pre class="document" tabIndex={0} role="group" aria-label={document.text ? words.text : words.ownText}>{document.text || document.builtIn}</pre>
          )}
          {writer && <Buttons><button type="button" ref={opener} onClick={() => (setEditing(true), setDone(''))}>{words.edit}</button></Buttons>}
        </>
      )}
      {document && editing && (
        <Editor
          document={document}
          onCancel={leave}
          onSaved={(fresh) => {
            read.set(fresh);
            setDone(words.saved(fresh.version));
            leave();
          }}
        />
      )}
      {document && (
        <History
          document={document}
          writer={writer && !editing}
          onRolled={(fresh, old) => {
            read.set(fresh);
            setDone(words.rolled(fresh.version, old));
            requestAnimationFrame(() => opener.current?.focus());
          }}
        />
      )}
    </Page>
  );
}
