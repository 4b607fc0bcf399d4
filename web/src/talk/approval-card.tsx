// An approval as a card: the call and why it needs approval; one line once it is settled.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Buttons, Notice } from '../form';
import { Chevron } from '../icons';
import type { Pattern } from '../policy';
import { decide, isPending, type ApprovalQuestion } from '../questions';
import { Sentence } from '../sentence';
import { moment, sentence, text, trouble } from '../text';
import { exact, exactPattern, narrow, toolOf, Values } from '../values';

const words = text.approvals;

/** The settled approval in one line. */
function ending(asked: ApprovalQuestion): string {
  const tool = toolOf(asked.tool);
  if (asked.gone) return words.gone(tool);
  if (asked.state === 'expired') return words.expired(tool);
  const yes = asked.state === 'approved';
  if (!asked.mine) return words.elsewhere(tool, yes);
  if (!yes) return words.denied(tool);
  return asked.decision === 'allow_always' ? words.allowedAlways(tool) : words.allowed(tool);
}

/** Calls to the home and of the workshop, which are asked about in plain words. */
const PLAIN = new RegExp(`^(control_thing|ha_call_service|ha_run|gpio_(write|toggle|pulse)|exec|execute_(python|javascript|shell)|compile_code|package_manager|credentialed_exec|(run|install)_cli_tool|run_coding_task`
  + `|(write|stop)_process|(write|edit|delete|copy|move|download)_file|edit|create_folder|git_(commit|add|checkout|branch))$`);

/** The question of a call: the device's own words until it has been put plainly. */
function useQuestion({ tool, about, arguments: args }: ApprovalQuestion): string {
  const [plain, setPlain] = useState('');
  const name = toolOf(tool);
  const key = JSON.stringify(args ?? null);
  useEffect(() => {
    if (!PLAIN.test(name)) return;
    let current = true;
    import('./plain-call').then(({ plainCall }) => plainCall(name, args)).then((words) => current && setPlain(words), () => undefined);
    return () => void (current = false);
  }, [name, key]);
  return plain || (about ? sentence(about) : '');
}

interface Props {
  asked: ApprovalQuestion;
  /** Its origin, when shown outside its conversation. */
  children?: ComponentChildren;
  /** Another one is decided first: a line that opens. */
  behind?: boolean;
  /** How many more wait behind this one. */
  more?: number;
}

export function ApprovalCard({ asked, children, behind = false, more = 0 }: Props): JSX.Element {
  const [opened, setOpened] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const [choosing, setChoosing] = useState(false);
  const card = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLParagraphElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const held = useRef(false);
  const id = useId();
  const waits = isPending(asked);
  const question = useQuestion(asked);

  // Keeps the focus when the card becomes a line.
  if (!waits && card.current?.contains(document.activeElement)) held.current = true;
  useLayoutEffect(() => {
    if (!waits && held.current) end.current?.focus({ preventScroll: true });
  }, [waits]);

  const back = () => {
    setChoosing(false);
    requestAnimationFrame(() => opener.current?.focus({ preventScroll: true }));
  };

  const give = async (given: Parameters<typeof decide>[1]) => {
    if (busy) return;
    setBusy(true);
    setProblem('');
    try {
      await decide(asked, given);
    } catch (cause) {
      setProblem(trouble(cause));
    } finally {
      setBusy(false);
    }
  };

  if (!waits) {
    return (
      <p class={`answered ${asked.state}`} ref={end} tabIndex={-1}>
        <span class="dot" />
        <span>{ending(asked)}</span>
      </p>
    );
  }
  if (behind && !opened) {
    return (
      <button type="button" class="asks-behind" aria-expanded={false} onClick={() => setOpened(true)}>
        <span>{question || words.wants(toolOf(asked.tool))}</span><Chevron />
      </button>
    );
  }
  return (
    <div
      class="confirm asks"
      role="group"
      aria-labelledby={question ? `${id}-wants ${id}-about` : `${id}-wants`}
      ref={card}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !choosing) return;
        event.stopPropagation();
        back();
      }}
    >
      <p class="soft small" id={`${id}-wants`}>{words.wantsBare} <code>{toolOf(asked.tool)}</code></p>
      {question && <p class="question" id={`${id}-about`}><Sentence words={question} /></p>}
      {children}
      <Values of={asked.arguments} />
      {asked.tainted && <p class="taint small">{words.tainted}</p>}
      <p class="soft small">
        {asked.reason && <Sentence words={words.why(sentence(asked.reason))} />} {asked.expiresAt && words.until(moment(asked.expiresAt))}
      </p>
      <details>
        <summary><span class="soft small">{words.exact}</span><Chevron /></summary>
        <pre tabIndex={0} role="group" aria-label={words.exact}>{`${asked.tool} ${JSON.stringify(asked.arguments ?? {}, null, 2)}`}</pre>
        <p class="soft small">{words.facts(asked.risk, asked.rule)}</p>
      </details>
      {choosing
        ? <Always asked={asked} busy={busy} onChoose={(pattern) => void give({ decision: 'allow_always', ...pattern })} onBack={back} />
        : (
          <Buttons>
            <button type="button" class="go" aria-disabled={busy} onClick={() => void give({ decision: 'allow_once' })}>{busy ? words.sending : words.once}</button>
            <button type="button" aria-disabled={busy} onClick={() => void give({ decision: 'deny' })}>{words.deny}</button>
            <button type="button" class="quiet" ref={opener} aria-disabled={busy} onClick={() => setChoosing(true)}>{words.always}</button>
          </Buttons>
        )}
      {problem && <Notice bad>{problem}</Notice>}
      {more > 0 && <p class="small more-wait">{words.moreWait(more)}</p>}
    </div>
  );
}

interface AlwaysProps {
  asked: ApprovalQuestion;
  busy: boolean;
  /** Without a pattern, the suggested one applies. */
  onChoose: (chosen: { pattern?: Pattern }) => void;
  onBack: () => void;
}

/** The choices of "always allow", each with its meaning. */
function Always({ asked, busy, onChoose, onBack }: AlwaysProps): JSX.Element {
  const id = useId();
  const first = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    first.current?.focus({ preventScroll: true });
    box.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  const pattern = asked.pattern as Pattern;
  const tool = toolOf(asked.tool);
  const like = narrow(pattern) && !exact(pattern);
  const choose = (chosen: { pattern?: Pattern }) => () => !busy && onChoose(chosen);
  // The suggested pattern covers hidden secrets; only where it is `*` are the shown values used.
  const same = narrow(pattern) ? {} : { pattern: exactPattern(asked.arguments ?? {}) as Pattern };
  return (
    <div class="always" role="group" aria-labelledby={id} ref={box}>
      <p class="question" id={id}>{words.alwaysTitle}</p>
      <ul>
        <li>
          <button type="button" ref={first} aria-disabled={busy} aria-describedby={`${id}-same`} onClick={choose(same)}>{like ? words.like : words.same}</button>
          <div id={`${id}-same`}>
            <p class="soft small">{like ? words.likeWhy : words.sameWhy}</p>
            {like && <Values of={pattern} />}
          </div>
        </li>
        {!asked.tainted && (
          <li>
            <button type="button" aria-disabled={busy} aria-describedby={`${id}-any`} onClick={choose({ pattern: '*' })}>{words.any}</button>
            <p class="soft small" id={`${id}-any`}>{words.anyWhy(tool)}</p>
          </li>
        )}
      </ul>
      <p class="soft small">{words.takeBack(tool)}</p>
      <Buttons><button type="button" class="quiet" onClick={onBack}>{words.back}</button></Buttons>
    </div>
  );
}
