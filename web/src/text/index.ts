// All texts of the page. To translate it, copy this folder, translate its files, and choose between the folders here. Dates and
// numbers follow the browser's language, and the household's time zone (clock.ts); the daemon's own sentences come from the device.
import { Refused, Unreachable } from '../api';
import { dayAt, timeOf, written } from '../clock';
import { activity, approvals, autonomy, groups, services, toolPolicy } from './decisions';
import { device } from './device';
import { profile } from './profile';

export { isLookup, toolWords } from './tools';

export const text = {
  profile,
  name: 'Hob',
  opening: 'Connecting to Hob…',
  tryAgain: 'Try again',
  away: 'Hob is offline; reconnecting…',
  awayLong: 'Nothing you typed is lost. This page picks up where you left off once Hob is back.',

  rooms: {
    label: 'Rooms',
    talk: 'Talk',
    home: 'Home',
    files: 'Files',
    tools: 'Tools',
    memory: 'Memory',
    device: 'Device',
    working: 'Hob is working',
    title: (room: string) => `${room} · Hob`,
  },

  find: {
    open: 'Find',
    hint: 'Find anything: / or Ctrl+K',
    title: 'Find anything',
    placeholder: 'Find a room, pin, tool, file, memory…',
    results: 'Found',
    rooms: {
      talk: 'the conversation',
      home: 'today, lamps and locks, rules, pins, the network',
      files: 'your files, the household’s, the trash',
      tools: 'what Hob can do',
      memory: 'what Hob remembers',
      device: 'health, people, model',
    },
    pages: {
      models: ['Models', 'keys, providers, budget, spending'], persona: ['Personality', 'system prompt, learned notes, documents'], skills: ['Skills', 'instructions for tasks'], prompt: ['System prompt', 'the whole prompt'],
      runs: ['Runs', 'answers with their steps'], activity: ['Activity', 'every tool call'], programs: ['Programs', 'commands and coding tasks that run'], 'cli-tools': ['Command-line tools', 'install, allow, block'], 'coding-agents': ['Coding agents', 'Claude Code, Codex, Gemini CLI, aider'], credentials: ['Programs with a key', 'gh, aws, kubectl, gcloud, terraform'], services: ['Services', 'addresses and keys of tools'],
    } as Record<string, string[]>,
    groups: { rooms: 'Rooms', things: 'Devices', pins: 'Pins', tools: 'Tools', memories: 'Memories', lists: 'Lists', files: 'Files', conversations: 'Conversations' },
    looking: 'Looking…',
    nothing: (query: string) => `Nothing found for “${query}”.`,
    count: (n: number) => `${n} found`,
    keys: '↑ ↓ to choose · Enter to open · Esc to close',
  },

  home: {
    title: 'Pins',
    header: 'The 40-pin header',
    invite: 'Tap a pin to switch it. From then on Hob drives it.',
    simulated: 'A simulated board: tap a pin, and no real wire moves.',
    driver: (driver: string, why: string) => `Driven by ${driver}. ${why}`,
    pin: (pin: number) => `Pin ${pin}`,
    physical: (n: number) => `place ${n} on the header`,
    on: 'on',
    off: 'off',
    read: 'not driven by Hob',
    held: 'in use by another program',
    changed: (pin: number, high: boolean) => `Pin ${pin} is ${high ? 'on' : 'off'}.`,
    fixed: { '3V3': '3.3 V', '5V': '5 V', GND: 'ground' },
    buses: {
      i2c: { short: 'I²C', long: 'also on the I²C bus' },
      uart: { short: 'UART', long: 'also on the serial port' },
      spi: { short: 'SPI', long: 'also on the SPI bus' },
      id: { short: 'ID', long: 'also identifies add-on boards' },
    },
    legend: { on: 'on', off: 'off', readsOn: 'reads on, not driven', readsOff: 'reads off, not driven' },
  },

  network: {
    title: 'On the network',
    again: 'Scan again',
    looking: 'Scanning the network…',
    alone: 'No other devices found.',
    self: 'this device',
    unclaimed: 'not claimed yet',
    kinds: { hob: 'Hob', 'home-assistant': 'Home Assistant', wyoming: 'voice (Wyoming)', mqtt: 'MQTT', esphome: 'ESPHome', printer: 'printer' } as Record<string, string>,
  },

  claim: {
    title: 'Claim this Hob',
    why: 'This Hob has not been claimed yet. Claim it to become its owner and decide who else can use it.',
    fromLink: (code: string) => `The code ${code} came with the link you opened.`,
    otherCode: 'Use another code',
    typeIt: 'Open the link printed where Hob was started, or type its code here.',
    code: 'Claim code',
    go: 'Claim this Hob',
    going: 'Claiming…',
  },

  signIn: {
    title: 'Sign in',
    why: 'Welcome back. Sign in to continue.',
    claimed: 'This Hob has already been claimed, so its code no longer works. Sign in instead.',
    person: 'Name',
    password: 'Password',
    token: 'Token',
    useToken: 'Use a token instead',
    usePassword: 'Use name and password instead',
    how: 'Create one on the device:',
    command: 'hob token new owner',
    go: 'Sign in',
    going: 'Signing in…',
    wait: (seconds: number) => `Wait ${seconds} s`,
    plain: 'This connection is not encrypted, so Hob takes no passwords or tokens over it. Open its encrypted address:',
    tls: 'Your browser will warn you once, because Hob signs its own certificate.',
  },

  password: {
    show: 'Show',
    hide: 'Hide',
    showIt: 'Show the password',
    hideIt: 'Hide the password',
    start: 'At least 10 characters. Three or four words in a row are easy to remember.',
    more: (n: number) => (n === 1 ? 'One more character.' : `${n} more characters.`),
    weak: 'Long enough, but easy to guess. Mix in words that do not belong together.',
    fair: 'Good. One more word makes it better.',
    good: 'Good.',
    short: (n: number) => `The password has ${n} ${n === 1 ? 'character' : 'characters'}. Use at least 10.`,
    wrong: 'That is not your current password. Try again.',
    wrongPair: 'Wrong name or password. Check both; the password is case-sensitive.',
  },

  menu: {
    open: 'Conversations',
    close: 'Close',
    fresh: 'New conversation',
    earlier: 'Earlier conversations',
    search: 'Search conversations',
    more: 'More',
    drop: 'Delete',
    keep: 'Keep',
    dropOne: (title: string) => `Delete “${title}”`,
    dropAsk: (title: string) => `Delete “${title}”? This cannot be undone.`,
    none: 'No conversations yet. Yours with Hob will appear here.',
    untitled: 'Untitled',
    save: 'Save as a file',
    saveOne: (title: string) => `Save “${title}” as a file`,
    bring: 'Import from a file',
    bringWrong: 'That file is not a saved conversation. Choose one saved from Hob.',
    forked: 'branched',
  },

  talk: {
    room: 'Talk',
    conversation: 'Conversation',
    greeting: (hour: number) =>
      hour < 5 ? 'Still up?' : hour < 12 ? 'Good morning' : hour < 18 ? 'Good afternoon' : 'Good evening',
    invite: 'Ask, tell, or get something done.',
    ideas: ['Add milk and bread to the shopping list', 'Remind me at 7 to call Anna', 'Set a timer for 10 minutes'],
    tryOne: 'Things to try',
    placeholder: 'Ask or tell Hob anything',
    message: 'Message',
    send: 'Send',
    stop: 'Stop',
    you: 'You said',
    hob: 'Hob said',
    more: 'More below',
    older: 'Earlier messages',
    olderAgain: 'Earlier messages did not load. Try again',
    thinking: 'thinking…',
    working: 'working…',
    stopped: 'stopped',
    silent: 'Done.',
    noAnswer: 'No answer was saved.',
    refused: (what: string, late: boolean) => `Not done: ${what}. ${late ? 'Nobody answered in time.' : 'You said no.'}`,
    about: (asked: string) => `About “${asked}”`,
    again: 'Ask again',
    broken: 'The connection to Hob broke here. The rest will appear once Hob is back.',
    lostConversation: 'That conversation no longer exists. Here is a new one.',
    reflex: 'this device alone',
    code: 'Code',
    reflexWhy: 'Answered on the device itself, without a language model',
    attach: 'Add pictures or files',
    attachHelp: 'Add pictures or files, up to 20 MB each. You can also paste or drop them.',
    attached: 'Attachments',
    dropHere: 'Drop here to attach to your next message.',
    picture: 'picture',
    sound: 'sound',
    file: 'file',
    files: (n: number) => (n === 1 ? 'a file' : `${n} files`),
    bytes: (n: number) => (n >= 1e6 ? `${(n / 1e6).toFixed(1)} MB` : `${Math.max(1, Math.round(n / 1e3))} kB`),
    sent: (percent: number) => `${percent} % sent`,
    sending: (name: string) => `Sending ${name}`,
    dropFile: (name: string) => `Remove ${name}`,
    tooLarge: (name: string) => `${name} is larger than 20 MB. Choose a smaller file.`,
    hollow: (name: string) => `${name} is empty.`,
    tooMany: (most: number) => `A message can have up to ${most} files. The others were left out.`,
    queues: 'Sending now puts it in the queue',
    waitsTurn: 'queued',
    takeBack: 'Remove',
    takeBackOne: (asked: string) => `Remove from the queue: ${asked}`,
    compacted: (n: number) => (n > 1 ? `${n} earlier messages were summarized for Hob` : 'Earlier messages were summarized for Hob'),
    forkHere: 'Branch: continue from here in a copy',
    forkOf: (asked: string) => `Branch from “${asked}”`,
    forked: 'This is a new conversation. The original is unchanged.',
  },

  asks: {
    asks: (question: string) => `Hob asks: ${question}`,
    shows: (title: string) => (title ? `Hob shows: ${title}` : 'Hob shows you something'),
    asked: 'Asked',
    noAnswer: 'no answer',
    waits: 'Waiting for your answer',
    badge: (n: number) => (n === 1 ? '1 question for you' : `${n} questions for you`),
    again: 'What was shown',
  },

  copy: { copy: 'Copy', copied: 'Copied', selected: 'Selected; copy it now' },

  form: {
    needed: 'required',
    no: 'No',
    another: 'Add another',
    nth: (label: string, n: number) => `${label} ${n}`,
    removeNth: (label: string, n: number) => `Remove ${label} ${n}`,
  },

  toolsRoom: {
    loading: 'Loading tools…',
    /** Names of families that differ from their categories, which are in small letters here. */
    families: {
      gpio: 'Pins', ai: 'AI services', runtime: 'Commands', meta: 'Database', dataextraction: 'Data extraction', 'data extraction': 'Data extraction', pdf: 'PDF',
    } as Record<string, string>,
    count: (n: number) => (n === 1 ? '1 tool' : `${n} tools`),
    filter: 'Find a tool',
    placeholder: 'Name, or what it does',
    clear: 'Clear',
    noMatch: (query: string) => `No tools match “${query}”.`,
    matches: (n: number) => (n === 1 ? '1 tool matches' : `${n} tools match`),
    own: 'Custom tools',
    ownWhy: 'Written by you or by Hob.',
    ownNone: 'None yet. Write one, or ask Hob to.',
    fresh: 'New tool',
    all: 'All tools',
    also: (names: string[]) => `Also called ${names.join(', ')}`,
    unknown: (name: string) => `There is no tool called “${name}”.`,
    risk: {
      observe: 'reads', write: 'writes', actuate: 'controls devices', send: 'sends data', execute: 'runs code', destroy: 'deletes', admin: 'administers',
    } as Record<string, string>,
    riskLong: {
      observe: 'Reads without changing anything.', write: 'Changes what Hob stores.', actuate: 'Controls something in the real world.',
      send: 'Sends data off this device.', execute: 'Runs code.', destroy: 'Deletes for good.',
      admin: 'Changes this device or who can use it.',
    } as Record<string, string>,
    none: 'No arguments needed.',
    run: 'Run',
    running: 'Running…',
    keys: 'or Ctrl+Enter',
    reset: 'Start over',
    fix: (n: number) => (n === 1 ? 'Fix the field above.' : `Fix ${n} fields above.`),
    ask: {
      destroy: 'Delete this for good?', actuate: 'Do this now?', admin: 'Change the device?', other: 'Run this?',
    } as Record<string, string>,
    askYes: { destroy: 'Yes, delete it', actuate: 'Yes, do it', admin: 'Yes, change it', other: 'Yes, run it' } as Record<string, string>,
    result: 'Result',
    didNotWork: 'That failed',
    done: 'Done.',
    took: (words: string) => `took ${words}`,
    between: (least: string, most: string) => `${least} to ${most}.`,
    atLeast: (least: string) => `At least ${least}.`,
    atMost: (most: string) => `At most ${most}.`,
    json: 'JSON',
    unsaid: '—',
    yes: 'Yes',
    no: 'No',
    addOne: 'Add one',
    wrong: {
      needed: 'This is required.',
      number: 'Enter a number.',
      whole: 'Enter a whole number.',
      least: (n: string) => `Enter ${n} or more.`,
      most: (n: string) => `Enter ${n} or less.`,
      above: (n: string) => `Enter more than ${n}.`,
      below: (n: string) => `Enter less than ${n}.`,
      short: (n: number) => `Enter at least ${n} characters.`,
      long: (n: number, is: number) => `Use ${n} characters at most; this has ${is}.`,
      pattern: (pattern: string) => `This has to match ${pattern}.`,
      few: (n: number) => `Add at least ${n}.`,
      many: (n: number) => `Use ${n} at most.`,
      url: 'Enter an address such as https://example.org/api',
      object: 'Enter a JSON object such as {"name": "value"}.',
      json: (why: string) => `This is not valid JSON${why ? `: ${why}` : '.'}`,
    },
    status: { active: 'active', disabled: 'off', pending_approval: 'needs approval', rejected: 'rejected' } as Record<string, string>,
    by: { user: 'by a person', llm: 'by Hob' } as Record<string, string>,
    version: (n: number) => `version ${n}`,
    used: (n: number) => (n === 0 ? 'never used' : n === 1 ? 'used once' : `used ${n} times`),
    changed: (day: string) => `changed ${day}`,
    may: {
      network: 'reach the internet', filesystem: 'read and write files', database: 'use tables', shell: 'run commands',
      email: 'send email', scheduling: 'create schedules',
    },
    mayLine: (words: string[]) => `can ${words.join(', ')}`,
    mayNothing: 'no permissions',
    waiting: (n: number) => (n === 1 ? 'a tool needs approval' : `${n} tools need approval`),
    decide: 'Hob wrote this tool. Approve it?',
    decideWhy: (words: string[]) => (words.length ? `It wants to ${words.join(', ')}. Review its code before you approve.` : 'Review its code before you approve.'),
    adminDecides: 'An admin needs to approve it.',
    approve: 'Approve',
    reject: 'Reject',
    enable: 'Turn on',
    disable: 'Turn off',
    edit: 'Edit',
    remove: 'Delete',
    removeAsk: (name: string) => `Delete ${name} for good?`,
    removeWhy: 'Its code is lost. To keep it, turn the tool off instead.',
    code: 'Code',
    parameters: 'Parameters',
    parametersNone: 'none',
    schemaObject: 'Enter a JSON object such as {"type": "object", "properties": {}}.',
    seeCode: 'Its code',
    gone: 'This tool no longer exists.',
    editTitle: (name: string) => `Edit ${name}`,
    name: 'Name',
    nameHelp: 'Lowercase letters, digits and underscores, such as boiler_age.',
    nameWrong: 'Start with a lowercase letter, then use lowercase letters, digits and underscores; 64 at most.',
    description: 'What it does',
    descriptionHelp: 'One sentence. Hob uses it to decide when to call the tool.',
    parametersHelp: 'JSON Schema of its arguments.',
    codeHelp: 'JavaScript, the body of an async function: read args, return the result.',
    permissions: 'Permissions',
    tryTitle: 'Try it',
    tryHelp: 'Runs the code once with these arguments. Nothing is saved.',
    test: 'Test',
    testing: 'Testing…',
    tested: 'Test result',
    logs: 'Log',
    create: 'Create',
    save: 'Save',
    saving: 'Saving…',
    cancel: 'Cancel',
  },

  memoryRoom: {
    sectionsLabel: 'Lists',
    memories: 'Memory',
    sections: {
      lists: 'Lists', tasks: 'Tasks', notes: 'Notes', calendar: 'Calendar', contacts: 'Contacts', graph: 'Connections', money: 'Money', bookmarks: 'Bookmarks', goals: 'Goals',
      tables: 'Tables', schedules: 'Schedules', bin: 'Bin',
    },
    sectionWords: {
      lists: 'shopping and other checklists', tasks: 'to-dos', notes: 'things written down', calendar: 'events', contacts: 'people', graph: 'people and things, and what links them', money: 'expenses',
      bookmarks: 'links', goals: 'plans and steps', tables: 'anything else', schedules: 'reminders, schedules, rules, triggers', bin: 'deleted things, trash, restore',
    },
    listsLoading: 'Loading…',
    listsFailed: 'This part of the page could not be loaded. Hob may be offline, or newer than this page.',
    reload: 'Reload the page',
    count: (n: number) => (n === 1 ? '1 memory' : `${n} memories`),
    search: 'Search memory',
    placeholder: 'What do you want to find?',
    clear: 'Clear',
    loading: 'Loading memories…',
    add: 'Remember something',
    nothing: 'No memories yet.',
    theirs: (name: string) => `${name}’s, only they can change it`,
    nothingWhy: 'Tell Hob “remember that…”, or add one here.',
    noMatch: 'No memories match.',
    noneOfKind: 'No memories of this kind.',
    newest: (shown: number, all: number) => `The newest ${shown} of ${all}. Search to find the others.`,
    found: (n: number) => (n === 1 ? '1 found' : `${n} found`),
    wordsOnly: 'Search by meaning is unavailable right now, so only exact words are found.',
    all: 'All',
    kinds: { fact: 'Facts', preference: 'Preferences', event: 'Events', skill: 'Skills' } as Record<string, string>,
    kind: { fact: 'fact', preference: 'preference', event: 'event', skill: 'skill' } as Record<string, string>,
    kindLabel: 'Kind',
    onlyTag: (tag: string) => `Only tagged ${tag}`,
    dropTag: (tag: string) => `Remove the filter ${tag}`,
    shared: 'shared',
    outside: 'from outside',
    outsideWhy: 'Hob wrote this after reading something from outside. It asks before acting on it until somebody confirms it.',
    vouch: 'Confirm',
    vouched: 'Confirmed.',
    earlier: (n: number) => (n === 1 ? 'One earlier version' : `${n} earlier versions`),
    until: (content: string, when: string) => `${content} (until ${when})`,
    dropEarlier: 'Delete earlier versions',
    used: (n: number) => (n === 1 ? 'recalled once' : `recalled ${n} times`),
    important: 'important',
    fit: (score: number) => `${Math.round(score * 100)} % match`,
    edit: 'Edit',
    forget: 'Forget',
    about: (verb: string, content: string) => `${verb}: ${content}`,
    forgetAsk: 'Forget this?',
    forgetYes: 'Yes, forget it',
    forgotten: 'Forgotten.',
    content: 'What to remember',
    importance: 'Importance',
    importanceWord: (n: number) => (n < 0.25 ? 'low' : n < 0.6 ? 'medium' : n < 0.85 ? 'high' : 'very high'),
    tags: 'Tags',
    tagsHelp: 'Separated by commas, such as house, boiler.',
    share: 'Share with the household',
    needed: 'Write what to remember.',
    long: (most: number, is: number) => `A memory can have up to ${most} characters; this has ${is}.`,
    remember: 'Remember',
    save: 'Save',
    saving: 'Saving…',
    cancel: 'Cancel',
    notYours: 'Somebody else in your household owns this memory. Only they can change it.',
    remembered: 'Remembered.',
    changed: 'Saved.',
  },

  changes: {
    label: 'Last change',
    withUndo: (what: string) => `${what} You can undo this.`,
    undo: 'Undo',
    undoing: 'Undoing…',
    undone: 'Undone.',
    close: 'Dismiss',
  },

  bin: {
    label: 'Bin',
    about: 'Deleted things stay here for 30 days.',
    kindLabel: 'Kinds',
    all: 'All',
    kind: (kind: string) => kind.charAt(0).toUpperCase() + kind.slice(1),
    loading: 'Loading…',
    none: 'The bin is empty.',
    deleted: (at: string) => `deleted ${at}`,
    restore: 'Restore',
    restoreOne: (title: string) => `Restore: ${title}`,
    more: 'Show more',
    empty: 'Empty now',
    emptyAsk: 'Delete everything in the bin for good?',
    emptyWhy: 'Nothing of it can be brought back.',
    emptyYes: 'Yes, empty it',
  },

  notices: {
    label: 'Notices',
    dismissOne: (words: string) => `Dismiss: ${words}`,
    dismissAll: (n: number) => `Dismiss all ${n}`,
    dismissAllShort: 'Dismiss all',
    count: (n: number) => `${n} notices`,
    undo: 'Undo',
    undoing: 'Undoing…',
    look: 'See its history',
    changedSince: 'It has changed again since. Its history has every version.',
  },

  tool: {
    found: (n: number) => (n === 0 ? 'nothing found' : `${n} found`),
    failed: 'failed',
    notDone: 'not done',
    given: 'Arguments',
    nothing: 'nothing',
    gave: 'Result',
    wrong: 'Error',
    took: 'Took',
    tool: 'Tool',
    many: (n: number) => `did ${n} things`,
    oneFailed: (n: number) => (n === 1 ? 'one failed' : `${n} failed`),
  },

  device, approvals, toolPolicy, groups, services, autonomy, activity,
};

