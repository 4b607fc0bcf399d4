// The form of rules over a home with a device of every kind: what one chooses, what is sent, what the device says about it before it is saved.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { demoHome } from './demo-home.mjs';
import { lists } from './lists.mjs';
import { accessible, becomes, counted, desktop, fits, launch, phone, schemes, shot, shows, sizes } from './page.mjs';
import { bad, good, staged } from './staged.mjs';

let browser, page;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
});

const { field, form, press, line } = lists(() => page);

const STORED = [
  {
    id: 'r1', name: 'Bell', enabled: true, sentence: 'When the bell is pressed twice, turn on the hall lamp for 5 minutes.', fired: 3, lastFired: new Date(Date.now() - 600_000).toISOString(), mode: 'single',
    triggers: [{ type: 'pin', pin: 4, press: 'double' }], conditions: [], actions: [{ type: 'thing', thing: 'pin:17', action: 'turn_on', for: 'PT5M' }],
  },
  {
    id: 'r2', name: 'Dark hall', enabled: false, sentence: 'At sunset, turn on the ceiling light to 40 %, if it is after 17:00, unless Sonos is playing.', fired: 0, mode: 'restart',
    triggers: [{ type: 'sun', event: 'sunset' }], conditions: [{ type: 'time', after: '17:00' }, { type: 'not', condition: { type: 'thing', thing: 'ha:media_player.sonos', is: 'playing' } }],
    actions: [{ type: 'thing', thing: 'ha:light.ceiling', action: 'set_level', level: 40 }, { type: 'wait', seconds: 90 }, { type: 'thing', area: 'Living room', kind: 'light', action: 'turn_off' }],
  },
  {
    id: 't1', name: 'Tell me', enabled: true, kind: 'event', sentence: 'When a timer rings, tell you “Pasta”.', fired: 1, failures: 1, lastFired: new Date().toISOString(),
    triggers: [{ type: 'event', topic: 'timer', match: { state: 'ringing' } }], conditions: [], actions: [{ type: 'message', message: 'Pasta' }],
  },
];

const choices = {
  causes: [{ id: 'timer', title: 'A timer rings', type: 'event', config: { topic: 'timer', match: { state: 'ringing' } }, fields: [{ path: 'match.name', title: 'Only timers named', input: 'text', required: false, op: 'contains' }] }],
  people: [{ id: 'p2', name: 'Anna' }], tools: [{ name: 'add_task', title: 'Add a task', group: 'Tasks', looks: false }],
};

function homeWithRules(rules = STORED) {
  const home = demoHome();
  home.sent = [];
  const tool = (name, run) => (home.answers[`POST /api/v1/tools/${name}/execute`] = async (route) => {
    const args = route.request().postDataJSON().arguments ?? {};
    const found = await run(args);
    if (name !== 'list_rules' && name !== 'list_scheduled_tasks') home.sent.push([name, args]);
    await route.fulfill(found.json ? found : good({ tool: name, result: found, isError: false }));
  });
  home.rules = structuredClone(rules);
  tool('list_rules', () => ({ rules: home.rules, count: home.rules.length, hasMore: false }));
  tool('list_scheduled_tasks', () => ({ tasks: [], count: 0, hasMore: false }));
  tool('gpio_list', () => ({ driver: 'sim', why: '', pins: [{ pin: 4, high: false, driven: false, name: 'Bell', sensor: true }, { pin: 17, high: true, driven: true, name: 'hall lamp' }, { pin: 22, high: false, driven: false }] }));
  tool('validate_rule', ({ actions }) => (actions[0].level === 13
    ? { valid: false, errors: ['The rule would start itself again and again.'], warnings: [], sentence: 'When the bell is pressed, set the hall lamp to 13 %.' }
    : { sentence: 'When the bell is pressed, turn on the hall lamp.', warnings: ['“Bell” has the same trigger'], valid: true }));
  tool('dry_run_rule', () => ({ wouldRun: true, conditions: [{ text: 'it is dark', holds: true }], actions: [], errors: [] }));
  tool('create_rule', (args) => {
    const rule = { id: `r${home.rules.length + 9}`, enabled: true, sentence: 'When the bell is pressed, turn on the hall lamp.', ...args };
    home.rules.push(rule);
    return rule;
  });
  tool('update_rule', ({ ruleId, ...change }) => Object.assign(home.rules.find((one) => one.id === ruleId), change));
  tool('rule_log', () => ({ log: [
    { id: 'f1', outcome: 'ok', ran: true, at: new Date(Date.now() - 600_000).toISOString(), why: 'the bell was pressed twice', ms: 4, conditions: [{ text: 'it is dark', value: 'dark', holds: true }], actions: [{ text: 'turn on the hall lamp for 5 minutes', outcome: 'ok', ms: 3, error: null }] },
    { outcome: 'skipped', ran: false, at: new Date(Date.now() - 900_000).toISOString(), why: 'the bell was pressed twice', reason: 'it is day', times: 3, conditions: [{ text: 'it is dark', value: 'day', holds: false }] },
  ] }));
  home.answers['GET /api/v1/automation/choices'] = good(choices);
  home.answers['GET /api/v1/tools'] = good({ count: 0, tools: [] });
  home.answers['GET /api/v1/custom-tools'] = good({ count: 0, tools: [] });
  home.answers['GET /api/v1/groups'] = good({ groups: [] });
  return home;
}

