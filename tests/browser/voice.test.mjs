// The microphone and reading aloud, with Chromium's false microphone and a scripted voice server; and who may speak to Hob.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { accessible, answer, api, ask, becomes, counted, enter, exchanges, fits, hob, launch, message, phone, shot, shows } from './page.mjs';
import { voiceServer, wav } from './wyoming.mjs';

const folder = mkdtempSync(join(tmpdir(), 'hob-voice-'));
let browser, context, page, problems, server;

before(async () => {
  writeFileSync(join(folder, 'speech.wav'), wav(48_000, 3));
  server = await voiceServer('what is 6 times 7');
  browser = await launch([
    '--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream', `--use-file-for-fake-audio-capture=${join(folder, 'speech.wav')}`,
    '--autoplay-policy=no-user-gesture-required',
  ]);
  ({ context, page, problems } = await enter(browser));
});

after(async () => {
  await browser?.close();
  server?.close();
  rmSync(folder, { recursive: true, force: true });
});

const microphone = () => page.getByRole('button', { name: 'Speak', exact: true });

test('without a voice server there is no microphone', async () => {
  const looked = page.waitForResponse((response) => response.url().endsWith('/api/v1/voice'));
  await page.goto(hob);
  assert.equal((await (await looked).json()).data.speechToText, false);
  await message(page).waitFor();
  await ask(page, 'what is 2 plus 2');
  await shows(() => answer(exchanges(page).first()).innerText(), /4/);
  assert.equal(await microphone().count(), 0);
  assert.equal(await page.getByRole('button', { name: 'Read aloud' }).count(), 0);
});

test('what is said into the microphone is written into the message', async () => {
  await api(context, 'PUT', '/api/v1/config-services/wyoming', {});
  await api(context, 'POST', '/api/v1/config-services/wyoming/entries', { label: 'here', fields: { address: server.address } });
  await page.reload();
  await microphone().click();
  await page.getByRole('status').filter({ hasText: 'Listening…' }).waitFor({ state: 'attached' });
  await shot(page, 'voice-recording');
  // The false microphone plays its tone; a second of it is enough.
  await page.waitForTimeout(1200);
  await page.getByRole('button', { name: 'Stop recording' }).click();
  await becomes(() => message(page).inputValue(), 'what is 6 times 7', 'the sentence is in the message');
  assert.deepEqual(server.heard.format, { rate: 16_000, width: 2, channels: 1 });
  const samples = new Int16Array(server.heard.audio.buffer.slice(server.heard.audio.byteOffset, server.heard.audio.byteOffset + server.heard.audio.length));
  assert.ok(samples.length > 10_000 && samples.length < 16_000 * 10, `${samples.length} samples`);
  assert.ok(samples.some((sample) => Math.abs(sample) > 2000), 'the tone was recorded');
  assert.equal(server.heard.requests.find(([type]) => type === 'transcribe')[1].language, 'en');
  await page.getByRole('button', { name: 'Send' }).click();
  await shows(() => answer(exchanges(page).last()).innerText(), /42/);
});

test('a recording can be discarded', async () => {
  const before = server.heard.requests.length;
  await microphone().click();
  await page.getByRole('button', { name: 'Discard the recording' }).click();
  await microphone().waitFor();
  assert.equal(await message(page).inputValue(), '');
  assert.equal(server.heard.requests.filter(([type]) => type === 'transcribe').length, 1, `of ${before}`);
});

test('an answer is read aloud', async () => {
  await page.getByRole('button', { name: 'Read aloud' }).last().click();
  await page.getByRole('button', { name: 'Stop reading' }).waitFor();
  const [, asked] = server.heard.requests.findLast(([type]) => type === 'synthesize');
  assert.match(asked.text, /42/);
  // It ends by itself after a second of sound.
  await counted(page.getByRole('button', { name: 'Stop reading' }), 0);
  await accessible(page, 'talk with a microphone');
  await fits(page, phone, 'talk with a microphone');
});

test('an address that speaks waits for a person on the page', async () => {
  const voice = await api(context, 'GET', '/api/v1/voice');
  const [host, port] = voice.listensOn.split(':');
  const say = (text) => new Promise((done, fail) => {
    let heard = '';
    const socket = connect(Number(port), host, () => socket.write(`${JSON.stringify({ type: 'transcript', data: { text } })}\n`));
    socket.on('error', fail);
    socket.on('data', (bytes) => {
      heard += bytes;
      if (!heard.includes('"text"')) return;
      socket.destroy();
      done(heard);
    });
  });
  await page.goto(`${hob}/#/home/network`);
  assert.match(await say('what is 6 times 7'), /Approve it/);
  await page.getByText('127.0.0.1 wants to speak to Hob.').waitFor();
  await shot(page, 'voice-request');
  await accessible(page, 'who speaks to Hob');
  await page.getByRole('button', { name: 'Approve 127.0.0.1' }).click();
  await page.getByText('may speak').waitFor();
  assert.match(await say('what is 6 times 7'), /42/);
  await page.getByRole('button', { name: 'Remove 127.0.0.1' }).click();
  await counted(page.getByText('may speak'), 0);
  assert.match(await say('what is 6 times 7'), /Approve it/);
  assert.deepEqual(problems, []);
});
