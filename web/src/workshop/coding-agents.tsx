// Coding agents of other makers: whether each can be used, who may use it, and adding one.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Edit, LoadState, Page, SaveRow, useAction, useAdmin, useRead } from '../device/part';
import { AreaField, Confirm, ListField, Notice, SwitchField, TextField } from '../form';
import { Chevron, Fresh } from '../icons';
import { href } from '../rooms';
import { facts, sentence } from '../text';
import { forms } from '../text/workshop-forms';
import { codingAgents, setCodingAgent, unsetCodingAgent, type AgentSettings, type CodingAgent } from './api';
import { linesOf, pairsOf } from './lines';
import './workshop.css';

const words = forms.agents;
const clean = (list: string[]) => list.map((one) => one.trim()).filter(Boolean);

interface FormProps {
  agent?: CodingAgent | undefined;
  onDone: (title: string) => void;
  onCancel: () => void;
}

function AgentForm({ agent, onDone, onCancel }: FormProps): JSX.Element {
  const set = agent?.settings;
  const own = !agent || agent.custom;
  const [draft, setDraft] = useState({
    name: '', title: agent?.title ?? '', path: set?.path ?? '', args: (set?.args ?? ['{prompt}']).join('\n'), modelArgs: (set?.modelArgs ?? []).join('\n'),
    service: set?.service ?? '', keyField: set?.keyField ?? '', addressVariable: set?.addressVariable ?? '', env: '',
  });
  const [keyVariables, setKeyVariables] = useState(set?.keyVariables ?? []);
  const [hosts, setHosts] = useState(set?.hosts ?? []);
  const [members, setMembers] = useState(agent?.members ?? false);
  const [enabled, setEnabled] = useState(agent?.enabled ?? true);
  const [wrong, setWrong] = useState<{ name?: string; path?: string; args?: string; keyVariables?: string; env?: string }>({});
  const act = useAction();
  const put = (change: Partial<typeof draft>) => {
    setDraft({ ...draft, ...change });
    setWrong({});
    act.clear();
  };
  const save = async () => {
    const path = draft.path.trim();
    const service = draft.service.trim();
    const env = pairsOf(draft.env);
    const problems = {
      ...(!agent && !/^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/.test(draft.name.trim()) && { name: words.nameWrong }),
      ...((path ? !path.startsWith('/') : own) && { path: words.pathWrong }),
      ...(own && !linesOf(draft.args).some((line) => line.includes('{prompt}')) && { args: words.argsWrong }),
      ...(own && service && !clean(keyVariables).length && { keyVariables: words.keyVariablesWrong }),
      ...(!env && { env: words.envWrong }),
    };
    setWrong(problems);
    if (Object.keys(problems).length || !env) return;
    const given: AgentSettings = {
      enabled, members, hosts: clean(hosts), ...(path && { path }),
      ...(own && {
        title: draft.title.trim(), args: linesOf(draft.args), modelArgs: linesOf(draft.modelArgs), service, keyField: draft.keyField.trim(), keyVariables: clean(keyVariables), addressVariable: draft.addressVariable.trim(),
        ...(Object.keys(env).length > 0 && { env }),
      }),
    };
    const name = agent?.provider ?? draft.name.trim();
    if (await act.run(() => setCodingAgent(name, given))) onDone(draft.title.trim() || name);
  };
  return (
    <Edit label={agent ? words.editOne(agent.title) : words.add} onSubmit={() => void save()} onCancel={onCancel}>
      {!agent && <TextField code required label={words.name} help={words.nameHelp} error={wrong.name} value={draft.name} onInput={(name) => put({ name })} />}
      {own && <TextField label={words.displayName} value={draft.title} onInput={(title) => put({ title })} />}
      <TextField code required={own} label={words.path} help={own ? words.pathHelp : words.pathFound} error={wrong.path} value={draft.path} onInput={(path) => put({ path })} />
      {own && <AreaField code rows={4} required label={words.args} help={words.argsHelp} error={wrong.args} value={draft.args} onInput={(args) => put({ args })} />}
      {own && <TextField code label={words.service} help={words.serviceHelp} value={draft.service} onInput={(service) => put({ service })} />}
      {own && draft.service.trim() && <ListField label={words.keyVariables} help={words.keyVariablesHelp} values={keyVariables} onInput={(list) => (setKeyVariables(list), setWrong({}))} />}
      {wrong.keyVariables && <p class="problem small" role="alert">{wrong.keyVariables}</p>}
      <SwitchField label={words.membersLabel} checked={members} onInput={setMembers} />
      <SwitchField label={words.enabled} checked={enabled} onInput={setEnabled} />
      <details class="more-settings" open={Boolean(wrong.env)}>
        <summary>{words.more}<Chevron /></summary>
        <div class="fields">
          <ListField label={words.hosts} help={words.hostsHelp} values={hosts} onInput={setHosts} />
          {own && (
            <>
              <AreaField code label={words.modelArgs} help={words.modelArgsHelp} value={draft.modelArgs} onInput={(modelArgs) => put({ modelArgs })} />
              <TextField code label={words.keyField} help={words.keyFieldHelp} value={draft.keyField} onInput={(keyField) => put({ keyField })} />
              <TextField code label={words.addressVariable} value={draft.addressVariable} onInput={(addressVariable) => put({ addressVariable })} />
              <AreaField code label={words.env} help={set?.envSet.length ? words.envStays(set.envSet.join(', ')) : words.envHelp} error={wrong.env} value={draft.env} onInput={(env) => put({ env })} />
            </>
          )}
        </div>
      </details>
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <SaveRow busy={act.busy} save={forms.save} onCancel={onCancel} />
    </Edit>
  );
}

