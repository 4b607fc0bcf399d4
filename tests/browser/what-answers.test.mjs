// What answers, chosen with the real daemon: a key is recognised, tried and used; a server at home is found; this device alone.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { modelServer, says } from './model.mjs';
import { accessible, api, counted, enter, fits, hob, launch, phone, schemes, shot, sizes } from './page.mjs';

let browser, model, context, page, problems;
before(async () => {
  browser = await launch();
  model = await modelServer();
  ({ context, page, problems } = await enter(browser, { size: phone }));
  // The services of the internet are this server, for the test.
  for (const id of ['openai', 'deepseek']) await api(context, 'PUT', `/api/v1/providers/${id}`, { url: model.url });
});
after(async () => {
  await browser?.close();
  model?.close();
});

const button = (place, name) => place.getByRole('button', { name, exact: true });
const way = (name) => page.getByRole('radio', { name });
const inUse = async () => (await api(context, 'GET', '/api/v1/model')).model;
const KEY = 'sk-proj-one-of-ours-0123456789';

async function start() {
  await api(context, 'PUT', '/api/v1/model', { model: 'reflex' });
  await page.goto('about:blank');
  await page.goto(`${hob}/#/device/models`);
  await way(/A service on the internet/).waitFor();
}

test('whose key it is shows in its form, and where not, it is asked', async () => {
  await start();
  await accessible(page, 'three ways');
  await fits(page, phone, 'three ways');
  await shot(page, 'what-answers');
  await way(/A service on the internet/).check();
  const key = page.getByLabel('Key', { exact: true });
  for (const [typed, who] of [['sk-ant-api03-x', 'Anthropic'], [KEY, 'OpenAI'], ['sk-or-v1-abc', 'OpenRouter'], ['gsk_abcdefgh', 'Groq'], ['AIzaSyAbcdefg', 'Google Gemini'], ['xai-abcdefgh', 'xAI'], ['hf_abcdefgh', 'Hugging Face'], ['pplx-abcdefgh', 'Perplexity']]) {
    await key.fill(typed);
    await page.getByText(`This is a key of ${who}.`).waitFor();
  }
  await key.fill(`sk-${'0123456789abcdef'.repeat(2)}`);
  const whose = page.getByLabel('Whose key is it?');
  await whose.waitFor();
  assert.deepEqual(await whose.locator('option').allInnerTexts().then((all) => all.filter((one) => ['OpenAI', 'DeepSeek'].includes(one)).sort()), ['DeepSeek', 'OpenAI']);
  await button(page, 'Connect').click();
  await page.getByText('Choose whose key it is.').waitFor();
  await accessible(page, 'whose key');
  await shot(page, 'what-answers-whose');
  await key.fill('0123456789abcdef0123456789abcdef');
  await page.getByText('The key does not show where it is from.').waitFor();
  assert.equal(model.asked.length, 0, 'no key is sent anywhere to find out');
});

test('a wrong key, an empty account and a busy service are told apart', async () => {
  const key = page.getByLabel('Key', { exact: true });
  await key.fill(KEY);
  model.refuse = { status: 401, error: { message: 'no such key', code: 'invalid_api_key' } };
  await button(page, 'Connect').click();
  await page.getByText('OpenAI does not accept this key.').waitFor();
  await page.getByRole('form', { name: /A service on the internet/ }).getByText('Make one at platform.openai.com').waitFor();
  await shot(page, 'what-answers-wrong-key');
  model.refuse = null;
  model.refuseAnswers = { status: 429, error: { message: 'You exceeded your current quota', code: 'insufficient_quota' } };
  await button(page, 'Connect').click();
  await page.getByText('The key is right, but there is no credit left at OpenAI.').waitFor();
  await button(page, 'Use it anyway').waitFor();
  await accessible(page, 'no credit');
  await shot(page, 'what-answers-no-credit');
  assert.equal(await inUse(), 'reflex', 'nothing is chosen that does not answer');
  model.refuseAnswers = null;
});

test('a right key gives an answer, a good model, and stays a secret', async () => {
  model.script = [says('Hello.')];
  model.asked = [];
  await button(page, 'Connect').click();
  await page.getByText('It works: scripted of OpenAI answers from now on.').waitFor();
  assert.equal(model.asked.length, 1);
  assert.equal(await inUse(), 'openai/scripted');
  await page.getByLabel('Model', { exact: true }).selectOption('scripted-large');
  await page.getByText('scripted-large answers from now on.').waitFor();
  assert.equal(await inUse(), 'openai/scripted-large');
  await accessible(page, 'it works');
  await fits(page, phone, 'it works');
  await shot(page, 'what-answers-works');
  await button(page, 'Done').click();
  assert.equal((await page.content()).includes(KEY), false);
  await page.getByRole('heading', { name: 'Add a key' }).waitFor();
});

test('a server at home is found, woken and used', async () => {
  await api(context, 'PUT', '/api/v1/providers/ollama', { url: model.url });
  await start();
  await way(/A computer at home/).check();
  await page.getByText(/^Found \d:$|^Found one:$/).waitFor();
  const server = page.locator('.server').filter({ hasText: 'Ollama' });
  await server.getByText('on this device').waitFor();
  await accessible(page, 'a server at home');
  await shot(page, 'what-answers-server');
  model.script = [says('Hi.')];
  await button(server, 'Use it').click();
  await page.getByText('It works: scripted of Ollama answers from now on.').waitFor();
  assert.equal(await inUse(), 'ollama/scripted');
  await button(page, 'Done').click();
});

test('an address is typed where nothing was found; one where nobody answers says so', async () => {
  await start();
  await api(context, 'PUT', '/api/v1/providers/ollama', { url: '' });
  await way(/A computer at home/).check();
  await page.getByText(/No model server was found on this device|^Found/).waitFor();
  const open = button(page, 'Type an address instead');
  if (await open.count()) await open.click();
  await page.getByRole('textbox', { name: 'Address' }).fill('127.0.0.1:9');
  await button(page, 'Connect').click();
  await page.getByText('Nothing answers at http://127.0.0.1:9/v1.').waitFor();
  await shot(page, 'what-answers-address');
  await page.getByRole('textbox', { name: 'Address' }).fill(model.url.replace(/^http:\/\/|\/v1$/g, ''));
  await button(page, 'Connect').click();
  const server = page.locator('.server').filter({ hasText: 'on 127.0.0.1' });
  model.script = [says('Hi.')];
  await button(server, 'Use it').click();
  await page.getByText(/It works: scripted of/).waitFor();
  assert.equal(await inUse(), 'custom/scripted');
});

test('this device alone, and both sizes, light and dark', async () => {
  await start();
  await way(/This device alone/).check();
  await button(page, 'Use this device alone').click();
  assert.equal(await inUse(), 'reflex');
  assert.deepEqual(problems, []);
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const other = await enter(browser, { size, scheme });
      await other.page.goto(`${hob}/#/device/models`);
      await other.page.getByRole('radio', { name: /A service on the internet/ }).check();
      await other.page.getByLabel('Key', { exact: true }).fill('sk-ant-api03-x');
      await accessible(other.page, `what answers, ${name}, ${scheme}`);
      await fits(other.page, size, `what answers, ${name}, ${scheme}`);
      await shot(other.page, `what-answers-${name}-${scheme}`, { fullPage: true });
      await counted(other.page.getByText('This is a key of Anthropic.'), 1);
      assert.deepEqual(other.problems, []);
      await other.context.close();
    }
  }
});
