// Tool calls in plain words: while they run, and once they are done.

const memory = ['looking in memory', 'looked in memory'] as const;
const keep = ['remembering', 'remembered'] as const;
const keepChanged = ['changing a memory', 'changed a memory'] as const;
const clock = ['checking the time', 'checked the time'] as const;
const find = ['looking for a tool', 'looked for a tool'] as const;

const TOOLS: Record<string, readonly [string, string]> = {
  recall: memory, list_memories: memory,
  memory_stats: ['counting memories', 'counted memories'],
  remember: keep, batch_remember: keep,
  update_memory: keepChanged, boost_memory: keepChanged,
  forget: ['forgetting', 'forgot'],
  calculate: ['working it out', 'worked it out'],
  convert_units: ['converting', 'converted'],
  get_current_datetime: clock,
  gpio_write: ['setting a pin', 'set a pin'],
  gpio_read: ['reading a pin', 'read a pin'],
  gpio_list: ['checking the pins', 'checked the pins'],
  system_info: ['checking the device', 'checked the device'],
  use_tool: ['using a tool', 'used a tool'],
  batch_use_tool: ['doing several things', 'did several things'],
  complete_task: ['ticking off a task', 'ticked off a task'],
  stop_timer: ['silencing a timer', 'silenced a timer'],
  adjust_timer: ['changing a timer', 'changed a timer'],
  tidy_list: ['tidying a list', 'tidied a list'],
  undo: ['undoing it', 'undid it'],
  search_everything: ['looking everywhere', 'looked everywhere'],
  answer_question: memory,
  search_tools: find, list_custom_tools: find,
  get_tool_help: ['reading about a tool', 'read about a tool'],
  create_tool: ['writing a tool', 'wrote a tool'],
  update_custom_tool: ['changing a tool', 'changed a tool'],
  toggle_custom_tool: ['switching a tool', 'switched a tool'],
  delete_custom_tool: ['deleting a tool', 'deleted a tool'],
  web_search: ['searching the web', 'searched the web'],
  expense_summary: ['adding up the expenses', 'added up the expenses'],
  goal_stats: ['counting the goals', 'counted the goals'],
  notify: ['notifying you', 'notified you'],
  ask_user: ['asking you', 'asked you'],
  render_blocks: ['showing you something', 'showed you something'],
  render_and_wait: ['showing you something', 'showed you something'],
  send_message: ['sending a message', 'sent a message'],
  read_system_prompt: ['reading its instructions', 'read its instructions'],
  edit_system_prompt: ['changing its instructions', 'changed its instructions'],
  read_learned_notes: ['reading its notes', 'read its notes'],
  edit_learned_notes: ['changing its notes', 'changed its notes'],
  read_profile: ['reading your profile', 'read your profile'],
  update_profile: ['changing your profile', 'changed your profile'],
  set_timer: ['setting a timer', 'set a timer'],
  run_prompt: ['asking itself', 'asked itself'],
  control_thing: ['switching something in the home', 'switched something in the home'],
  ha_call_service: ['telling Home Assistant', 'told Home Assistant'],
  mqtt_publish: ['sending a message by MQTT', 'sent a message by MQTT'],
  dry_run_rule: ['testing a rule', 'tested a rule'],
  rule_log: ['looking why a rule ran', 'looked why a rule ran'],
  pin_map: ['checking the pins', 'checked the pins'],
  edit: ['changing a file', 'changed a file'],
  list_files: ['looking at the files', 'looked at the files'],
  search: ['searching the files', 'searched the files'],
  exec: ['running a command', 'ran a command'],
  execute_shell: ['running a command', 'ran a command'],
  execute_python: ['running Python', 'ran Python'],
  execute_javascript: ['running JavaScript', 'ran JavaScript'],
  compile_code: ['compiling', 'compiled'],
  package_manager: ['running the package manager', 'ran the package manager'],
  credentialed_exec: ['running a program with its credential', 'ran a program with its credential'],
  run_cli_tool: ['running a command-line tool', 'ran a command-line tool'],
  list_cli_tools: ['looking at the command-line tools', 'looked at the command-line tools'],
  install_cli_tool: ['installing a command-line tool', 'installed a command-line tool'],
  run_coding_task: ['starting a coding agent', 'started a coding agent'],
  list_coding_agents: ['looking for coding agents', 'looked for coding agents'],
  get_task_result: ['looking at a coding task', 'looked at a coding task'],
  list_task_results: ['looking at the coding tasks', 'looked at the coding tasks'],
  list_processes: ['looking at the programs', 'looked at the programs'],
  read_process: ['reading a program’s output', 'read a program’s output'],
  write_process: ['typing into a program', 'typed into a program'],
  stop_process: ['stopping a program', 'stopped a program'],
  git_status: ['looking at the repository', 'looked at the repository'],
  git_diff: ['looking at the changes', 'looked at the changes'],
  git_log: ['looking at the commits', 'looked at the commits'],
  git_commit: ['committing', 'committed'],
  git_add: ['adding files to the commit', 'added files to the commit'],
  git_branch: ['looking at the branches', 'looked at the branches'],
  git_checkout: ['switching the branch', 'switched the branch'],
};

