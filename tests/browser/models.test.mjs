// The page about models with the real daemon: a key is set, tried and removed, others stand in, a budget is spent, and what it cost is told.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { modelServer, says } from './model.mjs';
import { accessible, api, counted, enter, enterAs, exchanges, fits, hob, launch, message, phone, schemes, shot, sizes } from './page.mjs';

let browser, model, context, page, problems;
before(async () => {
  browser = await launch();
  model = await modelServer();
  ({ context, page, problems } = await enter(browser, { size: phone }));
});
after(async () => {
  await browser?.close();
  model?.close();
});

const button = (place, name) => place.getByRole('button', { name, exact: true });

test('a key is set for an address, tried, and told nowhere', async () => {
  await page.goto(`${hob}/#/device/models`);
  await page.getByRole('heading', { name: 'Services and servers' }).waitFor();
  await page.locator('summary').getByText(/^\d+ more$/).click();
  await button(page, 'Set up DeepSeek').click();
  const form = page.getByRole('form', { name: 'Set up DeepSeek' });
  await form.getByLabel('Key').fill('a-key-nobody-reads');
  await form.getByLabel('Address').fill('nowhere');
  await button(form, 'Save').click();
  await form.getByText('Enter an address such as').waitFor();
  await form.getByLabel('Address').fill(model.url);
  await button(form, 'Test').click();
  await form.getByText('It offers 2 models:').waitFor();
  await form.getByText('scripted-large').waitFor();
  await accessible(page, 'a real try');
  await fits(page, phone, 'a real try');
  await shot(page, 'models-try-real');
  await button(form, 'Save').click();
  await page.getByText('Saved.').waitFor();
  await button(page, 'Change DeepSeek').waitFor();
  await page.reload();
  await button(page, 'Change DeepSeek').waitFor();
  assert.equal((await page.content()).includes('a-key-nobody-reads'), false);
});

test('a model of it is chosen and answers', async () => {
  await button(page, 'Change model').click();
  await page.getByLabel('Provider', { exact: true }).selectOption('deepseek');
  await page.getByLabel('Model', { exact: true }).fill('deepseek-chat');
  await button(page.getByRole('form', { name: 'Change model' }), 'Save').click();
  await page.getByText('deepseek-chat answers from now on.').waitFor();
  model.usage = { prompt_tokens: 120_000, completion_tokens: 30_000, total_tokens: 150_000 };
  model.script = [says('Deep and sought.')];
  await page.goto(`${hob}/#/talk`);
  await message(page).fill('who are you?');
  await message(page).press('Enter');
  await exchanges(page).last().getByText('Deep and sought.').waitFor();
});

test('what it cost is told by day and by model; a budget that is spent is told', async () => {
  await page.goto(`${hob}/#/device/models`);
  await page.getByRole('heading', { name: 'Spending' }).waitFor();
  await page.getByRole('group', { name: 'By model' }).getByText('deepseek/deepseek-chat').waitFor();
  await page.getByLabel('US dollars a day').fill('0.01');
  await button(page, 'Save').click();
  await page.getByText('Limit set to $0.01 a day').waitFor();
  await accessible(page, 'the real models');
  await shot(page, 'models-real');
  await page.goto(`${hob}/#/talk`);
  model.script = [says('Once more.')];
  await message(page).fill('why is the sky blue on Mars in the evening?');
  await message(page).press('Enter');
  await exchanges(page).last().getByText(/budget/).waitFor();
  await api(context, 'PATCH', '/api/v1/model', { dailyBudget: null });
});

test('others stand in, in an order that is changed by buttons', async () => {
  await page.goto(`${hob}/#/device/models`);
  await api(context, 'PUT', '/api/v1/providers/custom', { url: model.url });
  for (const name of ['custom/scripted', 'ollama/qwen3']) {
    await button(page, 'Add a fallback').click();
    await page.getByLabel('Model to add').fill(name);
    await button(page.getByRole('form', { name: 'Add a fallback' }), 'Add a fallback').click();
    await page.locator('.stand-ins').getByText(name).waitFor().catch(async () => assert.fail(await page.locator('main').innerText()));
  }
  await button(page, 'Move ollama/qwen3 up').click();
  await page.getByText('ollama/qwen3 is now number 1.').waitFor();
  assert.deepEqual((await api(context, 'GET', '/api/v1/model')).fallback, ['ollama/qwen3', 'custom/scripted']);
  await page.getByLabel('Which model goes first').selectOption('cheapest');
  await page.getByRole('switch', { name: 'Try this device first' }).press('Space');
  for (let n = 0; n < 100 && !(await api(context, 'GET', '/api/v1/model')).preferReflex; n++) await page.waitForTimeout(50);
  const { strategy, preferReflex } = await api(context, 'GET', '/api/v1/model');
  assert.deepEqual({ strategy, preferReflex }, { strategy: 'cheapest', preferReflex: true });
});

test('a key is removed', async () => {
  await button(page, 'Change DeepSeek').click();
  await button(page.getByRole('form', { name: 'Set up DeepSeek' }), 'Remove key').click();
  await page.getByText('Key removed.').waitFor();
  assert.equal((await api(context, 'GET', '/api/v1/providers')).providers.find(({ id }) => id === 'deepseek').hasKey, false);
  assert.deepEqual(problems, []);
});

test('both sizes, light and dark; a member may look', async () => {
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const other = await enter(browser, { size, scheme });
      await other.page.goto(`${hob}/#/device/models`);
      await other.page.getByRole('group', { name: 'By model' }).waitFor();
      await accessible(other.page, `models, ${name}, ${scheme}`);
      await fits(other.page, size, `models, ${name}, ${scheme}`);
      await shot(other.page, `models-real-${name}-${scheme}`, { fullPage: true });
      assert.deepEqual(other.problems, []);
      await other.context.close();
    }
  }
  const guest = await enterAs(browser, 'member', { size: phone });
  await guest.page.goto(`${hob}/#/device/models`);
  await guest.page.getByText('Only an admin can change this.').waitFor();
  await counted(guest.page.locator('.page button'), 0);
  assert.deepEqual(guest.problems, []);
  await guest.context.close();
});
