// The composer: grows with its text, sends on Enter, takes files; Stop is shown while Hob works.
import type { JSX, TargetedKeyboardEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Chevron, Clip, Close, FileIcon, Send, Stop } from '../icons';
import { lazy } from '../lazy';
import { facts, text } from '../text';
import { talk } from '../text/talk';
import type { Files, Sent } from './files';
import { modelName } from './model-name';

const ModelPicker = lazy<{ onChosen: (model: string) => void; onClose: () => void }>(() => import('./model-picker').then((part) => part.ModelPicker));

/** Fetched after the first load, and shown where the device knows a server for speech. */
const Mic = lazy<{ onText: (said: string) => void; onProblem: (why: string) => void }>(() => import('./mic').then((part) => part.Mic), true);

interface Props {
  value: string;
  busy: boolean;
  files: Files;
  /** The model that answers. */
  model: string;
  /** Whether this person may choose another. */
  chooses: boolean;
  /** The message said before, for ↑. */
  last: string;
  onInput: (value: string) => void;
  onSend: () => void;
  onStop: () => void;
}

/** The model that answers, and for admins the menu to choose another. */
function ModelButton({ model, chooses }: { model: string; chooses: boolean }): JSX.Element {
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState<{ before: string; model: string } | null>(null);
  const opener = useRef<HTMLButtonElement>(null);
  // Until the session tells the new one.
  const { name } = modelName(chosen?.before === model ? chosen.model : model);
  if (!chooses) return <span class="model soft">{name}</span>;
  const close = () => {
    setOpen(false);
    opener.current?.focus({ preventScroll: true });
  };
  return (
    <span class="model">
      <button
        type="button"
        class="quiet"
        ref={opener}
        aria-label={talk.model.choose(name)}
        aria-haspopup="dialog"
        aria-expanded={open}
        onClick={() => (open ? close() : setOpen(true))}
        onPointerEnter={() => ModelPicker.prefetch()}
      >
        <span>{name}</span><Chevron />
      </button>
      {open && (
        <ModelPicker
          onChosen={(now) => {
            setChosen({ before: model, model: now });
            close();
          }}
          onClose={close}
        />
      )}
    </span>
  );
}

/** The attachments, with their upload progress. */
function Attached({ file, onDrop }: { file: Sent; onDrop: () => void }): JSX.Element {
  const percent = Math.round(file.part * 100);
  return (
    <li class={file.problem ? 'failed' : undefined}>
      {file.picture ? <img src={file.picture} alt="" /> : <FileIcon />}
      <span class="attached-name">
        {file.name}
        <small class={file.problem ? 'problem' : undefined} role={file.problem ? 'alert' : undefined}>
          {file.problem || (file.id ? text.talk.bytes(file.size) : facts(text.talk.bytes(file.size), text.talk.sent(percent)))}
        </small>
        {!file.id && !file.problem && <progress max={100} value={percent} aria-label={text.talk.sending(file.name)} />}
      </span>
      <button type="button" class="bare" aria-label={text.talk.dropFile(file.name)} onClick={onDrop}><Close /></button>
    </li>
  );
}

export function Composer({ value, busy, files, model, chooses, last, onInput, onSend, onStop }: Props): JSX.Element {
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const [micProblem, setMicProblem] = useState('');

  useLayoutEffect(() => {
    const area = field.current;
    if (!area) return;
    area.style.height = 'auto';
    area.style.height = `${area.scrollHeight}px`;
  }, [value]);

  useLayoutEffect(() => {
    // On a phone the keyboard would cover half the page.
    if (matchMedia('(pointer: fine)').matches) field.current?.focus();
  }, []);

  const something = value.trim() !== '' || files.all.some((file) => file.id);
  const ready = something && !files.busy;
  const send = () => ready && onSend();

  const onKeyDown = (event: TargetedKeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key === 'ArrowUp' && value === '' && last && !event.isComposing && !event.altKey && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      onInput(last);
      requestAnimationFrame(() => field.current?.setSelectionRange(last.length, last.length));
      return;
    }
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  };

  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        if (busy && !something) onStop();
        else send();
      }}
    >
      <div>
        {micProblem && <p class="problem small" role="alert">{micProblem}</p>}
        {files.problem && <p class="problem small" role="alert">{files.problem}</p>}
        {files.all.length > 0 && (
          <ul class="attached" aria-label={text.talk.attached}>
            {files.all.map((file) => (
              <Attached
                key={file.key}
                file={file}
                onDrop={() => {
                  files.drop(file.key);
                  field.current?.focus({ preventScroll: true });
                }}
              />
            ))}
          </ul>
        )}
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
          onPaste={(event) => {
            const pasted = [...(event.clipboardData?.files ?? [])];
            if (!pasted.length) return;
            event.preventDefault();
            files.add(pasted);
          }}
        />
        <div class="composer-line">
          <button type="button" class="bare" aria-label={text.talk.attach} title={text.talk.attachHelp} onClick={() => picker.current?.click()}><Clip /></button>
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            aria-label={text.talk.attach}
            onChange={(event) => {
              files.add(event.currentTarget.files ?? []);
              event.currentTarget.value = '';
              field.current?.focus({ preventScroll: true });
            }}
          />
          <ModelButton model={model} chooses={chooses} />
          <Mic
            onProblem={setMicProblem}
            onText={(said) => {
              onInput(value.trim() ? `${value.trimEnd()} ${said}` : said);
              field.current?.focus({ preventScroll: true });
            }}
          />
          {busy && <button type="button" class="stop" aria-label={text.talk.stop} onClick={onStop}><Stop /></button>}
          {(!busy || something || files.all.length > 0) && (
            <button class="go" aria-label={text.talk.send} title={busy ? text.talk.queues : undefined} aria-disabled={!ready}><Send /></button>
          )}
        </div>
      </div>
    </form>
  );
}
