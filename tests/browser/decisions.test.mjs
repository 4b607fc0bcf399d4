// What is decided beforehand, and what was: groups of tools, why a tool asks, standing yeses, services, autonomy, activity. A small house (house.mjs) answers /api.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { button, focused, house, last, part, ready, visitor } from './house.mjs';
import { accessible, becomes, counted, desktop, fits, launch, phone, schemes, shot, shows, sizes } from './page.mjs';
import { bad, good } from './staged.mjs';

let browser, visit;
before(async () => {
  browser = await launch();
  visit = visitor(browser);
});
after(async () => {
  await browser?.close();
});

const DAY = 86_400_000;
const NOW = Date.now();

async function everywhere(what, show) {
  for (const [name, size] of Object.entries({ ...sizes, narrow: { width: 320, height: 640 } })) {
    for (const scheme of schemes) {
      const { page, context, problems } = await show({ size, scheme });
      await accessible(page, `${what}, ${name}, ${scheme}`);
      await fits(page, size, `${what}, ${name}, ${scheme}`);
      await shot(page, `${what.replaceAll(' ', '-')}-${name}-${scheme}`);
      assert.deepEqual(problems, []);
      await context.close();
    }
  }
}

// Tools and groups

const tool = (name, group, change = {}) => ({
  name, description: `What ${name} does.`, parameters: { type: 'object', properties: {}, additionalProperties: false }, category: group === 'gpio' ? 'Hardware' : 'Web', group,
  risk: 'observe', requiresConfirmation: false, aliases: [], enabled: true, ...change,
});
const WHY = 'your autonomy is medium, and this lets data leave the device';
const EXPLAINED = {
  tool: 'send_email', verdict: 'ask', rule: 'autonomy', reason: WHY, user: 'p1', agent: 'general',
  trail: [
    { rule: 'role', says: 'does not apply' }, { rule: 'denied', says: 'does not apply' },
    { rule: 'autonomy', says: `would ask: ${WHY}` }, { rule: 'autonomy', says: 'asks: nothing denies it, and the first rule that asks decides' },
  ],
};
/** Answers of a house with tools in groups; `state` is what may change. */
function shed(it) {
  const on = () => it.groups.find((one) => one.id === 'web').enabled;
  it.groups = [
    { id: 'gpio', name: 'Pins', description: 'the header pins of the board', enabled: true, defaultEnabled: true, switchable: true, dependsOn: [], tools: ['gpio_write'], offElsewhere: [], missing: [] },
    { id: 'web', name: 'Web', description: 'reading pages and sending mail', enabled: false, defaultEnabled: false, switchable: true, dependsOn: ['gpio'], tools: ['send_email', 'read_page'], offElsewhere: [], missing: ['browse_web'] },
    { id: 'find', name: 'Finding tools', description: 'always there', enabled: true, defaultEnabled: true, switchable: false, dependsOn: [], tools: ['gpio_write'], offElsewhere: [], missing: [] },
    { id: 'media', name: 'Media', description: 'pictures and sound', enabled: false, defaultEnabled: false, switchable: true, dependsOn: [], tools: ['play_sound'], offElsewhere: [], missing: [] },
    { id: 'fax', name: 'Fax', description: 'nothing yet', enabled: true, defaultEnabled: true, switchable: true, dependsOn: [], tools: [], offElsewhere: [], missing: [] },
  ];
  it.grants ??= [];
  const tools = () => [
    tool('gpio_write', 'gpio', { risk: 'actuate' }), tool('send_email', 'web', { risk: 'send', enabled: on() }), tool('read_page', 'web', { enabled: on() }),
  ];
  return {
    'GET /api/v1/tools': () => good({ count: 3, tools: tools() }),
    ...Object.fromEntries(tools().map(({ name }) => [`GET /api/v1/tools/${name}`, () => good(tools().find((one) => one.name === name))])),
    'GET /api/v1/custom-tools': good({ count: 0, tools: [] }),
    'GET /api/v1/tool-groups': () => good({ count: 4, groups: it.groups }),
    'PUT /api/v1/tool-groups/web': (_, body) => ((it.groups[1].enabled = body.enabled), good(it.groups[1])),
    'PUT /api/v1/tool-groups/media': bad(409, 'unavailable', 'there is nothing in media on this device'),
    'GET /api/v1/tools/send_email/explain': good(EXPLAINED),
    'GET /api/v1/tools/gpio_write/explain': good({ ...EXPLAINED, tool: 'gpio_write', verdict: 'allow', rule: 'default', reason: '' }),
    'GET /api/v1/tools/read_page/explain': good({ ...EXPLAINED, verdict: 'deny', rule: 'group-off', reason: 'its group `web` is off' }),
    'GET /api/v1/grants': () => good({ count: it.grants.length, grants: it.grants }),
    'DELETE /api/v1/grants/g1': () => ((it.grants = it.grants.filter((one) => one.id !== 'g1')), good({ deleted: true })),
  };
}
const row = (page, name) => page.locator('a.tool-row').filter({ has: page.getByText(name, { exact: true }) });

