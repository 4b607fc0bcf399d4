// The parts of the Memory room: what Hob remembers, and the lists it keeps; the address names one (`#/memory/tasks`).
export const SECTIONS = ['tasks', 'notes', 'calendar', 'contacts', 'money', 'bookmarks', 'goals', 'tables', 'schedules'] as const;
export type Section = (typeof SECTIONS)[number];

/** The part an address names, if it is one of the lists. */
export const sectionIn = (path: string[]): Section | undefined => SECTIONS.find((name) => name === path[0]);
