// The claim screen of a new device: its code. Name and password are the first step of the set-up after it.
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import * as api from './api';
import { Door, refusalFor, Trouble, useWait, type Refusal } from './door';
import { Field } from './form';
import { text } from './text';

/** The claim code in a fragment, a pasted link or plain text typed by hand; '' when there is none. */
export function codeIn(value: string): string {
  const found = /#claim=([^&\s]*)/.exec(value)?.[1];
  if (found === undefined) return '';
  try {
    return decodeURIComponent(found).trim().toUpperCase();
  } catch {
    return found;
  }
}

export function Claim({ onDone, onClaimed }: { onDone: () => Promise<void>; onClaimed: () => void }): JSX.Element {
  const [code, setCode] = useState(() => codeIn(location.hash));
  const [linked, setLinked] = useState(code !== '');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Refusal | null>(null);
  const [wrongCode, setWrongCode] = useState('');
  const [taken, setTaken] = useState(false);
  const [wait, startWait] = useWait();
  const codeField = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);

  useLayoutEffect(() => {
    (linked ? button : codeField).current?.focus();
    const again = () => {
      const fresh = codeIn(location.hash);
      if (!fresh) return;
      setCode(fresh);
      setLinked(true);
      setWrongCode('');
      setProblem(null);
    };
    addEventListener('hashchange', again);
    return () => removeEventListener('hashchange', again);
  }, []);

  // The field opens when the link's code was rejected.
  useEffect(() => {
    if (wrongCode) codeField.current?.select();
  }, [wrongCode]);

  const submit = async () => {
    if (busy || wait) return;
    setWrongCode('');
    setProblem(null);
    if (!code.trim()) return codeField.current?.focus();
    setBusy(true);
    try {
      await api.claim({ code: code.trim() });
      await onDone();
    } catch (cause) {
      const answer = refusalFor(cause, `#claim=${encodeURIComponent(code.trim())}`);
      const which = cause instanceof api.Refused ? cause.code : '';
      if (which === 'wrong_code' || which === 'code_expired') {
        setLinked(false);
        setWrongCode(answer.words);
      } else {
        setProblem(answer);
      }
      if (which === 'already_claimed') setTaken(true);
      startWait(cause);
    } finally {
      setBusy(false);
    }
  };

  return (
    <Door title={text.claim.title} why={text.claim.why} busy={busy} onSubmit={() => void submit()}>
      {linked ? (
        <p class="linked soft">
          {text.claim.fromLink(code)}{' '}
          <button type="button" class="plain" onClick={() => (setLinked(false), setTimeout(() => codeField.current?.select()))}>
            {text.claim.otherCode}
          </button>
        </p>
      ) : (
        <Field key="code" label={text.claim.code} error={wrongCode}>
          {(wired) => (
            <>
              <input
                {...wired}
                ref={codeField}
                class="code"
                value={code}
                onInput={(event) => {
                  const typed = event.currentTarget.value;
                  setCode(codeIn(typed) || typed.toUpperCase());
                  setWrongCode('');
                  setProblem(null);
                }}
                autocomplete="off"
                autocapitalize="characters"
                spellcheck={false}
                aria-describedby={[wrongCode ? '' : `${wired.id}-words`, wired['aria-describedby'] ?? ''].filter(Boolean).join(' ')}
              />
              {!wrongCode && <p class="help below" id={`${wired.id}-words`}>{text.claim.typeIt}</p>}
            </>
          )}
        </Field>
      )}
      <Trouble told={problem} />
      {taken ? (
        <button type="button" class="go" onClick={onClaimed}>{text.signIn.go}</button>
      ) : !problem?.instead && (
        <button ref={button} class="go" aria-disabled={busy || wait > 0}>
          {wait ? text.signIn.wait(wait) : busy ? text.claim.going : text.claim.go}
        </button>
      )}
    </Door>
  );
}
