// What Hob did, in plain words: each tool while it runs and once it has run.

const memory = ['looking in memory', 'looked in memory'] as const;
const keep = ['remembering', 'remembered'] as const;
const keepChanged = ['changing a memory', 'changed a memory'] as const;
const clock = ['looking at the clock', 'looked at the clock'] as const;
const find = ['looking for a tool', 'looked for a tool'] as const;

const TOOLS: Record<string, readonly [string, string]> = {
  recall: memory, list_memories: memory,
  memory_stats: ['counting what is remembered', 'counted what is remembered'],
  remember: keep, batch_remember: keep,
  update_memory: keepChanged, boost_memory: keepChanged,
  forget: ['forgetting', 'forgot'],
  calculate: ['working it out', 'worked it out'],
  convert_units: ['converting', 'converted'],
  get_current_datetime: clock,
  gpio_write: ['setting a pin', 'set a pin'],
  gpio_read: ['reading a pin', 'read a pin'],
  gpio_list: ['looking at the pins', 'looked at the pins'],
  system_info: ['looking at the device', 'looked at the device'],
  use_tool: ['using a tool', 'used a tool'],
  search_tools: find, list_custom_tools: find,
  get_tool_help: ['reading about a tool', 'read about a tool'],
  create_tool: ['writing a tool', 'wrote a tool'],
  update_custom_tool: ['changing a tool', 'changed a tool'],
  toggle_custom_tool: ['switching a tool', 'switched a tool'],
  delete_custom_tool: ['deleting a tool', 'deleted a tool'],
  web_search: ['searching the web', 'searched the web'],
};

/** Plain words for a tool; one that is not known here goes by its name. */
export function toolWords(name: string): { doing: string; did: string } {
  const words = TOOLS[name];
  if (words) return { doing: words[0], did: words[1] };
  const human = name.replace(/[_.\-/]+/g, ' ').replace(/([a-z])([A-Z])/g, '$1 $2').trim().toLowerCase();
  return { doing: `using ${human}`, did: `used ${human}` };
}

/** Whether a count says something about this tool's result ("looked in memory · 2 found"). */
export function isLookup(name: string): boolean {
  return /(^|_)(search|list|recall|query|find|get|glob|memories|notes|tasks)(_|$)/.test(name);
}
