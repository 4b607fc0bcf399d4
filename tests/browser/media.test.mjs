// Sound and video on the page: a provider of the media chain hears and speaks without any voice server, what tools made plays in Talk,
// parts of cut files play, and files play in the Files room.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { calls, modelServer, says } from './model.mjs';
import { accessible, answer, api, ask, becomes, counted, desktop, enter, exchanges, hob, launch, message, shows } from './page.mjs';
import { wav } from './wyoming.mjs';

const folder = mkdtempSync(join(tmpdir(), 'hob-media-'));
const heard = [];
let browser, context, page, problems, provider, model, place, token;

before(async () => {
  writeFileSync(join(folder, 'speech.wav'), wav(48_000, 3));
  // OpenAI's formats: transcriptions and speech.
  provider = createServer((request, response) => {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      heard.push({ path: request.url, body: Buffer.concat(parts) });
      const isSpeech = request.url.endsWith('/audio/speech');
      response.writeHead(200, { 'content-type': isSpeech ? 'audio/wav' : 'application/json' });
      response.end(isSpeech ? wav(22_050, 1) : JSON.stringify({ text: 'what is 6 times 7' }));
    });
  });
  await new Promise((listening) => provider.listen(0, '127.0.0.1', listening));
  browser = await launch([
    '--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream', `--use-file-for-fake-audio-capture=${join(folder, 'speech.wav')}`,
    '--autoplay-policy=no-user-gesture-required',
  ]);
  ({ context, page, problems } = await enter(browser, { size: desktop }));
  place = (await api(context, 'GET', '/api/v1/workspace/places')).places[0].id;
  token = (await (await context.request.get(`${hob}/api/v1/session`)).json()).data.csrfToken;
  model = await modelServer();
});
after(async () => {
  await browser?.close();
  provider?.closeAllConnections();
  provider?.close();
  model?.close();
  rmSync(folder, { recursive: true, force: true });
  assert.deepEqual(problems, []);
});

const microphone = () => page.getByRole('button', { name: 'Speak', exact: true });
const put = async (path, data) => {
  const headers = { 'x-csrf-token': token, 'content-type': 'application/octet-stream', 'if-none-match': '*' };
  const sent = await context.request.put(`${hob}/api/v1/workspace/file?place=${place}&path=${encodeURIComponent(path)}`, { data, headers });
  assert.ok(sent.ok(), `${path}: ${sent.status()}`);
};
const open = (path) => page.goto(`${hob}/#/files/${['open', place, ...path.split('/')].map(encodeURIComponent).join('/')}`);
/** Plays to the end or for a while; returns how long it is. */
const played = async (player) => {
  await player.waitFor();
  const length = await player.evaluate(async (element) => {
    element.muted = true;
    await element.play();
    return element.duration;
  });
  await becomes(() => player.evaluate((element) => element.currentTime > 0.1 || element.ended), true, 'it plays');
  return length;
};
const newest = () => exchanges(page).last();

test('a provider of the chain writes down what is said into the microphone', async () => {
  await page.goto(hob);
  await message(page).waitFor();
  assert.equal((await api(context, 'GET', '/api/v1/voice')).speechToText, false);
  assert.equal(await microphone().count(), 0);
  const fields = { api_key: 'sk-of-a-test', base_url: `http://127.0.0.1:${provider.address().port}/v1` };
  await api(context, 'POST', '/api/v1/config-services/openai/entries', { label: 'here', fields });
  await page.reload();
  await microphone().click();
  await page.getByRole('status').filter({ hasText: 'Listening…' }).waitFor({ state: 'attached' });
  await page.waitForTimeout(1200);
  await page.getByRole('button', { name: 'Stop recording' }).click();
  await becomes(() => message(page).inputValue(), 'what is 6 times 7', 'the sentence is in the message');
  const [asked] = heard.filter(({ path }) => path === '/v1/audio/transcriptions');
  assert.ok(asked.body.includes('RIFF') && asked.body.length > 20_000, `${asked.body.length} bytes of sound`);
  await page.getByRole('button', { name: 'Send' }).click();
  await shows(() => answer(newest()).innerText(), /42/);
});