test('a tool whose group is off says which to turn on, and the group is turned on where it says', async () => {
  const it = house();
  const { page, context, problems } = await visit(it, { at: '#/tools', answers: shed(it), size: desktop });
  await row(page, 'send_email').getByText('off: turn on Web').waitFor();
  await shows(() => row(page, 'gpio_write').innerText(), /controls devices/);
  await row(page, 'send_email').click();
  await page.getByText('This tool is off: turn on its group, Web.').waitFor();
  await page.getByRole('link', { name: 'Open group Web' }).click();
  await page.getByRole('heading', { name: 'Groups' }).waitFor();
  const web = page.locator('#group-web');
  await web.getByText('Reading pages and sending mail. Needs Pins. Missing here: browse_web.').waitFor();
  await web.getByRole('link', { name: 'send_email' }).waitFor();
  const toggle = page.getByRole('switch', { name: 'Web' });
  await becomes(() => toggle.isChecked(), false);
  await toggle.focus();
  await page.keyboard.press('Space');
  await web.getByText('2 tools · usually off').waitFor();
  assert.deepEqual(last(it), ['PUT', '/api/v1/tool-groups/web', { enabled: true }, 'c']);
  await becomes(() => toggle.isChecked(), true);
  await counted(page.locator('#group-find').getByRole('switch'), 0);
  await counted(page.locator('#group-fax'), 0, 'a group without tools switches nothing');
  await page.getByRole('switch', { name: 'Media' }).press('Space');
  await page.locator('#group-media').getByRole('alert').getByText('There is nothing in media on this device.').waitFor();
  await becomes(() => page.getByRole('switch', { name: 'Media' }).isChecked(), false, 'what was refused is not shown as done');
  await page.getByRole('link', { name: 'All tools' }).click();
  await page.getByRole('link', { name: 'Groups: 3 on, 1 off' }).waitFor();
  await shows(() => row(page, 'send_email').innerText(), /sends data/);
  assert.deepEqual(problems, []);
  await context.close();
});

test('whoever is no admin sees the groups and no switch', async () => {
  const it = house({ role: 'member' });
  const { page, context } = await visit(it, { at: '#/tools/groups', answers: shed(it) });
  await page.getByText('Only an admin can switch them.').waitFor();
  await counted(page.getByRole('switch'), 0);
  await shows(() => page.locator('#group-web').innerText(), /Web\s*off/);
  await context.close();
});

test('a tool says whether Hob asks first and why, and every rule in order', async () => {
  const it = house();
  const answers = shed(it);
  const { page, context, problems } = await visit(it, { at: '#/tools/send_email', answers });
  const how = page.getByRole('region', { name: 'When Hob wants to use it' });
  await how.getByText('Hob asks first: Your autonomy is medium, and this lets data leave the device.').waitFor();
  await becomes(() => how.locator('.trail').isVisible(), false);
  await how.getByText('Every rule, in order').click();
  await shows(() => how.locator('.decided').innerText(), /autonomy\s+asks: nothing denies it/);
  await counted(how.locator('.trail > li'), 4);
  await page.goto(page.url().replace('send_email', 'gpio_write'));
  await how.getByText('Hob does this without asking.').waitFor();
  await page.goto(page.url().replace('gpio_write', 'read_page'));
  await how.getByText('Hob is not allowed to do this for you: Its group web is off.').waitFor();
  answers['GET /api/v1/tools/send_email/explain'] = bad(404, 'not_found', 'Nothing here.');
  await page.goto(page.url().replace('read_page', 'send_email'));
  await page.getByRole('heading', { level: 2, name: 'send_email' }).waitFor();
  await counted(how, 0, 'what is not known is not said');
  assert.deepEqual(problems, []);
  await context.close();
});

