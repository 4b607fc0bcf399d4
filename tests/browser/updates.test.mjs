// Under hob supervise: updates on the page, with the real daemon, and the factory reset.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { accessible, counted, desktop, enter, fits, hob, launch, need, phone, shot } from './page.mjs';

const [root, key, program] = ['HOB_ROOT', 'HOB_KEY', 'HOB_PROGRAM'].map(need);
const folder = join(root, '..');

/** Lines that are other ones for each version, so that there is something to send. */
function noise(seed, lines) {
  let state = seed;
  const next = () => (state = (state * 1103515245 + 12345) % 2147483648).toString(16).padStart(8, '0');
  return Array.from({ length: lines }, () => `# ${next()}${next()}${next()}${next()}`).join('\n');
}

/** A bundle with a program that does this. */
function bundle(version, serial, does, lines = 2000) {
  const [image, out] = [join(folder, `program-${version}`), join(folder, `hob-${version}.hobupdate`)];
  writeFileSync(image, `#!/bin/sh\n# hob ${version}\n${does}\n${noise(serial, lines)}\n`);
  chmodSync(image, 0o755);
  execFileSync(program, ['bundle', 'build', '--out', out, '--key', key, '--version', version, '--serial', String(serial), '--app', image, '--compression', 'fast']);
  return out;
}
const good = (version, serial, lines) => bundle(version, serial, `exec ${program} "$@"`, lines);

let browser, context, page, problems;
before(async () => {
  browser = await launch();
  ({ context, page, problems } = await enter(browser, { size: desktop }));
  await page.goto(`${hob}/#/device/updates`);
});
after(async () => {
  await browser?.close();
});

const part = (title) => page.getByRole('region', { name: title, exact: true });
const updates = () => part('Updates');
const button = (name, place = updates()) => place.getByRole('button', { name, exact: true });
const choose = (file) => updates().locator('input[type=file]').setInputFiles(file);
/** A restart, and a trial, take their time on a busy machine. */
const PATIENT = { timeout: 90_000 };

test('the page says which version runs, and refuses what is no update', async () => {
  await updates().getByText('Hob 0.1.0 runs.').waitFor();
  await counted(updates().getByRole('list', { name: 'How far the update is' }), 0);
  const junk = join(folder, 'junk.hobupdate');
  writeFileSync(junk, 'this is a text');
  await choose(junk);
  await updates().getByRole('alert').getByText('This is no update for Hob').waitFor();
  const bent = readFileSync(good('0.1.9', 1));
  bent[60] ^= 1;
  writeFileSync(junk, bent);
  await choose(junk);
  await updates().getByRole('alert').filter({ hasNotText: 'This is no update' }).waitFor();
  await updates().getByText('Hob 0.1.0 runs.').waitFor();
});

test('an upload that stops goes on after a reload, with the rest alone', async () => {
  const file = good('0.2.0', 2, 60_000);
  let sent = 0;
  await page.route('**/api/v1/update/uploads/*', (route) => {
    if (route.request().method() !== 'PUT') return route.continue();
    sent += 1;
    // The second piece never gets through.
    return sent > 1 ? undefined : route.continue();
  });
  await choose(file);
  await updates().getByText(/^Sending what is missing/).waitFor(PATIENT);
  await updates().getByRole('progressbar').waitFor(PATIENT);
  await shot(page, 'updates-sending');
  await page.unroute('**/api/v1/update/uploads/*');
  await page.reload();
  await updates().getByText('The upload of version 0.2.0 is not complete.').waitFor();
  await choose(file);
  await updates().getByText('Install version 0.2.0?').waitFor(PATIENT);
  await accessible(page, 'the question before an update');
});

test('it is installed, tried, and kept, and the page says so at each step', async () => {
  await button('Install').click();
  await updates().getByText(/Version 0\.2\.0 is being tried/).waitFor(PATIENT);
  await shot(page, 'updates-trying');
  await updates().getByText(/^Version 0\.2\.0 was installed/).waitFor(PATIENT);
  await updates().getByText('Hob 0.2.0 runs. 0.1.0 is kept').waitFor();
  const steps = updates().getByRole('list', { name: 'How far the update is' }).getByRole('listitem');
  assert.deepEqual((await steps.allInnerTexts()).map((words) => words.replace(/\s+/g, ' ').replace(' :', ':').trim()), ['Written: done', 'Tried: done', 'Kept: done']);
  await accessible(page, 'after an update');
  await fits(page, desktop, 'after an update');
});

test('one can go back', async () => {
  await button('Go back').click();
  await updates().getByText('Go back to version 0.1.0?').waitFor();
  await updates().getByRole('button', { name: 'Go back', exact: true }).click();
  await updates().getByText('Hob 0.1.0 runs.').waitFor(PATIENT);
  await updates().getByText(/^You went back to version 0\.1\.0/).waitFor();
});

test('a version that ends at once is taken back, and the page says why', async () => {
  await choose(bundle('0.3.0', 3, 'exit 3'));
  await updates().getByText('Install version 0.3.0?').waitFor(PATIENT);
  await button('Install').click();
  await updates().getByRole('alert').getByText(/Version 0\.3\.0 was not kept.* Why: /).waitFor(PATIENT);
  await updates().getByText('Hob 0.1.0 runs.').waitFor();
  await page.setViewportSize(phone);
  await accessible(page, 'after a fallback');
  await fits(page, phone, 'after a fallback');
  await shot(page, 'updates-fallback-phone');
  await page.setViewportSize(desktop);
});

test('the factory reset wants the name, and leads to the claim', async () => {
  const reset = part('Factory reset');
  await button('Reset this Hob', reset).click();
  await reset.getByLabel('Type kitchen to confirm').fill('garden');
  await button('Remove everything', reset).click();
  await reset.getByRole('alert').getByText('That is not kitchen.').waitFor();
  await accessible(page, 'the factory reset');
  await shot(page, 'factory-reset');
  await reset.getByLabel('Type kitchen to confirm').fill('kitchen');
  await button('Remove everything', reset).click();
  await page.getByRole('heading', { name: /Claim/ }).waitFor(PATIENT);
  assert.deepEqual(problems, []);
  await context.close();
});
