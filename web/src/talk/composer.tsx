// The one place to type: grows with its text, sends on Enter, becomes Stop while Hob works.
import type { JSX, TargetedKeyboardEvent } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Send, Stop } from '../icons';
import { text } from '../text';

interface Props {
  value: string;
  busy: boolean;
  onInput: (value: string) => void;
  onSend: () => void;
  onStop: () => void;
}

export function Composer({ value, busy, onInput, onSend, onStop }: Props): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null);

  useLayoutEffect(() => {
    const area = field.current;
    if (!area) return;
    area.style.height = 'auto';
    area.style.height = `${area.scrollHeight}px`;
  }, [value]);

  useEffect(() => {
    // On a phone the keyboard would cover half of the page before anything is read.
    if (matchMedia('(pointer: fine)').matches) field.current?.focus();
  }, []);

  const submit = (event: Event) => {
    event.preventDefault();
    if (busy) onStop();
    else onSend();
  };

  const onKeyDown = (event: TargetedKeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!busy) onSend();
  };

  return (
    <form class="composer" onSubmit={submit}>
      <div>
        <textarea
          id="message"
          ref={field}
          rows={1}
          value={value}
          placeholder={text.talk.placeholder}
          aria-label={text.talk.message}
          enterkeyhint="send"
          onInput={(event) => onInput(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        <button class={busy ? 'stop' : 'go'} aria-label={busy ? text.talk.stop : text.talk.send} aria-disabled={!busy && !value.trim()}>
          {busy ? <Stop /> : <Send />}
        </button>
      </div>
    </form>
  );
}