/** A few facts in a line; a dot never begins one. */
export function facts(...all: (string | false | null | undefined | 0)[]): string {
  return all.filter(Boolean).join('\u00a0· ');
}

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
  const [day, today] = [dayAt(date), dayAt()];
  if (day === today) return timeOf(date);
  return written(date, { day: 'numeric', month: 'short', ...(day.slice(0, 4) !== today.slice(0, 4) && { year: 'numeric' }) });
}

/** "10:42" today, "3 Oct, 10:42" on another day; with `seconds` where it matters what came after what. */
export function moment(at: number, seconds = false): string {
  const time = timeOf(at, seconds);
  return dayAt(at) === dayAt() ? time : `${written(at, { day: 'numeric', month: 'short' })}, ${time}`;
}

const TROUBLE: Record<string, string> = {
  wrong_code: 'That code is wrong. Check it against the one printed where Hob was started, then try again.',
  code_expired: 'That code has expired. Hob has printed a new one where it was started, and keeps it in the file claim-code in its data folder.',
  tls_required: 'This connection is not encrypted, so Hob takes no secrets over it. Do this on the device itself, or turn on TLS.',
  too_many_tries: 'Too many attempts. Wait a moment, then try again.',
  already_claimed: 'This Hob has already been claimed. Sign in instead.',
};

/** A reason from the daemon as a full sentence. */
export function sentence(why: string): string {
  const words = why.trim();
  if (!words) return '';
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${/[.!?)…]$/.test(words) ? '' : '.'}`;
}

/** One sentence saying what went wrong and what to do. */
export function trouble(cause: unknown): string {
  if (cause instanceof Refused) {
    return TROUBLE[cause.code] ?? (sentence(cause.message) || `Hob refused this (${cause.code}). Try again, or check its log.`);
  }
  if (cause instanceof Unreachable) return 'Hob did not answer. Try again when it is back.';
  return 'Something went wrong on this page. Reload it.';
}

export const badToken = 'That token is not valid. Check that you pasted all of it, or create a new one.';
