// What can be done with an exchange: copy the answer, ask again, edit the message, branch.
import type { JSX } from 'preact';
import { CopyIcon } from '../copy';
import { Again, Fork, Pen } from '../icons';
import { text } from '../text';
import { talk as words } from '../text/talk';
import { lazy } from '../lazy';
import { said, type Turn } from './turns';

const ReadAloud = lazy<{ answer: string }>(() => import('./read-aloud').then((part) => part.ReadAloud), true);

export interface Act {
  /** Says the same again. */
  again: (turn: Turn) => void;
  /** Puts its message into the composer. */
  edit: (turn: Turn) => void;
  /** Goes on from its end in a new conversation. */
  fork: (turn: Turn) => void;
}

export function Actions({ turn, last, act }: { turn: Turn; last: boolean; act: Act }): JSX.Element {
  const answer = said(turn);
  const asked = turn.asked || text.talk.files(turn.files?.length ?? 0);
  return (
    <div class="exchange-acts">
      {answer && <CopyIcon value={answer} label={words.copyMessage} />}
      {answer && <ReadAloud answer={answer} />}
      {last && (turn.asked || turn.files) && !turn.trouble && (
        <button type="button" class="bare" aria-label={words.retry} title={words.retry} onClick={() => act.again(turn)}><Again /></button>
      )}
      {turn.asked && (
        <button type="button" class="bare" aria-label={words.edit(asked)} title={words.editHere} onClick={() => act.edit(turn)}><Pen /></button>
      )}
      {(turn.lastId || turn.runId) && (turn.asked || turn.files) && (
        <button type="button" class="bare" aria-label={text.talk.forkOf(turn.asked)} title={text.talk.forkHere} onClick={() => act.fork(turn)}><Fork /></button>
      )}
    </div>
  );
}
