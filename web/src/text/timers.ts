// Texts of timers.

export const timers = {
  label: 'Timers',
  count: (n: number) => `${n} timers`,
  done: (title: string) => `${title} is done`,
  late: (at: string) => `It was done at ${at}, while Hob was off.`,
  paused: 'Paused',
  over: 'Over',
  ringing: 'Done',
  left: (title: string) => `${title}, time left`,
  pause: (title: string) => `Pause ${title}`,
  resume: (title: string) => `Resume ${title}`,
  cancel: (title: string) => `Cancel ${title}`,
  snooze: 'Snooze 5 min',
  snoozeOne: (title: string) => `Snooze 5 min: ${title}`,
  stop: 'Stop',
  stopOne: (title: string) => `Stop ${title}`,
  minute: '+1 min',
  minuteOne: (title: string) => `+1 min: ${title}`,
  notify: 'Notify me when it rings',
};
