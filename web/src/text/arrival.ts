// Texts of the set-up after the claim, and of joining with an invitation.

export const arrival = {
  label: 'Set-up',
  stepOf: (n: number, all: number) => `Step ${n} of ${all}`,
  next: 'Continue',
  saving: 'Saving…',
  pass: 'Skip for now',
  back: 'Back',
  later: 'Finish later',
  loading: 'One moment…',

  you: {
    title: 'Hello! What’s your name?',
    why: 'Hob calls you by it, and you sign in with it.',
    name: 'Your name',
    needName: 'Enter a name, or skip this step.',
    password: 'Password',
    passwordWhy: 'Lets you sign in on your phone, your laptop, anywhere at home.',
    hasPassword: 'You already have a password.',
    lost: 'What if I lose it?',
    way: 'If you ever lose it, this command on the device makes a token that lets you back in:',
    command: 'hob token new owner',
    bareTitle: 'Go on without a password?',
    bare: 'Then this browser is your only way in. If you sign out here, or clear its data, this command on the device makes a token that lets you back in:',
    choose: 'Choose a password',
    without: 'Go on without',
    copy: 'Copy command',
  },

  home: {
    title: 'Your home',
    why: 'Every time and date follows your home’s clock, wherever you look from.',
    name: 'What do you call it?',
    nameHelp: 'As you like: The Old Mill, Flat 12, Workshop. You can leave it empty.',
    zone: 'Time zone',
    now: (time: string) => `It is ${time} there now.`,
    here: 'This browser’s time zone',
    units: 'Units',
    metric: 'Metric',
    metricWhy: '°C, kilometres, kilograms',
    imperial: 'Imperial',
    imperialWhy: '°F, miles, pounds',
  },

  people: {
    title: 'Who lives here?',
    why: 'Each person gets a link, chooses a password, and has their own reminders and memories. Lists such as shopping are for everybody.',
    you: 'you',
    name: 'Name',
    needName: 'Enter a name.',
    add: 'Add',
    adding: 'Adding…',
    may: 'What may they do?',
    roles: {
      member: { label: 'Look and add', why: 'Everything of every day, but no settings. Right for children.', is: 'can look and add' },
      admin: { label: 'Settings too', why: 'Everything you can, with people and settings.', is: 'settings too' },
      viewer: { label: 'Only look', why: 'For guests, or a screen on the wall.', is: 'can only look' },
    } as Record<string, { label: string; why: string; is: string }>,
    done: 'That’s all',
    alone: 'Just me',
  },

  model: {
    title: 'What answers?',
    why: 'Hob’s own understanding handles everyday requests. A language model adds free conversation.',
  },

  tries: {
    title: 'You’re all set',
    titleNamed: (name: string) => `You’re all set, ${name}`,
    why: 'Three things to try. Tap one, and it is ready to send.',
    go: 'Go to Hob',
    leftOver: 'What you skipped is waiting under Device, Set-up.',
  },

  /** Sentences that work with no model at all, each with what happens. */
  plain: [
    { say: 'Set a timer for 3 minutes', why: 'It counts down on every screen, and rings.' },
    { say: 'Add milk to the shopping list', why: 'Everybody at home sees the same list.' },
    { say: 'Remind me tomorrow at 9 to call the dentist', why: 'Hob tells you when it is time.' },
  ],
  /** Sentences that need a language model. */
  withModel: [
    { say: 'Suggest three easy dinners for this week', why: 'Then say which one, and Hob writes the shopping list.' },
    { say: 'Set a timer for 3 minutes', why: 'It counts down on every screen, and rings.' },
    { say: 'What can you help us with at home?', why: 'Hob tells you what it can do here.' },
  ],

  part: {
    title: 'Set-up',
    why: 'Your name, your home, who lives here, and what answers.',
    open: 'Go through it again',
    resume: 'Continue set-up',
    steps: { you: 'You', home: 'Your home', people: 'Who lives here', model: 'What answers' } as Record<string, string>,
    states: { done: 'done', passed: 'skipped', open: 'not done yet' } as Record<string, string>,
  },

  invite: {
    link: (name: string) => `${name}’s link`,
    what: (until: string) => `Works once, until ${until}. Open it on their phone, or send it to them.`,
    copy: 'Copy link',
    send: 'Send…',
    message: (home: string) => `Join ${home} on Hob:`,
    alone: 'Only this device can open the page for now. Set `listen` in hob.toml to allow your network, then the link works.',
    fresh: 'New link',
    make: 'Link to join',
    makeFor: (name: string) => `Link to join for ${name}`,
    waits: (until: string) => `invited, link open until ${until}`,
    joined: 'has joined',
    bare: 'no link yet',
  },

  join: {
    opening: 'Looking at your invitation…',
    title: (home: string) => `Welcome to ${home}`,
    why: (person: string) => `Hello ${person}! Choose a password, and you’re in. You sign in with it and your name, ${person}.`,
    password: 'Your password',
    go: 'Join',
    going: 'One moment…',
    over: 'This link doesn’t work any more',
    overWhy: 'It was used, has expired, or was replaced by a newer one. Ask whoever sent it for a new link.',
    signIn: 'Sign in instead',
    taken: (who: string, person: string) => `${who} is signed in here. Joining signs ${who} out of this browser: if this is not ${person}’s device, open the link there instead.`,
  },
};