function Row({ agent, admin, onEdit, onChanged }: { agent: CodingAgent; admin: boolean; onEdit: () => void; onChanged: (said: string) => Promise<void> }): JSX.Element {
  const [asking, setAsking] = useState(false);
  const act = useAction();
  const { title, custom } = agent;
  const unset = async () => {
    if (await act.run(() => unsetCodingAgent(agent.provider))) await onChanged(custom ? forms.removed(title) : words.resetDone(title));
  };
  return (
    <li>
      <div class="cli-head">
        <div>
          <p><b>{title}</b> <code class="soft">{agent.provider}</code></p>
          <p class="soft small">
            {facts(
              !agent.enabled && words.off, agent.available ? words.ready : !agent.installed ? words.missing : !agent.configured && words.noKey, agent.version && words.version(agent.version),
              agent.members ? words.members : words.adminsOnly, agent.hosts.length > 0 && words.reaches(agent.hosts.join(', ')),
            )}
          </p>
          {agent.problem && <p class="small problem">{sentence(agent.problem)}</p>}
        </div>
        {admin && !asking && (
          <div class="cli-doings">
            <button type="button" class="quiet" data-back aria-label={words.editOne(title)} onClick={onEdit}>{words.edit}</button>
            {custom && <button type="button" class="quiet" aria-label={words.removeOne(title)} onClick={() => setAsking(true)}>{forms.remove}</button>}
            {!custom && agent.settings && <button type="button" class="quiet" aria-label={words.resetOne(title)} aria-disabled={act.busy} onClick={() => void unset()}>{words.reset}</button>}
          </div>
        )}
      </div>
      {asking && (
        <Confirm title={words.removeAsk(title)} yes={forms.remove} busy={act.busy} onYes={() => void unset()} onNo={() => setAsking(false)}>
          <p class="small soft">{words.removeWhy}</p>
        </Confirm>
      )}
      {act.problem && <Notice bad>{act.problem}</Notice>}
    </li>
  );
}

export function CodingAgents(): JSX.Element {
  const read = useRead(codingAgents);
  const admin = useAdmin();
  /** The provider that is changed; `+` is a new one. */
  const [open, setOpen] = useState('');
  const [said, setSaid] = useState('');
  const agents = read.data?.agents ?? [];
  const changed = async (words: string) => {
    setOpen('');
    setSaid(words);
    await read.again();
  };
  const edit = (provider: string) => (setOpen(provider), setSaid(''));
  const form = (agent?: CodingAgent) => <AgentForm key={open} agent={agent} onCancel={() => setOpen('')} onDone={(title) => void changed(forms.saved(title))} />;
  return (
    <Page title={words.title} back={forms.back} to={href('device')}>
      <p class="soft small">{words.why}</p>
      <LoadState of={read} />
      <p class={said ? 'small' : 'unseen'} role="status">{said}</p>
      <ul class="rows">
        {agents.map((agent) => (open === agent.provider ? <li key={agent.provider}>{form(agent)}</li> : <Row key={agent.provider} agent={agent} admin={admin} onEdit={() => edit(agent.provider)} onChanged={changed} />))}
      </ul>
      {open === '+' && form()}
      {admin && read.data && !open && <div class="buttons"><button type="button" onClick={() => edit('+')}><Fresh />{words.add}</button></div>}
    </Page>
  );
}
