// What Hob asks and shows in a conversation, with the real daemon and a scripted model: questions, blocks, a form, told words, files, a queue, runs.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { calls, says, talkWithModel } from './model.mjs';
import { accessible, counted, desktop, enter, exchanges, fits, hob, message, phone, shot } from './page.mjs';

let browser, model, context, page, problems, close;
before(async () => ({ browser, model, context, page, problems, close } = await talkWithModel()));
after(() => close?.());

const button = (place, name) => place.getByRole('button', { name, exact: true });
const card = (on = page) => on.locator('.interaction');
const bar = (on = page) => on.getByRole('navigation', { name: 'Rooms' });
const over = (words) => page.locator('.words').getByText(words, { exact: true }).first().waitFor();
const settled = () => page.locator('article.exchange[data-state="running"]').waitFor({ state: 'detached' });
/** What the model was told that the tool gave. */
const given = () => model.asked.at(-1).messages.filter(({ role }) => role === 'tool').map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content))).at(-1) ?? '';

/** Says something to which the model answers by this script. */
async function say(words, script) {
  model.script = script;
  await message(page).fill(words);
  await message(page).press('Enter');
}

const QUESTION = { question: 'Which room is to be warmer?', options: ['Hall', 'Kitchen'] };

test('a question with options is answered with one press, and the run goes on with it', async () => {
  await say('make it warmer', [calls(['ask_user', QUESTION]), says('The kitchen it is.')]);
  await card().getByText(QUESTION.question).waitFor();
  await bar().getByRole('link', { name: /^Talk.*1 question for you$/ }).waitFor();
  await accessible(page, 'a real question');
  await fits(page, phone, 'a real question');
  await shot(page, 'ask-real');
  await button(card(), 'Kitchen').click();
  await over('The kitchen it is.');
  assert.match(given(), /Kitchen/);
  await page.locator('.asked-answered').getByText('Kitchen').waitFor();
  await bar().getByRole('link', { name: 'Talk', exact: true }).waitFor();
  await settled();
});

test('one that is not answered at once rests, over a reload, and is answered on another page', async () => {
  await say('make it cooler', [calls(['ask_user', { question: 'How cool?' }])]);
  await page.locator('.remark').getByText('Waiting for your answer').waitFor();
  await page.reload();
  await exchanges(page).last().locator('.interaction').getByText('How cool?').waitFor();
  const other = await enter(browser, { size: desktop });
  await other.page.goto(hob);
  model.script = [says('18 degrees, then.')];
  await card(other.page).getByLabel('Your answer').fill('18 degrees');
  await button(card(other.page), 'Answer').click();
  await over('18 degrees, then.');
  await exchanges(page).last().locator('.asked-answered').getByText('18 degrees').waitFor();
  assert.match(given(), /18 degrees/);
  assert.deepEqual(other.problems, []);
  await other.context.close();
  await page.reload();
  await exchanges(page).last().locator('.asked-answered').getByText('18 degrees').waitFor();
});

test('told words stand quietly between what was done', async () => {
  await say('look everywhere', [calls(['send_message', { text: 'Still **looking**…' }]), says('Nothing found.')]);
  await over('Nothing found.');
  await counted(exchanges(page).last().locator('.aside-words'), 1);
  await exchanges(page).last().locator('.aside-words').getByText('looking').waitFor();
  await settled();
});

const FORM = [
  { type: 'markdown', content: 'Two trains go.' },
  { type: 'chart', chartType: 'bar', data: { labels: ['8:04', '9:04'], datasets: [{ label: 'Seats', data: [12, 40] }] } },
  {
    type: 'form', submitLabel: 'Book',
    fields: [
      { name: 'who', label: 'Who', type: 'text', required: true }, { name: 'seats', label: 'Seats', type: 'number', default: 2 },
      { name: 'class', label: 'Class', type: 'select', options: ['first', 'second'], required: true }, { name: 'quiet', label: 'Quiet car', type: 'checkbox' },
    ],
  },
];

