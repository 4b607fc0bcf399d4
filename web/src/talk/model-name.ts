// A model in words: "anthropic/claude-haiku-4-5" is claude-haiku-4-5 of anthropic.
import { talk } from '../text/talk';

export function modelName(model: string): { name: string; from: string } {
  if (!model || model === 'reflex') return { name: talk.model.reflex, from: '' };
  const [from = '', ...rest] = model.split('/');
  if (!rest.length) return { name: model, from: '' };
  return { name: rest.at(-1) ?? model, from: from === 'custom' ? '' : from };
}
