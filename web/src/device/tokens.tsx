// API tokens: listed, created (shown once) and revoked.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Copy } from '../copy';
import { Confirm, Notice, SelectField, SwitchField, TextField } from '../form';
import { facts, text } from '../text';
import { Edit, Part, LoadState, SaveRow, useAction, useRead, type ListProps } from './part';
import { RoleField, roleName } from './people';
import { day } from './units';

const words = text.device.tokens;

function reach(scope: string[] | undefined): string {
  if (!scope?.length) return words.all;
  return scope.map((one) => words.scopes.find((known) => known.value === one)?.label.toLowerCase() ?? one.replace(/^tool:/, '')).join(', ');
}

function lasts(token: api.Token): string {
  if (!token.expiresAt) return words.forever;
  return token.expiresAt < Date.now() ? words.ended(day(token.expiresAt)) : words.until(day(token.expiresAt));
}

function Row({ token, onGone }: { token: api.Token; onGone: () => void }): JSX.Element {
  const [asking, setAsking] = useState(false);
  const act = useAction();
  const takeBack = async () => {
    if (await act.run(() => api.revokeToken(token.id))) onGone();
  };
  return (
    <li>
      <div class="row">
        <div>
          <p><strong>{token.name}</strong> <span class="soft">{roleName(token.role)}</span></p>
          <p class="soft small">{facts(reach(token.scope), token.createdAt && words.made(day(token.createdAt)), lasts(token))}</p>
        </div>
        {!asking && (
          <button type="button" class="small" data-back aria-label={words.takeBackOf(token.name)} onClick={() => setAsking(true)}>{words.takeBack}</button>
        )}
      </div>
      {asking && (
        <Confirm title={words.ask(token.name)} yes={words.takeBack} busy={act.busy} onYes={() => void takeBack()} onNo={() => setAsking(false)}>
          <p class="small">{words.what}</p>
          {act.problem && <Notice bad>{act.problem}</Notice>}
        </Confirm>
      )}
    </li>
  );
}

interface Made {
  name: string;
  token: string;
}

function TokenForm({ onDone, onCancel }: { onDone: (made: Made) => void; onCancel: () => void }): JSX.Element {
  const [name, setName] = useState('');
  const [role, setRole] = useState<api.Role>('member');
  const [some, setSome] = useState(false);
  const [scopes, setScopes] = useState<string[]>([]);
  const [tools, setTools] = useState('');
  const [days, setDays] = useState('');
  const [wrong, setWrong] = useState<{ name?: string; scope?: string }>({});
  const act = useAction();

  const scope = () => {
    if (!some) return [];
    const named = scopes.includes('tools') ? [] : tools.split(/[\s,]+/).filter(Boolean).map((tool) => `tool:${tool}`);
    return [...scopes, ...named];
  };
  const save = async () => {
    if (!name.trim()) return setWrong({ name: words.needName });
    const chosen = scope();
    if (some && !chosen.length) return setWrong({ scope: words.needScope });
    setWrong({});
    const asked: Parameters<typeof api.newToken>[0] = { name: name.trim(), role, ...(some && { scope: chosen }), ...(days && { expiresInDays: Number(days) }) };
    await act.run(async () => onDone(await api.newToken(asked)));
  };
  return (
    <Edit label={words.add} onSubmit={() => void save()} onCancel={onCancel}>
      <TextField label={words.name} help={words.nameHelp} error={wrong.name} value={name} onInput={(value) => (setName(value), setWrong({}))} />
      <RoleField value={role} onInput={setRole} />
      <SelectField
        label={words.reach}
        value={some ? 'some' : ''}
        options={[{ value: '', label: words.whole }, { value: 'some', label: words.some }]}
        error={wrong.scope}
        onInput={(value) => (setSome(value === 'some'), setWrong({}))}
      />
      {some && (
        <div class="scopes under" role="group" aria-label={words.reach}>
          {words.scopes.filter((one) => one.value !== 'admin' || role === 'admin').map((one) => (
            <SwitchField
              key={one.value}
              label={one.label}
              checked={scopes.includes(one.value)}
              onInput={(on) => (setScopes(on ? [...scopes, one.value] : scopes.filter((old) => old !== one.value)), setWrong({}))}
            />
          ))}
          {!scopes.includes('tools') && <TextField code label={words.tools} help={words.toolsHelp} value={tools} onInput={(value) => (setTools(value), setWrong({}))} />}
        </div>
      )}
      <SelectField label={words.ends} value={days} options={words.endings} onInput={setDays} />
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <SaveRow busy={act.busy} save={words.add} saving={words.adding} onCancel={onCancel} />
    </Edit>
  );
}

/** The new token, shown once. */
function Once({ made, onSeen }: { made: Made; onSeen: () => void }): JSX.Element {
  const shown = useRef<HTMLElement>(null);
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => box.current?.focus(), []);
  return (
    <div class="confirm once" ref={box} tabIndex={-1} role="group" aria-label={words.once(made.name)}>
      <p>{words.once(made.name)}</p>
      <code ref={shown}>{made.token}</code>
      <div class="buttons">
        <Copy value={made.token} label={words.copy} shown={shown} />
        <button type="button" class="quiet" onClick={onSeen}>{words.done}</button>
      </div>
    </div>
  );
}

export function Tokens({ round, onChanged }: ListProps): JSX.Element {
  const read = useRead(api.tokens, round);
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<Made | null>(null);
  const all = read.data?.tokens;
  return (
    <Part id="tokens" title={words.title} why={words.why}>
      <LoadState of={read} />
      {all?.length === 0 && !adding && !made && <p class="soft small">{words.empty}</p>}
      {all && all.length > 0 && (
        <ul class="rows">
          {all.map((token) => (
            <Row key={token.id} token={token} onGone={() => read.set({ count: all.length - 1, tokens: all.filter((old) => old.id !== token.id) })} />
          ))}
        </ul>
      )}
      {made && <Once made={made} onSeen={() => setMade(null)} />}
      {adding && (
        <TokenForm
          onCancel={() => setAdding(false)}
          onDone={(fresh) => {
            setAdding(false);
            setMade(fresh);
            onChanged();
          }}
        />
      )}
      {all && !adding && !made && <div class="buttons"><button type="button" data-back onClick={() => setAdding(true)}>{words.add}</button></div>}
    </Part>
  );
}
