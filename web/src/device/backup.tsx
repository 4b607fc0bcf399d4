// The backup of all data: downloaded, made by itself, and restored.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { dayAt } from '../clock';
import { Confirm, Notice, SwitchField, TextField } from '../form';
import { when } from '../text';
import * as texts from '../text/backup';
import { BackupPlan } from './backup-plan';
import { download } from './download';
import { Edit, Part, SaveRow, useAction, useHouse, useRead } from './part';
import { EMPTY, PassphraseFields, wrong } from './passphrase';
import { size } from './units';

const words = texts.backup;
/** How an encrypted backup begins. */
const SEALED = 'age-encryption.org/';

/** "kitchen-2026-11-20.hob", where the daemon names none. */
function fileName(given: string, device: string | undefined): string {
  return given.replace(/^backup(?=\.hob)/, `${device ?? 'hob'}-${dayAt()}`);
}

interface Chosen {
  file: File;
  sealed: boolean;
}

export function Backup(): JSX.Element {
  const { session } = useHouse();
  const read = useRead(api.backups);
  const contents = useRead(api.backupSize);
  const [files, setFiles] = useState(true);
  const [done, setDone] = useState('');
  const [chosen, setChosen] = useState<Chosen>();
  const [passphrase, setPassphrase] = useState('');
  const [twice, setTwice] = useState<typeof EMPTY>();
  const [problem, setProblem] = useState('');
  const picker = useRef<HTMLInputElement>(null);
  const act = useAction();
  const make = async (sealed = '') => {
    setDone('');
    const made = await act.run(async () => {
      const { file, name } = await api.backup(sealed, files);
      download(file, fileName(name, session.name));
      setDone((sealed ? words.doneSealed : words.done)(size(file.size)));
      if (read.data) read.set({ ...read.data, last: { at: Date.now(), size: file.size, path: '', encrypted: Boolean(sealed), files: files ? (contents.data?.fileCount ?? 0) : 0, skipped: 0 } });
    });
    if (made) setTwice(undefined);
  };
  const makeSealed = () => {
    const found = wrong(twice ?? EMPTY);
    setProblem(found);
    if (!found) void make(twice?.first);
  };
  const restore = async ({ file, sealed }: Chosen) => {
    setDone('');
    const sent = await act.run(() => api.restore(file, sealed ? passphrase : ''));
    // A passphrase is easily mistyped: the file need not be chosen again.
    if (!sent && sealed) return;
    setChosen(undefined);
    setPassphrase('');
    if (sent) setDone(words.restored);
  };
  const choose = async (input: HTMLInputElement) => {
    setDone('');
    act.clear();
    const file = input.files?.[0];
    // Allows choosing the same file again.
    input.value = '';
    if (!file) return setChosen(undefined);
    const start = await file.slice(0, SEALED.length).text().catch(() => '');
    setPassphrase('');
    setChosen({ file, sealed: start === SEALED });
  };
  const last = read.data?.last;
  return (
    <Part id="backup" title={words.title}>
      <p>{words.what}</p>
      {read.data && <p>{last ? words.last(when(last.at), size(last.size), last.encrypted) : words.none}</p>}
      {contents.data && <p>{words.contains(size(contents.data.data + contents.data.uploads + (files ? contents.data.files : 0)))}</p>}
      {contents.data && contents.data.fileCount > 0 && (
        <SwitchField label={words.files(contents.data.fileCount, size(contents.data.files))} help={contents.data.skipped > 0 ? words.skipped(contents.data.skipped) : ''} checked={files} onInput={setFiles} />
      )}
      {act.problem && <Notice bad>{act.problem}</Notice>}
      {done && <Notice>{done}</Notice>}
      {twice && (
        <Edit label={words.sealedTitle} onSubmit={makeSealed} onCancel={() => setTwice(undefined)}>
          <PassphraseFields value={twice} onInput={setTwice} problem={problem} />
          <SaveRow busy={act.busy} save={words.save} saving={words.going} onCancel={() => setTwice(undefined)} />
        </Edit>
      )}
      <div class="buttons">
        <button type="button" aria-disabled={act.busy} onClick={() => setTwice(EMPTY)}>{words.goSealed}</button>
        <button type="button" aria-disabled={act.busy} onClick={() => void make()}>{act.busy && !chosen ? words.going : words.go}</button>
        <button type="button" aria-disabled={act.busy} onClick={() => !act.busy && picker.current?.click()}>{words.restore}</button>
        <input ref={picker} type="file" hidden aria-label={words.restore} onChange={(event) => void choose(event.currentTarget)} />
      </div>
      {chosen && (
        <Confirm title={words.restoreAsk(chosen.file.name)} yes={act.busy ? words.restoring : words.restoreYes} busy={act.busy} onYes={() => void restore(chosen)} onNo={() => setChosen(undefined)}>
          <p class="small">{words.restoreWhat}</p>
          {chosen.sealed && (
            <>
              <p class="small">{words.restoreSealed}</p>
              <TextField label={words.passphrase} type="password" value={passphrase} onInput={setPassphrase} />
            </>
          )}
        </Confirm>
      )}
      <BackupPlan read={read} />
      <p class="soft small">{words.back} <code>{words.command}</code></p>
    </Part>
  );
}
