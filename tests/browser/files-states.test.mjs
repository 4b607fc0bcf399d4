// The Files room against a workspace in memory: everything a person does there, and what can go wrong.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, becomes, counted, desktop, fits, hob, launch, phone, schemes, shot, shows, sizes } from './page.mjs';
import { bad, owner, good, staged } from './staged.mjs';
import { answersOf, file, folder, workspace } from './workshop-house.mjs';

const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mP8z8BQz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC', 'base64');
const PDF = '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]>>endobj\ntrailer<</Root 1 0 R>>\n';
const SCRIPT = '#!/usr/bin/env python3\n# greets\nimport os\n\ndef hello(name: str) -> int:\n    print(f"hello {name}", 42)\n    return len(name)\n';

let browser;
const pages = [];

before(async () => {
  browser = await launch();
});
after(async () => {
  for (const { problems } of pages) assert.deepEqual(problems, []);
  await browser?.close();
});

const home = () => workspace({
  own: {
    Photos: folder(), 'Photos/red.png': file(PNG, 'image/png'), notes: folder(), 'notes/deep': folder(), 'notes/deep/a.txt': file('deep\n'),
    'plan.md': file('# Plan\n\n- one\n- **two**\n', 'text/markdown'), 'script.py': file(SCRIPT, 'text/x-python', { outside: true }), 'shopping.txt': file('milk\neggs\n'),
    'paper.pdf': file(PDF, 'application/pdf'), 'data.bin': file(Buffer.from([0, 1, 2]), 'application/octet-stream'), pipe: { ...file(''), kind: 'other', mediaType: null }, link: { ...file(''), kind: 'link', mediaType: null },
  },
  household: { 'list.txt': file('bread\n') }, usb: { 'song.txt': file('la\n') },
});

async function visit(it, { at = '#/files', role = 'admin', ...options } = {}) {
  const answers = { ...answersOf(it), 'GET /api/v1/session': good({ ...owner, role }) };
  const opened = await staged(browser, answers, { live: true, size: desktop, at, ...options });
  pages.push(opened);
  return opened;
}
const tell = (page) => page.evaluate(() => globalThis.tell('workspace:changed', {}));
const names = (page) => page.locator('.file-name').allInnerTexts();
const row = (page, name) => page.locator('.file').filter({ has: page.getByText(name, { exact: true }) });
const press = (page, name) => page.getByRole('button', { name, exact: true }).click();
const doing = async (page, name, what) => {
  await press(page, `Actions for ${name}`);
  await row(page, name).getByRole('button', { name: what, exact: true }).click();
};
const heard = (page, words) => page.getByRole('status').filter({ hasText: words }).first().waitFor();
const text = (it, place, path) => it.files[place].get(path)?.body.toString();

test('places are tabs; folders open with the keyboard, the way back is a breadcrumb, and the address names it all', async () => {
  const it = home();
  const { page, context } = await visit(it);
  await page.getByRole('navigation', { name: 'Places' }).getByRole('link', { name: 'Household files' }).waitFor();
  await becomes(() => names(page), ['notes', 'Photos', 'data.bin', 'link', 'paper.pdf', 'pipe', 'plan.md', 'script.py', 'shopping.txt']);
  await row(page, 'notes').getByRole('link').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('End');
  await becomes(() => page.evaluate(() => document.activeElement.querySelector('.file-name').textContent), 'shopping.txt');
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  await becomes(() => names(page), ['deep']);
  assert.equal(await page.evaluate(() => location.hash), '#/files/in/own/notes');
  await row(page, 'deep').getByRole('link').click();
  await becomes(() => names(page), ['a.txt']);
  await page.getByRole('navigation', { name: 'Where you are' }).getByRole('link', { name: 'notes' }).click();
  await becomes(() => names(page), ['deep']);
  await row(page, 'deep').getByRole('link').focus();
  await page.keyboard.press('Backspace');
  await row(page, 'shopping.txt').waitFor();
  await page.goBack();
  await becomes(() => names(page), ['deep']);
  await page.getByRole('link', { name: 'usb' }).click();
  await becomes(() => names(page), ['song.txt']);
  await counted(page.getByRole('button', { name: 'Upload' }), 0, 'a read-only place takes nothing');
  await page.getByRole('link', { name: 'nas' }).click();
  await page.getByText('There is no folder at /mnt/nas now').waitFor();
  await page.goto(`${hob}/#/files/in/own/nowhere`);
  await page.getByText('There is no such file').waitFor();
  await context.close();
});

