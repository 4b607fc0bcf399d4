// The drawer: a new conversation, the earlier ones, and the way out.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Close, Fresh } from '../icons';
import { text, trouble, when } from '../text';

interface Props {
  session: api.Session;
  current: string;
  onOpen: (id: string) => void;
  onFresh: () => void;
  onSignOut: () => void;
  onClose: () => void;
}

export function Earlier({ session, current, onOpen, onFresh, onSignOut, onClose }: Props): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [lines, setLines] = useState<api.ConversationLine[] | null>(null);
  const [problem, setProblem] = useState('');

  useEffect(() => {
    dialog.current?.showModal();
    api.conversations().then((answer) => setLines(answer.conversations), (cause: unknown) => setProblem(trouble(cause)));
  }, []);

  const close = () => dialog.current?.close();
  const then = (action: () => void) => () => {
    close();
    action();
  };

  return (
    <dialog
      ref={dialog}
      class="drawer"
      aria-label={text.menu.open}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <div class="drawer-inside">
        <div class="drawer-top">
          <h2>{text.menu.open}</h2>
          <button type="button" class="bare" aria-label={text.menu.close} onClick={close}><Close /></button>
        </div>
        <button type="button" class="fresh" onClick={then(onFresh)}><Fresh />{text.menu.fresh}</button>
        <div class="list">
          {problem && <p class="problem" role="alert">{problem}</p>}
          {lines && !lines.length && <p class="soft">{text.menu.none}</p>}
          <ul>
            {lines?.map((line) => (
              <li key={line.id}>
                <button
                  type="button"
                  class="line"
                  aria-current={line.id === current ? 'true' : undefined}
                  onClick={then(() => onOpen(line.id))}
                >
                  <span>{line.title || text.menu.untitled}</span>
                  <small>{when(line.updatedAt)}</small>
                </button>
              </li>
            ))}
          </ul>
        </div>
        <div class="drawer-foot">
          <p class="soft">
            {text.menu.as(session.person, session.role)}
            {session.version && <><br />{text.menu.version(session.version)}</>}
          </p>
          <button type="button" onClick={then(onSignOut)}>{text.menu.signOut}</button>
        </div>
      </div>
    </dialog>
  );
}
