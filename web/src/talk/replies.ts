// Answers to press under a question of Hob's, and what counts as a typed yes or no.

/** An answer: what the button says, and what is sent. */
export interface Reply {
  label: string;
  send: string;
}

/** More choices than this are no buttons. */
const MOST = 6;
const LONGEST = 60;
const ASKS = /^(shall|should|may|can|could|do you want|would you like|is that|is this|are you sure|ok to|okay to)\b/i;
/** Questions that offer a choice in their words; "can it be A or B?" is no yes or no. */
const OR = /\bor\b/i;

/** The answers to the question at the end of what Hob said; none where it asks nothing that can be pressed. */
export function repliesTo(said: string, yes: string, no: string): Reply[] {
  const words = said.trim();
  const choices = choicesIn(words);
  if (choices.length) return choices;
  const question = lastSentence(words.replace(/\s*Say yes or no\.$/i, ''));
  const saysSo = /\?\s*Say yes or no\.$/i.test(words);
  if (!saysSo && !(question.endsWith('?') && ASKS.test(question) && !OR.test(question))) return [];
  return [{ label: yes, send: 'yes' }, { label: no, send: 'no' }];
}

function lastSentence(words: string): string {
  return words.split(/(?<=[.!?:])\s+|\n+/).filter(Boolean).at(-1)?.replace(/[*_]+/g, '').trim() ?? '';
}

const fits = (choices: string[]) => choices.length > 1 && choices.length <= MOST && choices.every((one) => one && one.length <= LONGEST);

/** "Which one: “milk”, “oat milk” or “soy milk”?", or a question with a list under it. */
function choicesIn(words: string): Reply[] {
  const all = (choices: string[]) => choices.map((one) => ({ label: one, send: one }));
  const question = /[^.!?\n]*(?:“[^”]*”[^.!?\n“]*)+\?$/.exec(words)?.[0] ?? '';
  const quoted = [...question.matchAll(/“([^”]+)”/g)].map(([, one = '']) => one.trim());
  if (OR.test(question.replace(/“[^”]*”/g, '')) && fits(quoted)) return all(quoted);
  const listed = words.split('\n').map((line) => /^\s*(?:[-*•]|\d{1,2}[.)])\s+(.+)$/.exec(line)?.[1]?.replace(/[*_`]+/g, '').trim() ?? '').filter(Boolean);
  const asked = words.split('\n').map((line) => line.trim()).filter((line) => /^(?:.*[.!]\s+)?(which|what)\b[^?]*\?$/i.test(line));
  return asked.length === 1 && fits(listed) ? all(listed) : [];
}

const YES = new Set(['yes', 'y', 'yes please', 'yes do it', 'yeah', 'yep', 'ok', 'okay', 'sure', 'do it', 'go ahead', 'please do', 'allow', 'allow it', 'approve']);
const NO = new Set(['no', 'n', 'no thanks', 'no thank you', 'nope', 'nah', "don't", 'do not', 'never mind', 'better not', 'deny', 'deny it']);

/** Whether a message is only a yes (true) or a no (false). */
export function yesOrNo(message: string): boolean | null {
  const said = message.toLowerCase().replace(/[.,!]+/g, ' ').replace(/’/g, "'").replace(/\s+/g, ' ').trim();
  return YES.has(said) ? true : NO.has(said) ? false : null;
}