test('blocks with a form: what was filled in reaches the model', async () => {
  await say('book the train', [calls(['render_blocks', { title: 'The train', blocks: FORM }]), says('Booked.')]);
  await card().getByText('Two trains go.').waitFor();
  await counted(card().locator('.chart'), 1);
  await button(card(), 'Book').click();
  await counted(card().getByText('This is required.'), 2);
  await card().getByLabel('Who').fill('Anna');
  await card().getByLabel('Class').selectOption('second');
  await card().getByText('Quiet car').click();
  await accessible(page, 'a real form');
  await fits(page, phone, 'a real form');
  await shot(page, 'form-real');
  await button(card(), 'Book').click();
  await over('Booked.');
  for (const part of ['submit', 'Anna', 'second', 'true']) assert.match(given(), new RegExp(part));
  await settled();
});

test('blocks without a form are put aside, and stay to be looked at', async () => {
  await say('show me', [calls(['render_blocks', { title: 'Trains', blocks: FORM.slice(0, 2) }]), says('Shown.')]);
  await button(card(), 'Done').click();
  await over('Shown.');
  assert.match(given(), /dismiss/);
  await settled();
  await page.reload();
  const last = exchanges(page).last();
  await last.getByText('showed you something').click();
  await last.getByText('Two trains go.').waitFor();
  await accessible(page, 'what was shown');
});

const PICKER = `function Component({ colours, callTool }) {
  const [chosen, choose] = useState('none yet');
  return h('div', null, h('p', null, chosen), ...colours.map((one) => h('button', { onClick: () => choose(one) }, one)), h('button', { onClick: () => callTool('picked', { colour: chosen }) }, 'Take it'));
}`;

test('a component that Hob wrote runs in its frame, and what it calls reaches the model', async () => {
  const { headers } = await page.evaluate(async () => ({ headers: Object.fromEntries((await fetch('/frame.html')).headers) }));
  assert.equal(headers['x-frame-options'], undefined, 'our own page may frame it');
  assert.match(headers['content-security-policy'], /sandbox allow-scripts/, 'opened by itself it has no origin either');
  await say('pick a colour', [calls(['render_and_wait', { title: 'A colour', code: PICKER, props: { colours: ['red', 'blue'] } }]), says('Blue it is.')]);
  const frame = page.frameLocator('iframe.component');
  await frame.getByRole('button', { name: 'blue' }).click();
  await frame.getByText('blue').first().waitFor();
  await shot(page, 'component-real');
  await frame.getByRole('button', { name: 'Take it' }).click();
  await over('Blue it is.');
  assert.match(given(), /picked.*blue/);
  await settled();
});

test('a picture goes with a message, is shown in it, and reaches the model', async () => {
  const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==', 'base64');
  await page.locator('.composer input[type="file"]').setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: png });
  await page.locator('.attached').getByText('dot.png').waitFor();
  await page.getByRole('progressbar').waitFor({ state: 'detached' });
  await say('what is this?', [says('A dot.')]);
  await over('A dot.');
  await settled();
  const loaded = () => page.waitForFunction(() => [...document.querySelectorAll('.you img')].some((image) => image.complete && image.naturalWidth > 0));
  await loaded();
  assert.match(JSON.stringify(model.asked.at(-1).messages.at(-1)), /image/);
  await page.reload();
  await loaded();
  await page.waitForTimeout(200);
  await shot(page, 'picture-real');
});

/** What a camera makes of a wall that is red on the left: lying on its side, and a note of how it was held. */
async function photo() {
  const lying = await page.evaluate(() => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 3200, height: 1600 });
    const pen = canvas.getContext('2d');
    pen.fillStyle = '#00f';
    pen.fillRect(0, 0, 3200, 1600);
    pen.fillStyle = '#f00';
    pen.fillRect(0, 800, 3200, 800);
    return canvas.toDataURL('image/jpeg', 0.95).split(',')[1];
  });
  const bytes = Buffer.from(lying, 'base64');
  // EXIF with one entry: orientation 6, to be turned a quarter to the right.
  const turned = Buffer.from('ffe1002245786966000049492a0008000000010012010300010000000600000000000000', 'hex');
  return Buffer.concat([bytes.subarray(0, 2), turned, bytes.subarray(2)]);
}

