// The Device room: health, settings, people, tokens and backup, with pages for services, models and activity.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { useLive } from '../live';
import type { RoomProps } from '../rooms';
import { facts, text } from '../text';
import { processes as programs } from '../text/processes';
import { forms } from '../text/workshop-forms';
import { Top } from '../top';
import { lazy } from '../lazy';
import { AboutYou } from './about-you';
import { About } from './about';
import { Backup } from './backup';
import { useFocusKept } from './focus';
import { Health } from './health';
import { HouseContext, LinkedPart, Part, useRead } from './part';
import { People } from './people';
import { Reset } from './reset';
import { Self } from './self';
import { SetUp } from './set-up';
import { Sessions } from './sessions';
import { Tokens } from './tokens';
import { Updates } from './updates';
import { You } from './you';
import './device.css';

/** How long the part in the address is kept in view while others load. */
const SETTLED_MS = 3000;
const MOVES = ['wheel', 'touchstart', 'keydown', 'pointerdown'] as const;

/** Parts with their own page, loaded on demand. */
const PAGES = new Set(['services', 'activity', 'models', 'persona', 'prompt', 'runs', 'skills', 'programs', 'cli-tools', 'coding-agents', 'credentials']);
const Services = lazy<{ wanted: string; fresh?: boolean }>(() => import('./services').then((part) => part.Services));
const Activity = lazy<object>(() => import('./activity').then((part) => part.Activity));
const Model = lazy<{ onward?: boolean }>(() => import('./model').then((part) => part.Model));
const Programs = lazy<{ wanted: string }>(() => import('../processes/page').then((part) => part.Processes));
const CliTools = lazy<object>(() => import('../workshop/cli-tools').then((part) => part.CliTools));
const CodingAgents = lazy<object>(() => import('../workshop/coding-agents').then((part) => part.CodingAgents));
const Credentials = lazy<object>(() => import('../workshop/credentials').then((part) => part.Credentials));
const MindPages = lazy<{ path: string[] }>(() => import('../mind/pages').then((part) => part.MindPages));

function pageAt(path: string[]): JSX.Element | null {
  switch (path[0]) {
    case 'services': return <Services wanted={path[1] ?? ''} fresh={path[2] === 'new'} />;
    case 'activity': return <Activity />;
    case 'cli-tools': return <CliTools />;
    case 'coding-agents': return <CodingAgents />;
    case 'credentials': return <Credentials />;
    case 'programs': return <Programs wanted={path[1] ?? ''} />;
    case 'models': case 'persona': case 'prompt': case 'runs': case 'skills': return <MindPages path={path} />;
    default: return null;
  }
}

/** The parts for this person; admins also see people, tokens and backup. */
function Parts({ admin }: { admin: boolean }): JSX.Element {
  const facts = useRead(api.device);
  const room = useRef<HTMLDivElement>(null);
  // A token may create a person, and removing a person removes tokens: each list reloads after the other changes.
  const [round, setRound] = useState(0);
  const next = () => setRound((n) => n + 1);
  useLive(['device:changed'], () => void facts.again());
  useFocusKept(room);
  return (
    <div class="parts" ref={room}>
      <Health />
      <Self read={facts} />
      <SetUp />
      <Part id="model" title={text.device.model.title} why={text.device.model.why}><Model onward /></Part>
      <LinkedPart id="persona" title={text.device.mind.personaTitle} why={text.device.mind.personaWhy} open={text.device.mind.persona} />
      <LinkedPart id="skills" title={text.device.mind.skillsTitle} why={text.device.mind.skillsWhy} open={text.device.mind.skills} />
      <You />
      <AboutYou />
      {admin && <People round={round} onChanged={next} />}
      {admin && <Tokens round={round} onChanged={next} />}
      <Sessions />
      <LinkedPart id="services" title={text.services.title} why={text.services.why} open={text.services.open} />
      <LinkedPart id="programs" title={programs.title} why={programs.why} open={programs.open} />
      <LinkedPart id="cli-tools" title={forms.cli.title} why={forms.cli.why} open={forms.cli.open} />
      <LinkedPart id="coding-agents" title={forms.agents.title} why={forms.agents.why} open={forms.agents.open} />
      {admin && <LinkedPart id="credentials" title={forms.credentials.title} why={forms.credentials.why} open={forms.credentials.open} />}
      <LinkedPart id="activity" title={text.activity.title} why={text.activity.why} open={text.activity.open} />
      {admin && <Backup />}
      {admin && <Updates />}
      {admin && <Reset />}
      <About />
    </div>
  );
}

export function Device({ session, path, onChanged }: RoomProps): JSX.Element {
  const house = useMemo(() => ({ session, onChanged }), [session, onChanged]);
  const part = path[0] ?? '';
  const admin = session.role === 'admin';

  useEffect(() => {
    const title = part && !PAGES.has(part) ? document.getElementById(`device-${part}-title`) : null;
    const section = title?.closest('section');
    if (!title || !section?.parentElement) return;
    const show = () => section.scrollIntoView({ block: 'start' });
    show();
    title.focus({ preventScroll: true });
    // The parts above are still loading and growing.
    const grown = new ResizeObserver(show);
    grown.observe(section.parentElement);
    const stop = () => grown.disconnect();
    const timer = setTimeout(stop, SETTLED_MS);
    for (const type of MOVES) addEventListener(type, stop, { once: true, passive: true });
    return () => {
      stop();
      clearTimeout(timer);
      for (const type of MOVES) removeEventListener(type, stop);
    };
  }, [part]);

  return (
    <main class="room device">
      <Top title={text.rooms.device} where={facts(session.home?.name, session.name)} />
      <HouseContext.Provider value={house}>
        {pageAt(path) ?? <Parts admin={admin} />}
      </HouseContext.Provider>
    </main>
  );
}
