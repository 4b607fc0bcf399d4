// Stop pressed before the device has said which run it is: the run ends all the same. With the real daemon and a scripted model.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { says, talkWithModel } from './model.mjs';
import { api, becomes, exchanges, message } from './page.mjs';

let model, context, page, problems, close;
before(async () => ({ model, context, page, problems, close } = await talkWithModel()));
after(() => close?.());

/** In the page: the answer of the next chat arrives this much later; the request itself goes out at once. */
function late(ms) {
  const real = globalThis.fetch;
  globalThis.fetch = async (path, init) => {
    const answer = await real(path, init);
    if (String(path).startsWith('/api/v1/chat')) {
      globalThis.fetch = real;
      await new Promise((passed) => setTimeout(passed, ms));
    }
    return answer;
  };
}

const runs = async () => (await api(context, 'GET', '/api/v1/runs')).runs.map(({ state }) => state);

for (const [ms, what] of [[1500, 'a little late'], [6000, 'so late that the page has gone on']]) {
  test(`its id comes ${what}`, async () => {
    let release;
    model.hold = new Promise((go) => (release = go));
    model.script = [says('Nobody asked for this.')];
    const before = (await runs()).length;
    await page.evaluate(late, ms);
    await message(page).fill(`a long story ${ms}`);
    await message(page).press('Enter');
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await becomes(async () => (await runs()).slice(0, (await runs()).length - before), ['cancelled'], 'the run is over on the device');
    await exchanges(page).last().getByText('stopped').waitFor();
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor({ state: 'detached' });
    // The conversation is free for the next message; the request of the stopped run may take an answer, too.
    model.script = [says(`Here I am after ${ms}.`), says(`Here I am after ${ms}.`)];
    model.hold = null;
    release();
    await message(page).fill('are you there');
    await message(page).press('Enter');
    await page.locator('.words').getByText(`Here I am after ${ms}.`).last().waitFor();
    assert.deepEqual(problems, []);
  });
}