const visit = async (home, options = {}) => {
  const opened = await staged(browser, home.answers, { live: true, at: '#/home/rules', ...options });
  ({ page } = opened);
  return opened;
};
const calls = (home, name) => home.sent.filter(([tool]) => tool === name).map(([, args]) => args);

test('rules and triggers are one list of sentences, in the Home room', async () => {
  for (const [name, size] of Object.entries(sizes)) {
    for (const scheme of schemes) {
      const home = homeWithRules();
      const { context, problems } = await visit(home, { size, scheme });
      await line('When the bell is pressed twice').waitFor();
      await becomes(() => page.locator('section.schedules').first().locator('.record-title').allInnerTexts(), STORED.map((one) => one.sentence));
      await press('Why: Bell');
      await page.getByText('→ turn on the hall lamp for 5 minutes').waitFor();
      await accessible(page, `rules, ${name}, ${scheme}`);
      await fits(page, size, `rules, ${name}, ${scheme}`);
      await shot(page, `rules-${name}-${scheme}`, { fullPage: true });
      await press('Edit: Dark hall');
      await form().locator('.rule-sentence').waitFor();
      await accessible(page, `the form of a rule, ${name}, ${scheme}`);
      await fits(page, size, `the form of a rule, ${name}, ${scheme}`);
      await shot(page, `rule-form-${name}-${scheme}`, { fullPage: true });
      assert.deepEqual(problems, []);
      await context.close();
    }
  }
});

test('a rule is made by choosing: button, condition, device, and what the device says about it', async () => {
  const home = homeWithRules([]);
  const { context, problems } = await visit(home, { size: phone });
  await page.getByText('No rules yet.').waitFor();
  await press('Add a rule');
  await press('Add', form());
  await form().getByText('This is required.').first().waitFor();
  await form().getByRole('combobox', { name: /^Pin/ }).selectOption({ label: 'Bell (pin 4)' });
  await form().getByRole('combobox', { name: 'How' }).selectOption('double');
  await press('Add a condition');
  await form().getByLabel('After', { exact: true }).fill('17:00');
  await form().getByLabel('Before', { exact: true }).fill('');
  const does = form().getByRole('group', { name: 'Do this' });
  await does.getByRole('combobox', { name: /^Device/ }).selectOption({ label: 'hall lamp' });
  await does.getByLabel('For', { exact: true }).fill('5');
  // Before it is stored: the sentence, a warning, and a test that does nothing.
  await form().getByText('When the bell is pressed, turn on the hall lamp.').waitFor();
  await form().getByText('“Bell” has the same trigger.').waitFor();
  await press('Test');
  await form().getByText('✓ it is dark').waitFor();
  await accessible(page, 'a new rule, tested');
  await shot(page, 'rule-new-phone', { fullPage: true });
  assert.deepEqual(calls(home, 'create_rule'), []);
  await press('Add', form());
  await counted(form(), 0);
  await becomes(() => calls(home, 'create_rule'), [{
    triggers: [{ type: 'pin', pin: 4, press: 'double' }], conditions: [{ type: 'time', after: '17:00' }], actions: [{ type: 'thing', thing: 'pin:17', action: 'turn_on', for: 'PT5M' }],
    mode: 'single', cooldownSeconds: 0, maxPerHour: 600,
  }]);
  assert.deepEqual(problems, []);
  await context.close();
});

test('what the form shows of a stored rule is what is stored', async () => {
  const home = homeWithRules();
  const { context, problems } = await visit(home, { size: desktop });
  await press('Edit: Dark hall');
  await form().getByText('When the bell is pressed').waitFor();
  // Nothing that was not touched is sent.
  await becomes(() => calls(home, 'validate_rule').at(-1), {
    ruleId: 'r2', triggers: [{ type: 'sun', event: 'sunset' }],
    conditions: [{ type: 'time', after: '17:00' }, { type: 'not', condition: { type: 'thing', thing: 'ha:media_player.sonos', is: 'playing' } }],
    actions: [{ type: 'thing', thing: 'ha:light.ceiling', action: 'set_level', level: 40 }, { type: 'wait', seconds: 90 }, { type: 'thing', area: 'Living room', kind: 'light', action: 'turn_off' }],
    mode: 'restart',
  });
  await form().getByRole('textbox', { name: /^Minutes after it/ }).fill('-30');
  await press('Save');
  await counted(form(), 0);
  assert.deepEqual(calls(home, 'update_rule'), [{ ruleId: 'r2', triggers: [{ type: 'sun', event: 'sunset', offsetMinutes: -30 }] }]);
  await press('Turn on: Dark hall');
  await becomes(() => calls(home, 'update_rule').at(-1), { ruleId: 'r2', enabled: true });
  // A trigger is a rule too.
  await press('Edit: Tell me');
  await becomes(() => calls(home, 'validate_rule').at(-1)?.triggers, [{ type: 'event', topic: 'timer', match: { state: 'ringing' } }]);
  await press('Cancel');
  assert.deepEqual(problems, []);
  await context.close();
});

