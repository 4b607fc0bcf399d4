// The parts of the Memory room; the address names one (`#/memory/tasks`).
export const SECTIONS = ['lists', 'tasks', 'notes', 'calendar', 'contacts', 'graph', 'money', 'bookmarks', 'goals', 'tables', 'schedules', 'bin'] as const;
export type Section = (typeof SECTIONS)[number];

/** The list an address names. */
export const sectionIn = (path: string[]): Section | undefined => SECTIONS.find((name) => name === path[0]);
