// Which tools there are, read once for the page and anew when somebody makes, switches or deletes one.
import { useEffect, useState } from 'preact/hooks';
import * as api from '../api';
import { useAway } from '../away';
import { useLive } from '../live';
import { mark } from '../rooms';
import { text, trouble } from '../text';

export interface Known {
  tools: api.Tool[];
  custom: api.CustomTool[];
}

let known: Known | null = null;
let problem = '';
let asking: Promise<void> | null = null;
let stale = false;
const watching = new Set<() => void>();

/** The tools by which a model or another door changes what there is. */
const CHANGERS = new Set(['create_tool', 'update_custom_tool', 'toggle_custom_tool', 'delete_custom_tool']);

async function ask(onRefused: () => void): Promise<void> {
  try {
    const [tools, custom] = await Promise.all([api.tools(), api.customTools()]);
    known = { tools: tools.tools, custom: custom.tools };
    problem = '';
    const waiting = known.custom.filter((tool) => tool.status === 'pending_approval').length;
    mark('tools', waiting ? text.toolsRoom.waiting(waiting) : '');
  } catch (cause) {
    if (cause instanceof api.Refused && cause.status === 401) onRefused();
    // While Hob is away the banner says so, and this is asked again when it is back.
    problem = cause instanceof api.Unreachable ? '' : trouble(cause);
  }
  for (const look of watching) look();
}

/** Reads them anew; a second wish meanwhile is one more reading after this one. */
export function readTools(onRefused: () => void): Promise<void> {
  if (asking) {
    stale = true;
    return asking;
  }
  asking = (async () => {
    do {
      stale = false;
      await ask(onRefused);
    } while (stale);
  })().finally(() => (asking = null));
  return asking;
}

export function useTools(onRefused: () => void): { known: Known | null; problem: string } {
  const [, look] = useState(0);
  const away = useAway();
  useEffect(() => {
    const again = () => look((n) => n + 1);
    watching.add(again);
    return () => void watching.delete(again);
  }, []);
  useEffect(() => {
    if (!away) void readTools(onRefused);
  }, [away, onRefused]);
  useLive(['tool:after'], ({ topic, data }) => {
    if (topic === 'resync' || CHANGERS.has(String(data['tool']))) void readTools(onRefused);
  });
  return { known, problem };
}
