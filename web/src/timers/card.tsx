// The result of setting a timer in the conversation: the timer itself, as it is now.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { intendedCall, parsed, type Call } from '../talk/turns';
import { timers as words } from '../text/timers';
import { askToNotify, mayAskToNotify } from './alarm';
import { TimerRow } from './row';
import { inCards, isTimer, timers, timersKnown } from './state';

function show(id: string, shown: boolean): void {
  if (inCards.value.has(id) === shown) return;
  const next = new Set(inCards.value);
  if (shown) next.add(id);
  else next.delete(id);
  inCards.value = next;
}

function TimerCard({ said }: { said: { id: string; title: string } }): JSX.Element | null {
  const box = useRef<HTMLDivElement>(null);
  const [asks, setAsks] = useState(mayAskToNotify);
  const timer = timers.value.find(({ id }) => id === said.id);
  const { id } = said;
  const lives = timer !== undefined;
  useEffect(() => {
    if (!box.current || !lives) return;
    const watch = new IntersectionObserver(([entry]) => show(id, entry?.isIntersecting ?? false));
    watch.observe(box.current);
    return () => {
      watch.disconnect();
      show(id, false);
    };
  }, [id, lives]);
  if (!timersKnown.value) return null;
  if (!timer) return <p class="soft small timer-over">{said.title} · {words.over}</p>;
  return (
    <div class="timers card" ref={box}>
      <TimerRow timer={timer} />
      {asks && timer.state !== 'ringing' && (
        <button type="button" class="quiet" onClick={() => void askToNotify().finally(() => setAsks(false))}>{words.notify}</button>
      )}
    </div>
  );
}

/** The timers that these calls set, each once. */
export function TimerCards({ calls }: { calls: Call[] }): JSX.Element | null {
  const by = new Map<string, { id: string; title: string }>();
  for (const call of calls) {
    if (!call.ended || call.isError || intendedCall(call).name !== 'set_timer') continue;
    const result = parsed(call.result);
    const timer = isTimer(result) ? result : (result as { result?: unknown } | null)?.result;
    if (isTimer(timer)) by.set(timer.id, { id: timer.id, title: timer.title });
  }
  return by.size ? <>{[...by.values()].map((said) => <TimerCard key={said.id} said={said} />)}</> : null;
}
