// What claim and sign-in share: the sheet, the line for problems, and the wait after too many attempts.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import * as api from './api';
import { deviceAway } from './away';
import { Flame } from './icons';
import { Sentence } from './sentence';
import { text, trouble } from './text';

/** The wait, where the daemon does not say. */
const WAIT_S = 60;

interface DoorProps {
  title: string;
  why: string;
  busy: boolean;
  onSubmit: () => void;
  children: ComponentChildren;
}

export function Door({ title, why, busy, onSubmit, children }: DoorProps): JSX.Element {
  return (
    <main class="door">
      <form
        class="sheet"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit();
        }}
      >
        <Flame big alive={busy} />
        <h1>{title}</h1>
        <p>{why}</p>
        {children}
      </form>
    </main>
  );
}

/** The daemon's answer, as far as it is shown. */
export interface Refusal {
  words: string;
  /** The encrypted address to use instead. */
  instead?: string;
}

/** The encrypted address in a refusal, whole or by its port; '' when there is none. */
function encrypted(message: string): string {
  const whole = /https:\/\/[^\s<>"'`#]+/.exec(message)?.[0].replace(/[.,;:!?)/]+$/, '');
  const port = /\bport (\d+)/.exec(message)?.[1];
  return whole ?? (port ? `https://${location.hostname}:${port}` : '');
}

/** A refusal as a sentence; `fragment` is added to the encrypted address. */
export function refusalFor(cause: unknown, fragment = ''): Refusal {
  const address = cause instanceof api.Refused && cause.code === 'tls_required' ? encrypted(cause.message) : '';
  return address ? { words: text.signIn.plain, instead: `${address}/${fragment}` } : { words: trouble(cause) };
}

/** The line above the button: a problem, or that the device is away. */
export function Trouble({ told }: { told: Refusal | null }): JSX.Element {
  const away = deviceAway.value;
  if (!told) return <p class="told soft" role="status">{away && text.away}</p>;
  return (
    <div class="told" role="alert">
      <p class="problem"><Sentence words={told.words} /></p>
      {told.instead && (
        <>
          <p><a href={told.instead}>{told.instead.replace(/\/(#.*)?$/, '')}</a></p>
          <p class="soft">{text.signIn.tls}</p>
        </>
      )}
    </div>
  );
}

/** The seconds left to wait after too many attempts, and what starts the wait. */
export function useWait(): [number, (cause: unknown) => void] {
  const [until, setUntil] = useState(0);
  const [now, setNow] = useState(0);
  useEffect(() => {
    if (!until) return;
    const timer = setInterval(() => {
      setNow(Date.now());
      if (Date.now() >= until) setUntil(0);
    }, 500);
    return () => clearInterval(timer);
  }, [until]);
  const start = (cause: unknown) => {
    if (!(cause instanceof api.Refused) || cause.code !== 'too_many_tries') return;
    setNow(Date.now());
    setUntil(Date.now() + (cause.retryAfter ?? WAIT_S) * 1000);
  };
  return [until ? Math.max(1, Math.ceil((until - now) / 1000)) : 0, start];
}
