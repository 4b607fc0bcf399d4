// The backup of all data: downloaded and restored.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { dayAt } from '../clock';
import { Confirm, Notice } from '../form';
import * as texts from '../text/backup';
import { Part, useAction, useHouse } from './part';
import { size } from './units';

const words = texts.backup;

/** "kitchen-2026-11-20.hob", where the daemon names none. */
function fileName(given: string, device: string | undefined): string {
  return given === 'backup.hob' ? `${device ?? 'hob'}-${dayAt()}.hob` : given;
}

function download(file: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  // The download has started by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export function Backup(): JSX.Element {
  const { session } = useHouse();
  const [done, setDone] = useState('');
  const [chosen, setChosen] = useState<File>();
  const picker = useRef<HTMLInputElement>(null);
  const act = useAction();
  const make = async () => {
    setDone('');
    await act.run(async () => {
      const { file, name } = await api.backup();
      download(file, fileName(name, session.name));
      setDone(words.done(size(file.size)));
    });
  };
  const restore = async (file: File) => {
    setDone('');
    const sent = await act.run(() => api.restore(file));
    setChosen(undefined);
    if (sent) setDone(words.restored);
  };
  const choose = (input: HTMLInputElement) => {
    setDone('');
    act.clear();
    setChosen(input.files?.[0]);
    // Allows choosing the same file again.
    input.value = '';
  };
  return (
    <Part id="backup" title={words.title}>
      <p>{words.what}</p>
      <p class="soft small">{words.back} <code>{words.command}</code></p>
      {act.problem && <Notice bad>{act.problem}</Notice>}
      {done && <Notice>{done}</Notice>}
      <div class="buttons">
        <button type="button" aria-disabled={act.busy} onClick={() => void make()}>{act.busy && !chosen ? words.going : words.go}</button>
        <button type="button" aria-disabled={act.busy} onClick={() => !act.busy && picker.current?.click()}>{words.restore}</button>
        <input ref={picker} type="file" hidden aria-label={words.restore} onChange={(event) => choose(event.currentTarget)} />
      </div>
      {chosen && (
        <Confirm title={words.restoreAsk(chosen.name)} yes={act.busy ? words.restoring : words.restoreYes} busy={act.busy} onYes={() => void restore(chosen)} onNo={() => setChosen(undefined)}>
          <p class="small">{words.restoreWhat}</p>
        </Confirm>
      )}
    </Part>
  );
}
