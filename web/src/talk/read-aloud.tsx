// Reads an answer aloud, where the device knows a server that speaks.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { SpeakerIcon, Stop } from '../icons';
import { trouble } from '../text';
import { voice as words } from '../text/voice';
import { voiceServers } from './voice-servers';

/** The device takes no longer text. */
const LONGEST = 4_000;

/** The words of Markdown. */
const plain = (text: string): string => text.replace(/```[\s\S]*?```/g, ' ').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[*_`#>|]+/g, ' ').trim().slice(0, LONGEST);

export function ReadAloud({ answer }: { answer: string }): JSX.Element | null {
  const [state, setState] = useState<'' | 'making' | 'playing'>('');
  const [problem, setProblem] = useState('');
  const sound = useRef<HTMLAudioElement>(undefined);
  useEffect(() => () => sound.current?.pause(), []);
  if (!voiceServers.value?.textToSpeech || !plain(answer)) return null;

  const read = async () => {
    setState('making');
    setProblem('');
    try {
      const made = (await api.runTool('text_to_speech', { text: plain(answer) })) as api.ToolRun<{ file: string }>;
      const player = new Audio(`/api/v1/files/${api.id(made.result.file)}`);
      const end = () => {
        setState('');
        void api.deleteFile(made.result.file).catch(() => undefined);
      };
      player.onended = end;
      player.onpause = end;
      sound.current = player;
      await player.play();
      setState('playing');
    } catch (cause) {
      setState('');
      setProblem(trouble(cause));
    }
  };
  return (
    <>
      <button
        type="button"
        class="bare"
        aria-label={state === 'playing' ? words.stopReading : words.read}
        title={state === 'playing' ? words.stopReading : words.read}
        aria-disabled={state === 'making'}
        onClick={() => (state === 'playing' ? sound.current?.pause() : !state && void read())}
      >
        {state === 'playing' ? <Stop /> : <SpeakerIcon />}
      </button>
      {problem && <span class="problem small" role="alert">{problem}</span>}
    </>
  );
}