test('a large photo is made smaller and upright before it leaves; what this browser cannot read goes as it is', async () => {
  const fetched = () => page.evaluate(() => performance.getEntriesByType('resource').some(({ name }) => name.includes('/shrink-')));
  await page.reload();
  await message(page).waitFor();
  assert.equal(await fetched(), false, 'the code for it is no part of the first load');
  const picker = page.locator('.composer input[type="file"]');
  await picker.setInputFiles({ name: 'wall.of.mine.jpeg', mimeType: 'image/jpeg', buffer: await photo() });
  await page.locator('.attached').getByText('wall.of.mine.jpg').waitFor();
  await page.getByRole('progressbar').waitFor({ state: 'detached' });
  assert.equal(await fetched(), true);
  await say('which wall?', [says('A red one.')]);
  await over('A red one.');
  await settled();
  const { url } = model.asked.at(-1).messages.at(-1).content.find(({ type }) => type === 'image_url').image_url;
  assert.match(url, /^data:image\/jpeg;base64,/);
  const seen = await page.evaluate(async (url) => {
    const image = Object.assign(new Image(), { src: url });
    await image.decode();
    const canvas = Object.assign(document.createElement('canvas'), { width: image.naturalWidth, height: image.naturalHeight });
    const pen = canvas.getContext('2d');
    pen.drawImage(image, 0, 0);
    const at = (x) => [...pen.getImageData(x, 1000, 1, 1).data].map((part) => Math.round(part / 255));
    return { size: [canvas.width, canvas.height], left: at(100), right: at(canvas.width - 100) };
  }, url);
  assert.deepEqual(seen, { size: [1024, 2048], left: [1, 0, 0, 1], right: [0, 0, 1, 1] });

  const raw = Buffer.alloc(3_600_000, 7);
  await picker.setInputFiles({ name: 'raw.heic', mimeType: 'image/heic', buffer: raw });
  await page.locator('.attached').getByText('raw.heic').waitFor();
  await page.getByRole('progressbar').waitFor({ state: 'detached' });
  await page.locator('.attached').getByText('3.6 MB').waitFor();
  await button(page, 'Remove raw.heic').click();
  await counted(page.locator('.attached li'), 0);
});

test('while Hob works, the next message waits for its turn', async () => {
  let go;
  model.hold = new Promise((done) => (go = done));
  await say('first', [says('One.'), says('Two.')]);
  await button(page, 'Stop').waitFor();
  await message(page).fill('second');
  await button(page, 'Send').click();
  await page.getByRole('list', { name: 'queued' }).getByText('second').waitFor();
  await shot(page, 'queue-real');
  model.hold = null;
  go();
  await over('One.');
  await over('Two.');
  await settled();
  await counted(page.getByRole('list', { name: 'queued' }), 0);
  const said = await exchanges(page).evaluateAll((all) => all.slice(-2).map((one) => one.innerText.replace(/\s+/g, ' ')));
  assert.match(said[0], /first.*One\./);
  assert.match(said[1], /second.*Two\./);
});

test('a conversation branches off, is saved as a file and brought back', async () => {
  await page.getByRole('button', { name: 'Branch from “make it warmer”' }).click();
  await page.getByText('This is a new conversation').waitFor();
  await exchanges(page).first().getByText('The kitchen it is.').waitFor();
  await counted(exchanges(page), 1);
  await button(page, 'Conversations').click();
  const drawer = page.getByRole('dialog', { name: 'Conversations' });
  await drawer.locator('.line').nth(1).waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), drawer.getByRole('button', { name: /^Save “/ }).first().click()]);
  await drawer.locator('input[type="file"]').setInputFiles(await download.path().then(async (path) => ({ name: 'x.json', mimeType: 'application/json', buffer: await (await import('node:fs/promises')).readFile(path) })));
  await drawer.waitFor({ state: 'detached' });
  await exchanges(page).first().getByText('The kitchen it is.').waitFor();
});

test('the runs are listed with their steps', async () => {
  await page.goto(`${hob}/#/device/runs`);
  const acts = page.locator('.act');
  await acts.nth(3).waitFor();
  await acts.locator('.asked').getByText('make it warmer', { exact: true }).waitFor();
  await acts.first().getByText('Steps').click();
  await acts.first().locator('.steps li').first().waitFor();
  await accessible(page, 'the real runs');
  await fits(page, phone, 'the real runs');
  await shot(page, 'runs-real');
  await page.getByLabel('State').selectOption('failed');
  await page.getByText('No runs in that state.').waitFor();
  assert.deepEqual(problems, []);
});
