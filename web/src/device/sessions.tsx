// The person's sessions, and signing out of them.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Confirm, Notice } from '../form';
import { lastConversation } from '../storage';
import { text } from '../text';
import { browserIn } from './browser';
import { Part, LoadState, useAction, useHouse, useRead } from './part';
import { day } from './units';

const words = text.device.sessions;

export function Sessions(): JSX.Element {
  const read = useRead(api.sessions);
  const { session, onChanged } = useHouse();
  const [asking, setAsking] = useState(false);
  const outButton = useRef<HTMLButtonElement>(null);
  const [done, setDone] = useState('');
  const act = useAction();
  // The current session first, then the newest.
  const all = read.data?.sessions.slice().sort((a, b) => Number(b.current) - Number(a.current) || b.createdAt - a.createdAt);
  const others = all?.filter((one) => !one.current) ?? [];

  // Without a password, only a token or another session lets them in again.
  const locksOut = !session.hasPassword && !others.length;

  const out = async (which: api.SignedIn[]) => {
    setDone('');
    const went = await act.run(async () => {
      for (const one of which) await api.endSession(one.id);
    });
    await read.again();
    if (went && which.length === others.length) setDone(words.gone);
  };
  const outHere = () => act.run(async () => {
    await api.signOut();
    lastConversation.set('');
    onChanged();
  });

  return (
    <Part id="sessions" title={words.title} why={words.why}>
      <LoadState of={read} />
      {all && (
        <ul class="rows">
          {all.map((one) => {
            const where = words.on(...browserIn(one.device));
            return (
              <li key={one.id}>
                <div class="row">
                  <div>
                    <p><strong>{where}</strong>{one.current && <span class="soft"> {words.here}</span>}</p>
                    <p class="soft small">{words.since(day(one.createdAt))}, {words.until(day(one.expiresAt))}</p>
                  </div>
                  {!one.current && (
                    <button type="button" class="small" aria-label={words.outOf(where)} aria-disabled={act.busy} onClick={() => void out([one])}>{words.out}</button>
                  )}
                </div>
              </li>
            );
          })}
        </ul>
      )}
      {act.problem && <Notice bad>{act.problem}</Notice>}
      {done && <Notice>{done}</Notice>}
      {asking && (
        <Confirm
          title={words.outAsk}
          yes={words.outYes}
          busy={act.busy}
          onYes={() => void outHere()}
          onNo={() => (setAsking(false), requestAnimationFrame(() => outButton.current?.focus()))}
        >
          <p class="soft small">{words.outWhy}</p>
        </Confirm>
      )}
      <div class="buttons">
        <button type="button" ref={outButton} aria-disabled={act.busy} onClick={() => (locksOut ? setAsking(true) : void outHere())}>{words.outHere}</button>
        {others.length > 1 && <button type="button" aria-disabled={act.busy} onClick={() => void out(others)}>{words.outElsewhere}</button>}
      </div>
    </Part>
  );
}
