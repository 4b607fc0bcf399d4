// The services tools depend on, and whether they are set up.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Notice, SwitchField, TextField } from '../form';
import { Fresh } from '../icons';
import { useLive } from '../live';
import * as policy from '../policy';
import { go, href } from '../rooms';
import { facts, text } from '../text';
import { Edit, Page, LoadState, SaveRow, useAction, useAdmin, useHouse, useRead } from './part';
import { ServicePage } from './service';

const words = text.services;

/** `fresh`: the address asks for the form at once. */
export function Services({ wanted, fresh = false }: { wanted: string; fresh?: boolean }): JSX.Element {
  const read = useRead(policy.services);
  useLive(['config:changed', 'tools:changed'], () => void read.again());
  const all = read.data?.services;
  const one = all?.find((service) => service.name === wanted);
  if (one) return <ServicePage key={one.name} service={one} fresh={fresh} onChanged={() => read.again()} />;
  return (
    <Page title={words.title} back={words.back} to={href('device')}>
      <p class="soft small">{words.why}</p>
      <LoadState of={read} />
      {all && wanted && <Notice quiet>{words.unknown(wanted)}</Notice>}
      {all && <List all={all} onDefined={(name) => void read.again().then(() => go('device', ['services', name]))} />}
    </Page>
  );
}

function List({ all, onDefined }: { all: policy.Service[]; onDefined: (name: string) => void }): JSX.Element {
  const admin = useAdmin();
  const { session } = useHouse();
  const setUp = ({ entries }: policy.Service) => (entries.length ? words.set(entries.length) : words.notSet);
  const [adding, setAdding] = useState(false);
  return (
    <>
      {!all.length && <p class="soft">{words.none}</p>}
      <ul class="services">
        {all.map((service) => (
          <li key={service.name}>
            <a class="tool-row" href={href('device', 'services', service.name)}>
              <span><b>{policy.serviceName(service)}</b></span>
              <span class="tool-risk">{session.role !== 'viewer' && setUp(service)}</span>
              {service.description && <span class="tool-about">{service.description}</span>}
              <span class="tool-also">{facts(service.neededBy.length > 0 && `${words.neededBy} ${service.neededBy.join(', ')}`, words.from[service.from])}</span>
            </a>
          </li>
        ))}
      </ul>
      {adding && <Define taken={all.map((one) => one.name)} onCancel={() => setAdding(false)} onDone={onDefined} />}
      {admin && !adding && <div class="buttons"><button type="button" onClick={() => setAdding(true)}><Fresh />{words.fresh}</button></div>}
    </>
  );
}

function Define({ taken, onDone, onCancel }: { taken: string[]; onDone: (name: string) => void; onCancel: () => void }): JSX.Element {
  const [draft, setDraft] = useState({ name: '', displayName: '', description: '', multiEntry: false });
  const [wrong, setWrong] = useState('');
  const act = useAction();
  const put = (change: Partial<typeof draft>) => {
    setDraft({ ...draft, ...change });
    setWrong('');
    act.clear();
  };
  const save = async () => {
    const name = draft.name.trim();
    if (!/^[a-z0-9_-]{1,64}$/.test(name)) return setWrong(words.nameWrong);
    if (taken.includes(name)) return setWrong(words.nameTaken);
    const about = { displayName: draft.displayName.trim(), description: draft.description.trim() };
    const given: Parameters<typeof policy.defineService>[1] = {
      multiEntry: draft.multiEntry,
      ...(about.displayName && { displayName: about.displayName }),
      ...(about.description && { description: about.description }),
    };
    if (await act.run(() => policy.defineService(name, given))) onDone(name);
  };
  return (
    <Edit label={words.fresh} onSubmit={() => void save()} onCancel={onCancel}>
      <TextField code required label={words.name} help={words.nameHelp} error={wrong} value={draft.name} onInput={(name) => put({ name })} />
      <TextField label={words.displayName} value={draft.displayName} onInput={(displayName) => put({ displayName })} />
      <TextField label={words.description} value={draft.description} onInput={(description) => put({ description })} />
      <SwitchField label={words.multi} help={words.multiHelp} checked={draft.multiEntry} onInput={(multiEntry) => put({ multiEntry })} />
      <p class="soft small">{words.schemaHelp}</p>
      {act.problem && <Notice bad>{act.problem}</Notice>}
      <SaveRow busy={act.busy} save={words.define} onCancel={onCancel} />
    </Edit>
  );
}
