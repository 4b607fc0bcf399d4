// Every word the page shows, in one place, ready to translate.
import { Refused, Unreachable } from './api';

export const text = {
  name: 'Hob',
  opening: 'Looking for Hob…',
  tryAgain: 'Try again',
  away: 'Hob is away; trying again',
  awayLong: 'Nothing you typed is lost. This page carries on by itself when Hob answers.',

  claim: {
    title: 'Claim this Hob',
    why: 'It belongs to nobody yet. Whoever claims it becomes its owner and decides who else may use it.',
    fromLink: 'The code came with the link you opened.',
    typeIt: 'Open the link that was printed where Hob was started, or type its code here.',
    code: 'Claim code',
    go: 'Claim this Hob',
    going: 'Claiming…',
  },

  signIn: {
    title: 'Sign in',
    why: 'This Hob knows its people. Paste a token it gave you.',
    claimed: 'This Hob has been claimed already, so its code opens nothing any more. Sign in with a token instead.',
    token: 'Token',
    how: 'On the device, this makes one:',
    command: 'hob token new owner',
    go: 'Sign in',
    going: 'Signing in…',
  },

  menu: {
    open: 'Conversations',
    close: 'Close',
    fresh: 'New conversation',
    earlier: 'Earlier',
    none: 'Nothing yet. What you say to Hob is kept here.',
    untitled: 'Untitled',
    signOut: 'Sign out',
    version: (v: string) => `Hob ${v}`,
    as: (user: string, role: string) => (user === role ? user : `${user}, ${role}`),
  },

  talk: {
    room: 'Talk',
    conversation: 'Conversation',
    greeting: (hour: number) =>
      hour < 5 ? 'Still up?' : hour < 12 ? 'Good morning' : hour < 18 ? 'Good afternoon' : 'Good evening',
    invite: 'Ask, tell, or have something done.',
    ideas: ['What is 12 * 12?', 'Remember that Marta serviced the boiler on 3 October', 'Turn on pin 17'],
    tryOne: 'Things to try',
    placeholder: 'Ask or tell Hob anything',
    message: 'Message',
    send: 'Send',
    stop: 'Stop',
    you: 'You said',
    hob: 'Hob said',
    more: 'More below',
    thinking: 'thinking…',
    working: 'working…',
    stopped: 'stopped',
    silent: 'Hob did this without a word.',
    noAnswer: 'No answer was kept for this.',
    again: 'Ask again',
    broken: 'The line to Hob broke here. The rest appears when Hob is back.',
    lostConversation: 'That conversation is no longer on this Hob. Here is a new one.',
    reflex: 'reflex',
    code: 'Code',
    reflexWhy: 'Answered on the device itself, without a language model',
  },

  tool: {
    found: (n: number) => (n === 0 ? 'nothing found' : `${n} found`),
    failed: 'did not work',
    given: 'Asked with',
    nothing: 'nothing',
    gave: 'Result',
    wrong: 'What went wrong',
    took: 'Took',
    tool: 'Tool',
    many: (n: number) => `did ${n} things`,
    oneFailed: (n: number) => (n === 1 ? 'one did not work' : `${n} did not work`),
  },
};

/** 4 → "4 ms", 1240 → "1.2 s", 75000 → "1 min 15 s". */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** "10:42" today, "3 Oct" this year, "3 Oct 2024" before. */
export function when(value: string | number | undefined): string {
  if (value === undefined) return '';
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return '';
  const now = new Date();
  if (date.toDateString() === now.toDateString()) {
    return date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  }
  const year = date.getFullYear() === now.getFullYear() ? undefined : 'numeric';
  return date.toLocaleDateString([], { day: 'numeric', month: 'short', year });
}

const TROUBLE: Record<string, string> = {
  wrong_code: 'That code is not the one. Check it against the one printed where Hob was started, then try again.',
  too_many_tries: 'Too many tries. Wait a minute, then try once more.',
  already_claimed: 'Somebody has claimed this Hob already. Sign in with a token instead.',
};