test('a yes that was given for good is taken back', async () => {
  const it = house();
  it.grants = [
    { id: 'g1', tool: 'send_email', version: 1, pattern: { to: 'jonas@example.org', subject: 'Boiler*' }, userId: 'p1', createdAt: NOW - 3 * DAY },
    { id: 'g2', tool: 'send_email', version: 1, pattern: '*', userId: 'p1', createdAt: NOW - 4 * DAY },
    { id: 'g3', tool: 'gpio_write', version: 1, pattern: '*', userId: 'p1', createdAt: NOW },
  ];
  const answers = shed(it);
  answers['DELETE /api/v1/grants/g2'] = bad(500, 'failed', 'the disk is full');
  const { page, context, problems } = await visit(it, { at: '#/tools/send_email', answers });
  const how = page.getByRole('region', { name: 'When Hob wants to use it' });
  await counted(how.locator('.grants li'), 2);
  await shows(() => how.locator('.grants').innerText(), /To\s+jonas@example.org\s+Subject\s+Boiler\*\s+since .*with any values\s+since \d/s);
  await button(how, 'Revoke jonas@example.org, Boiler*').click();
  await how.getByText('Hob will ask again.').waitFor();
  await how.getByText('jonas@example.org').waitFor({ state: 'detached' });
  await button(how, 'Revoke with any values').click();
  await how.getByRole('alert').getByText('The disk is full.').waitFor();
  assert.deepEqual(problems, []);
  await context.close();
});

// Services

const KEY = { name: 'api_key', label: 'API key', type: 'secret', required: true, secret: true, description: 'from your account page' };
const URL_FIELD = { name: 'base_url', label: 'Address', type: 'url', required: false, secret: false };
const weather = (change = {}) => ({
  name: 'openweather', displayName: 'OpenWeather', description: 'forecasts', docsUrl: 'https://example.org/docs', multiEntry: false,
  schema: [KEY, URL_FIELD], entries: [], neededBy: ['forecast'], from: 'tool', ...change,
});
const postbox = (change = {}) => ({
  name: 'mail', displayName: 'Mail', multiEntry: true, neededBy: ['send_email', 'read_mail'], from: 'person',
  schema: [
    { name: 'host', label: 'Server', type: 'string', required: true }, { name: 'port', type: 'number', required: false, default: 993 },
    { name: 'tls', label: 'Encrypted', type: 'boolean', required: true, default: true }, { name: 'kind', type: 'select', required: true, options: ['imap', 'pop3'] },
    { name: 'password', type: 'secret', required: false, secret: true },
  ],
  entries: [
    { label: 'home', isDefault: true, fields: { host: 'mail.example.org', port: 993, tls: true, kind: 'imap' }, secretsSet: ['password'] },
    { label: 'work', isDefault: false, fields: { host: 'work.example.org', tls: false, kind: 'pop3' }, secretsSet: [] },
  ],
  ...change,
});
const lamps = () => ({ ...weather({ name: 'lamps', displayName: 'Lamps', description: null, docsUrl: 'javascript:alert(1)', from: 'file', neededBy: [] }), entries: [{ label: 'default', isDefault: true, fields: { base_url: 'http://10.0.0.4' }, secretsSet: ['api_key'] }] });

