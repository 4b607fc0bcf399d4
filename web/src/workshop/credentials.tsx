// Programs that work with a key: set up from a preset or by hand. Keys are only ever written.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Edit, LoadState, Page, SaveRow, useAction, useRead } from '../device/part';
import { AreaField, Confirm, ListField, Notice, NumberField, optionsOf, SelectField, SwitchField, TextField } from '../form';
import { Chevron, Fresh } from '../icons';
import { PasswordField } from '../password';
import { href } from '../rooms';
import { facts, sentence } from '../text';
import { forms } from '../text/workshop-forms';
import { binaries, removeBinary, setBinary, type Binary, type BinarySettings, type Preset } from './api';
import { linesOf, pairsOf } from './lines';
import './workshop.css';

const words = forms.credentials;

interface FormProps {
  binary?: Binary | undefined;
  preset?: Preset | undefined;
  onDone: (name: string) => void;
  onCancel: () => void;
}

const sameList = (a: string[], b: string[]) => a.length === b.length && a.every((one, n) => one === b[n]);

function BinaryForm({ binary, preset, onDone, onCancel }: FormProps): JSX.Element {
  const [name, setName] = useState(binary?.name ?? preset?.name ?? '');
  const [keyNames, setKeyNames] = useState<string[]>(binary?.secretsSet ?? []);
  const [keys, setKeys] = useState<Record<string, string>>({});
  const [settings, setSettings] = useState<Record<string, string>>(binary?.settings ?? {});
  const [others, setOthers] = useState(() => Object.entries(binary?.settings ?? {}).map(([key, value]) => `${key}=${value}`).join('\n'));
  const [commands, setCommands] = useState((binary?.commands ?? []).join('\n'));
  const [denyArgs, setDenyArgs] = useState(binary?.denyArgs ?? preset?.denyArgs ?? []);
  const [denyVerbose, setDenyVerbose] = useState(binary?.denyVerbose ?? preset?.denyVerbose ?? []);
  const [hosts, setHosts] = useState(binary?.hosts ?? preset?.hosts ?? []);
  const [files, setFiles] = useState(binary?.files ?? preset?.workspace ?? 'none');
  const [seconds, setSeconds] = useState(String(binary?.timeoutSeconds ?? preset?.timeoutSeconds ?? 30));
  const [tips, setTips] = useState(binary?.tips ?? preset?.tips ?? '');
  const [path, setPath] = useState(binary?.path ?? '');
  const [members, setMembers] = useState(binary?.members ?? false);
  const [enabled, setEnabled] = useState(binary?.enabled ?? true);
  const [wrong, setWrong] = useState<{ name?: string; keys?: string; settings?: string; commands?: string; seconds?: string }>({});
  const act = useAction();
  const variables = preset ? preset.secrets : keyNames.map((one) => one.trim()).filter(Boolean);
  const clean = (list: string[]) => list.map((one) => one.trim()).filter(Boolean);

  const save = async () => {
    const pairs = preset ? settings : pairsOf(others);
    const typed = Object.fromEntries(variables.flatMap((one) => (keys[one] ? [[one, keys[one]]] : [])));
    const problems = {
      ...(!/^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/.test(name.trim()) && { name: words.nameWrong }),
      ...(!Object.keys(typed).length && !binary?.secretsSet.length && { keys: words.secretNeeded }),
      ...(!pairs && { settings: words.settingsWrong }),
      ...(!preset && !linesOf(commands).length && { commands: words.commandsNeeded }),
      ...(!(Number(seconds) >= 1 && Number(seconds) <= 600) && { seconds: words.timeoutWrong }),
    };
    setWrong(problems);
    if (Object.keys(problems).length || !pairs) return;
    const lists = { denyArgs: clean(denyArgs), denyVerbose: clean(denyVerbose), hosts: clean(hosts) };
    const given: BinarySettings = {
      preset: preset?.name ?? '',
      settings: Object.fromEntries(Object.entries(pairs).filter(([, value]) => value.trim())),
      members, enabled, timeoutSeconds: Math.round(Number(seconds)), tips: tips.trim(), files,
      ...(path.trim() && { path: path.trim() }),
      ...(Object.keys(typed).length > 0 && { secrets: typed }),
      ...(linesOf(commands).length > 0 && { commands: linesOf(commands) }),
      ...((!preset || !sameList(lists.denyArgs, preset.denyArgs)) && { denyArgs: lists.denyArgs }),
      ...((!preset || !sameList(lists.denyVerbose, preset.denyVerbose)) && { denyVerbose: lists.denyVerbose }),
      ...((!preset || !sameList(lists.hosts, preset.hosts)) && { hosts: lists.hosts }),
    };
    if (await act.run(() => setBinary(name.trim(), given))) onDone(name.trim());
  };
  return (
    <Edit label={binary ? words.editOne(binary.name) : preset ? words.setUp(preset.title) : words.other} onSubmit={() => void save()} onCancel={onCancel}>
      {!binary && !preset && <TextField code required label={words.name} help={words.nameHelp} error={wrong.name} value={name} onInput={(value) => (setName(value), setWrong({}))} />}
      {!preset && <ListField label={words.secretNames} help={words.secretNamesHelp} values={keyNames} onInput={setKeyNames} />}
      {variables.map((one) => (
        <PasswordField key={one} label={one} value={keys[one] ?? ''} {...(binary?.secretsSet.includes(one) && { help: words.secretStays })} onInput={(value) => (setKeys({ ...keys, [one]: value }), setWrong({}))} />
      ))}
      {wrong.keys && <p class="problem small" role="alert">{wrong.keys}</p>}
      {preset?.settings.map((one) => <TextField key={one} code label={one} value={settings[one] ?? ''} onInput={(value) => setSettings({ ...settings, [one]: value })} />)}
      {!preset && <AreaField code label={words.settings} help={words.settingsHelp} error={wrong.settings} value={others} onInput={setOthers} />}
      {!preset && <AreaField code rows={4} required label={words.commands} help={words.commandsHelp} error={wrong.commands} value={commands} onInput={setCommands} />}
      <SwitchField label={words.membersLabel} checked={members} onInput={setMembers} />
      <SwitchField label={words.enabled} checked={enabled} onInput={setEnabled} />
      <details class="more-settings" open={Boolean(wrong.seconds)}>
        <summary>{words.more}<Chevron /></summary>
        <div class="fields">
          {preset && <AreaField code rows={4} label={words.commands} help={words.commandsHelp} value={commands} onInput={setCommands} />}
          <ListField label={words.hosts} help={words.hostsHelp} values={hosts} onInput={setHosts} />
          <SelectField label={words.files} value={files} options={optionsOf(words.fileChoices)} onInput={setFiles} />
          <ListField label={words.denyArgs} help={words.denyArgsHelp} values={denyArgs} onInput={setDenyArgs} />
          <ListField label={words.denyVerbose} help={words.denyVerboseHelp} values={denyVerbose} onInput={setDenyVerbose} />
          <NumberField whole label={words.timeout} error={wrong.seconds} value={seconds} onInput={setSeconds} />
          <TextField label={words.tips} help={words.tipsHelp} value={tips} onInput={setTips} />
          <TextField code label={words.path} help={words.pathHelp} value={path} onInput={setPath} />
        </div>
      </details>
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <SaveRow busy={act.busy} save={forms.save} onCancel={onCancel} />
    </Edit>
  );
}

