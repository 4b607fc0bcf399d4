// The Files room against the real daemon: the same things a person does, and what the device then has.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { api, becomes, counted, desktop, enter, enterAs, hob, launch, shot, shows, visit } from './page.mjs';

const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mP8z8BQz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC', 'base64');
const PDF = '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]>>endobj\ntrailer<</Root 1 0 R>>\n';
/** A second of silence. */
const WAV = (() => {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + 8000, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8000, 24);
  head.writeUInt32LE(8000, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36);
  head.writeUInt32LE(8000, 40);
  return Buffer.concat([head, Buffer.alloc(8000, 128)]);
})();

let browser, context, page, problems, first;

before(async () => {
  browser = await launch();
  ({ context, page, problems } = await enter(browser, { size: desktop }));
  first = (await api(context, 'GET', '/api/v1/workspace/places')).places[0].id;
});
after(async () => {
  assert.deepEqual(problems, []);
  await browser?.close();
});

const row = (name) => page.locator('.file').filter({ has: page.getByText(name, { exact: true }) });
const press = (name, place = page) => place.getByRole('button', { name, exact: true }).click();
const doing = async (name, what) => {
  await press(`Actions for ${name}`);
  await press(what, row(name));
};
const heard = (words) => page.getByRole('status').filter({ hasText: words }).first().waitFor();
const upload = (...files) => page.locator('input[type="file"]').setInputFiles(files.map(([name, body, mimeType = 'text/plain']) => ({ name, mimeType, buffer: Buffer.from(body) })));
const bytes = async (path, place = first) => (await context.request.get(`${hob}/api/v1/workspace/file?place=${place}&path=${encodeURIComponent(path)}`)).text();
const names = async (path = '', place = first) => (await api(context, 'GET', `/api/v1/workspace/list?place=${place}&path=${encodeURIComponent(path)}`)).entries.map(({ name }) => name);
const open = (path, how = 'open') => page.goto(`${hob}/#/files/${[how, first, ...path.split('/').filter(Boolean)].map(encodeURIComponent).join('/')}`);

test('an empty room takes a folder and files, and another page sees them at once', async () => {
  await page.goto(hob);
  await visit(page, 'Files');
  await page.getByText('This folder is empty.').waitFor();
  const other = await enter(browser, { size: desktop });
  await other.page.goto(`${hob}/#/files`);
  await other.page.getByText('This folder is empty.').waitFor();
  await press('New folder');
  await page.getByLabel('New folder').fill('notes');
  await press('Create');
  await heard('Folder “notes” created.');
  await other.page.getByText('notes', { exact: true }).waitFor();
  await other.context.close();
  await upload(['one.txt', 'eins\nzwei\n'], ['script.py', 'def hello():\n    return 42\n'], ['red.png', PNG, 'image/png'], ['paper.pdf', PDF, 'application/pdf'], ['quiet.wav', WAV, 'audio/wav'], ['Größe & Maß #1?.txt', 'odd name\n']);
  await heard('6 files uploaded.');
  await row('one.txt').waitFor();
  await becomes(async () => (await names()).sort(), ['Größe & Maß #1?.txt', 'notes', 'one.txt', 'paper.pdf', 'quiet.wav', 'red.png', 'script.py']);
  await row('one.txt').getByText('from outside').waitFor();
  await press('Actions for one.txt');
  await press('I trust this: one.txt');
  await heard('You vouch for “one.txt” now.');
  await counted(row('one.txt').getByText('from outside'), 0);
});

test('what was uploaded is shown as what it is', async () => {
  await open('script.py');
  await page.locator('.hl-keyword').first().waitFor();
  await open('red.png');
  await becomes(() => page.locator('.file-picture img').evaluate((img) => img.naturalWidth), 10);
  await open('quiet.wav');
  await becomes(() => page.locator('.file-page audio').evaluate((sound) => Math.round(sound.duration)), 1);
  await open('paper.pdf');
  await becomes(() => page.frames().some((frame) => frame.url().includes('paper.pdf')), true, 'the browser may frame it');
  await page.waitForTimeout(500);
  await shot(page, 'files-pdf');
  await open('Größe & Maß #1?.txt');
  await page.locator('.code').getByText('odd name').waitFor();
  await open('nothing.txt');
  await page.getByText('This file does not exist, or no longer.').waitFor();
});