/** A house with services; its entries are kept as Hob keeps them. */
function cellar(it) {
  const named = (name) => it.services.find((one) => one.name === name);
  const merged = (schema, entry, fields = {}) => {
    for (const [name, value] of Object.entries(fields)) {
      if (schema.find((field) => field.name === name)?.type === 'secret') {
        entry.secretsSet = [...entry.secretsSet.filter((one) => one !== name), ...(value === null ? [] : [name])];
      } else if (value === null) delete entry.fields[name];
      else entry.fields[name] = value;
    }
  };
  const answers = {};
  for (const name of ['openweather', 'mail']) {
    const at = `/api/v1/config-services/${name}/entries`;
    answers[`POST ${at}`] = (_, body) => {
      const service = named(name);
      if (service.entries.some((one) => one.label === body.label)) return bad(409, 'conflict', `there is an entry ${body.label} already`);
      const entry = { label: body.label, isDefault: !service.entries.length, fields: {}, secretsSet: [] };
      merged(service.schema, entry, body.fields);
      service.entries = [...service.entries, entry];
      return good(service, 201);
    };
    for (const label of ['default', 'home', 'work']) {
      answers[`PATCH ${at}/${label}`] = (_, body) => {
        const service = named(name);
        if (body.default) for (const one of service.entries) one.isDefault = one.label === label;
        merged(service.schema, service.entries.find((one) => one.label === label), body.fields);
        return good(service);
      };
      answers[`DELETE ${at}/${label}`] = () => {
        const service = named(name);
        service.entries = service.entries.filter((one) => one.label !== label);
        return good(service);
      };
    }
  }
  return answers;
}
const entry = (page, label) => page.getByRole('group', { name: `Entry ${label}`, exact: true });

test('a service that a tool needs is set up; its key goes in and never comes out', async () => {
  const it = house({ services: [weather(), postbox(), lamps()] });
  const { page, context, problems } = await visit(it, { at: '#/device', answers: cellar(it), size: desktop });
  await ready(page);
  await part(page, 'Services').getByRole('link', { name: 'Services' }).click();
  await shows(() => row(page, 'OpenWeather').innerText(), /not set up\s+forecasts\s+Used by forecast\s·\sneeded by a tool/);
  await shows(() => row(page, 'Mail').innerText(), /2 entries/);
  await shows(() => row(page, 'Lamps').innerText(), /set up[^]*from hob.toml/);
  await row(page, 'OpenWeather').click();
  await page.getByRole('heading', { level: 2, name: 'OpenWeather' }).waitFor();
  await page.getByRole('link', { name: 'forecast', exact: true }).waitFor();
  await becomes(() => page.getByRole('link', { name: 'Documentation' }).getAttribute('rel'), 'noopener noreferrer');
  await button(page, 'Set up').click();
  await counted(page.getByLabel('Label'), 0, 'where there is one, it needs no name');
  await page.getByLabel('Address').fill('example');
  await button(page, 'Save').click();
  await page.getByText('This is required.').waitFor();
  await page.getByText('Enter an address such as https://example.org/api').waitFor();
  await accessible(page, 'a service with problems');
  const key = page.getByLabel('API key');
  await becomes(() => key.getAttribute('type'), 'password');
  await key.fill('k-1234');
  await page.getByLabel('Address').fill('https://api.example.org');
  await button(page, 'Save').click();
  await page.getByText('Saved.').waitFor();
  assert.deepEqual(last(it)[2], { label: 'default', fields: { api_key: 'k-1234', base_url: 'https://api.example.org', raw: false } });
  await shows(() => entry(page, 'default').innerText(), /API key\s+set[^]*Address\s+https:\/\/api\.example\.org/);
  assert.equal((await page.content()).includes('k-1234'), false);
  assert.equal(await button(page, 'Add another entry').count() + await button(page, 'Set up').count(), 0, 'one entry is all it takes');
  await counted(button(page, 'Remove API key'), 0, 'what is needed is replaced, not removed');
  await button(page, 'Replace API key').click();
  await page.waitForFunction(() => document.activeElement?.type === 'password');
  await becomes(() => page.getByLabel('API key').inputValue(), '');
  await page.getByText('Already set. Leave empty to keep it.').waitFor();
  await page.getByLabel('Address').fill('');
  await button(page, 'Save').click();
  await page.getByText('Already set. Leave empty to keep it.').waitFor({ state: 'detached' });
  assert.deepEqual(last(it)[2], { fields: { base_url: null, raw: false } }, 'a key that was not typed is not sent');
  assert.deepEqual(problems, []);
  await context.close();
});

