// The entry of the page: reads the session and shows claim, sign-in or the rooms.
import './style.css';
import './form.css';
import './door.css';
import { render, type JSX } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import * as api from './api';
import { deviceAway } from './away';
import { Changes } from './changes';
import { Claim, codeIn } from './claim';
import { setZone } from './clock';
import { invitationIn, type JoinProps } from './invitation';
import { Flame } from './icons';
import { lazy } from './lazy';
import { useLine, useLive } from './live';
import { Memory } from './memory/memory';
import { Notices } from './notices';
import { useProcessWatch } from './processes/state';
import { isApproval, pendingQuestions, useQuestionUpdates, type InteractionQuestion } from './questions';
import { Bar, currentPlace, go, mark, useFindKeys, type RoomProps } from './rooms';
import { Talk } from './talk/talk';
import { useTalk } from './talk/use-talk';
import { text, trouble } from './text';
import { TimerWatch } from './timers/strip';
import './tools/tools.css';
import { useToolsRead } from './tools/use-tools';
import { toolOf } from './values';

type Door =
  | { at: 'opening'; problem?: string }
  | { at: 'claim' }
  | { at: 'sign-in'; note?: string }
  | { at: 'join'; code: string; signedIn: string }
  | { at: 'inside'; session: api.Session };

/** Fetched once somebody is signed in: the rooms beside Talk and Memory, and the search over everything. */
const Home = lazy<RoomProps & { onSay: (words: string) => void }>(() => import('./home/home').then((part) => part.Home));
/** Fetched by those who need it: the first load is what a signed-in person sees, and the claim. */
const SignIn = lazy<{ note?: string | undefined; onDone: () => Promise<void> }>(() => import('./sign-in').then((part) => part.SignIn));
/** Seen once: the set-up after the claim, and joining with an invitation. */
const Arrival = lazy<{ session: api.Session; onChanged: () => Promise<void> }>(() => import('./arrival/arrival').then((part) => part.Arrival));
const Join = lazy<JoinProps>(() => import('./arrival/join').then((part) => part.Join));
const Files = lazy<RoomProps>(() => import('./files/files').then((part) => part.Files));
const Tools = lazy<RoomProps>(() => import('./tools/tools').then((part) => part.Tools));
const Device = lazy<RoomProps>(() => import('./device/device').then((part) => part.Device));
const Finder = lazy<{ onClose: () => void }>(() => import('./find').then((part) => part.Finder));

/** Removes a used code from the address. */
function dropCode(): void {
  if (codeIn(location.hash) || invitationIn(location.hash)) history.replaceState(null, '', location.pathname + location.search);
}

/** Focuses the heading of the room; where that is still being fetched, once it is there, unless something else was focused by then. */
function focusHeading(tries = 100): void {
  const heading = document.querySelector<HTMLElement>('main h1');
  if (heading) return heading.focus({ preventScroll: true });
  setTimeout(() => {
    const isFree = !document.activeElement || document.activeElement === document.body || document.activeElement.matches('.bar a');
    if (tries && isFree) focusHeading(tries - 1);
  }, 50);
}

interface InsideProps {
  session: api.Session;
  onChanged: () => void;
}