test('every part one can choose is sent as the tools take it', async () => {
  const home = homeWithRules([]);
  const { context, problems } = await visit(home, { size: desktop });
  await press('Add a rule');
  const when = form().getByRole('group', { name: 'When', exact: true });
  const does = form().getByRole('group', { name: 'Do this' });
  const last = (name, wanted) => becomes(() => calls(home, 'validate_rule').at(-1)?.[name][0], wanted);
  const kind = (place, value) => place.locator('select.kind').selectOption(value);
  await kind(does, 'message');
  await does.getByLabel(/^Message/).fill('ding');
  await does.getByLabel('For', { exact: true }).selectOption('Anna');
  await kind(when, 'pin');
  await when.getByRole('combobox', { name: /^Pin/ }).selectOption('22');
  await when.getByLabel('And stays so for', { exact: true }).fill('2');
  await last('triggers', { type: 'pin', pin: 22, edge: 'rising', for: 120 });
  await last('actions', { type: 'message', message: 'ding', person: 'Anna' });
  await kind(when, 'thing');
  await when.getByRole('combobox', { name: /^Device/ }).selectOption({ label: 'porch door' });
  await becomes(() => when.getByRole('combobox', { name: 'When it becomes' }).inputValue(), 'open');
  await last('triggers', { type: 'thing', thing: 'ha:binary_sensor.porch', to: 'open', for: 120 });
  await kind(when, 'threshold');
  await when.getByRole('combobox', { name: /^Value of/ }).selectOption({ label: 'Cellar temperature' });
  await press('Add', form());
  await when.getByText('Fill in one of the two.').waitFor();
  await when.getByLabel('Falls below').fill('5,5');
  await when.getByLabel('And stays so for', { exact: true }).fill('');
  await last('triggers', { type: 'threshold', thing: 'mqtt:cellar_temp', below: 5.5 });
  await kind(when, 'schedule');
  await when.getByLabel(/^Time/).fill('07:30');
  await last('triggers', { type: 'schedule', schedule: '30 7 * * *' });
  await kind(when, 'mqtt');
  await when.getByLabel(/^Topic/).fill('remote/action');
  await when.getByLabel(/^Message/).fill('single');
  await last('triggers', { type: 'mqtt', topic: 'remote/action', payload: 'single' });
  await kind(when, 'cause:timer');
  await when.getByLabel('Only timers named').fill('pasta');
  await last('triggers', { type: 'event', topic: 'timer', match: { state: 'ringing', name: { op: 'contains', value: 'pasta' } } });
  await kind(does, 'thing');
  await does.getByRole('combobox', { name: /^Device/ }).selectOption({ label: 'Lights: Living room' });
  await does.getByRole('combobox', { name: 'What to do' }).selectOption('turn_off');
  await last('actions', { type: 'thing', area: 'Living room', kind: 'light', action: 'turn_off' });
  await does.getByRole('combobox', { name: /^Device/ }).selectOption({ label: 'Thermostat' });
  await does.getByRole('combobox', { name: 'What to do' }).selectOption('set_temperature');
  await does.getByLabel(/^Temperature/).fill('21.5');
  await last('actions', { type: 'thing', thing: 'ha:climate.living', action: 'set_temperature', temperature: 21.5 });
  await kind(does, 'pulse');
  await does.getByRole('combobox', { name: /^Pin/ }).selectOption('17');
  await last('actions', { type: 'pulse', pin: 17, milliseconds: 500 });
  await kind(does, 'ha');
  await does.getByLabel(/^Service/).fill('light.turn_on');
  await does.getByLabel('Entity').fill('light.porch');
  await last('actions', { type: 'ha', domain: 'light', service: 'turn_on', entity: 'light.porch' });
  await kind(does, 'prompt');
  await does.getByLabel(/^Ask/).fill('What is in the news?');
  await last('actions', { type: 'prompt', prompt: 'What is in the news?' });
  await press('And then do something else');
  await does.locator('select.kind').nth(1).selectOption('wait');
  await does.getByLabel(/^How long/).fill('30');
  await becomes(() => calls(home, 'validate_rule').at(-1)?.actions[1], { type: 'wait', seconds: 1800 });
  assert.deepEqual(problems, []);
  await context.close();
});

test('a rule that would go round in circles is said to be wrong while it is made', async () => {
  const home = homeWithRules([]);
  const { context } = await visit(home, { size: phone, scheme: 'dark' });
  await press('Add a rule');
  await form().getByRole('combobox', { name: /^Pin/ }).selectOption('4');
  const does = form().getByRole('group', { name: 'Do this' });
  await does.getByRole('combobox', { name: /^Device/ }).selectOption({ label: 'Ceiling light' });
  await does.getByRole('combobox', { name: 'What to do' }).selectOption('set_level');
  await does.getByLabel(/^Level/).fill('13');
  await form().getByText('The rule would start itself again and again.').waitFor();
  await accessible(page, 'a rule with an error');
  await context.close();
});