test('several entries: another is added, made the default, changed, and deleted after a question', async () => {
  const it = house({ services: [postbox()] });
  const { page, context, problems } = await visit(it, { at: '#/device/services/mail', answers: cellar(it) });
  await entry(page, 'home').getByText('default').waitFor();
  await shows(() => entry(page, 'work').innerText(), /Server\s+work\.example\.org\s+Port\s+not set\s+Encrypted\s+no\s+Kind\s+pop3\s+Password\s+not set/);
  await button(page, 'Make default: work').click();
  await entry(page, 'work').getByText('default').waitFor();
  await button(page, 'Remove Password').click();
  await page.waitForFunction(() => !document.querySelector('[aria-label="Remove Password"]'));
  assert.deepEqual(last(it)[2], { fields: { password: null } });
  await button(page, 'Add another entry').click();
  await button(page, 'Save').click();
  await page.getByText('Enter a label.').waitFor();
  await page.getByLabel('Label').fill('home');
  await page.getByLabel('Server').fill('third.example.org');
  await becomes(() => page.getByLabel('Port').inputValue(), '993', 'the default of the schema stands there');
  await page.getByLabel('Kind').selectOption('imap');
  await button(page, 'Save').click();
  await page.getByRole('alert').getByText('There is an entry home already.').waitFor();
  await page.getByLabel('Label').fill('club');
  await button(page, 'Save').click();
  await entry(page, 'club').waitFor();
  assert.deepEqual(last(it)[2], { label: 'club', fields: { host: 'third.example.org', port: 993, tls: true, kind: 'imap', raw: false } });
  await button(page, 'Change home').click();
  await page.getByLabel('Port').fill('');
  await page.getByLabel('Other hosts 1', { exact: true }).fill('smtp.example.org');
  await button(page, 'Save').click();
  await entry(page, 'home').getByText('not set').first().waitFor();
  assert.deepEqual(last(it)[2], { fields: { host: 'mail.example.org', tls: true, kind: 'imap', hosts: ['smtp.example.org'], raw: false, port: null } });
  await entry(page, 'home').getByText('smtp.example.org').waitFor();
  await button(page, 'Delete work').click();
  await page.getByRole('alertdialog', { name: 'Delete the entry work?' }).waitFor();
  await accessible(page, 'deleting an entry');
  await page.keyboard.press('Escape');
  await page.getByRole('alertdialog').waitFor({ state: 'detached' });
  await button(page, 'Delete work').click();
  await button(page.getByRole('alertdialog'), 'Delete').click();
  await entry(page, 'work').waitFor({ state: 'detached' });
  await page.waitForFunction(() => document.activeElement !== document.body);
  assert.deepEqual(problems, []);
  await context.close();
});

test('a service is defined and deleted; what is wrong with its name is said', async () => {
  const it = house({ services: [weather()] });
  const { page, context, problems } = await visit(it, { at: '#/device/services', size: desktop });
  await button(page, 'New service').click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Deep L');
  await button(page, 'Add service').click();
  await page.getByRole('alert').getByText('Use 1 to 64').waitFor();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('openweather');
  await button(page, 'Add service').click();
  await page.getByRole('alert').getByText('There is already a service with this name.').waitFor();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('deepl');
  await page.getByLabel('Display name').fill('DeepL');
  await button(page, 'Add service').click();
  await page.getByRole('heading', { level: 2, name: 'DeepL' }).waitFor();
  assert.deepEqual(last(it).slice(0, 3), ['PUT', '/api/v1/config-services/deepl', { multiEntry: false, displayName: 'DeepL' }]);
  await button(page, 'Delete service').click();
  await button(page.getByRole('alertdialog', { name: 'Delete DeepL with all its entries?' }), 'Delete it').click();
  await page.getByRole('heading', { level: 2, name: 'Services' }).waitFor();
  await row(page, 'DeepL').waitFor({ state: 'detached' });
  assert.deepEqual(problems, []);
  await context.close();
});

test('what is in the file is shown and not changed, and a link that is none is not one', async () => {
  const it = house({ services: [lamps()] });
  const { page, context } = await visit(it, { at: '#/device/services/lamps' });
  await page.getByText('This comes from hob.toml').waitFor();
  await entry(page, 'default').getByText('set', { exact: true }).waitFor();
  await counted(page.locator('.page').getByRole('button'), 0);
  await counted(page.locator('a[href^="javascript"]'), 0);
  await context.close();
});

test('a viewer sees the names and changes nothing; an unknown service is told', async () => {
  const it = house({ role: 'viewer', services: [postbox({ schema: [], entries: [], neededBy: [] })] });
  const { page, context } = await visit(it, { at: '#/device/services/no-such' });
  await page.getByText('There is no service called “no-such”.').waitFor();
  await counted(button(page, 'New service'), 0);
  await counted(page.getByText('not set up'), 0, 'what one may not see is not said');
  await row(page, 'Mail').click();
  await page.getByText('Only an admin can change this.').waitFor();
  await counted(page.locator('.page').getByRole('button'), 0);
  await context.close();
});

