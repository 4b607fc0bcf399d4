// Command-line tools: which are there, whether Hob may run them, and installing them.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import * as api from '../api';
import { Edit, LoadState, Page, SaveRow, useAction, useAdmin, useHouse, useRead } from '../device/part';
import { AreaField, Confirm, ListField, Notice, optionsOf, SelectField, SwitchField, TextField } from '../form';
import { Fresh } from '../icons';
import { useLive } from '../live';
import { href } from '../rooms';
import { facts } from '../text';
import { forms } from '../text/workshop-forms';
import { cliTools, setCliTool, unsetCliTool, uninstall, type CliTool, type Policy, type Risk } from './api';
import './workshop.css';

const words = forms.cli;

interface RowProps {
  tool: CliTool;
  admin: boolean;
  writer: boolean;
  onChanged: (said: string) => Promise<void>;
}

function Row({ tool, admin, writer, onChanged }: RowProps): JSX.Element {
  const [asking, setAsking] = useState<'' | 'install' | 'remove'>('');
  const act = useAction();
  const { title, npxPackage, hosts } = tool;
  const then = async (what: () => Promise<unknown>, said: string) => {
    if (await act.run(what)) {
      setAsking('');
      await onChanged(said);
    }
  };
  return (
    <li class="cli">
      <div class="cli-head">
        <div>
          <p><b>{title}</b>{title !== tool.name && <> <code class="soft">{tool.name}</code></>}</p>
          <p class="small">{tool.about}</p>
          <p class="soft small">
            {facts(
              tool.installed ? (tool.version ? words.version(tool.version) : words.installed) : words.missing, tool.source === 'hob' && words.byHob, words.risks[tool.riskLevel] ?? tool.riskLevel,
              hosts.length > 0 && words.reaches(hosts.includes('*') ? words.anyHost : hosts.join(', ')),
            )}
          </p>
        </div>
        {admin ? (
          <label class="field cli-policy">
            <span class="unseen">{words.policyOf(title)}</span>
            <select value={tool.policy} disabled={act.busy} onChange={(event) => void then(() => setCliTool(tool.name, { policy: event.currentTarget.value as Policy }), words.policySet(title))}>
              {optionsOf(words.policies).map(({ value, label }) => <option key={value} value={value}>{label}</option>)}
            </select>
          </label>
        ) : <p class="soft small">{words.policies[tool.policy]}</p>}
      </div>
      {(writer || admin) && !asking && (
        <div class="cli-doings">
          {writer && !tool.installed && npxPackage && tool.policy !== 'blocked' && <button type="button" class="quiet" data-back aria-label={words.installOne(title)} onClick={() => setAsking('install')}>{words.install}</button>}
          {admin && tool.source === 'hob' && <button type="button" class="quiet" aria-label={words.uninstallOne(title)} aria-disabled={act.busy} onClick={() => void then(() => uninstall(tool.name), words.uninstalled(title))}>{words.uninstall}</button>}
          {admin && tool.custom && <button type="button" class="quiet" aria-label={words.removeOne(title)} onClick={() => setAsking('remove')}>{forms.remove}</button>}
        </div>
      )}
      {asking === 'install' && (
        <Confirm title={words.installAsk(title)} yes={act.busy ? words.installing : words.install} busy={act.busy} onYes={() => void then(() => api.runTool('install_cli_tool', { name: tool.name }), words.installedNow(title))} onNo={() => setAsking('')}>
          <p class="small soft">{words.installWhy(npxPackage ?? '')}</p>
        </Confirm>
      )}
      {asking === 'remove' && <Confirm title={words.removeOne(title)} yes={forms.remove} busy={act.busy} onYes={() => void then(() => unsetCliTool(tool.name), forms.removed(title))} onNo={() => setAsking('')} />}
      {act.problem && <Notice bad>{act.problem}</Notice>}
    </li>
  );
}

