// A scripted voice server: hears a fixed sentence in any sound, speaks a tone, and counts what it was sent.
import { createServer } from 'node:net';

/** A tone of 440 Hz: 16-bit samples of one channel. */
export function tone(rate, seconds) {
  const samples = Buffer.alloc(Math.round(rate * seconds) * 2);
  for (let n = 0; n < samples.length / 2; n++) samples.writeInt16LE(Math.round(Math.sin((n * 440 * 2 * Math.PI) / rate) * 12_000), n * 2);
  return samples;
}

/** A WAV file of that tone, for the browser's false microphone. */
export function wav(rate, seconds) {
  const samples = tone(rate, seconds);
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}

const event = (type, data = {}, payload = Buffer.alloc(0)) => {
  const body = Buffer.from(JSON.stringify(data));
  return Buffer.concat([Buffer.from(`${JSON.stringify({ type, data_length: body.length, payload_length: payload.length })}\n`), body, payload]);
};

const MODEL = { name: 'amy', installed: true, languages: ['en'] };
const PROGRAM = [{ name: 'x', installed: true, models: [MODEL], voices: [MODEL] }];

export async function voiceServer(sentence) {
  const heard = { requests: [], audio: Buffer.alloc(0), format: null };
  const answers = {
    describe: () => [event('info', { asr: PROGRAM, tts: PROGRAM })],
    'audio-stop': () => [event('transcript', { text: sentence })],
    synthesize: () => {
      const form = { rate: 22_050, width: 2, channels: 1 };
      return [event('audio-start', form), event('audio-chunk', form, tone(22_050, 1)), event('audio-stop')];
    },
  };
  const server = createServer((socket) => {
    let held = Buffer.alloc(0);
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      held = Buffer.concat([held, bytes]);
      for (;;) {
        const end = held.indexOf('\n');
        if (end < 0) return;
        const header = JSON.parse(held.subarray(0, end));
        const [data, payload] = [header.data_length ?? 0, header.payload_length ?? 0];
        if (held.length < end + 1 + data + payload) return;
        const told = data ? JSON.parse(held.subarray(end + 1, end + 1 + data)) : header.data ?? {};
        if (header.type === 'audio-start') Object.assign(heard, { audio: Buffer.alloc(0), format: told });
        if (header.type === 'audio-chunk') heard.audio = Buffer.concat([heard.audio, held.subarray(end + 1 + data, end + 1 + data + payload)]);
        held = held.subarray(end + 1 + data + payload);
        if (!header.type.startsWith('audio-c')) heard.requests.push([header.type, told]);
        for (const answer of answers[header.type]?.() ?? []) socket.write(answer);
      }
    });
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  return { address: `127.0.0.1:${server.address().port}`, heard, close: () => server.close() };
}