/** Verbs for record tools, by the first word of the tool's name. */
const VERBS: Record<string, readonly [string, string]> = {
  add: ['adding', 'added'], create: ['making', 'made'], list: ['looking at', 'looked at'], query: ['looking at', 'looked at'], search: ['searching', 'searched'],
  get: ['looking at', 'looked at'], describe: ['looking at', 'looked at'], update: ['changing', 'changed'], delete: ['deleting', 'deleted'],
  complete: ['finishing', 'finished'], decompose: ['planning', 'planned'], export: ['exporting', 'exported'], trigger: ['running', 'ran'], fire: ['firing', 'fired'],
  pause: ['pausing', 'paused'], set: ['setting', 'set'], cancel: ['cancelling', 'cancelled'], resume: ['resuming', 'resumed'], snooze: ['snoozing', 'snoozed'], adjust: ['adjusting', 'adjusted'], stop: ['stopping', 'stopped'],
  clear: ['clearing', 'cleared'], rename: ['renaming', 'renamed'], share: ['sharing', 'shared'], restore: ['bringing back', 'brought back'], boost: ['raising', 'raised'],
  toggle: ['switching', 'switched'], run: ['running', 'ran'], validate: ['checking', 'checked'], configure: ['setting up', 'set up'], name: ['naming', 'named'], dismiss: ['dismissing', 'dismissed'],
};
const NOUNS: Record<string, string> = {
  task: 'a task', tasks: 'tasks', note: 'a note', notes: 'the notes', bookmark: 'a bookmark', bookmarks: 'the bookmarks', contact: 'a contact', contacts: 'the contacts',
  calendar_event: 'an event', calendar_events: 'the calendar', expense: 'an expense', expenses: 'the expenses', goal: 'a goal', goals: 'the goals', step: 'a step',
  goal_details: 'a goal', next_actions: 'the next steps', custom_table: 'a table', custom_tables: 'the tables', custom_record: 'a row', custom_records: 'the rows',
  scheduled_task: 'a schedule', scheduled_tasks: 'the schedules', task_history: 'the history', trigger: 'a trigger', triggers: 'the triggers', trigger_history: 'the history',
  notices: 'the notices', notice: 'a notice', timer: 'a timer', timers: 'the timers', list: 'a list', lists: 'the lists', deleted: 'the bin',
  table: 'a table', thing: 'a device', things: 'the devices', area: 'an area', areas: 'the areas', rule: 'a rule', rules: 'the rules', pin: 'a pin',
};

function ofRecords(name: string): { doing: string; did: string } | undefined {
  const [, batch = '', first = '', rest = ''] = /^(batch_)?([a-z]+)_(.+)$/.exec(name) ?? [];
  const verb = VERBS[first];
  const noun = NOUNS[rest];
  if (!verb || !noun) return undefined;
  const what = batch ? noun.replace(/^the /, '') : noun;
  return { doing: `${verb[0]} ${what}`, did: `${verb[1]} ${what}` };
}

/** Plain words for a tool; an unknown one goes by its name. */
export function toolWords(name: string): { doing: string; did: string } {
  const words = TOOLS[name];
  if (words) return { doing: words[0], did: words[1] };
  const records = ofRecords(name);
  if (records) return records;
  const human = name.replace(/[_.\-/]+/g, ' ').replace(/([a-z])([A-Z])/g, '$1 $2').trim().toLowerCase();
  return { doing: `using ${human}`, did: `used ${human}` };
}

/** Whether a count says something about this tool's result ("looked in memory · 2 found"). */
export function isLookup(name: string): boolean {
  if (/^(batch_)?(add|update|delete|complete|create|clear|rename|tidy|share|set)_/.test(name)) return false;
  return /(^|_)(search|list|recall|query|find|get|glob|memories|notes|tasks|history)(_|$)/.test(name);
}
