// What a component that a model wrote can do in its frame, although its code runs in a worker: with the real daemon and a scripted model.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { calls, modelServer, says } from './model.mjs';
import { api, becomes, counted, enter, hob, launch, message } from './page.mjs';

let browser, model;
before(async () => {
  browser = await launch();
  model = await modelServer();
});
after(async () => {
  await browser?.close();
  model?.close();
});

const EVERYTHING = `function Component({ callTool }) {
  const [name, setName] = useState(''), [key, setKey] = useState('no key');
  const canvas = useRef(), box = useRef();
  useEffect(() => {
    const brush = canvas.current.getContext('2d');
    brush.fillStyle = 'rgb(200, 0, 0)';
    brush.fillRect(0, 0, 20, 20);
    box.current.focus();
  }, []);
  return h('form', { onSubmit: (event) => { event.preventDefault(); callTool('sent', { ...Object.fromEntries(new FormData(event.target)), name, picked: event.target.elements.size.value }); } },
    h('label', null, 'Name', h('input', { ref: box, name: 'typed', value: name, required: true, onInput: (event) => setName(event.target.value.toUpperCase()), onKeyDown: (event) => setKey(event.key) })),
    h('label', null, 'Size', h('select', { name: 'size' }, h('option', { value: 's' }, 'Small'), h('option', { value: 'l' }, 'Large'))),
    h('label', null, h('input', { type: 'checkbox', name: 'gift', value: 'yes' }), 'A gift'),
    h('p', { className: name ? 'some' : 'none', style: { color: 'rgb(0, 0, 200)' } }, key),
    h('canvas', { ref: canvas, width: 20, height: 20 }),
    h('svg', { viewBox: '0 0 10 10', width: 20 }, h('circle', { cx: 5, cy: 5, r: 4 })),
    h('div', { dangerouslySetInnerHTML: { __html: '<b onclick="x">bold</b><iframe src="/"></iframe><a href="/">plain</a>' } }),
    h('button', null, 'Send'));
}`;

test('a component has forms, typed text, keys, drawings and styles, and no links or frames', async () => {
  const { context, page, problems } = await enter(browser);
  await api(context, 'PUT', '/api/v1/model', { model: 'custom/scripted', url: model.url });
  await page.goto(hob);
  model.script = [calls(['render_and_wait', { title: 'An order', code: EVERYTHING }]), says('Ordered.')];
  await message(page).fill('order it');
  await message(page).press('Enter');
  const frame = page.frameLocator('iframe.component');
  const name = frame.getByLabel('Name');
  await frame.getByText('no key').waitFor();
  await page.waitForFunction(() => document.activeElement?.matches('iframe.component'));
  await frame.getByRole('button', { name: 'Send' }).click();
  assert.equal(model.asked.length, 1, 'what is required is asked for first');
  await name.pressSequentially('anna');
  await becomes(() => name.inputValue(), 'ANNA');
  await frame.locator('p.some').getByText('a', { exact: true }).waitFor();
  await becomes(() => frame.locator('p').evaluate((p) => p.style.color), 'rgb(0, 0, 200)');
  await frame.getByLabel('Size').selectOption('l');
  await frame.getByLabel('A gift').check();
  await becomes(() => frame.locator('canvas').evaluate((canvas) => [...canvas.getContext('2d').getImageData(5, 5, 1, 1).data]), [200, 0, 0, 255]);
  await counted(frame.locator('svg circle'), 1);
  await counted(frame.locator('b:not([onclick])'), 1);
  await counted(frame.locator('iframe, a[href]'), 0);
  await name.press('Enter');
  await page.locator('.words').getByText('Ordered.', { exact: true }).first().waitFor();
  const given = model.asked.at(-1).messages.filter(({ role }) => role === 'tool').at(-1).content;
  assert.deepEqual(JSON.parse(given), { action: 'sent', typed: 'ANNA', size: 'l', gift: 'yes', name: 'ANNA', picked: 'l' });
  assert.deepEqual(problems, []);
  await context.close();
});
