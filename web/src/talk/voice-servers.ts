// Whether the device knows servers that hear and speak: looked up once for the page, because the device may have to search.
import { signal } from '@preact/signals';
import * as api from '../api';

export const voiceServers = signal<api.VoiceState | undefined>(undefined);

/** After this another look is worth it: somebody may have installed one. */
const AGAIN_MS = 120_000;
let looked = -Infinity;

export function lookForVoice(): void {
  if (performance.now() - looked < AGAIN_MS) return;
  looked = performance.now();
  // Without an answer there is no button.
  api.voice().then((found) => (voiceServers.value = found), () => undefined);
}
