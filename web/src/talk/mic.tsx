// The microphone of the composer: records, has the device write down what was said, and puts it into the message. Nothing is
// shown where the device knows no server for that. The recording is deleted afterwards.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Close, MicIcon, Stop } from '../icons';
import { trouble } from '../text';
import { voice as words } from '../text/voice';
import { voiceServers } from './voice-servers';
import { toWav } from './wav';

/** A recording ends by itself after this; the device takes five minutes. */
const LONGEST_MS = 120_000;

interface Recording {
  stop: () => void;
  drop: () => void;
}

/** Records until `stop`; answers nothing when it was dropped. */
async function record(onReady: (recording: Recording) => void): Promise<Blob | undefined> {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true } });
  try {
    const recorder = new MediaRecorder(stream);
    const parts: Blob[] = [];
    let dropped = false;
    recorder.ondataavailable = (event) => parts.push(event.data);
    const ended = new Promise<void>((done) => (recorder.onstop = () => done()));
    const stop = () => recorder.state !== 'inactive' && recorder.stop();
    recorder.start();
    const timer = setTimeout(stop, LONGEST_MS);
    onReady({ stop, drop: () => ((dropped = true), stop()) });
    await ended;
    clearTimeout(timer);
    return dropped ? undefined : new Blob(parts, { type: recorder.mimeType });
  } finally {
    stream.getTracks().forEach((track) => track.stop());
  }
}

function micTrouble(cause: unknown): string {
  if (!(cause instanceof DOMException)) return trouble(cause);
  return cause.name === 'NotAllowedError' ? words.refused : words.missing;
}

async function transcript(recorded: Blob, signal: AbortSignal): Promise<string> {
  const file = await api.upload(await toWav(recorded), () => undefined, signal);
  try {
    const language = navigator.language.split('-')[0];
    const ran = (await api.runTool('speech_to_text', { audio: file.id, ...(language && { language }) })) as api.ToolRun<{ text: string }>;
    return ran.result.text;
  } finally {
    void api.deleteFile(file.id).catch(() => undefined);
  }
}

export function Mic({ onText, onProblem }: { onText: (said: string) => void; onProblem: (why: string) => void }): JSX.Element | null {
  const [state, setState] = useState<'' | 'recording' | 'working'>('');
  const recording = useRef<Recording>(undefined);
  const over = useRef(new AbortController());
  useEffect(() => () => (over.current.abort(), recording.current?.drop()), []);
  if (!voiceServers.value?.speechToText) return null;

  const start = async () => {
    onProblem('');
    if (!navigator.mediaDevices) return onProblem(window.isSecureContext ? words.missing : words.insecure);
    try {
      const recorded = await record((ready) => {
        recording.current = ready;
        setState('recording');
      });
      if (!recorded || over.current.signal.aborted) return;
      setState('working');
      const said = await transcript(recorded, over.current.signal);
      if (said) onText(said);
      else onProblem(words.nothing);
    } catch (cause) {
      if (!over.current.signal.aborted) onProblem(micTrouble(cause));
    } finally {
      recording.current = undefined;
      setState('');
    }
  };

  return (
    <>
      {state !== 'recording' && (
        <button type="button" class="bare mic" aria-label={words.speak} title={words.speak} aria-disabled={state === 'working'} onClick={() => state || void start()}><MicIcon /></button>
      )}
      {state === 'recording' && (
        <>
          <button type="button" class="bare mic recording" aria-label={words.stop} title={words.stop} onClick={() => recording.current?.stop()}><Stop /></button>
          <button type="button" class="bare" aria-label={words.cancel} title={words.cancel} onClick={() => recording.current?.drop()}><Close /></button>
        </>
      )}
      <span class="unseen" role="status">{state === 'recording' ? words.hearing : state === 'working' ? words.transcribing : ''}</span>
    </>
  );
}
