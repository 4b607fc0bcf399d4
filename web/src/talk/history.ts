// The stored messages of a conversation that the page has: the newest, and older ones as somebody scrolls up to them.
import type { Message } from '../api';

export interface History {
  conversation: string;
  messages: Message[];
  /** Where older messages begin; null when there are none. */
  next: string | null;
}

type Page = { messages: Message[]; next?: string | null };

/** The history with the newest messages as they are now. Older ones stay where the new page joins them. */
export function renewed(before: History | null, conversation: string, { messages, next = null }: Page): History {
  const first = messages[0]?.id;
  const joint = before?.conversation === conversation && next !== null && first ? before.messages.findIndex(({ id }) => id === first) : -1;
  if (!before || joint < 0) return { conversation, messages, next };
  return { ...before, messages: [...before.messages.slice(0, joint), ...messages] };
}

/** The history with a page of older messages in front. */
export function withOlder(history: History, { messages, next = null }: Page): History {
  return { ...history, messages: [...messages, ...history.messages], next };
}

/** The messages to show: an answer whose question is on an older page waits for that page. */
export function shown({ messages, next }: History): Message[] {
  const question = next === null ? 0 : messages.findIndex(({ role }) => role === 'user');
  return messages.slice(Math.max(0, question));
}
