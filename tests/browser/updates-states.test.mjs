// The part Updates in states that a healthy daemon passes in a moment, against a fake API.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { house, last, part, update, visitor } from './house.mjs';
import { accessible, counted, desktop, fits, launch, phone, schemes, shot } from './page.mjs';
import { bad } from './staged.mjs';

let browser, visit;
before(async () => {
  browser = await launch();
  visit = visitor(browser);
});
after(async () => {
  await browser?.close();
});

const at = Date.now() - 60_000;
const other = { slot: 'b', version: '0.0.9', system: false };
const channel = { url: 'https://example.org/stable.json', checkedAt: at, problem: null, available: null };
const available = { version: '0.2.0', notes: 'Quicker lamps.\nFewer surprises.', bytes: 23_000_000 };
const upload = { id: 'u1', version: '0.2.0', neededBytes: 600_000, totalBytes: 2_000_000 };

const file = { id: 'b1', path: '/media/usb/hob-0.3.0.hobupdate', bytes: 23_000_000, version: '0.3.0', notes: 'Quicker lamps.', newer: true, problem: null };
const badFile = { id: null, path: '/media/usb/old.hobupdate', bytes: 900, version: null, notes: null, newer: false, problem: 'the bundle is cut off: copy it again' };

/** A state of updates, and what the page says then. */
const STATES = {
  idle: [update(), ['Hob 0.1.0 runs.', 'No update channel is set up']],
  newest: [update({ other, canRollBack: true, channel }), ['0.0.9 is kept as the one to go back to', 'This is the newest version', 'Go back']],
  available: [update({ channel: { ...channel, available } }), ['Version 0.2.0 is available', 'What is new', 'Install 0.2.0']],
  'channel in trouble': [update({ channel: { ...channel, problem: 'it expired on 3 October: try later' } }), ['The channel could not be read: it expired']],
  'on a stick': [update({ found: [file, badFile] }), ['Version 0.3.0 is in /media/usb/hob-0.3.0.hobupdate', 'Install 0.3.0', '/media/usb/old.hobupdate', 'It cannot be installed: the bundle is cut off']],
  writing: [update({ state: 'writing', version: '0.2.0', progress: { done: 700, total: 1000 }, upload }), ['Version 0.2.0 is being written, 70 %', 'The upload of version 0.2.0 is not complete', 'Cancel the upload']],
  staged: [update({ state: 'staged', version: '0.2.0', upload: { ...upload, neededBytes: 0 } }), ['is complete and verified', 'Install 0.2.0']],
  preparing: [update({ state: 'writing', version: '0.2.0', preparing: true, canInstall: false }), ['Version 0.2.0 is being fetched and verified']],
  restarting: [update({ state: 'trying', version: '0.2.0', restarting: true, canInstall: false }), ['Hob restarts. This page comes back by itself.']],
  trying: [update({ state: 'trying', version: '0.2.0', running: { slot: 'b', version: '0.2.0', system: false }, other, canRollBack: true, canInstall: false, progress: { done: 1, total: 3 } }), ['1 of 3 checks passed', 'Keep this version now', 'Go back']],
  committed: [update({ state: 'committed', version: '0.2.0', lastOutcome: { what: 'committed', why: 'it passed its checks', at, version: '0.2.0' } }), ['Version 0.2.0 was installed']],
  'taken back': [update({ state: 'failed', version: '0.2.0', lastOutcome: { what: 'failed', why: 'the page does not answer', at, version: '0.2.0' } }), ['Version 0.2.0 was not kept', 'Why: the page does not answer']],
  'not installed': [update({ state: 'failed', version: '0.2.0', problem: 'the disk is full: free some space and try again' }), ['The update was not installed. Why: the disk is full']],
  'without slots': [update({ kind: 'none', canInstall: false, whyNot: 'this Hob runs without a second copy to update: start it with `hob supervise --root DIR`' }), ['hob supervise --root DIR']],
};

for (const [name, [state, says]] of Object.entries(STATES)) {
  test(`${name}: the page says so`, async () => {
    for (const [size, scheme] of [[phone, schemes[0]], [desktop, schemes[1]]]) {
      const { page, context, problems } = await visit(house({ update: state }), { at: '#/device/updates', size, scheme });
      const place = part(page, 'Updates');
      for (const words of says) await place.getByText(words).first().waitFor();
      await accessible(page, `updates, ${name}`);
      await fits(page, size, `updates, ${name}`);
      await shot(page, `updates-${name.replaceAll(' ', '-')}-${size === phone ? 'phone' : 'desktop'}`);
      assert.deepEqual(problems, []);
      await context.close();
    }
  });
}

test('nothing is installed without a yes, and a refusal is shown', async () => {
  const it = house({ update: update({ channel: { ...channel, available } }) });
  const answers = {};
  const { page, context } = await visit(it, { at: '#/device/updates', answers });
  const place = part(page, 'Updates');
  await place.getByRole('button', { name: 'Install 0.2.0' }).click();
  await place.getByText('Your data stays.').waitFor();
  assert.equal(it.calls.length, 0);
  await page.keyboard.press('Escape');
  await counted(place.getByRole('alertdialog'), 0);
  answers['POST /api/v1/update/install'] = bad(409, 'unavailable', 'an update is being tried: wait for its end');
  await place.getByRole('button', { name: 'Install 0.2.0' }).click();
  await place.getByRole('button', { name: 'Install', exact: true }).click();
  await place.getByRole('alert').getByText('wait for its end').waitFor();
  delete answers['POST /api/v1/update/install'];
  await place.getByRole('button', { name: 'Install', exact: true }).click();
  await counted(place.getByRole('alertdialog'), 0);
  assert.deepEqual(last(it).slice(0, 3), ['POST', '/api/v1/update/install', {}]);
  await context.close();
});

test('a version on a stick is installed with a yes', async () => {
  const it = house({ update: update({ found: [file, badFile] }) });
  const { page, context } = await visit(it, { at: '#/device/updates' });
  const place = part(page, 'Updates');
  await place.getByRole('button', { name: 'Install 0.3.0' }).click();
  await place.getByRole('button', { name: 'Install', exact: true }).click();
  await counted(place.getByRole('alertdialog'), 0);
  assert.deepEqual(last(it).slice(0, 3), ['POST', '/api/v1/update/install', { foundId: 'b1' }]);
  await context.close();
});

test('a member sees neither updates nor the factory reset', async () => {
  const { page, context } = await visit(house({ role: 'member' }), { at: '#/device' });
  await part(page, 'About').waitFor();
  for (const title of ['Updates', 'Factory reset']) await counted(part(page, title), 0, title);
  await context.close();
});