test('a provider of the chain reads an answer aloud', async () => {
  await page.getByRole('button', { name: 'Read aloud' }).last().click();
  await page.getByRole('button', { name: 'Stop reading' }).waitFor();
  assert.match(JSON.parse(heard.findLast(({ path }) => path === '/v1/audio/speech').body).input, /42/);
  await counted(page.getByRole('button', { name: 'Stop reading' }), 0);
});

test('speech that a tool made plays in Talk', async () => {
  await api(context, 'PUT', '/api/v1/model', { model: 'custom/scripted', url: model.url });
  model.script = [calls(['text_to_speech', { text: 'The ferry leaves at noon.' }]), says('Here it is.')];
  await ask(page, 'say that the ferry leaves at noon');
  const player = newest().locator('.cards audio');
  assert.ok(Math.abs((await played(player)) - 1) < 0.05);
  await accessible(page, 'talk with a sound');
});

/** A checksum with the highest bit first. */
const checksum = (bytes, polynomial, bits) => bytes.reduce((all, byte) => {
  let crc = all;
  for (let bit = 7; bit >= 0; bit--) {
    const top = Math.floor(crc / 2 ** (bits - 1)) % 2;
    crc = ((crc * 2) % 2 ** bits ^ (top ^ (byte >> bit & 1) ? polynomial : 0)) >>> 0;
  }
  return crc;
}, 0);

/** FLAC at 8,000 Hz, with frames of 4,096 samples as they are: a tone that rises from frame to frame. */
function flac(frames) {
  const info = Buffer.alloc(34);
  info.writeUInt16BE(4096, 0);
  info.writeUInt16BE(4096, 2);
  info.writeBigUInt64BE(8000n << 44n | 7n << 36n | BigInt(frames * 4096), 10);
  const all = [Buffer.from('fLaC\x80\0\0\x22', 'latin1'), info];
  for (let frame = 0; frame < frames; frame++) {
    const head = [0xff, 0xf8, 0xc4, 0x02, frame];
    const samples = Array.from({ length: 4096 }, (_, n) => Math.round(Math.sin(n * (frame + 1) * 0.05) * 90) & 0xff);
    const whole = [...head, checksum(head, 0x07, 8), 0x02, ...samples];
    const sum = checksum(whole, 0x8005, 16);
    all.push(Buffer.from([...whole, sum >> 8, sum & 0xff]));
  }
  return Buffer.concat(all);
}

/** What the browser decodes of a file: seconds, and the samples of its first channel as bytes. */
const decoded = (url) => page.evaluate(async (at) => {
  const bytes = await (await fetch(at)).arrayBuffer();
  const sound = await new OfflineAudioContext(1, 1, 8000).decodeAudioData(bytes);
  return { seconds: sound.duration, samples: Array.from(sound.getChannelData(0).slice(0, 400), (one) => Math.round(one * 128)) };
}, url);

test('parts of a FLAC file play in Talk, and have the sound of the whole', async () => {
  await put('tones.flac', flac(10));
  model.script = [calls(['split_audio', { path: 'tones.flac', splitPoints: [2] }]), says('It is in two.')];
  await ask(page, 'cut the tones at two seconds');
  const players = newest().locator('.cards audio');
  await counted(players, 2);
  assert.ok(Math.abs((await played(players.nth(1))) - 3.072) < 0.01);
  const part = await decoded(await players.nth(1).getAttribute('src'));
  assert.ok(Math.abs(part.seconds - 3.072) < 0.001, `${part.seconds} s`);
  // It begins with the fifth frame.
  const expected = Array.from({ length: 400 }, (_, n) => Math.round(Math.sin(n * 5 * 0.05) * 90));
  assert.ok(part.samples.every((one, n) => Math.abs(one - expected[n]) <= 1), 'the samples of the fifth frame');
});