test('a tool that lacks its service says so and leads there', async () => {
  const it = house({ services: [weather({ neededBy: ['gpio_write'] })] });
  const { page, context } = await visit(it, { at: '#/tools/gpio_write', answers: { ...shed(it), ...cellar(it) } });
  await page.getByText('Needs the service OpenWeather, which is not set up yet.').waitFor();
  await accessible(page, 'a tool that lacks its service');
  await page.getByRole('link', { name: 'Set it up' }).click();
  await button(page, 'Set up').waitFor();
  await context.close();
});

// Autonomy

test('how much Hob does without asking is chosen, then saved', async () => {
  const it = house();
  const answers = {};
  const { page, context, problems } = await visit(it, { at: '#/device', answers, size: desktop });
  const choices = page.getByRole('group', { name: 'What Hob does without asking you' });
  await choices.getByText('This is the default.').waitFor();
  await counted(choices.getByRole('radio'), 5);
  const some = choices.getByRole('radio', { name: /^Some things/ });
  await becomes(() => some.isChecked(), true);
  await some.focus();
  await page.keyboard.press('ArrowUp');
  await becomes(() => choices.getByRole('radio', { name: /^A little/ }).isChecked(), true);
  assert.equal(it.calls.length, 0, 'an arrow key alone changes nothing');
  await accessible(page, 'choosing autonomy');
  await button(part(page, 'You'), 'Cancel').click();
  await becomes(() => some.isChecked(), true);
  await choices.getByText('Hob asks nothing.').click();
  answers['PUT /api/v1/autonomy'] = bad(403, 'denied', 'the household keeps you at medium');
  await button(part(page, 'You'), 'Save').click();
  await part(page, 'You').getByRole('alert').getByText('The household keeps you at medium.').waitFor();
  delete answers['PUT /api/v1/autonomy'];
  await choices.getByRole('radio', { name: /^Most things/ }).check();
  await button(part(page, 'You'), 'Save').click();
  await part(page, 'You').getByText('Saved.').waitFor();
  await choices.getByText('You chose this.').waitFor();
  assert.deepEqual(last(it), ['PUT', '/api/v1/autonomy', { level: 'high' }, 'c']);
  assert.deepEqual(problems, []);
  await context.close();
});

// Activity

const done = (seq, change = {}) => ({
  seq, at: NOW - (1000 - seq) * 60_000, tool: 'recall', userId: 'p1', runId: 'r1', channel: 'page', verdict: 'allow', rule: 'default', outcome: 'ok', micros: 4000, ...change,
});

test('what was done is told newest first, filtered, and paged', async () => {
  const all = Array.from({ length: 120 }, (_, n) => done(120 - n, n % 3 ? {} : { tool: 'gpio_write', outcome: 'denied', verdict: 'deny', rule: 'role', userId: 'p2', runId: undefined }));
  const asked = [];
  const it = house();
  const answers = {
    'GET /api/v1/audit': (_, __, ___, query) => {
      asked.push(query.toString());
      const [tool, outcome] = [query.get('tool'), query.get('outcome')];
      const fit = all.filter((one) => (!tool || one.tool === tool) && (!outcome || one.outcome === outcome) && (query.get('everybody') || one.userId === 'p1') && one.seq < Number(query.get('before') ?? Infinity));
      const entries = fit.slice(0, Number(query.get('limit')));
      return good({ entries, next: fit.length > entries.length ? entries.at(-1).seq : null });
    },
  };
  const { page, context, problems } = await visit(it, { at: '#/device', answers, size: desktop });
  await ready(page);
  await part(page, 'Activity').getByRole('link', { name: 'Activity' }).click();
  const acts = page.locator('.act');
  await acts.nth(49).waitFor();
  await shows(() => acts.first().innerText(), /recall\s+.*succeeded\s·\sHob, for you\s·\s4 ms\s+allowed by the rule default/s);
  await button(page, 'Older').click();
  await acts.nth(79).waitFor();
  await counted(acts, 80);
  await button(page, 'Older').waitFor({ state: 'detached' });
  await focused(page, 'recall');
  await page.getByRole('switch', { name: 'Everyone' }).click();
  await page.locator('.act.bad').first().waitFor();
  await shows(() => page.locator('.act.bad').first().innerText(), /gpio_write[^]*denied\s·\sJonas\s·\s4 ms\s+denied by the rule role/);
  await page.getByLabel('Tool').fill('gpio_write');
  await page.getByLabel('Outcome').selectOption('denied');
  await page.waitForFunction(() => document.querySelectorAll('.act').length === 40 && !document.querySelector('.act:not(.bad)'));
  assert.equal(asked.at(-1), 'limit=50&tool=gpio_write&outcome=denied&everybody=true');
  await page.getByLabel('Tool').fill('no_such_tool');
  await page.getByText('No activity matches.').waitFor();
  answers['GET /api/v1/audit'] = bad(500, 'failed', 'the log could not be read');
  await page.getByLabel('Tool').fill('');
  await page.getByRole('alert').getByText('The log could not be read.').waitFor();
  answers['GET /api/v1/audit'] = good({ entries: [], next: null });
  await button(page, 'Try again').click();
  await page.getByRole('alert').waitFor({ state: 'detached' });
  assert.deepEqual(problems, []);
  await context.close();
});

