// One custom tool: its status, code and actions.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Copy } from '../copy';
import { Buttons, Confirm, Notice } from '../form';
import { go, href } from '../rooms';
import { Sentence } from '../sentence';
import { text, trouble, when } from '../text';
import { Back } from './back';
import { Editor } from './editor';
import { mayWords, StatusLine } from './marks';
import { Needs } from './tool-policy';
import { readTools } from './use-tools';

const words = text.toolsRoom;

interface Props {
  tool: api.CustomTool;
  admin: boolean;
}

export function CustomPage({ tool, admin }: Props): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const [deleting, setDeleting] = useState(false);
  const [editing, setEditing] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const remover = useRef<HTMLButtonElement>(null);

  useLayoutEffect(() => {
    if (editing) return;
    scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }, [editing]);

  const then = async (action: () => Promise<unknown>, after?: () => void) => {
    if (busy) return;
    setBusy(true);
    setProblem('');
    try {
      await action();
      await readTools();
      after?.();
    } catch (cause) {
      setProblem(trouble(cause));
    } finally {
      setBusy(false);
    }
  };
  const decide = (what: Parameters<typeof api.decideTool>[1]) => void then(() => api.decideTool(tool.id, what));

  if (editing) return <Editor tool={tool} onDone={() => setEditing(false)} />;

  const pending = tool.status === 'pending_approval';
  const names = Object.keys((tool.parameters as { properties?: object }).properties ?? {});
  return (
    <article class="tool">
      <Back />
      <h2 tabIndex={-1} ref={heading}>{tool.name}</h2>
      <p><Sentence words={tool.description} /></p>
      <StatusLine tool={tool} long />
      <p class="dotted">
        <span>{tool.permissions.length ? words.mayLine(mayWords(tool.permissions)) : words.mayNothing}</span>
        <span>{words.changed(when(tool.updatedAt))}</span>
      </p>
      <Needs tool={tool.name} />
      {pending && (
        <section class="confirm" aria-labelledby="decide">
          <p class="question" id="decide">{words.decide}</p>
          <p class="soft small">{words.decideWhy(mayWords(tool.permissions))}</p>
          {admin ? (
            <Buttons>
              <button type="button" class="go" aria-disabled={busy} onClick={() => decide('approve')}>{words.approve}</button>
              <button type="button" aria-disabled={busy} onClick={() => decide('reject')}>{words.reject}</button>
            </Buttons>
          ) : <p class="small">{words.adminDecides}</p>}
        </section>
      )}
      <section>
        <div class="code-head"><h3>{words.code}</h3><Copy value={tool.code} /></div>
        <pre tabIndex={0} role="region" aria-label={words.code}>{tool.code}</pre>
      </section>
      <details class="parameters">
        <summary><h3>{words.parameters}</h3><span class="soft small">{names.length ? names.join(', ') : words.parametersNone}</span></summary>
        <pre tabIndex={0} role="region" aria-label={words.parameters}>{JSON.stringify(tool.parameters, null, 2)}</pre>
      </details>
      {problem && <Notice bad>{problem}</Notice>}
      {deleting ? (
        <Confirm
          title={words.removeAsk(tool.name)}
          yes={words.askYes['destroy'] ?? ''}
          busy={busy}
          onYes={() => void then(() => api.deleteTool(tool.id), () => go('tools', [], true))}
          onNo={() => {
            setDeleting(false);
            requestAnimationFrame(() => remover.current?.focus());
          }}
        >
          <p class="soft small">{words.removeWhy}</p>
        </Confirm>
      ) : (
        <Buttons>
          {tool.status === 'active' && <a class="button" href={href('tools', tool.name)}>{words.run}</a>}
          <button type="button" onClick={() => setEditing(true)}>{words.edit}</button>
          {tool.status === 'active' && <button type="button" aria-disabled={busy} onClick={() => decide('disable')}>{words.disable}</button>}
          {tool.status === 'disabled' && <button type="button" aria-disabled={busy} onClick={() => decide('enable')}>{words.enable}</button>}
          {tool.status === 'rejected' && admin && <button type="button" aria-disabled={busy} onClick={() => decide('approve')}>{words.approve}</button>}
          <button type="button" class="quiet" ref={remover} onClick={() => setDeleting(true)}>{words.remove}</button>
        </Buttons>
      )}
    </article>
  );
}
