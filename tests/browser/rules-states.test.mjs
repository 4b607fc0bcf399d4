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
  { id: 't1', name: 'Tell me', enabled: true, sentence: 'When a timer rings: tell you “Pasta”.', type: 'event', config: { topic: 'timer', match: { state: 'ringing' } }, action: { type: 'notify', message: 'Pasta' }, fired: 1, lastFired: new Date().toISOString() },
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
    ? bad(400, 'bad_args', 'the rule would start itself again and again')
    : { sentence: 'When the bell is pressed, turn on the hall lamp.', warnings: ['“Bell” has the same trigger'], valid: true }));
  tool('dry_run_rule', () => ({ steps: ['It would turn on the hall lamp.'] }));
  tool('create_rule', (args) => {
    const rule = { id: `r${home.rules.length + 9}`, enabled: true, sentence: 'When the bell is pressed, turn on the hall lamp.', ...args };
    home.rules.push(rule);
    return rule;
  });
  tool('update_rule', ({ rule, ...change }) => Object.assign(home.rules.find((one) => one.id === rule), change));
  tool('rule_log', () => ({ log: [{ id: 'f1', status: 'ok', at: new Date(Date.now() - 600_000).toISOString(), why: 'the bell was pressed twice' }] }));
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
      await becomes(() => page.locator('section.schedules').nth(1).locator('.record-title').allInnerTexts(), STORED.map((one) => one.sentence));
      await press('Why: Bell');
      await page.getByText('the bell was pressed twice', { exact: true }).waitFor();
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