/** An OGG page with these packets. */
function ogg(number, marks, position, packets) {
  const sizes = packets.flatMap((packet) => [...Array(Math.floor(packet.length / 255)).fill(255), packet.length % 255]);
  const head = Buffer.alloc(27);
  head.write('OggS');
  head[5] = marks;
  head.writeBigUInt64LE(BigInt(position), 6);
  head.writeUInt32LE(7, 14);
  head.writeUInt32LE(number, 18);
  head[26] = sizes.length;
  const page = Buffer.concat([head, Buffer.from(sizes), ...packets]);
  page.writeUInt32LE(checksum([...page], 0x04c11db7, 32), 22);
  return page;
}

test('parts of an Opus file that the browser made can be decoded', async () => {
  const packets = await page.evaluate(async () => {
    const all = [];
    const encoder = new AudioEncoder({
      output: (chunk) => {
        const bytes = new Uint8Array(chunk.byteLength);
        chunk.copyTo(bytes);
        all.push(Array.from(bytes));
      },
      error: (why) => { throw why; },
    });
    encoder.configure({ codec: 'opus', sampleRate: 48_000, numberOfChannels: 1, bitrate: 32_000 });
    for (let n = 0; n < 150; n++) {
      const data = new Float32Array(960).map((_, i) => Math.sin((n * 960 + i) * 0.06) * 0.6);
      encoder.encode(new AudioData({ format: 'f32', sampleRate: 48_000, numberOfFrames: 960, numberOfChannels: 1, timestamp: n * 20_000, data }));
    }
    await encoder.flush();
    return all;
  });
  const head = Buffer.concat([Buffer.from('OpusHead\x01\x01', 'latin1'), Buffer.from([0x38, 0x01, 0x80, 0xbb, 0, 0, 0, 0, 0])]);
  const tags = Buffer.concat([Buffer.from('OpusTags\x03\0\0\0hob\0\0\0\0', 'latin1')]);
  const pages = [ogg(0, 2, 0, [head]), ogg(1, 0, 0, [tags])];
  // Ten packets a page: a fifth of a second.
  for (let at = 0; at < packets.length; at += 10) {
    const some = packets.slice(at, at + 10).map((packet) => Buffer.from(packet));
    pages.push(ogg(pages.length, at + 10 >= packets.length ? 4 : 0, (at + some.length) * 960, some));
  }
  await put('tone.ogg', Buffer.concat(pages));
  const ran = await api(context, 'POST', '/api/v1/tools/split_audio/execute', { arguments: { path: 'tone.ogg', splitPoints: [1, 2] } });
  const { files } = ran.result;
  assert.equal(files.length, 3);
  for (const file of files) {
    const { seconds } = await decoded(file.url);
    assert.ok(Math.abs(seconds - file.seconds) < 0.02, `${file.path}: ${seconds} of ${file.seconds} s`);
  }
  assert.ok(Math.abs(files.reduce((sum, file) => sum + file.seconds, 0) - (packets.length * 0.02 - 312 / 48_000)) < 0.01);
});

test('sound and video play in the Files room', async () => {
  const film = await page.evaluate(async () => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 64, height: 48 });
    const draw = canvas.getContext('2d');
    const recorder = new MediaRecorder(canvas.captureStream(10), { mimeType: 'video/webm' });
    const parts = [];
    recorder.ondataavailable = (event) => parts.push(event.data);
    const over = new Promise((done) => (recorder.onstop = done));
    recorder.start();
    for (let n = 0; n < 12; n++) {
      draw.fillStyle = `hsl(${n * 30} 80% 50%)`;
      draw.fillRect(0, 0, 64, 48);
      await new Promise((next) => setTimeout(next, 100));
    }
    recorder.stop();
    await over;
    return Array.from(new Uint8Array(await new Blob(parts).arrayBuffer()));
  });
  await put('film.webm', Buffer.from(film));
  await put('tone.wav', wav(22_050, 1));
  await open('tone.wav');
  assert.ok(Math.abs((await played(page.locator('main audio'))) - 1) < 0.05);
  await open('film.webm');
  await played(page.locator('main video'));
  await accessible(page, 'a video in the Files room');
});
