// The page's front door: asks Hob who we are and shows the claim, the sign-in or the room.
import { render, type JSX } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import * as api from './api';
import { useAway } from './away';
import { Claim, codeIn } from './claim';
import { Flame } from './icons';
import { lastConversation } from './keep';
import { SignIn } from './sign-in';
import { Talk } from './talk/talk';
import { text, trouble } from './text';
import './style.css';

type Door =
  | { at: 'opening'; problem?: string }
  | { at: 'claim' }
  | { at: 'sign-in'; note?: string }
  | { at: 'room'; session: api.Session };

function dropFragment(): void {
  if (location.hash) history.replaceState(null, '', location.pathname + location.search);
}

function App(): JSX.Element {
  const [door, setDoor] = useState<Door>({ at: 'opening' });
  const away = useAway();

  const enter = useCallback(async () => {
    try {
      const session = await api.session();
      dropFragment();
      setDoor({ at: 'room', session });
    } catch (cause) {
      if (cause instanceof api.Refused && cause.code === 'unclaimed') return setDoor({ at: 'claim' });
      if (cause instanceof api.Refused && cause.status === 401) {
        const note = codeIn(location.hash) ? text.signIn.claimed : undefined;
        dropFragment();
        return setDoor(note ? { at: 'sign-in', note } : { at: 'sign-in' });
      }
      if (cause instanceof api.Refused) return setDoor({ at: 'opening', problem: trouble(cause) });
      if (!(cause instanceof api.Unreachable)) throw cause;
    }
  }, []);

  useEffect(() => {
    if (!away && door.at !== 'room') void enter();
  }, [away]);

  const leave = async () => {
    try {
      await api.signOut();
    } catch (cause) {
      if (cause instanceof api.Unreachable) return;
    }
    lastConversation.set('');
    setDoor({ at: 'sign-in' });
  };

  switch (door.at) {
    case 'claim':
      return <Claim onDone={enter} onClaimed={() => (dropFragment(), setDoor({ at: 'sign-in' }))} />;
    case 'sign-in':
      return <SignIn note={door.note} onDone={enter} />;
    case 'room':
      return <Talk session={door.session} onSignOut={leave} onRefused={enter} />;
    default:
      return (
        <main class="door">
          <div class="sheet">
            <Flame big alive={!away} />
            <h1>{text.name}</h1>
            <p role="status">{door.problem ?? (away ? text.away : text.opening)}</p>
            {door.problem && <button type="button" class="go" onClick={() => void enter()}>{text.tryAgain}</button>}
            {away && <p class="soft">{text.awayLong}</p>}
          </div>
        </main>
      );
  }
}

const root = document.getElementById('hob');
if (root) render(<App />, root);