test('rename, move, copy, delete, restore, and undo of a change', async () => {
  await open('', 'in');
  await doing('one.txt', 'Rename');
  await page.getByLabel('New name of “one.txt”').fill('script.py');
  await page.keyboard.press('Enter');
  await page.getByText('There is something called “script.py” here already.').waitFor();
  await page.getByLabel('New name of “one.txt”').fill('eins.txt');
  await page.keyboard.press('Enter');
  await heard('Renamed to “eins.txt”.');
  await doing('eins.txt', 'Copy');
  await press('Copy here');
  await row('eins (2).txt').waitFor();
  await doing('eins.txt', 'Move');
  await press('notes', page.locator('.picker-list'));
  await press('Move here');
  await heard('one thing moved to “notes”.');
  await becomes(() => names('notes'), ['eins.txt']);
  assert.equal(await bytes('notes/eins.txt'), 'eins\nzwei\n');
  await doing('eins (2).txt', 'Delete');
  await press('Delete', page.getByRole('alertdialog'));
  await counted(row('eins (2).txt'), 0);
  await page.getByRole('link', { name: 'Trash' }).click();
  await press('Restore eins (2).txt');
  await heard('“eins (2).txt” is back where it was.');
  assert.equal(await bytes('eins (2).txt'), 'eins\nzwei\n');
});

test('text is edited; another hand is noticed, and nothing is lost', async () => {
  await open('notes/eins.txt');
  await press('Edit');
  const area = page.getByRole('textbox', { name: 'Text of eins.txt' });
  await area.fill('eins\nzwei\ndrei\n');
  await press('Save');
  await heard('Saved.');
  assert.equal(await bytes('notes/eins.txt'), 'eins\nzwei\ndrei\n');
  await area.fill('mine\n');
  const who = await (await context.request.get(`${hob}/api/v1/session`)).json();
  const written = await context.request.put(`${hob}/api/v1/workspace/file?place=${first}&path=notes/eins.txt`, { data: Buffer.from('theirs\n'), headers: { 'x-csrf-token': who.data.csrfToken, 'content-type': 'application/octet-stream' } });
  assert.ok(written.ok(), await written.text());
  await page.getByText('Somebody else changed this file while you were editing.').waitFor();
  assert.equal(await area.inputValue(), 'mine\n');
  await press('Save mine as a new file');
  await press('Save');
  await becomes(() => bytes('notes/eins (2).txt'), 'mine\n');
  await becomes(() => area.inputValue(), 'theirs\n');
  await press('Close the editor');
  await page.locator('.code').getByText('theirs').waitFor();
});

test('files are found by name in the room and in the search over everything', async () => {
  await open('', 'in');
  await page.getByRole('searchbox', { name: 'Find a file' }).fill('eins');
  await shows(() => page.locator('.file-list').innerText(), /eins\.txt[^]*notes/);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Upload' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('script.py');
  await page.getByRole('option', { name: /script\.py/ }).first().click();
  await page.locator('.code').waitFor();
});

test('a member has files of their own and the household’s; a viewer changes nothing', async () => {
  const viewer = await enterAs(browser, 'viewer', { size: desktop });
  await viewer.page.goto(`${hob}/#/files`);
  await viewer.page.getByRole('link', { name: 'Trash' }).waitFor();
  await viewer.page.waitForTimeout(500);
  await counted(viewer.page.getByRole('button', { name: /Upload|New folder/ }), 0);
  await viewer.context.close();
  const member = await enterAs(browser, 'member', { size: desktop });
  await member.page.goto(`${hob}/#/files`);
  await member.page.getByText('This folder is empty.').waitFor();
  await member.page.getByRole('link', { name: 'Folders' }).click();
  await counted(member.page.getByRole('button', { name: 'Add a folder' }), 0);
  await member.context.close();
});

test('an admin adds a folder of the device, and removes it', async () => {
  await page.goto(`${hob}/#/files/places`);
  await press('Add a folder');
  const form = page.getByRole('form', { name: 'Add a folder' });
  await form.getByLabel('Name').first().fill('shared');
  await form.getByLabel('Folder on this device').fill('/no/such/folder');
  await press('Add a folder', form);
  await form.getByRole('alert').waitFor();
  await form.getByLabel('Folder on this device').fill('/usr/share/doc');
  await press('Add a folder', form);
  await heard('“shared” added.');
  await page.getByRole('navigation', { name: 'Places' }).getByRole('link', { name: 'shared' }).click();
  await page.locator('.file').first().waitFor();
  await counted(page.getByRole('button', { name: 'Upload' }), 0, 'it is read-only');
  await page.goto(`${hob}/#/files/places`);
  await press('Remove shared');
  await press('Remove', page.getByRole('alertdialog'));
  await heard('“shared” removed.');
});