test('a folder with many files is read page by page', async () => {
  const it = workspace({ own: Object.fromEntries(Array.from({ length: 450 }, (_, n) => [`f${String(n).padStart(3, '0')}.txt`, file('x')])) });
  const { page, context } = await visit(it);
  await counted(page.locator('.file'), 200);
  await press(page, 'Show more');
  await counted(page.locator('.file'), 400);
  await press(page, 'Show more');
  await counted(page.locator('.file'), 450);
  await counted(page.getByRole('button', { name: 'Show more' }), 0);
  await page.goto(`${hob}/#/files/open/own/f449.txt`);
  await page.locator('.code').waitFor();
  await context.close();
});

test('files are made, renamed, moved, copied and deleted, and the trash gives them back', async () => {
  const it = home();
  const { page, context } = await visit(it);
  await row(page, 'notes').waitFor();
  await press(page, 'New folder');
  await page.getByLabel('New folder').fill('a/b');
  await press(page, 'Create');
  await page.getByText('A name cannot contain / or \\.').waitFor();
  await page.getByLabel('New folder').fill('notes');
  await press(page, 'Create');
  await page.getByText('There is something called “notes” here already.').waitFor();
  await page.getByLabel('New folder').fill('drafts');
  await press(page, 'Create');
  await heard(page, 'Folder “drafts” created.');
  await doing(page, 'shopping.txt', 'Rename');
  await becomes(() => page.evaluate(() => { const { value, selectionStart, selectionEnd } = document.activeElement; return value.slice(selectionStart, selectionEnd); }), 'shopping');
  await page.getByLabel('New name of “shopping.txt”').fill('groceries.txt');
  await page.keyboard.press('Enter');
  await heard(page, 'Renamed to “groceries.txt”.');
  await becomes(() => page.evaluate(() => document.activeElement?.querySelector('.file-name')?.textContent), 'groceries.txt', 'the renamed row has the focus');
  await doing(page, 'groceries.txt', 'Move');
  await page.locator('.picker-list').getByRole('button', { name: 'drafts' }).click();
  await press(page, 'Move here');
  await heard(page, 'one thing moved to “drafts”.');
  assert.equal(text(it, 'own', 'drafts/groceries.txt'), 'milk\neggs\n');
  // A copy beside the original has another name; into another place it asks where the name is taken.
  it.files.household.set('plan.md', file('theirs'));
  await doing(page, 'plan.md', 'Copy');
  await press(page, 'Copy here');
  await row(page, 'plan (2).md').waitFor();
  await doing(page, 'plan.md', 'Copy');
  await page.getByLabel('Place', { exact: true }).selectOption('household');
  await press(page, 'Copy here');
  await page.getByText('There is a “plan.md” already.').waitFor();
  await press(page, 'Keep both');
  await heard(page, 'one thing copied to “Household files”.');
  assert.equal(text(it, 'household', 'plan.md'), 'theirs');
  assert.match(text(it, 'household', 'plan (2).md'), /# Plan/);
  // A folder does not go into itself.
  await doing(page, 'notes', 'Move');
  await page.locator('.picker-list').getByRole('button', { name: 'notes' }).click();
  await page.getByText('A folder cannot go into itself.').waitFor();
  await page.keyboard.press('Escape');
  // Several at once.
  await press(page, 'Select');
  await page.getByRole('checkbox', { name: 'Select plan.md' }).click();
  await page.getByRole('checkbox', { name: 'Select notes' }).click();
  await heard(page, '2 selected');
  await page.getByRole('group', { name: 'Actions', exact: true }).getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Delete 2 files and folders?').waitFor();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await heard(page, '2 things moved to the trash.');
  await counted(row(page, 'notes'), 0);
  await page.getByRole('link', { name: 'Trash' }).click();
  await becomes(() => names(page), ['plan.md', 'notes'].reverse().sort((a, b) => (a === 'plan.md' ? -1 : 1)));
  await press(page, 'Restore notes');
  await heard(page, '“notes” is back where it was.');
  assert.equal(text(it, 'own', 'notes/deep/a.txt'), 'deep\n');
  await press(page, 'Empty the trash');
  await page.getByText('This cannot be undone.').waitFor();
  await press(page, 'Delete for good');
  await page.getByText('The trash is empty.', { exact: true }).waitFor();
  await context.close();
});

test('F2 renames and Delete deletes by keyboard; the next row takes the focus', async () => {
  const it = home();
  const { page, context } = await visit(it);
  await row(page, 'plan.md').getByRole('link').focus();
  await page.keyboard.press('F2');
  await page.getByLabel('New name of “plan.md”').waitFor();
  await page.keyboard.press('Escape');
  await becomes(() => page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Actions for plan.md');
  await row(page, 'plan.md').getByRole('link').focus();
  await page.keyboard.press('Delete');
  await page.getByText('Delete “plan.md”?').waitFor();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await counted(row(page, 'plan.md'), 0);
  await becomes(() => page.evaluate(() => document.activeElement?.querySelector('.file-name')?.textContent), 'script.py');
  await context.close();
});

test('what came from outside is marked, until somebody vouches for it', async () => {
  const it = home();
  const { page, context } = await visit(it);
  await row(page, 'script.py').getByText('from outside').waitFor();
  await press(page, 'Actions for script.py');
  await press(page, 'I trust this: script.py');
  await heard(page, 'You vouch for “script.py” now.');
  await counted(page.getByText('from outside'), 0);
  await context.close();
});

test('every kind of file is shown as what it is', async () => {
  const it = home();
  const { page, context } = await visit(it, { at: '#/files/open/own/script.py' });
  await page.locator('.hl-keyword').first().waitFor();
  assert.equal(await page.locator('.code').innerText(), SCRIPT);
  await becomes(() => page.evaluate(() => document.activeElement.textContent), 'script.py');
  await page.goto(`${hob}/#/files/open/own/plan.md`);
  await page.getByRole('heading', { name: 'Plan' }).waitFor();
  await press(page, 'Source');
  await page.getByText('# Plan').waitFor();
  await page.goto(`${hob}/#/files/open/own/Photos/red.png`);
  await becomes(() => page.locator('.file-picture img').evaluate((img) => img.naturalWidth), 10);
  await page.goto(`${hob}/#/files/open/own/paper.pdf`);
  await page.locator('iframe[title="PDF: paper.pdf"]').waitFor();
  await page.goto(`${hob}/#/files/open/own/data.bin`);
  await page.getByText('There is no preview of this kind of file.').waitFor();
  await press(page, 'Show as text');
  await page.locator('.code').waitFor();
  await page.goto(`${hob}/#/files/open/own/pipe`);
  await page.getByText('This is not a regular file').waitFor();
  await page.goto(`${hob}/#/files/open/own/link`);
  await page.getByText('Hob does not follow links').waitFor();
  await page.goto(`${hob}/#/files/open/own/notes`);
  await becomes(() => page.evaluate(() => location.hash), '#/files/in/own/notes', 'a folder opens as a folder');
  await page.goto(`${hob}/#/files/open/own/nothing.txt`);
  await page.getByText('This file does not exist, or no longer.').waitFor();
  it.files.own.set('long.txt', file('beginning', 'text/plain', { truncated: 9_000_000 }));
  await page.goto(`${hob}/#/files/open/own/long.txt`);
  await page.getByText('Only the first').waitFor();
  await counted(page.getByRole('button', { name: 'Edit' }), 0, 'a part of a file is not edited');
  await context.close();
});

const area = (page) => page.getByRole('textbox', { name: 'Text of shopping.txt' });

test('text is edited and saved over the version it was read in; line ends stay', async () => {
  const it = home();
  it.files.own.set('shopping.txt', file('milk\r\neggs\r\n'));
  const { page, context } = await visit(it, { at: '#/files/open/own/shopping.txt' });
  await press(page, 'Edit');
  await becomes(() => area(page).inputValue(), 'milk\neggs\n');
  await area(page).fill('milk\neggs\nbread\n');
  await heard(page, 'not saved yet');
  await page.keyboard.press('Control+s');
  await heard(page, 'Saved.');
  assert.equal(text(it, 'own', 'shopping.txt'), 'milk\r\neggs\r\nbread\r\n');
  await area(page).fill('milk\n');
  await press(page, 'Save');
  await heard(page, 'Saved.');
  await press(page, 'Close the editor');
  await page.locator('.code').getByText('milk').waitFor();
  // A new file opens in the editor.
  await page.goto(`${hob}/#/files`);
  await press(page, 'New file');
  await page.getByLabel('New file').fill('todo.txt');
  await press(page, 'Create');
  await page.getByRole('textbox', { name: 'Text of todo.txt' }).fill('rest');
  await press(page, 'Save');
  await heard(page, 'Saved.');
  assert.equal(text(it, 'own', 'todo.txt'), 'rest');
  await context.close();
});

test('a conflict keeps both texts, and loses none whatever is chosen', async () => {
  const it = home();
  const { page, context } = await visit(it, { at: '#/files/open/own/shopping.txt' });
  const change = (body) => it.files.own.set('shopping.txt', file(body));
  await press(page, 'Edit');
  await area(page).fill('milk\neggs\nmine\n');
  change('milk\ntheirs\n');
  await press(page, 'Save');
  await page.getByText('Somebody else changed this file while you were editing.').waitFor();
  assert.equal(text(it, 'own', 'shopping.txt'), 'milk\ntheirs\n');
  assert.equal(await area(page).inputValue(), 'milk\neggs\nmine\n');
  await shows(() => page.locator('.diff .removed').innerText(), /theirs/);
  await shows(() => page.locator('.diff').innerText(), /\+ mine/);
  await accessible(page, 'a conflict');
  await shot(page, 'files-conflict');
  // As a new file: both are there.
  await press(page, 'Save mine as a new file');
  await press(page, 'Save');
  await counted(page.getByText('Somebody else changed'), 0);
  assert.equal(text(it, 'own', 'shopping (2).txt'), 'milk\neggs\nmine\n');
  assert.equal(await area(page).inputValue(), 'milk\ntheirs\n');
  // Over theirs, which is noticed while typing.
  await area(page).fill('mine again\n');
  change('theirs again\n');
  await tell(page);
  await page.getByText('Somebody else changed this file').waitFor();
  await press(page, 'Save mine over theirs');
  await counted(page.getByText('Somebody else changed'), 0);
  assert.equal(text(it, 'own', 'shopping.txt'), 'mine again\n');
  // Deleted meanwhile.
  await area(page).fill('kept\n');
  it.files.own.delete('shopping.txt');
  await press(page, 'Save');
  await page.getByText('This file was deleted or renamed while you were editing.').waitFor();
  await press(page, 'Save it again');
  await becomes(() => text(it, 'own', 'shopping.txt'), 'kept\n');
  await context.close();
});

test('unsaved changes are kept: leaving asks, and a reload offers them again', async () => {
  const it = home();
  const { page, context } = await visit(it, { at: '#/files/open/own/shopping.txt' });
  await press(page, 'Edit');
  await area(page).fill('half a thought');
  await page.getByRole('link', { name: 'Memory', exact: true }).click();
  await page.getByText('Leave without saving?').waitFor();
  assert.equal(await page.evaluate(() => location.hash), '#/files/open/own/shopping.txt');
  await press(page, 'Keep editing');
  assert.equal(await area(page).inputValue(), 'half a thought');
  await page.getByRole('link', { name: 'Memory', exact: true }).click();
  await press(page, 'Leave');
  await page.getByRole('heading', { level: 1, name: 'Memory' }).waitFor();
  await page.goto(`${hob}/#/files/open/own/shopping.txt`);
  await page.getByText('You changed this file here').waitFor();
  page.on('dialog', (dialog) => dialog.accept());
  await press(page, 'Continue with your changes');
  assert.equal(await area(page).inputValue(), 'half a thought');
  await area(page).fill('half a thought, and more');
  await page.waitForTimeout(400);
  await page.reload();
  it.files.own.set('shopping.txt', file('theirs\n'));
  await press(page, 'Continue with your changes');
  await page.getByText('Somebody else changed this file while you were editing.').waitFor();
  assert.equal(await area(page).inputValue(), 'half a thought, and more');
  await press(page, 'Use theirs');
  assert.equal(await area(page).inputValue(), 'theirs\n');
  await press(page, 'Close the editor');
  await page.locator('.code').waitFor();
  await page.reload();
  await page.locator('.code').waitFor();
  await counted(page.getByText('You changed this file here'), 0, 'nothing is left to offer');
  // A refusal keeps the text, too.
  await press(page, 'Edit');
  await area(page).fill('too much');
  it.refuse['PUT /file'] = bad(413, 'quota', 'your files use all of their 10 GB: delete something first');
  await press(page, 'Save');
  await page.getByText('Your files use all of their 10 GB').waitFor();
  assert.equal(await area(page).inputValue(), 'too much');
  await context.close();
});

test('an edit of one person is not offered to another, and goes along when the file is renamed', async () => {
  const it = home();
  const { page, context } = await visit(it, { at: '#/files/open/own/shopping.txt' });
  await press(page, 'Edit');
  await area(page).fill('secret thought');
  await page.waitForTimeout(400);
  await press(page, 'Close the editor');
  await press(page, 'Leave');
  await page.goto(`${hob}/#/files`);
  await doing(page, 'shopping.txt', 'Rename');
  await page.getByLabel('New name of “shopping.txt”').fill('list.txt');
  await page.keyboard.press('Enter');
  await row(page, 'list.txt').getByRole('link').click();
  await page.getByText('You changed this file here').waitFor();
  const storageState = await context.storageState();
  const other = await staged(browser, { ...answersOf(it), 'GET /api/v1/session': good({ ...owner, user: 'p2' }) }, { live: true, size: desktop, at: '#/files/open/own/list.txt', storageState });
  await other.page.locator('.code').waitFor();
  await counted(other.page.getByText('You changed this file here'), 0);
  await other.context.close();
  await context.close();
});

test('files are uploaded by the button and by dropping; a taken name asks, progress is shown, cancel cancels', async () => {
  const it = home();
  const { page, context } = await visit(it);
  await row(page, 'notes').waitFor();
  await page.locator('input[type="file"]').setInputFiles([{ name: 'one.txt', mimeType: 'text/plain', buffer: Buffer.from('one') }, { name: 'shopping.txt', mimeType: 'text/plain', buffer: Buffer.from('other') }]);
  await page.getByRole('group', { name: 'There is a “shopping.txt” already.' }).waitFor();
  await press(page, 'Keep both');
  await row(page, 'shopping (2).txt').waitFor({ timeout: 15_000 }).catch(() => tell(page));
  await tell(page);
  await row(page, 'one.txt').waitFor();
  assert.equal(text(it, 'own', 'shopping.txt'), 'milk\neggs\n');
  assert.equal(text(it, 'own', 'shopping (2).txt'), 'other');
  // Dropped anywhere on the room.
  await page.goto(`${hob}/#/files/in/own/notes`);
  await row(page, 'deep').waitFor();
  const data = await page.evaluateHandle(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(['dropped'], 'dropped.txt', { type: 'text/plain' }));
    return transfer;
  });
  await page.dispatchEvent('.top', 'dragenter', { dataTransfer: data });
  await page.dispatchEvent('.file-list', 'dragenter', { dataTransfer: data });
  await page.getByText('Drop to upload to notes').waitFor();
  await shot(page, 'files-drop');
  await page.dispatchEvent('.file-list', 'drop', { dataTransfer: data });
  await becomes(() => text(it, 'own', 'notes/dropped.txt'), 'dropped');
  await counted(page.getByText('Drop to upload'), 0);
  // One that takes long is cancelled.
  let go;
  it.slow = { 'PUT /file': new Promise((done) => (go = done)) };
  await page.locator('input[type="file"]').setInputFiles([{ name: 'slow.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(100_000) }]);
  await page.getByRole('progressbar', { name: 'Uploading slow.bin' }).waitFor();
  await shot(page, 'files-upload');
  await press(page, 'Cancel slow.bin');
  await page.locator('.uploads').getByText('cancelled').waitFor();
  go();
  it.slow = {};
  await press(page, 'Close the list');
  // Refused: the reason, and another try.
  it.refuse['PUT /file'] = bad(413, 'quota', 'there is no room: delete something first');
  await page.locator('input[type="file"]').setInputFiles([{ name: 'big.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(10) }]);
  await page.getByText('There is no room: delete something first.').waitFor();
  await press(page, 'Try again: big.bin');
  await becomes(() => it.files.own.has('notes/big.bin'), true);
  await page.goto(`${hob}/#/files/in/usb`);
  await row(page, 'song.txt').waitFor();
  await page.dispatchEvent('.file-list', 'dragenter', { dataTransfer: data });
  await page.getByText('Nothing can be uploaded here').waitFor();
  await context.close();
});

test('files are found by name, and a search in the address opens again', async () => {
  const it = home();
  const { page, context } = await visit(it);
  await page.getByRole('searchbox', { name: 'Find a file' }).fill('txt');
  await becomes(async () => (await names(page)).sort(), ['a.txt', 'list.txt', 'shopping.txt', 'song.txt']);
  await page.getByText('Household files', { exact: false }).first().waitFor();
  await page.getByRole('searchbox', { name: 'Find a file' }).fill('nothing like it');
  await page.getByText('No file matches “nothing like it”.').waitFor();
  await press(page, 'Clear the search');
  await row(page, 'plan.md').waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('shopping');
  await page.getByRole('option', { name: /shopping.txt/ }).click();
  await page.locator('.code').waitFor();
  assert.equal(await page.evaluate(() => location.hash), '#/files/open/own/shopping.txt');
  await context.close();
});

test('an admin adds a folder and removes it; a member and a viewer see less', async () => {
  const it = home();
  const { page, context } = await visit(it, { at: '#/files/places' });
  await press(page, 'Add a folder');
  await page.getByLabel('Name').first().fill('photos');
  await page.getByLabel('Folder on this device').fill('home');
  await page.getByRole('form', { name: 'Add a folder' }).getByRole('button', { name: 'Add a folder' }).click();
  await page.getByText('Type the whole path; it begins with /.').waitFor();
  await page.getByLabel('Folder on this device').fill('/nowhere');
  await page.getByRole('form', { name: 'Add a folder' }).getByRole('button', { name: 'Add a folder' }).click();
  await page.getByText('There is no folder /nowhere on this device').waitFor();
  await page.getByLabel('Folder on this device').fill('/media/photos');
  await page.getByRole('form', { name: 'Add a folder' }).getByRole('button', { name: 'Add a folder' }).click();
  await heard(page, '“photos” added.');
  await press(page, 'Remove photos');
  await page.getByText('The folder and its files stay on the device.').waitFor();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
  await heard(page, '“photos” removed.');
  await context.close();
  const viewer = await visit(home(), { role: 'viewer' });
  await row(viewer.page, 'notes').waitFor();
  await counted(viewer.page.getByRole('button', { name: /Upload|New folder|Select/ }), 0);
  await viewer.page.getByRole('button', { name: 'Actions for plan.md' }).click();
  await counted(viewer.page.getByRole('button', { name: /Rename|Move|Delete/ }), 0);
  await viewer.page.goto(`${hob}/#/files/places`);
  await viewer.page.getByText('everybody at home').waitFor();
  await counted(viewer.page.getByRole('button', { name: 'Add a folder' }), 0);
  await viewer.context.close();
});

test('empty states', async () => {
  const { page, context } = await visit(workspace());
  await page.getByText('This folder is empty.').waitFor();
  await page.getByRole('link', { name: 'Trash' }).click();
  await page.getByText('The trash is empty.').waitFor();
  await context.close();
  const none = await visit(workspace({}, { places: [] }));
  await none.page.getByText('You have no files here yet.').waitFor();
  await none.context.close();
});

for (const [name, size] of Object.entries(sizes)) {
  for (const scheme of schemes) {
    test(`it fits and is accessible: ${name}, ${scheme}`, async () => {
      const it = home();
      it.files.own.set('a very long name of a file that somebody downloaded from somewhere with many words in it (final) (2).txt', file('x'));
      const { page, context } = await visit(it, { size, scheme });
      const look = async (what) => {
        await page.waitForTimeout(150);
        await accessible(page, what);
        await fits(page, size, what);
        await shot(page, `files-${what}-${name}-${scheme}`);
      };
      await row(page, 'notes').waitFor();
      await look('folder');
      await press(page, 'Actions for script.py');
      await look('menu');
      await row(page, 'script.py').getByRole('button', { name: 'Move' }).click();
      await page.locator('.picker-list button').first().waitFor();
      await look('picker');
      await page.goto(`${hob}/#/files/open/own/script.py`);
      await page.locator('.hl-keyword').first().waitFor();
      await look('code');
      await press(page, 'Edit');
      await page.getByRole('textbox', { name: 'Text of script.py' }).waitFor();
      await look('editor');
      await press(page, 'Close the editor');
      await page.goto(`${hob}/#/files/places`);
      await page.locator('.place-row').first().waitFor();
      await look('places');
      await context.close();
    });
  }
}