/** The rooms and the bar. A running answer continues while another room is open. */
function Inside({ session, onChanged }: InsideProps): JSX.Element {
  const place = currentPlace.value;
  const talk = useTalk();
  const asked = place.room === 'talk' ? (place.path[0] ?? '') : '';
  const came = useRef(place.room);
  const pending = pendingQuestions.value;
  const approval = pending.filter(isApproval).at(-1);
  const asking = pending.filter((one): one is InteractionQuestion => !isApproval(one)).at(-1);

  const [finding, setFinding] = useState(false);
  const find = useCallback(() => setFinding(true), []);

  useFindKeys(find);
  useEffect(() => {
    Home.prefetch();
    Files.prefetch();
    Tools.prefetch();
    Device.prefetch();
    Finder.prefetch();
  }, []);
  useLine();
  // Tools that need approval have a badge in every room.
  useToolsRead();
  useQuestionUpdates();
  useProcessWatch();
  // The session holds the device's name and the person's role.
  useLive(['device:changed', 'model:changed'], ({ topic }) => topic !== 'resync' && onChanged());

  useEffect(() => {
    if (asked && asked !== talk.conversationId) talk.open(asked);
  }, [asked]);

  // The address names the conversation on screen only.
  useEffect(() => {
    if (asked && asked !== talk.conversationId) go('talk', [], true);
  }, [talk.conversationId]);

  const waiting = pending.length;
  useEffect(() => {
    mark('talk', waiting ? (approval ? text.approvals.badge(waiting) : text.asks.badge(waiting)) : talk.busy && place.room !== 'talk' ? text.rooms.working : '');
  }, [waiting, talk.busy, place.room]);

  useLayoutEffect(() => {
    document.title = place.room === 'talk' ? text.name : text.rooms.title(text.rooms[place.room]);
    if (came.current === place.room) return;
    came.current = place.room;
    if (place.room !== 'talk') scrollTo(0, 0);
    // With a keyboard, Talk's composer has taken the focus already.
    if (document.activeElement?.id !== 'message') focusHeading();
  }, [place.room]);

  const { setDraft } = talk;
  const draft = useRef('');
  draft.current = talk.draft;
  const say = useCallback((words: string) => {
    // What was being typed stays.
    setDraft([draft.current.trim(), words].filter(Boolean).join('\n'));
    go('talk');
  }, [setDraft]);
  /** Today shows timers and notices itself. */
  const atToday = place.room === 'home' && !place.path.length;

  const room = useMemo(() => {
    const props: RoomProps = { session, path: place.path, onChanged };
    switch (place.room) {
      case 'home': return <Home {...props} onSay={say} />;
      case 'files': return <Files {...props} />;
      case 'tools': return <Tools {...props} />;
      case 'memory': return <Memory {...props} />;
      case 'device': return <Device {...props} />;
      default: return null;
    }
  }, [session, place, onChanged, say]);

  return (
    <div class="house">
      {room ?? <Talk session={session} talk={talk} />}
      <Bar room={place.room} alive={talk.busy && !waiting} onFind={find} />
      <Notices listed={atToday} />
      <TimerWatch shownThere={atToday || place.room === 'talk'} />
      <Changes />
      <p class="unseen" role="status">{approval && text.approvals.wants(toolOf(approval.tool))}</p>
      <p class="unseen" role="status">{asking && (asking.kind === 'ask' ? text.asks.asks(asking.question ?? '') : text.asks.shows(asking.title ?? ''))}</p>
      {finding && <Finder onClose={() => setFinding(false)} />}
    </div>
  );
}

function App(): JSX.Element {
  const [door, setDoor] = useState<Door>({ at: 'opening' });
  const away = deviceAway.value;

  const enter = useCallback(async () => {
    try {
      const session = await api.session();
      setZone(session.home?.timeZone);
      const code = invitationIn(location.hash);
      if (code) return setDoor({ at: 'join', code, signedIn: session.person });
      dropCode();
      setDoor({ at: 'inside', session });
    } catch (cause) {
      if (cause instanceof api.Refused && cause.code === 'unclaimed') return setDoor({ at: 'claim' });
      if (cause instanceof api.Refused && cause.status === 401) {
        const code = invitationIn(location.hash);
        if (code) return setDoor({ at: 'join', code, signedIn: '' });
        const note = codeIn(location.hash) ? text.signIn.claimed : undefined;
        dropCode();
        return setDoor(note ? { at: 'sign-in', note } : { at: 'sign-in' });
      }
      if (cause instanceof api.Refused) return setDoor({ at: 'opening', problem: trouble(cause) });
      if (!(cause instanceof api.Unreachable)) throw cause;
    }
  }, []);

  useEffect(() => api.whenLockedOut(() => void enter()), []);

  // A link that is pasted into an open page.
  useEffect(() => {
    const onLink = () => invitationIn(location.hash) && void enter();
    addEventListener('hashchange', onLink);
    return () => removeEventListener('hashchange', onLink);
  }, []);

  useEffect(() => {
    if (!away && door.at !== 'inside') void enter();
  }, [away]);

  switch (door.at) {
    case 'claim':
      return <Claim onDone={enter} onClaimed={() => (dropCode(), setDoor({ at: 'sign-in' }))} />;
    case 'sign-in':
      return <SignIn note={door.note} onDone={enter} />;
    case 'join':
      return <Join key={door.code} code={door.code} signedIn={door.signedIn} onDone={() => (dropCode(), enter())} />;
    case 'inside':
      if (door.session.arriving) return <Arrival session={door.session} onChanged={enter} />;
      return <Inside session={door.session} onChanged={enter} />;
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
