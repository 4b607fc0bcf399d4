// Every word the page shows. To translate it: copy this folder, put the other language into its files (`index.ts`; `device.ts`, the
// Device room; `decisions.ts`, what is asked and decided; `tools.ts`, what Hob did; and what comes with its part of the page when that
// is first opened: `records.ts` and `schedules.ts`, the lists of the Memory room; `asks.ts`, questions and blocks; `mind.ts`, models,
// documents and runs), and choose between the folders here. Times and dates follow the
// browser’s language by themselves; the sentences that Hob itself answers with come from the device.
import { Refused, Unreachable } from '../api';
import { activity, approvals, autonomy, groups, services, standing } from './decisions';
import { device } from './device';

export { isLookup, toolWords } from './tools';

export const text = {
  name: 'Hob',
  opening: 'Looking for Hob…',
  tryAgain: 'Try again',
  away: 'Hob is away; trying again',
  awayLong: 'Nothing you typed is lost. This page carries on by itself when Hob answers.',

  rooms: {
    label: 'Rooms',
    talk: 'Talk',
    home: 'Home',
    tools: 'Tools',
    memory: 'Memory',
    device: 'Device',
    working: 'Hob is at work',
    title: (room: string) => `${room} · Hob`,
  },

  find: {
    open: 'Find',
    hint: 'Find anything: / or Ctrl+K',
    title: 'Find anything',
    placeholder: 'Find a room, pin, tool, memory…',
    results: 'Found',
    rooms: {
      talk: 'the conversation',
      home: 'pins, the network',
      tools: 'what Hob can do',
      memory: 'what Hob remembers',
      device: 'health, people, model',
    },
    pages: {
      models: ['Models', 'keys, providers, budget, spending'], persona: ['Who Hob is', 'system prompt, learned notes, documents'], prompt: ['What the model is told', 'the whole prompt'],
      runs: ['Runs', 'answers with their steps'], activity: ['Activity', 'every call of a tool'], services: ['Services', 'addresses and keys of tools'],
    } as Record<string, string[]>,
    groups: { rooms: 'Rooms', pins: 'Pins', tools: 'Tools', memories: 'Memories', lists: 'Lists', conversations: 'Conversations' },
    looking: 'Looking…',
    nothing: (query: string) => `Nothing found for “${query}”.`,
    count: (n: number) => `${n} found`,
    keys: '↑ ↓ to choose · Enter to go there · Esc to close',
  },

  home: {
    title: 'Pins',
    header: 'The 40-pin header',
    invite: 'Tap a pin to switch it. From then on Hob drives it.',
    simulated: 'A simulated board: tap a pin; no real wire moves.',
    driver: (driver: string, why: string) => `Driven by ${driver}. ${why}`,
    pin: (pin: number) => `GPIO ${pin}`,
    physical: (n: number) => `physical pin ${n}`,
    on: 'on',
    off: 'off',
    read: 'not driven by Hob',
    held: 'held by another program',
    changed: (pin: number, high: boolean) => `GPIO ${pin} is ${high ? 'on' : 'off'}.`,
    fixed: { '3V3': '3.3 V', '5V': '5 V', GND: 'ground' },
    buses: {
      i2c: { short: 'I²C', long: 'also of the I²C bus' },
      uart: { short: 'UART', long: 'also of the serial port' },
      spi: { short: 'SPI', long: 'also of the SPI bus' },
      id: { short: 'ID', long: 'also tells add-on boards apart' },
    },
    legend: { on: 'on', off: 'off', readsOn: 'reads on, not driven', readsOff: 'reads off, not driven' },
  },

  network: {
    title: 'On the network',
    again: 'Look again',
    looking: 'Looking around…',
    alone: 'Nothing else has made itself known here.',
    self: 'this one',
    unclaimed: 'belongs to nobody yet',
    kinds: { hob: 'Hob', 'home-assistant': 'Home Assistant', wyoming: 'voice (Wyoming)' } as Record<string, string>,
  },

  claim: {
    title: 'Claim this Hob',
    why: 'It belongs to nobody yet. Whoever claims it becomes its owner and decides who else may use it.',
    fromLink: (code: string) => `The code ${code} came with the link you opened.`,
    otherCode: 'Use another code',
    typeIt: 'Open the link that was printed where Hob was started, or type its code here.',
    code: 'Claim code',
    person: 'What are you called?',
    personHelp: (usual: string) => `You sign in with this name. Left empty, it is “${usual}”.`,
    usual: 'owner',
    password: 'A password',
    noPassword: 'Without one, you sign in with tokens made on the device.',
    go: 'Claim this Hob',
    going: 'Claiming…',
  },

  signIn: {
    title: 'Sign in',
    why: 'This Hob knows its people. Tell it who you are.',
    claimed: 'This Hob has been claimed already, so its code opens nothing any more. Sign in instead.',
    person: 'Name',
    password: 'Password',
    token: 'Token',
    useToken: 'Use a token instead',
    usePassword: 'Use name and password instead',
    how: 'On the device, this makes one:',
    command: 'hob token new owner',
    go: 'Sign in',
    going: 'Signing in…',
    wait: (seconds: number) => `Wait ${seconds} s`,
    plain: 'Others could read along here, so no secret is told on this way. Open Hob at its encrypted address:',
    tls: 'The browser will warn you once, because Hob made its certificate itself.',
  },

  password: {
    show: 'Show',
    hide: 'Hide',
    showIt: 'Show the password',
    hideIt: 'Hide the password',
    start: 'At least 10 characters. Three or four words in a row are easy to keep in mind.',
    more: (n: number) => (n === 1 ? 'One more character.' : `${n} more characters.`),
    weak: 'Long enough, but easy to guess. Mix in words that do not belong together.',
    fair: 'Good. One more word makes it better.',
    good: 'Good.',
    short: (n: number) => `The password has ${n} ${n === 1 ? 'character' : 'characters'}. Use at least 10.`,
    wrong: 'That is not the password so far. Type it once more.',
    wrongPair: 'Name and password do not fit together. Check both; capitals matter in the password.',
  },

  menu: {
    open: 'Conversations',
    close: 'Close',
    fresh: 'New conversation',
    earlier: 'Earlier conversations',
    search: 'Search what was said',
    more: 'More',
    drop: 'Delete',
    keep: 'Keep',
    dropOne: (title: string) => `Delete “${title}”`,
    dropAsk: (title: string) => `Delete “${title}”? What was said in it cannot be brought back.`,
    none: 'Nothing yet. What you say to Hob is kept here.',
    untitled: 'Untitled',
    save: 'Save as a file',
    saveOne: (title: string) => `Save “${title}” as a file`,
    bring: 'Bring one from a file',
    bringWrong: 'That file is no conversation of Hob’s. Choose one that was saved here.',
    forked: 'made from another',
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
    attach: 'Add pictures or files',
    attachHelp: 'Add pictures or files, up to 20 MB each. Pasting and dropping them works too.',
    attached: 'What goes with the message',
    dropHere: 'Drop them here: they go with your next message.',
    picture: 'picture',
    sound: 'sound',
    file: 'file',
    files: (n: number) => (n === 1 ? 'a file' : `${n} files`),
    bytes: (n: number) => (n >= 1e6 ? `${(n / 1e6).toFixed(1)} MB` : `${Math.max(1, Math.round(n / 1e3))} kB`),
    sent: (percent: number) => `${percent} % sent`,
    sending: (name: string) => `Sending ${name}`,
    dropFile: (name: string) => `Leave out ${name}`,
    tooLarge: (name: string) => `${name} is larger than 20 MB. Send a smaller one.`,
    hollow: (name: string) => `${name} is empty.`,
    tooMany: (most: number) => `One message carries ${most} files at most. The others were left out.`,
    queues: 'Sent now, it waits for its turn',
    waitsTurn: 'waits for its turn',
    takeBack: 'Take back',
    takeBackOne: (asked: string) => `Take back: ${asked}`,
    compacted: (n: number) => (n > 1 ? `${n} earlier messages were summed up for Hob` : 'What was said earlier was summed up for Hob'),
    forkHere: 'Branch off here: go on in a copy',
    forkOf: (asked: string) => `Branch off at “${asked}”`,
    forked: 'This is a new conversation; the other one stays as it was.',
  },

  asks: {
    asks: (question: string) => `Hob asks: ${question}`,
    shows: (title: string) => (title ? `Hob shows: ${title}` : 'Hob shows you something'),
    asked: 'Asked',
    noAnswer: 'no answer',
    waits: 'Hob waits for your answer',
    badge: (n: number) => (n === 1 ? 'a question waits' : `${n} questions wait`),
    again: 'What was shown',
  },

  copy: { copy: 'Copy', copied: 'Copied', selected: 'Selected; copy it now' },

  form: {
    needed: 'needed',
    no: 'No',
    another: 'Add another',
    nth: (label: string, n: number) => `${label} ${n}`,
    removeNth: (label: string, n: number) => `Remove ${label} ${n}`,
  },

  toolsRoom: {
    loading: 'Looking at what Hob can do…',
    count: (n: number) => (n === 1 ? '1 tool' : `${n} tools`),
    filter: 'Find a tool',
    placeholder: 'Name, or what it does',
    clear: 'Clear',
    noMatch: (query: string) => `No tool fits “${query}”.`,
    matches: (n: number) => (n === 1 ? '1 tool fits' : `${n} tools fit`),
    own: 'Made here',
    ownWhy: 'Written by you or by Hob.',
    ownNone: 'None yet. Write one, or ask Hob to.',
    fresh: 'New tool',
    all: 'All tools',
    also: (names: string[]) => `Also called ${names.join(', ')}`,
    unknown: (name: string) => `There is no tool called “${name}” here.`,
    risk: {
      observe: 'looks', write: 'writes', actuate: 'moves things', send: 'sends data', execute: 'runs code', destroy: 'deletes', admin: 'administers',
    } as Record<string, string>,
    riskLong: {
      observe: 'Looks, and changes nothing.', write: 'Changes what Hob keeps.', actuate: 'Moves something in the world.',
      send: 'Lets data leave the device.', execute: 'Runs code.', destroy: 'Deletes what cannot be made again.',
      admin: 'Changes the device or who may use it.',
    } as Record<string, string>,
    none: 'It needs nothing.',
    run: 'Run',
    running: 'Running…',
    keys: 'or Ctrl+Enter',
    reset: 'Start over',
    fix: (n: number) => (n === 1 ? 'One thing above is not right yet.' : `${n} things above are not right yet.`),
    ask: {
      destroy: 'Delete this for good?', actuate: 'Do this now?', admin: 'Change the device?', other: 'Run this?',
    } as Record<string, string>,
    askYes: { destroy: 'Yes, delete it', actuate: 'Yes, do it', admin: 'Yes, change it', other: 'Yes, run it' } as Record<string, string>,
    result: 'Result',
    didNotWork: 'That did not work',
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
      needed: 'This is needed.',
      number: 'This is not a number.',
      whole: 'This has to be a whole number.',
      least: (n: string) => `This has to be at least ${n}.`,
      most: (n: string) => `This can be ${n} at most.`,
      above: (n: string) => `This has to be more than ${n}.`,
      below: (n: string) => `This has to be less than ${n}.`,
      short: (n: number) => `This needs at least ${n} characters.`,
      long: (n: number, is: number) => `This can have ${n} characters at most; it has ${is}.`,
      pattern: (pattern: string) => `This does not have the form ${pattern}.`,
      few: (n: number) => `This needs at least ${n}.`,
      many: (n: number) => `This can hold ${n} at most.`,
      url: 'Write it as https://example.org/api',
      object: 'This is JSON, but not an object: {"name": "value"}.',
      json: (why: string) => `This is not JSON yet${why ? `: ${why}` : '.'}`,
    },
    status: { active: 'active', disabled: 'off', pending_approval: 'waits for a decision', rejected: 'rejected' } as Record<string, string>,
    by: { user: 'made by a person', llm: 'made by Hob' } as Record<string, string>,
    version: (n: number) => `version ${n}`,
    used: (n: number) => (n === 0 ? 'never used' : n === 1 ? 'used once' : `used ${n} times`),
    changed: (day: string) => `changed ${day}`,
    may: {
      network: 'reach the internet', filesystem: 'read and write files', database: 'use tables', shell: 'run commands',
      email: 'send mail', scheduling: 'make schedules',
    },
    mayLine: (words: string[]) => `may ${words.join(', ')}`,
    mayNothing: 'reaches nothing but its own code',
    waiting: (n: number) => (n === 1 ? 'a tool waits for a decision' : `${n} tools wait for a decision`),
    decide: 'Hob wrote this tool. May it be used?',
    decideWhy: (words: string[]) => (words.length ? `It wants to ${words.join(', ')}. Read its code before you say yes.` : 'Read its code before you say yes.'),
    adminDecides: 'An admin has to decide about it.',
    approve: 'Approve',
    reject: 'Reject',
    enable: 'Turn on',
    disable: 'Turn off',
    edit: 'Edit',
    remove: 'Delete',
    removeAsk: (name: string) => `Delete ${name} for good?`,
    removeWhy: 'Its code is gone then. Turning it off keeps it.',
    code: 'Code',
    parameters: 'Parameters',
    parametersNone: 'none',
    schemaObject: 'This has to be a JSON object, such as {"type": "object", "properties": {}}.',
    seeCode: 'Its code',
    gone: 'There is no such tool any more.',
    editTitle: (name: string) => `Edit ${name}`,
    name: 'Name',
    nameHelp: 'Lower-case letters, digits and underscores, such as boiler_age.',
    nameWrong: 'Begin with a lower-case letter, then lower-case letters, digits and underscores, 64 at most.',
    description: 'What it does',
    descriptionHelp: 'One sentence. Hob decides by it when to use the tool.',
    parametersHelp: 'JSON Schema of what it is given.',
    codeHelp: 'JavaScript, the body of an async function: read args, return the result.',
    permissions: 'It may',
    tryTitle: 'Try it',
    tryHelp: 'Runs the code once with what you give it here. Nothing is kept.',
    test: 'Test',
    testing: 'Testing…',
    tested: 'It gave this',
    logs: 'It logged',
    create: 'Create',
    save: 'Save',
    saving: 'Saving…',
    cancel: 'Cancel',
  },

  memoryRoom: {
    sectionsLabel: 'What is kept',
    memories: 'Memory',
    sections: {
      tasks: 'Tasks', notes: 'Notes', calendar: 'Calendar', contacts: 'Contacts', money: 'Money', bookmarks: 'Bookmarks', goals: 'Goals',
      tables: 'Tables', schedules: 'Schedules',
    },
    sectionWords: {
      tasks: 'what is to be done', notes: 'what was written down', calendar: 'what is on', contacts: 'who is who', money: 'what was spent',
      bookmarks: 'links', goals: 'what is to be reached', tables: 'anything else', schedules: 'reminders, schedules, triggers',
    },
    listsLoading: 'Looking…',
    listsFailed: 'This part of the page did not arrive. Hob may be away, or newer than the page.',
    reload: 'Load the page again',
    count: (n: number) => (n === 1 ? '1 memory' : `${n} memories`),
    search: 'Search memory',
    placeholder: 'What do you want to find?',
    clear: 'Clear',
    loading: 'Looking in memory…',
    add: 'Remember something',
    nothing: 'Nothing is remembered yet.',
    nothingWhy: 'Tell Hob “remember that…”, or write it down here.',
    noMatch: 'Nothing in memory is about that.',
    noneOfKind: 'Nothing of this sort is remembered.',
    newest: (shown: number, all: number) => `The newest ${shown} of ${all}. Search finds the others.`,
    found: (n: number) => (n === 1 ? '1 found' : `${n} found`),
    wordsOnly: 'The model for meanings cannot be used right now, so only the same words are found.',
    all: 'All',
    kinds: { fact: 'Facts', preference: 'Preferences', event: 'Events', skill: 'Skills' } as Record<string, string>,
    kind: { fact: 'fact', preference: 'preference', event: 'event', skill: 'skill' } as Record<string, string>,
    kindLabel: 'Sort',
    onlyTag: (tag: string) => `Only what is tagged ${tag}`,
    dropTag: (tag: string) => `No longer only ${tag}`,
    shared: 'the household sees it',
    outside: 'from outside',
    outsideWhy: 'A run that had read something from outside wrote this. Hob asks before it acts on it, until somebody says that it can be relied on.',
    vouch: 'It is right',
    vouched: 'Hob relies on it from now on.',
    used: (n: number) => (n === 1 ? 'recalled once' : `recalled ${n} times`),
    important: 'matters a lot',
    fit: (score: number) => `Fits ${Math.round(score * 100)} of 100`,
    edit: 'Edit',
    forget: 'Forget',
    about: (verb: string, content: string) => `${verb}: ${content}`,
    forgetAsk: 'Forget this for good?',
    forgetYes: 'Yes, forget it',
    forgotten: 'Forgotten.',
    content: 'What is to be remembered',
    importance: 'How much it matters',
    importanceWord: (n: number) => (n < 0.25 ? 'little' : n < 0.6 ? 'somewhat' : n < 0.85 ? 'a lot' : 'very much'),
    tags: 'Tags',
    tagsHelp: 'Separated by commas, such as house, boiler.',
    share: 'Everybody in the household may recall it',
    needed: 'Write down what is to be remembered.',
    long: (most: number, is: number) => `A memory holds ${most} characters at most; this has ${is}.`,
    remember: 'Remember',
    save: 'Save',
    saving: 'Saving…',
    cancel: 'Cancel',
    notYours: 'This one belongs to somebody else in the household. Only they can change it.',
    remembered: 'Remembered.',
    changed: 'Changed.',
  },

  notices: {
    label: 'Notices',
    dismissOne: (words: string) => `Dismiss: ${words}`,
    dismissAll: (n: number) => `Dismiss all ${n}`,
    more: (n: number) => (n === 1 ? 'and one more' : `and ${n} more`),
    undo: 'Undo',
    undoing: 'Undoing…',
    look: 'See its history',
    changedSince: 'It was changed again meanwhile. Its history has every version.',
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

  device, approvals, standing, groups, services, autonomy, activity,
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
  const now = new Date();
  if (date.toDateString() === now.toDateString()) {
    return date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  }
  const year = date.getFullYear() === now.getFullYear() ? undefined : 'numeric';
  return date.toLocaleDateString([], { day: 'numeric', month: 'short', year });
}