test('who is no admin has no switch for everybody; an entry of a later version does no harm', async () => {
  const it = house({ role: 'member', audit: [{ seq: 1, at: NOW, tool: 'x'.repeat(64), userId: 'p1', verdict: 'maybe', rule: 'new-rule', outcome: 'exploded', micros: 12 }, { seq: 0, at: NOW, tool: 'recall', userId: 'p1', verdict: null, outcome: 'rate_limited', micros: 90 }] });
  const { page, context, problems } = await visit(it, { at: '#/device/activity' });
  await page.getByText('maybe by the rule new-rule').waitFor();
  await page.getByText(/^exploded/).waitFor();
  await page.getByText(/^rate limited.*you.*1 ms$/).waitFor();
  await counted(page.getByRole('switch'), 0);
  await fits(page, phone, 'a long name in the log');
  assert.deepEqual(problems, []);
  await context.close();
});

// How all of it looks

test('each new place: 320 px, phone and desktop, light and dark', async () => {
  const full = () => {
    const it = house({ services: [weather(), postbox(), lamps()] });
    it.grants = [
      { id: 'g1', tool: 'send_email', version: 1, pattern: { to: 'jonas@example.org', subject: 'Boiler*' }, createdAt: NOW - 3 * DAY, lastUsedAt: NOW },
      { id: 'g2', tool: 'send_email', version: 1, pattern: '*', createdAt: NOW - 4 * DAY },
    ];
    it.audit = [done(9), done(8, { tool: 'gpio_write', outcome: 'denied', verdict: 'deny', rule: 'role', runId: undefined }), done(7, { tool: 'send_email', verdict: 'ask', rule: 'tainted', outcome: 'parked', micros: 120e6 }), done(6, { tool: 'batch_remember', micros: 1.24e6, at: NOW - 9 * DAY })];
    return it;
  };
  const show = (at, wait) => async (options) => {
    const it = full();
    const opened = await visit(it, { ...options, at, answers: { ...shed(it), ...cellar(it) } });
    await wait(opened.page);
    return opened;
  };
  await everywhere('groups', show('#/tools/groups/web', (page) => page.getByRole('link', { name: 'send_email' }).waitFor()));
  await everywhere('tools off', show('#/tools', (page) => row(page, 'send_email').waitFor()));
  await everywhere('standing', show('#/tools/send_email', async (page) => {
    await page.getByText('Every rule, in order').click();
    await page.locator('.grants').scrollIntoViewIfNeeded();
  }));
  await everywhere('services', show('#/device/services', (page) => row(page, 'Mail').waitFor()));
  await everywhere('service', show('#/device/services/mail', (page) => entry(page, 'work').waitFor()));
  await everywhere('service form', show('#/device/services/mail', (page) => button(page, 'Change home').click()));
  await everywhere('activity', show('#/device/activity', (page) => page.locator('.act').nth(3).waitFor()));
  await everywhere('autonomy', show('#/device/you', async (page) => {
    await page.getByRole('radio', { name: /^Most things/ }).check();
    await ready(page);
  }));
});
