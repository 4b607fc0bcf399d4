// The headings of the page about groups of tools; loaded with it.

export const areas = {
  everyday: 'Every day',
  home: 'The house',
  numbers: 'Numbers, dates and words',
  hob: 'How Hob works',
  more: 'More',
};