/** "10:42" today, "3 Oct, 10:42" on another day; with `seconds` where it matters what came after what. */
export function moment(at: number, seconds = false): string {
  const date = new Date(at);
  const time = date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', ...(seconds && { second: '2-digit' }) });
  if (date.toDateString() === new Date().toDateString()) return time;
  return `${date.toLocaleDateString([], { day: 'numeric', month: 'short' })}, ${time}`;
}

const TROUBLE: Record<string, string> = {
  wrong_code: 'That code is not the one. Check it against the one printed where Hob was started, then try again.',
  code_expired: 'That code has run out; each is good for a while only. Hob has printed a fresh one where it was started, and keeps it in the file claim-code of its data folder.',
  tls_required: 'Others could read along here, so no secret is told on this way. Do this on the device itself, or turn on TLS.',
  too_many_tries: 'Too many tries. Wait a little, then try once more.',
  already_claimed: 'Somebody has claimed this Hob already. Sign in instead.',
};

/** A reason of the device as a sentence of its own. */
export function sentence(why: string): string {
  const words = why.trim();
  if (!words) return '';
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${/[.!?)…]$/.test(words) ? '' : '.'}`;
}

/** One sentence saying what went wrong and what to do. */
export function trouble(cause: unknown): string {
  if (cause instanceof Refused) {
    return TROUBLE[cause.code] ?? (sentence(cause.message) || `Hob refused this (${cause.code}). Try again, or look at its log.`);
  }
  if (cause instanceof Unreachable) return 'Hob did not answer. Try again when it is back.';
  return 'Something went wrong on this page. Load it again.';
}

export const badToken = 'Hob does not know that token. Check that all of it was pasted, or make a new one.';
