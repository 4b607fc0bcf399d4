// A model server that is gone, with the real daemon: Talk, the page about models and that about health say so, and it goes by itself. And what
// the page reads for itself is not in the activity.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { modelServer, says } from './model.mjs';
import { accessible, api, ask, counted, enter, enterAs, fits, hob, launch, message, phone, schemes, shot, sizes, visit } from './page.mjs';

let browser, model, context, page, problems, port;
before(async () => {
  browser = await launch();
  model = await modelServer();
  port = model.port;
  ({ context, page, problems } = await enter(browser, { size: phone }));
  await api(context, 'PUT', '/api/v1/providers/ollama', { url: model.url });
  await api(context, 'PUT', '/api/v1/model', { model: 'ollama/scripted' });
});
after(async () => {
  await browser?.close();
  model?.close();
});

const button = (place, name) => place.getByRole('button', { name, exact: true });
const notice = (on = page) => on.locator('.model-trouble');
const GONE = () => `Ollama at 127.0.0.1:${port} has not answered since`;

test('while the model answers nothing is said', async () => {
  await page.goto(hob);
  await message(page).waitFor();
  model.script = [says('It is blue.')];
  await ask(page, 'why is the sky blue?');
  await counted(notice(), 0);
});

test('once it is gone, this device does what it can, and Talk says why', async () => {
  model.close();
  await ask(page, 'turn on pin 17');
  await notice().getByText(GONE()).waitFor();
  await notice().getByText('Hob answers what it can by itself').waitFor();
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const other = await enter(browser, { size, scheme });
      await other.page.goto(hob);
      await notice(other.page).waitFor();
      await accessible(other.page, `a model that is gone, ${name}, ${scheme}`);
      await fits(other.page, size, `a model that is gone, ${name}, ${scheme}`);
      await shot(other.page, `model-trouble-${name}-${scheme}`);
      assert.deepEqual(other.problems, []);
      await other.context.close();
    }
  }
  const guest = await enterAs(browser, 'member', { size: phone });
  await guest.page.goto(hob);
  await notice(guest.page).getByText('Ollama has not answered since').waitFor();
  assert.equal((await guest.page.content()).includes(String(port)), false, 'addresses are for admins');
  await guest.context.close();
});

test('health and the page about models say since when, and what to do', async () => {
  await visit(page, 'Device');
  await page.locator('.concerns').getByText(GONE()).waitFor();
  await page.locator('.concerns').getByText('Check that the computer is on and its model server runs.').waitFor();
  await accessible(page, 'health with a model that is gone');
  await shot(page, 'model-trouble-health');
  await page.locator('.concerns').getByRole('link', { name: 'Models' }).click();
  await page.locator('.troubles').getByText(GONE()).waitFor();
  await button(page.locator('.troubles'), 'Look again').click();
  await button(page.locator('.troubles'), 'Look again').waitFor();
  await accessible(page, 'models with one that is gone');
  await fits(page, phone, 'models with one that is gone');
  await shot(page, 'model-trouble-models');
});

test('it is back: everything goes by itself', async () => {
  await page.goto(hob);
  await notice().waitFor();
  model = await modelServer(port);
  await notice().waitFor({ state: 'detached' });
  assert.equal(model.asked.length, 0, 'no model was asked for words to find out');
  model.script = [says('Welcome back.')];
  const answer = await ask(page, 'are you there again?');
  await answer.getByText('Welcome back.').waitFor();
  assert.deepEqual(problems, []);
});

test('what the page reads to show it is not in the activity; what a person runs and changes is', async () => {
  for (const room of ['Home', 'Memory', 'Device', 'Talk']) await visit(page, room);
  const of = async (tool) => (await api(context, 'GET', `/api/v1/audit?tool=${tool}`)).entries;
  await page.goto(`${hob}/#/device`);
  await page.locator('#device-health .facts-list').waitFor();
  assert.deepEqual(await of('system_info'), []);
  assert.deepEqual(await of('gpio_list'), []);
  assert.equal((await of('gpio_write')).length, 1, 'a change of a run');
  await page.goto(`${hob}/#/tools/system_info`);
  await button(page, 'Run').click();
  await page.getByRole('heading', { name: 'Result' }).or(page.locator('.result')).first().waitFor();
  assert.equal((await of('system_info')).length, 1, 'somebody asked for this one');
  await page.goto(`${hob}/#/device/activity`);
  await page.locator('.act').first().waitFor();
  await counted(page.locator('.act').getByText('gpio_list', { exact: true }), 0);
  await shot(page, 'activity-quiet');
});
