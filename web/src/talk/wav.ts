// A recording as the device expects it: a WAV file of 16,000 samples a second, 16 bits, one channel.

const RATE = 16_000;
const HEADER = 44;

function wavOf(samples: Float32Array): Blob {
  const view = new DataView(new ArrayBuffer(HEADER + samples.length * 2));
  const text = (at: number, words: string) => [...words].forEach((letter, n) => view.setUint8(at + n, letter.charCodeAt(0)));
  text(0, 'RIFF');
  view.setUint32(4, HEADER - 8 + samples.length * 2, true);
  text(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, RATE, true);
  view.setUint32(28, RATE * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, 'data');
  view.setUint32(40, samples.length * 2, true);
  samples.forEach((sample, n) => view.setInt16(HEADER + n * 2, Math.max(-1, Math.min(1, sample)) * 0x7fff, true));
  return new Blob([view.buffer], { type: 'audio/wav' });
}

/** Converts what the browser recorded, whatever its form. */
export async function toWav(recorded: Blob): Promise<File> {
  const reader = new OfflineAudioContext(1, 1, RATE);
  const sound = await reader.decodeAudioData(await recorded.arrayBuffer());
  const frames = Math.max(1, Math.ceil(sound.duration * RATE));
  const mixer = new OfflineAudioContext(1, frames, RATE);
  const source = mixer.createBufferSource();
  source.buffer = sound;
  source.connect(mixer.destination);
  source.start();
  const mixed = await mixer.startRendering();
  return new File([wavOf(mixed.getChannelData(0))], 'speech.wav', { type: 'audio/wav' });
}
