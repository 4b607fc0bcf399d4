// The sound of a ringing timer, and the browser's notification.
import { timers as text } from '../text/timers';
import type { Timer } from './state';

/** Two notes, twice; then a pause. */
const NOTES = [[880, 0], [1175, 0.16], [880, 0.45], [1175, 0.61]] as const;
const NOTE_S = 0.14;
const LOUD = 0.25;
const EVERY_MS = 1600;

let context: AudioContext | undefined;
let beat: ReturnType<typeof setInterval> | undefined;

/** Browsers let a page sound only after somebody touched it. */
const wake = () => void context?.resume().catch(() => undefined);

function play(): void {
  if (!context || context.state !== 'running') return wake();
  for (const [pitch, after] of NOTES) {
    const [tone, volume, at] = [context.createOscillator(), context.createGain(), context.currentTime + after];
    tone.type = 'triangle';
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(0, at);
    volume.gain.linearRampToValueAtTime(LOUD, at + 0.015);
    volume.gain.exponentialRampToValueAtTime(0.001, at + NOTE_S);
    tone.connect(volume).connect(context.destination);
    tone.start(at);
    tone.stop(at + NOTE_S);
  }
}

/** Rings until told otherwise. */
export function sound(on: boolean): void {
  if (!on) {
    clearInterval(beat);
    beat = undefined;
    removeEventListener('pointerdown', wake);
    removeEventListener('keydown', wake);
    return;
  }
  if (beat !== undefined || typeof AudioContext === 'undefined') return;
  context ??= new AudioContext();
  addEventListener('pointerdown', wake);
  addEventListener('keydown', wake);
  play();
  beat = setInterval(play, EVERY_MS);
}

/** Whether the person may be asked for notifications: they never were, and this page could show them. */
export const mayAskToNotify = () => typeof Notification !== 'undefined' && isSecureContext && Notification.permission === 'default';

export async function askToNotify(): Promise<void> {
  await Notification.requestPermission();
}

const shown = new Map<string, Notification>();

export function notify(timer: Timer): void {
  if (typeof Notification === 'undefined' || Notification.permission !== 'granted' || shown.has(timer.id)) return;
  try {
    const note = new Notification(text.done(timer.title), { tag: timer.id, requireInteraction: true });
    note.onclick = () => {
      focus();
      note.close();
    };
    shown.set(timer.id, note);
  } catch {
    // Some phones show notifications of installed pages only.
  }
}

export function takeBack(id: string): void {
  shown.get(id)?.close();
  shown.delete(id);
}