/** One sentence saying what went wrong and what to do. */
export function trouble(cause: unknown): string {
  if (cause instanceof Refused) {
    return TROUBLE[cause.code] ?? (cause.message || `Hob refused this (${cause.code}). Try again, or look at its log.`);
  }
  if (cause instanceof Unreachable) return 'Hob did not answer. Try again when it is back.';
  return 'Something went wrong on this page. Load it again.';
}

export const badToken = 'Hob does not know that token. Check that all of it was pasted, or make a new one.';

/** Plain words for a tool: while it runs, and once it has run. */
export function toolWords(name: string): { doing: string; did: string } {
  const words = TOOLS[name];
  if (words) return { doing: words[0], did: words[1] };
  const human = name.replace(/[_.\-/]+/g, ' ').replace(/([a-z])([A-Z])/g, '$1 $2').trim().toLowerCase();
  return { doing: `using ${human}`, did: `used ${human}` };
}

const memory: [string, string] = ['looking in memory', 'looked in memory'];
const web: [string, string] = ['searching the web', 'searched the web'];
const page: [string, string] = ['reading a page', 'read a page'];
const sums: [string, string] = ['working it out', 'worked it out'];
const clock: [string, string] = ['looking at the clock', 'looked at the clock'];
const python: [string, string] = ['running code', 'ran code'];
const shell: [string, string] = ['running a command', 'ran a command'];
const keep: [string, string] = ['remembering', 'remembered'];
const pinSet: [string, string] = ['setting a pin', 'set a pin'];
const pinGet: [string, string] = ['reading a pin', 'read a pin'];
const tools: [string, string] = ['looking for a tool', 'looked for a tool'];

const TOOLS: Record<string, [string, string]> = {
  recall: memory, memory_recall: memory, memory_search: memory, memory_get: memory, list_memories: memory,
  remember: keep, memory_store: keep, batch_remember: keep,
  forget: ['forgetting', 'forgot'],
  knowledge_graph_search: ['looking through what is known', 'looked through what is known'],
  calculate: sums, calculate_percentage: sums, calculate_statistics: sums, statistics: sums,
  convert_units: ['converting', 'converted'],
  get_current_time: clock, get_current_datetime: clock, datetime: clock,
  gpio_write: pinSet, set_pin: pinSet, pin_set: pinSet, gpio_pulse: ['pulsing a pin', 'pulsed a pin'],
  gpio_read: pinGet, read_pin: pinGet, pin_read: pinGet, gpio_status: ['looking at the pins', 'looked at the pins'],
  web_search: web, search_web: web, web_fetch: page, fetch_web_page: page, fetch_url: page,
  get_weather: ['looking at the weather', 'looked at the weather'],
  get_weather_forecast: ['looking at the forecast', 'looked at the forecast'],
  read_file: ['reading a file', 'read a file'], write_file: ['writing a file', 'wrote a file'],
  edit_file: ['editing a file', 'edited a file'], delete_file: ['deleting a file', 'deleted a file'],
  list_files: ['looking through files', 'looked through files'],
  list_directory: ['looking through files', 'looked through files'],
  search_files: ['searching files', 'searched files'],
  add_task: ['adding a task', 'added a task'], list_tasks: ['looking at the tasks', 'looked at the tasks'],
  complete_task: ['ticking off a task', 'ticked off a task'],
  add_note: ['writing a note', 'wrote a note'], list_notes: ['looking at the notes', 'looked at the notes'],
  add_calendar_event: ['writing in the calendar', 'wrote in the calendar'],
  list_calendar_events: ['looking in the calendar', 'looked in the calendar'],
  list_contacts: ['looking in the contacts', 'looked in the contacts'],
  add_contact: ['adding a contact', 'added a contact'],
  add_expense: ['noting an expense', 'noted an expense'],
  query_expenses: ['looking at the expenses', 'looked at the expenses'],
  execute_python: python, execute_javascript: python, run_sandbox_code: python,
  execute_shell: shell, exec: shell,
  search_tools: tools, list_tools: tools, get_tool_help: ['reading about a tool', 'read about a tool'],
};

/** Whether a count says something about this tool's result ("looked in memory · 2 found"). */
export function isLookup(name: string): boolean {
  return /(^|_)(search|list|recall|query|find|get|glob|memories|notes|tasks)(_|$)/.test(name);
}
