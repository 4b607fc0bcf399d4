// Backups that Hob makes by itself: when, where, how many, and whether the last one failed.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import * as api from '../api';
import { NumberField, Notice, SelectField, SwitchField, TextField, optionsOf } from '../form';
import * as texts from '../text/backup';
import { when } from '../text';
import { Edit, SaveRow, useAction, type Read } from './part';
import { EMPTY, PassphraseFields, wrong } from './passphrase';
import { size } from './units';

const words = texts.backup.plan;

const shown = (hour: number) => `${hour}:00`;

function PlanForm({ read, onDone }: { read: Read<api.Backups>; onDone: () => void }): JSX.Element | null {
  const now = read.data?.plan;
  const [every, setEvery] = useState(now?.every ?? 'off');
  const [folder, setFolder] = useState(now?.folder ?? '');
  const [keep, setKeep] = useState(String(now?.keep ?? 7));
  const [hour, setHour] = useState(String(now?.hour ?? 3));
  const [sealed, setSealed] = useState(now?.encrypted ?? true);
  const [files, setFiles] = useState(now?.files ?? true);
  const [twice, setTwice] = useState(EMPTY);
  const [problem, setProblem] = useState('');
  const act = useAction();
  if (!now) return null;
  const save = async () => {
    const kept = now.encrypted && !twice.first && !twice.second;
    const found = every !== 'off' && sealed && !kept ? wrong(twice) : '';
    setProblem(found);
    if (found) return;
    const passphrase = every === 'off' || (sealed && kept) ? {} : { passphrase: sealed ? twice.first : '' };
    const saved = await act.run(async () => read.set(await api.planBackups({ every, folder: folder.trim(), keep: Number(keep), hour: Number(hour), files, ...passphrase })));
    if (saved) onDone();
  };
  return (
    <Edit label={words.title} onSubmit={() => void save()} onCancel={onDone}>
      <SelectField label={words.every} value={every} onInput={setEvery} options={optionsOf(words.times)} />
      {every !== 'off' && (
        <>
          <TextField label={words.folder} help={words.folderHelp} value={folder} onInput={setFolder} code />
          <NumberField label={words.keep} value={keep} onInput={setKeep} whole />
          <NumberField label={words.hour} value={hour} onInput={setHour} whole />
          <SwitchField label={words.files} checked={files} onInput={setFiles} />
          <SwitchField label={words.sealed} help={words.sealedHelp} checked={sealed} onInput={setSealed} />
          {sealed && <PassphraseFields value={twice} onInput={setTwice} problem={problem} {...(now.encrypted && { help: words.unchanged })} />}
        </>
      )}
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <SaveRow busy={act.busy} save={words.save} onCancel={onDone} />
    </Edit>
  );
}

export function BackupPlan({ read }: { read: Read<api.Backups> }): JSX.Element | null {
  const [editing, setEditing] = useState(false);
  const [done, setDone] = useState('');
  const act = useAction();
  const state = read.data;
  if (!state) return null;
  if (editing) return <PlanForm read={read} onDone={() => setEditing(false)} />;
  const { plan, next, problem } = state;
  const run = async () => {
    setDone('');
    await act.run(async () => {
      const made = await api.runBackup();
      read.set(made);
      setDone(words.made(size(made.last?.size ?? 0)));
    });
    await read.again();
  };
  return (
    <>
      <h3>{words.title}</h3>
      <p>{plan.every === 'off' ? words.off : words.is(words.times[plan.every], shown(plan.hour), plan.folder || words.here, plan.keep, plan.encrypted)}</p>
      {plan.every !== 'off' && next && <p class="soft small">{words.next(when(next))}</p>}
      {problem && <Notice bad>{words.failed(problem)}</Notice>}
      {act.problem && act.problem !== problem && <Notice bad>{act.problem}</Notice>}
      {done && <Notice>{done}</Notice>}
      <div class="buttons">
        {plan.every !== 'off' && <button type="button" aria-disabled={act.busy} onClick={() => void run()}>{act.busy ? texts.backup.going : words.now}</button>}
        <button type="button" onClick={() => setEditing(true)}>{words.change}</button>
      </div>
    </>
  );
}
