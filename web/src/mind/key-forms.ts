// Whose key it is, by its form. No key is sent anywhere to find out.
import type { Provider } from './api';

/** The services most people have heard of. */
export const BIG = ['anthropic', 'openai', 'google', 'openrouter', 'mistral'];

type Known = Pick<Provider, 'id' | 'keyPrefixes' | 'needsKey'>;

/** Forms that tell more than how a key begins. */
const FORMS: { id: string; form: RegExp }[] = [
  { id: 'openai', form: /^sk-.*T3BlbkFJ/ },
  { id: 'zhipu', form: /^[0-9a-f]{32}\.[A-Za-z0-9]{16}$/ },
];

/** The providers whose keys look like this: one when it is sure, none when nothing is known. */
export function providersOf(key: string, providers: Known[]): string[] {
  const typed = key.trim();
  const form = FORMS.find(({ id, form: shape }) => shape.test(typed) && providers.some((one) => one.id === id));
  if (form) return [form.id];
  let longest = 0;
  let found: string[] = [];
  for (const { id, keyPrefixes } of providers) {
    const length = Math.max(0, ...keyPrefixes.filter((prefix) => typed.startsWith(prefix)).map((prefix) => prefix.length));
    if (length === 0 || length < longest) continue;
    found = length > longest ? [id] : [...found, id];
    longest = length;
  }
  return found;
}

/** The providers to choose from: those it may be first, then those whose keys have no form, then the rest. */
export function choicesFor(key: string, providers: Provider[]): Provider[] {
  const likely = providersOf(key, providers);
  const rank = ({ id, keyPrefixes }: Provider) => (likely.includes(id) ? 0 : keyPrefixes.length === 0 ? 1 : 2);
  const all = providers.filter((one) => one.needsKey && (likely.length === 0 || rank(one) < 2));
  return all.sort((a, b) => rank(a) - rank(b));
}

/** An address as a person types it: without scheme or path it gets http and /v1. */
export function addressOf(typed: string): string | null {
  const words = typed.trim().replace(/\/+$/, '');
  const whole = /^https?:\/\//i.test(words) ? words : `http://${words}`;
  try {
    const url = new URL(whole);
    if (!url.hostname || /\s/.test(words)) return null;
    return url.pathname === '/' ? `${url.origin}/v1` : whole;
  } catch {
    return null;
  }
}

const PORTS: Record<string, string> = { 11434: 'ollama', 1234: 'lmstudio', 8080: 'llamacpp' };

/** The provider for a server at this address: by its usual port, else any server with OpenAI's format. */
export const providerAt = (url: string) => PORTS[new URL(url).port] ?? 'custom';
