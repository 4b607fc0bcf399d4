// The building blocks of the Device room: parts, pages, loading and actions.
import type { ComponentChildren, JSX } from 'preact';
import { createContext } from 'preact';
import { useCallback, useContext, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { deviceAway } from '../away';
import { Notice } from '../form';
import { Chevron } from '../icons';
import { href } from '../rooms';
import { text, trouble } from '../text';
import { Back } from '../tools/back';

interface House {
  session: api.Session;
  /** Reloads the session. */
  onChanged: () => void;
}

/** The session, for every part of the room. */
export const HouseContext = createContext<House>({
  session: { user: '', person: '', role: 'viewer', name: '', version: '', model: '', home: { name: '', timeZone: '', units: 'metric' }, owner: false, arriving: false, hasPassword: false, csrfToken: '' },
  onChanged: () => undefined,
});

export const useHouse = () => useContext(HouseContext);
export const useAdmin = () => useHouse().session.role === 'admin';

export function Part({ id, title, why, children }: { id: string; title: string; why?: ComponentChildren; children: ComponentChildren }): JSX.Element {
  return (
    <section class="part" id={`device-${id}`} aria-labelledby={`device-${id}-title`}>
      <div class="part-head">
        <h2 id={`device-${id}-title`} tabIndex={-1}>{title}</h2>
        {why && <p>{why}</p>}
      </div>
      <div class="part-body">{children}</div>
    </section>
  );
}

/** A page of the room: a link back and a heading, which takes the focus. */
export function Page({ title, back, to, children }: { title: string; back: string; to: string; children: ComponentChildren }): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <article class="tool page">
      <Back to={to}>{back}</Back>
      <h2 tabIndex={-1} ref={heading}>{title}</h2>
      {children}
    </article>
  );
}

/** A part that links to its own page. */
export function LinkedPart({ id, title, why, open }: { id: string; title: string; why: string; open: string }): JSX.Element {
  return (
    <Part id={id} title={title}>
      <p>{why}</p>
      <div class="buttons"><a class="button" href={href('device', id)}>{open}<Chevron /></a></div>
    </Part>
  );
}

export interface Read<T> {
  data: T | null;
  problem: string;
  again: () => Promise<void>;
  set: (data: T) => void;
}

/** Loads a value on mount, in every new `round`, and when the device is back; keeps the old value while it is away. */
export function useRead<T>(read: () => Promise<T>, round = 0): Read<T> {
  const [data, set] = useState<T | null>(null);
  const [problem, setProblem] = useState('');
  const away = deviceAway.value;
  const alive = useRef(true);
  const again = useCallback(async () => {
    try {
      const found = await read();
      if (!alive.current) return;
      set(found);
      setProblem('');
    } catch (cause) {
      if (!alive.current) return;
      // The banner covers an unreachable device; only a refusal is shown here.
      if (cause instanceof api.Refused) setProblem(trouble(cause));
    }
  }, []);
  useEffect(() => {
    if (!away) void again();
  }, [away, round]);
  useEffect(() => () => void (alive.current = false), []);
  return { data, problem, again, set };
}

/** The props of the lists of people and tokens, which reload each other. */
export interface ListProps {
  round: number;
  onChanged: () => void;
}

export interface Action {
  busy: boolean;
  problem: string;
  /** Runs an action; resolves to whether it succeeded. */
  run: (what: () => Promise<unknown>) => Promise<boolean>;
  clear: () => void;
}

/** An action of a person: one at a time, with its error as a sentence. */
export function useAction(words?: (cause: unknown) => string | undefined): Action {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const run = async (what: () => Promise<unknown>) => {
    if (busy) return false;
    setBusy(true);
    setProblem('');
    try {
      await what();
      return true;
    } catch (cause) {
      setProblem(words?.(cause) ?? trouble(cause));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, problem, run, clear: () => setProblem('') };
}

/** The loading state of a part, or its error. */
export function LoadState({ of }: { of: Pick<Read<unknown>, 'data' | 'problem' | 'again'> }): JSX.Element | null {
  if (of.problem) {
    return (
      <>
        <Notice bad>{of.problem}</Notice>
        <button type="button" class="small" onClick={() => void of.again()}>{text.tryAgain}</button>
      </>
    );
  }
  return of.data === null ? <p class="soft small">{text.device.loading}</p> : null;
}

/** Save and cancel. */
export function SaveRow({ busy, save, saving = text.device.saving, onCancel }: { busy: boolean; save: string; saving?: string; onCancel: () => void }): JSX.Element {
  return (
    <div class="buttons">
      <button aria-disabled={busy} class="main">{busy ? saving : save}</button>
      <button type="button" class="quiet" onClick={onCancel}>{text.device.cancel}</button>
    </div>
  );
}

/** A form in the flow of a part; its first field has the focus, and Escape leaves it. */
export function Edit({ label, onSubmit, onCancel, children }: { label: string; onSubmit: () => void; onCancel: () => void; children: ComponentChildren }): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => form.current?.querySelector<HTMLElement>('input, select')?.focus(), []);
  return (
    <form
      ref={form}
      class="edit fields"
      aria-label={label}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.defaultPrevented) return;
        event.stopPropagation();
        onCancel();
      }}
    >
      {children}
    </form>
  );
}
