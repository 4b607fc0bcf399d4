// The policy of a tool: what is decided and why, standing grants, and missing services.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Notice } from '../form';
import { Chevron } from '../icons';
import { useLive } from '../live';
import * as policy from '../policy';
import { href } from '../rooms';
import { Sentence } from '../sentence';
import { facts, sentence, text, trouble, when } from '../text';
import { narrow, toolOf, Values } from '../values';

const words = text.toolPolicy;

/** Loads a value again after events; ignores errors. */
function useKnown<T>(read: () => Promise<T>, topics: string[]): [T | null, () => void] {
  const [known, set] = useState<T | null>(null);
  const again = () => void read().then(set, () => undefined);
  useEffect(again, []);
  useLive(topics, again);
  return [known, again];
}

/** The policy's decision as a sentence. */
function verdict({ verdict: which, reason }: policy.Explained): string {
  if (which === 'allow') return words.allow;
  return words[which](reason.trim() ? sentence(reason) : words.noReason[which]);
}

export function ToolPolicy({ tool, version }: { tool: string; version?: number | undefined }): JSX.Element | null {
  const [explained, explainAgain] = useKnown(() => policy.explain(tool), ['policy:changed', 'groups:changed', 'approval:settled']);
  const [grants, grantsAgain] = useKnown(policy.grants, ['approval:settled']);
  const own = grants?.grants.filter((grant) => toolOf(grant.tool) === tool) ?? [];
  const [removed, setRemoved] = useState(false);
  const drop = async (grant: policy.Grant) => {
    await policy.revokeGrant(grant.id);
    setRemoved(true);
    grantsAgain();
    explainAgain();
  };
  if (!explained && !own.length) return null;
  return (
    <section class="standing" aria-labelledby="standing">
      <h3 id="standing">{words.title}</h3>
      {explained && (
        <>
          <p><Sentence words={verdict(explained)} /></p>
          {explained.trail.length > 0 && (
            <details>
              <summary><span class="soft small">{words.trail}</span><Chevron /></summary>
              <ol class="trail">
                {explained.trail.map(({ rule, says }, n) => (
                  // The last one decided.
                  <li key={n} class={n === explained.trail.length - 1 ? 'decided' : undefined}>
                    <code>{rule}</code>
                    <span><Sentence words={says} /></span>
                  </li>
                ))}
              </ol>
            </details>
          )}
        </>
      )}
      {own.length > 0 && (
        <>
          <h4>{words.grants}</h4>
          <ul class="grants">
            {own.map((grant) => <GrantLine key={grant.id} grant={grant} version={version} onDrop={() => drop(grant)} />)}
          </ul>
        </>
      )}
      {removed && <Notice>{words.removed}</Notice>}
    </section>
  );
}

function GrantLine({ grant, version, onDrop }: { grant: policy.Grant; version: number | undefined; onDrop: () => Promise<void> }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const pattern = grant.pattern as policy.Pattern;
  const named = narrow(pattern) && Object.keys(pattern).length > 0;
  const plain = pattern === '*' ? words.grantAny : words.grantNone;
  const drop = async () => {
    if (busy) return;
    setBusy(true);
    setProblem('');
    try {
      await onDrop();
    } catch (cause) {
      setProblem(trouble(cause));
    }
    setBusy(false);
  };
  const described = named ? Object.values(pattern).join(', ') : plain;
  return (
    <li>
      <div>
        {named ? <Values of={pattern} /> : <p>{plain}</p>}
        <p class="soft small">
          {facts(
            words.granted(when(grant.createdAt)),
            version !== undefined && grant.version !== version && words.old(grant.version),
          )}
        </p>
        {problem && <Notice bad>{problem}</Notice>}
      </div>
      <button type="button" class="small" aria-disabled={busy} aria-label={words.removeOf(described)} onClick={() => void drop()}>{words.remove}</button>
    </li>
  );
}

/** The services a tool needs that are not set up; visible to those who can set them up. */
export function Needs({ tool }: { tool: string }): JSX.Element | null {
  const [known] = useKnown(policy.services, ['config:changed', 'tools:changed']);
  const lacking = known?.services.filter((service) => service.neededBy.includes(tool) && !service.entries.length) ?? [];
  if (!lacking.length) return null;
  return (
    <div class="needs">
      {lacking.map((service) => (
        <p key={service.name} class="notice aside">
          {words.needs(policy.serviceName(service))} <a href={href('device', 'services', service.name)}>{words.setUp}</a>
        </p>
      ))}
    </div>
  );
}
