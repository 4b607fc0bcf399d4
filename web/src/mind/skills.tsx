// Skills: the list with switches and an upload by drop, and the page of one.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { LoadState, Page, useAction, useAdmin, useHouse, useRead } from '../device/part';
import { Buttons, Confirm, Notice, SwitchField } from '../form';
import { Chevron } from '../icons';
import { useLive } from '../live';
import { go, href } from '../rooms';
import { facts } from '../text';
import { knowledge } from '../text/knowledge';
import * as api from './knowledge-api';

const words = knowledge.skills;

const LARGEST = 2 * 1024 * 1024;

export function Skills(): JSX.Element {
  const read = useRead(api.skills);
  const { session } = useHouse();
  useLive(['skill:changed'], () => void read.again());
  return (
    <Page title={words.title} back={words.back} to={href('device')}>
      <p class="soft small">{words.why}</p>
      <LoadState of={read} />
      <ul class="documents" aria-label={words.title}>
        {read.data?.skills.map((one) => (
          <li key={one.name}>
            <a href={href('device', 'skills', one.name)}>
              <span>
                <b>{one.title || one.name}</b>
                <small>{one.problem ?? one.description}</small>
                <small>{facts(one.problem && words.broken, !one.enabled && words.off, !one.trusted && words.outside, words.version(one.version), words.uses(one.uses), one.shared && words.shared)}</small>
              </span>
              <Chevron />
            </a>
          </li>
        ))}
      </ul>
      {session.role === 'viewer' ? read.data?.skills.length === 0 && <p class="soft">{words.none}</p> : <Install onInstalled={() => void read.again()} />}
    </Page>
  );
}

/** A place to drop a file, which is a button as well. */
function Install({ onInstalled }: { onInstalled: () => void }): JSX.Element {
  const [over, setOver] = useState(false);
  const [shared, setShared] = useState(false);
  const [done, setDone] = useState('');
  const [wrong, setWrong] = useState('');
  const admin = useAdmin();
  const act = useAction();
  const input = useRef<HTMLInputElement>(null);
  const install = async (file: File | undefined) => {
    setDone('');
    setWrong('');
    if (!file) return;
    if (file.size > LARGEST) return setWrong(words.tooLarge);
    await act.run(async () => {
      const skill = await api.installSkill(file, shared);
      setDone(words.installed(skill.name, skill.version));
      onInstalled();
    });
  };
  return (
    <section>
      <div
        class={`drop${over ? ' over' : ''}`}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          void install(event.dataTransfer?.files[0]);
        }}
      >
        <p>{act.busy ? words.installing : words.drop}</p>
        <input
          ref={input}
          type="file"
          accept=".zip,.md,.skill"
          hidden
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            event.currentTarget.value = '';
            void install(file);
          }}
        />
        <button type="button" aria-disabled={act.busy} onClick={() => !act.busy && input.current?.click()}>{words.choose}</button>
      </div>
      {admin && <SwitchField label={words.everybody} checked={shared} onInput={setShared} />}
      {done && <Notice>{done}</Notice>}
      {(wrong || act.problem) && <Notice bad>{wrong || act.problem}</Notice>}
    </section>
  );
}

export function SkillPage({ name }: { name: string }): JSX.Element {
  const read = useRead(() => api.skill(name));
  const { session } = useHouse();
  const admin = useAdmin();
  const [file, setFile] = useState('SKILL.md');
  const [shown, setShown] = useState('');
  const [asking, setAsking] = useState(false);
  const [done, setDone] = useState('');
  const act = useAction();
  const skill = read.data;
  const writer = admin || (session.role !== 'viewer' && skill?.shared === false);
  const change = (body: { enabled?: boolean; trusted?: boolean }) => act.run(async () => {
    read.set(await api.changeSkill(name, body));
    setDone(body.trusted ? words.trusted : '');
  });
  const restore = (version: number, shared: boolean) => act.run(async () => {
    const fresh = await api.restoreSkill(name, version, shared);
    read.set(fresh);
    setFile('SKILL.md');
    setDone(words.restored(fresh.version));
  });
  const remove = () => act.run(async () => {
    await api.deleteSkill(name);
    go('device', ['skills']);
  });
  const look = (path: string) => act.run(async () => {
    setShown(path === 'SKILL.md' ? '' : (await api.skill(name, path)).text);
    setFile(path);
  });
  return (
    <Page title={skill?.title || name} back={words.toList} to={href('device', 'skills')}>
      <LoadState of={read} />
      {done && <Notice>{done}</Notice>}
      {act.problem && <Notice bad>{act.problem}</Notice>}
      {skill && (
        <>
          {skill.problem ? <Notice bad>{skill.problem}</Notice> : <p>{skill.description}</p>}
          <p class="soft small">{facts(words.version(skill.version), words.uses(skill.uses), skill.shared && words.shared, !skill.trusted && words.outside)}</p>
          {skill.allowedTools.length > 0 && <p class="soft small">{words.tools(skill.allowedTools.join(', '))}</p>}
          {writer && <SwitchField label={words.on} checked={skill.enabled} onInput={(enabled) => void change({ enabled })} />}
          {!skill.trusted && (
            <>
              <Notice quiet>{words.outsideAbout}</Notice>
              {writer && <Buttons><button type="button" onClick={() => void change({ trusted: true })}>{words.trust}</button></Buttons>}
            </>
          )}
          <section aria-labelledby="skill-text">
            <h3 id="skill-text">{file}</h3>
            <pre class="document" tabIndex={0} role="group" aria-label={words.text}>{file === 'SKILL.md' ? skill.text : shown}</pre>
            {skill.files.length > 1 && (
              <div class="names" role="group" aria-label={words.files}>
                {skill.files.map((one) => (
                  <button key={one.path} type="button" class="chip" aria-pressed={one.path === file} onClick={() => void look(one.path)}>{one.path}</button>
                ))}
              </div>
            )}
          </section>
          {writer && skill.versions.length > 0 && (
            <section aria-labelledby="skill-versions">
              <h3 id="skill-versions">{words.versions}</h3>
              <Buttons>
                {[...skill.versions].reverse().map((n) => <button key={n} type="button" class="small" onClick={() => void restore(n, skill.shared)}>{words.restore(n)}</button>)}
              </Buttons>
            </section>
          )}
          {writer && (asking
            ? <Confirm title={words.removeAsk(name)} yes={words.removeYes} busy={act.busy} onYes={() => void remove()} onNo={() => setAsking(false)}><p class="soft small">{words.removeWhy}</p></Confirm>
            : <Buttons><button type="button" class="quiet" onClick={() => setAsking(true)}>{words.remove}</button></Buttons>)}
        </>
      )}
    </Page>
  );
}
