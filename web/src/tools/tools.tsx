// The Tools room: all tools with a form to run each, and the custom tools.
import type { JSX } from 'preact';
import { Notice } from '../form';
import { lazy } from '../lazy';
import type { RoomProps } from '../rooms';
import { text } from '../text';
import { Top } from '../top';
import { Back } from './back';
import { CustomPage } from './custom';
import { Editor } from './editor';
import { ToolList } from './list';
import { ToolPage } from './tool-page';
import { readTools, knownTools, toolDetails, toolsProblem, type Known } from './use-tools';
import './tools.css';

interface GroupsProps {
  known: Known;
  admin: boolean;
  wanted: string;
}
const CommandTools = lazy<{ path: string[]; admin: boolean; writer: boolean }>(() => import('../workshop/command-tools').then((part) => part.CommandTools));
const Groups = lazy<GroupsProps>(() => import('./groups').then((part) => part.Groups));

export function Tools({ session, path }: RoomProps): JSX.Element {
  const known = knownTools.value;
  const problem = toolsProblem.value;
  const count = known ? text.toolsRoom.count(known.tools.length) : undefined;
  return (
    <main class="room tools">
      <Top title={text.rooms.tools} where={path.length ? undefined : count} />
      <div class="tools-inside">
        {known
          ? inside(known, path, session.role)
          : problem
            ? <Failed words={problem} onAgain={() => void readTools()} />
            : <p class="soft" role="status">{text.toolsRoom.loading}</p>}
      </div>
    </main>
  );
}

function inside(known: Known, [first, second, ...rest]: string[], role: string): JSX.Element {
  if (first === undefined) return <ToolList known={known} />;
  if (first === 'groups') return <Groups known={known} admin={role === 'admin'} wanted={second ?? ''} />;
  if (first === 'commands') return <CommandTools path={second === undefined ? [] : [second, ...rest]} admin={role === 'admin'} writer={role !== 'viewer'} />;
  if (first === 'custom' && second === 'new') return <Editor key="new" />;
  if (first === 'custom' && second !== undefined) {
    const custom = known.custom.find((tool) => tool.id === second);
    return custom ? <CustomPage key={second} tool={custom} admin={role === 'admin'} /> : <Lost words={text.toolsRoom.gone} />;
  }
  const tool = known.tools.find((one) => one.name === first) ?? known.tools.find((one) => one.aliases.includes(first));
  if (tool) {
    const details = toolDetails(tool.name);
    if (!details) return <Unread />;
    const custom = known.custom.find((one) => one.name === tool.name);
    return <ToolPage key={tool.name} tool={{ ...details, enabled: tool.enabled }} custom={custom} groups={known.groups} admin={role === 'admin'} />;
  }
  const custom = known.custom.find((one) => one.name === first);
  return custom
    ? <CustomPage key={custom.id} tool={custom} admin={role === 'admin'} />
    : <Lost words={text.toolsRoom.unknown(first)} />;
}

function Failed({ words, onAgain }: { words: string; onAgain: () => void }): JSX.Element {
  return (
    <>
      <Notice bad>{words}</Notice>
      <p class="again"><button type="button" onClick={onAgain}>{text.tryAgain}</button></p>
    </>
  );
}

/** A tool whose parameters are on their way. */
function Unread(): JSX.Element {
  return (
    <>
      <Back />
      {toolsProblem.value ? <Failed words={toolsProblem.value} onAgain={() => void readTools()} /> : <p class="soft" role="status">{text.toolsRoom.loading}</p>}
    </>
  );
}

function Lost({ words }: { words: string }): JSX.Element {
  return (
    <>
      <Back />
      <Notice quiet>{words}</Notice>
    </>
  );
}