function Row({ binary, title, onEdit, onRemoved }: { binary: Binary; title: string; onEdit: () => void; onRemoved: (said: string) => Promise<void> }): JSX.Element {
  const [asking, setAsking] = useState(false);
  const act = useAction();
  const remove = async () => {
    if (await act.run(() => removeBinary(binary.name))) await onRemoved(forms.removed(binary.name));
  };
  return (
    <li>
      <div class="cli-head">
        <div>
          <p><b>{title}</b> <code class="soft">{binary.name}</code></p>
          <p class="soft small">
            {facts(!binary.enabled && words.off, binary.secretsSet.length ? words.keys(binary.secretsSet.join(', ')) : words.noKeys, words.permitted(binary.permitted.length), binary.members ? words.members : words.adminsOnly)}
          </p>
          {binary.problem && <p class="small problem">{sentence(binary.problem)}</p>}
        </div>
        {!asking && (
          <div class="cli-doings">
            <button type="button" class="quiet" data-back aria-label={words.editOne(binary.name)} onClick={onEdit}>{words.edit}</button>
            <button type="button" class="quiet" aria-label={words.removeOne(binary.name)} onClick={() => setAsking(true)}>{forms.remove}</button>
          </div>
        )}
      </div>
      {asking && (
        <Confirm title={words.removeAsk(binary.name)} yes={forms.remove} busy={act.busy} onYes={() => void remove()} onNo={() => setAsking(false)}>
          <p class="small soft">{words.removeWhy}</p>
          {act.problem && <Notice bad>{act.problem}</Notice>}
        </Confirm>
      )}
    </li>
  );
}

export function Credentials(): JSX.Element {
  const read = useRead(binaries);
  /** The name of the program or preset that is being set up; `+` is another one. */
  const [open, setOpen] = useState('');
  const [said, setSaid] = useState('');
  const all = read.data?.binaries ?? [];
  const presets = read.data?.presets ?? [];
  const free = presets.filter((preset) => !all.some((one) => one.name === preset.name));
  const changed = async (words: string) => {
    setOpen('');
    setSaid(words);
    await read.again();
  };
  const form = (binary?: Binary, preset?: Preset) => (
    <BinaryForm key={open} binary={binary} preset={preset} onCancel={() => setOpen('')} onDone={(name) => void changed(forms.saved(name))} />
  );
  const chosen = open && !all.some((one) => one.name === open);
  return (
    <Page title={words.title} back={forms.back} to={href('device')}>
      <p class="soft small">{words.why}</p>
      <LoadState of={read} />
      <p class={said ? 'small' : 'unseen'} role="status">{said}</p>
      {read.data && !all.length && !open && <p class="soft">{words.none}</p>}
      <ul class="rows">
        {all.map((binary) => {
          const preset = presets.find((one) => one.name === binary.preset);
          return open === binary.name
            ? <li key={binary.name}>{form(binary, preset)}</li>
            : <Row key={binary.name} binary={binary} title={preset?.title ?? binary.name} onEdit={() => (setOpen(binary.name), setSaid(''))} onRemoved={changed} />;
        })}
      </ul>
      {chosen && form(undefined, presets.find((one) => one.name === open))}
      {read.data && !open && (
        <div class="buttons">
          {free.map((preset) => <button key={preset.name} type="button" onClick={() => (setOpen(preset.name), setSaid(''))}><Fresh />{preset.title}</button>)}
          <button type="button" class="quiet" onClick={() => (setOpen('+'), setSaid(''))}><Fresh />{words.other}</button>
        </div>
      )}
    </Page>
  );
}
