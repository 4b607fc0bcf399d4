// The tools, custom tools and groups: loaded once, and again after changes.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import * as api from '../api';
import { deviceAway } from '../away';
import { useLive } from '../live';
import * as policy from '../policy';
import { mark } from '../rooms';
import { text, trouble } from '../text';

export interface Known {
  tools: api.Tool[];
  custom: api.CustomTool[];
  groups: policy.Group[];
}

/** The tools, once they have been read. */
export const knownTools = signal<Known | null>(null);
export const toolsProblem = signal('');

/** Tools with their parameters, as far as they were needed, and the list they were read after. */
const details = signal<ReadonlyMap<string, { tool: api.ToolDetails | null; after: Known }>>(new Map());
const reading = new Set<string>();

let asking: Promise<void> | null = null;
let stale = false;

/** Without permission to see groups, tools are usable all the same. */
async function groupsIfAllowed(): Promise<policy.Group[]> {
  try {
    return (await policy.groups()).groups;
  } catch (cause) {
    if (cause instanceof api.Refused) return [];
    throw cause;
  }
}

async function ask(): Promise<void> {
  try {
    const [tools, custom, groups] = await Promise.all([api.tools(), api.customTools(), groupsIfAllowed()]);
    knownTools.value = { tools, custom: custom.tools, groups };
    toolsProblem.value = '';
    const waiting = custom.tools.filter((tool) => tool.status === 'pending_approval').length;
    mark('tools', waiting ? text.toolsRoom.waiting(waiting) : '');
  } catch (cause) {
    // While the device is away, the banner says so, and this is loaded again afterwards.
    toolsProblem.value = cause instanceof api.Unreachable ? '' : trouble(cause);
  }
}

/** Loads them again; calls during a load cause one more load. */
export function readTools(): Promise<void> {
  if (asking) {
    stale = true;
    return asking;
  }
  asking = (async () => {
    do {
      stale = false;
      await ask();
    } while (stale);
  })().finally(() => (asking = null));
  return asking;
}

async function readDetails(name: string, after: Known): Promise<void> {
  if (reading.has(name)) return;
  reading.add(name);
  const put = (tool: api.ToolDetails | null) => (details.value = new Map(details.value).set(name, { tool, after }));
  try {
    put(await api.tool(name));
    toolsProblem.value = '';
  } catch (cause) {
    // Read again after the list is; until then a form that is open stays.
    const gone = cause instanceof api.Refused && cause.status === 404;
    put((!gone && details.value.get(name)?.tool) || null);
    toolsProblem.value = cause instanceof api.Unreachable ? '' : trouble(cause);
  } finally {
    reading.delete(name);
  }
}

/** A tool of the list with its parameters. They are read when first needed, and again after the list was. */
export function toolDetails(name: string): api.ToolDetails | undefined {
  const known = knownTools.value;
  const listed = known?.tools.find((tool) => tool.name === name);
  const found = details.value.get(name);
  if (known && listed && found?.after !== known) void readDetails(name, known);
  return (listed && found?.tool) || undefined;
}

/** The tools, for the search over everything. */
export async function allTools(): Promise<api.Tool[]> {
  await asking;
  return knownTools.value?.tools ?? [];
}

/** Keeps them current; mounted once. */
export function useToolsRead(): void {
  const away = deviceAway.value;
  useEffect(() => {
    if (!away) void readTools();
  }, [away]);
  useLive(['tools:changed', 'groups:changed'], () => void readTools());
}

/** The name of a group. */
export const groupName = (groups: policy.Group[], which: string) => groups.find((group) => group.id === which)?.name ?? which;
