// Words from anywhere without marks that nobody sees: those that turn the words around them, and those that hide between letters.

const UNSEEN = /[\u200b\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

export const visible = (words: string): string => words.replace(UNSEEN, '');
