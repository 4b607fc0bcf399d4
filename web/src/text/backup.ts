// Texts of the backup and of what is on the device, loaded with the Device room.

export const backup = {
  title: 'Backup',
  what: 'One file with everything Hob stores: people, conversations, memories, tools and settings. Keys to other services stay on this device. Keep the file somewhere only you can read it.',
  back: 'To restore one on the device itself, stop Hob and run:',
  command: 'hob restore FILE',
  go: 'Download a backup',
  going: 'Creating the backup…',
  done: (size: string) => `Backup downloaded, ${size}.`,
  restore: 'Restore a backup',
  restoreAsk: (name: string) => `Replace everything with ${name}?`,
  restoreWhat: 'Hob checks the file, then restarts with it. The current data stays on the device, set aside. Everyone has to sign in again, and tokens have to be created again.',
  restoreYes: 'Replace everything',
  restoring: 'Uploading the backup…',
  restored: 'Hob is restarting with the backup. Sign in again in a moment.',
};

export const about = {
  title: 'About',
  version: (v: string) => `Hob ${v}`,
  licence: 'Free software under the MIT licence or the Apache licence 2.0, your choice.',
  on: 'On this device: the program with its tools and its store, an understanding of plain sentences that needs no model, a small model that searches memories by meaning (Apache 2.0), a sandbox for custom tools, and this page. Nothing is loaded from the internet.',
};