function AddForm({ onDone, onCancel }: { onDone: (title: string) => void; onCancel: () => void }): JSX.Element {
  const [draft, setDraft] = useState({ name: '', title: '', about: '', program: '', package: '' });
  const [risk, setRisk] = useState<Risk>('high');
  const [policy, setPolicy] = useState<Policy>('prompt');
  const [hosts, setHosts] = useState<string[]>([]);
  const [writes, setWrites] = useState(true);
  const [wrong, setWrong] = useState('');
  const act = useAction();
  const put = (change: Partial<typeof draft>) => {
    setDraft({ ...draft, ...change });
    setWrong('');
    act.clear();
  };
  const save = async () => {
    const name = draft.name.trim();
    if (!/^[a-z0-9][a-z0-9._-]{0,63}$/.test(name)) return setWrong(words.nameWrong);
    const given = Object.fromEntries(Object.entries(draft).filter(([key, value]) => key !== 'name' && value.trim()).map(([key, value]) => [key, value.trim()]));
    if (await act.run(() => setCliTool(name, { ...given, policy, riskLevel: risk, hosts: hosts.map((host) => host.trim()).filter(Boolean), writes }))) onDone(draft.title.trim() || name);
  };
  return (
    <Edit label={words.add} onSubmit={() => void save()} onCancel={onCancel}>
      <TextField code required label={words.name} help={words.nameHelp} error={wrong} value={draft.name} onInput={(name) => put({ name })} />
      <TextField label={words.displayName} value={draft.title} onInput={(title) => put({ title })} />
      <AreaField label={words.about} value={draft.about} onInput={(about) => put({ about })} />
      <TextField code label={words.program} help={words.programHelp} value={draft.program} onInput={(program) => put({ program })} />
      <TextField code label={words.pkg} help={words.pkgHelp} value={draft.package} onInput={(value) => put({ package: value })} />
      <SelectField label={words.risk} value={risk} options={optionsOf(words.risks as Record<Risk, string>)} onInput={setRisk} />
      <SelectField label={words.policy} value={policy} options={optionsOf(words.policies)} onInput={setPolicy} />
      <ListField label={words.hosts} help={words.hostsHelp} values={hosts} onInput={setHosts} />
      <SwitchField label={words.writes} checked={writes} onInput={setWrites} />
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <SaveRow busy={act.busy} save={words.add} onCancel={onCancel} />
    </Edit>
  );
}

export function CliTools(): JSX.Element {
  const read = useRead(cliTools);
  const admin = useAdmin();
  const writer = useHouse().session.role !== 'viewer';
  const [query, setQuery] = useState('');
  const [all, setAll] = useState(false);
  const [adding, setAdding] = useState(false);
  const [said, setSaid] = useState('');
  useLive(['tools:changed'], () => void read.again());
  const wanted = query.toLowerCase().trim();
  const tools = read.data?.tools ?? [];
  const anyInstalled = tools.some((tool) => tool.installed);
  const shown = tools.filter((tool) => (all || wanted || !anyInstalled || tool.installed || tool.custom) && `${tool.name} ${tool.title} ${tool.about} ${tool.category}`.toLowerCase().includes(wanted));
  const categories = [...new Set(shown.map((tool) => tool.category))].sort();
  const changed = async (words: string) => {
    setSaid(words);
    await read.again();
  };
  return (
    <Page title={words.title} back={forms.back} to={href('device')}>
      <p class="soft small">{words.why}</p>
      <LoadState of={read} />
      <p class={said ? 'small' : 'unseen'} role="status">{said}</p>
      {read.data && (
        <>
          <TextField type="search" label={words.filter} value={query} onInput={setQuery} />
          <div class="chips" role="group" aria-label={words.show}>
            <button type="button" class="chip" aria-pressed={!all} onClick={() => setAll(false)}>{words.installed}</button>
            <button type="button" class="chip" aria-pressed={all} onClick={() => setAll(true)}>{words.all}<span class="count">{tools.length}</span></button>
          </div>
          {!shown.length && <p class="soft">{words.none}</p>}
        </>
      )}
      {categories.map((category) => (
        <section key={category} aria-label={words.categories[category] ?? category}>
          <h3>{words.categories[category] ?? category}</h3>
          <ul class="cli-list">{shown.filter((tool) => tool.category === category).map((tool) => <Row key={tool.name} tool={tool} admin={admin} writer={writer} onChanged={changed} />)}</ul>
        </section>
      ))}
      {adding && <AddForm onCancel={() => setAdding(false)} onDone={(title) => (setAdding(false), void changed(forms.saved(title)))} />}
      {admin && read.data && !adding && <div class="buttons"><button type="button" onClick={() => setAdding(true)}><Fresh />{words.add}</button></div>}
    </Page>
  );
}
