// Makes the pictures from the real daemon: a house with some content, every room, on a phone and on a desktop, light and dark.
// `hob-*` and `room-*` are the README's and for the eye. A fresh daemon is claimed with HOB_CLAIM; one that has an owner is signed in to with HOB_TOKEN.
// Only the neighbours on the network are staged: where tests run there are none.
import { api, ask, exchanges, hob, launch, message, need, open, schemes, shot, sizes } from './page.mjs';
import { good } from './staged.mjs';

need('SHOTS');
const link = process.env.HOB_CLAIM ?? '';
const FACTS = [
  ['The gate code for deliveries is 4417', 'fact', ['house'], 0.9],
  ['Jonas likes the hall at 19 °C in the evening', 'preference', ['heating'], 0.5],
  ['The chimney was swept in September', 'event', ['heating', 'house'], 0.5],
  ['The bottle bank on the corner takes glass until eight in the evening', 'fact', ['errands'], 0.3],
];
const tool = (name, description, code, more = {}) => ({
  name, description, code, permissions: [],
  parameters: { type: 'object', properties: { year: { type: 'integer', description: 'The year it was built.' } }, required: ['year'] }, ...more,
});
const AGE = 'const age = new Date().getFullYear() - args.year;\nreturn { age, due: age % 2 === 0 };';
const RADIO = 'const status = await utils.shell("systemctl is-active radio");\nif (status.trim() === "active") return "it plays";\nawait utils.shell("systemctl restart radio");\nreturn "restarted";';
const TOOLS = [
  [tool('boiler_age', 'How old the boiler is, and whether its service is due this year.', AGE), []],
  [tool('bottle_count', 'Counts the bottles in so many crates.', 'return { bottles: args.year * 12 };'), ['disable']],
  [tool('tidy_downloads', 'Deletes what is older than a month in the downloads folder.', 'return "tidied";', { createdBy: 'llm', permissions: ['filesystem', 'shell'] }), ['reject']],
  [tool('restart_radio', 'Restarts the kitchen radio when it has been silent for an hour.', RADIO, { createdBy: 'llm', permissions: ['shell'], parameters: { type: 'object', properties: {} } }), []],
];
const NEAR = [
  { name: 'kitchen', kind: 'hob', host: 'kitchen.local', port: 4620, url: 'http://kitchen.local:4620', version: '0.1.0', claimed: true, self: true },
  { name: 'workshop', kind: 'hob', host: 'workshop.local', port: 4620, url: 'http://workshop.local:4620', version: '0.1.0', claimed: false, self: false },
  { name: 'Home', kind: 'home-assistant', host: 'homeassistant.local', port: 8123, url: 'http://homeassistant.local:8123', version: '2026.11.2', self: false },
  { name: 'hall speaker', kind: 'wyoming', host: 'hall.local', port: 10700, url: null, self: false },
];
/** What is pictured: its name, its address, and what stands there when it is ready. */
const ROOMS = [
  ['home', 'home', '[data-pin="17"][aria-checked="true"]'],
  ['pins', 'home/pins', '[data-pin="17"][aria-pressed="true"]'],
  ['network', 'home/network', 'main.home .network li'],
  ['tools', 'tools', 'main.tools a'],
  ['tool', 'tools/gpio_write', 'main.tools form'],
  ['decision', 'tools/restart_radio', 'main.tools .confirm'],
  ['memory', 'memory', 'main.memory li'],
  ['tasks', 'memory/tasks', '.records li'],
  ['calendar', 'memory/calendar', '.records li'],
  ['money', 'memory/money', '.shares li'],
  ['goals', 'memory/goals', '.records li'],
  ['schedules', 'memory/schedules', '.records li'],
  ['device', 'device', 'main.device .rows li'],
  ['models', 'device/models', '.page .rows li'],
  ['persona', 'device/persona', '.documents li'],
];

const day = (days, time = '') => {
  const date = new Date(Date.now() + days * 86_400_000);
  return `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, '0')}-${String(date.getDate()).padStart(2, '0')}${time && `T${time}`}`;
};
/** A day of this month, as far as it has passed. */
const past = (n) => day(-Math.min(n, new Date().getDate() - 1));

/** What stands in the lists of the Memory room, and in Today. */
const LISTS = [
  ['name_pin', { pin: 17, name: 'Desk lamp' }],
  ['name_pin', { pin: 27, name: 'Pump' }],
  ['name_pin', { pin: 4, name: 'Front door', sensor: true }],
  ['set_timer', { name: 'pasta', duration: 'PT9M' }],
  ['batch_add_tasks', {
    tasks: [
      { title: 'Pay the chimney sweep', dueDate: day(-1), category: 'house', priority: 'high' }, { title: 'Oat milk', category: 'shopping', shared: true }, { title: 'Eggs', category: 'shopping', shared: true },
      { title: 'Book the ferry', dueDate: day(3), notes: 'The early one; two adults, one car.' }, { title: 'Sharpen the skates' },
    ],
  }],
  ['complete_task', { taskId: 'Sharpen the skates' }],
  ['batch_add_calendar_events', {
    events: [
      { title: 'Dentist', startTime: day(0, '16:30'), location: 'Ring 4', reminder: 60 }, { title: 'Choir', startTime: day(2, '19:00') }, { title: 'Anna is here', startTime: day(5), endTime: day(8) },
      { title: 'Parents’ evening', startTime: day(6, '18:00') }, { title: 'Boiler service', startTime: day(-4, '09:00') },
    ],
  }],
  ['batch_add_expenses', {
    expenses: [[820, 'housing', 'Rent', 20], [64.2, 'food', 'Market', 18], [148, 'transport', 'Winter tyres', 12], [31.9, 'food', 'Bakery', 9], [75.9, 'utilities', 'Electricity', 6], [112.4, 'food', 'Week shopping', 4], [24, 'entertainment', 'Cinema', 2], [18.5, 'food', 'Lunch', 0]]
      .map(([amount, category, description, ago]) => ({ amount, currency: 'EUR', category, description, date: past(ago) })),
  }],
  ['create_goal', { title: 'Learn the piano', description: 'Enough for Christmas.', priority: 8 }],
  ['decompose_goal', { goalId: 'Learn the piano', steps: ['Find a teacher', 'Practise every day', 'Play for Anna'] }],
  ['complete_step', { stepId: 'Find a teacher' }],
  ['create_scheduled_task', { name: 'Put out the bins', schedule: 'every monday at 19:00', message: 'Put out the bins' }],
  ['create_scheduled_task', { name: 'Morning look at the house', schedule: '30 6 * * 1-5', prompt: 'Tell me what is on today, and whether it freezes.' }],
  ['create_trigger', { name: 'Door bell', type: 'event', config: { topic: 'pin:changed', match: { pin: 4, high: true } }, message: 'Somebody is at the door' }],
];

const rest = (page) => page.evaluate(() => {
  document.activeElement?.blur();
  scrollTo(0, 0);
});

/** Claims the daemon and fills the house; answers what a browser of its owner keeps. */
async function furnish(browser) {
  const { context, page } = await open(browser);
  if (link) await api(context, 'POST', '/api/v1/claim', { code: decodeURIComponent(link.split('#claim=')[1]), person: 'Marta', password: 'four words in a row' });
  else await api(context, 'POST', '/api/v1/session', { token: need('HOB_TOKEN') });
  await api(context, 'PATCH', '/api/v1/arrival', { open: false });
  const execute = (name, args) => api(context, 'POST', `/api/v1/tools/${name}/execute`, { arguments: args });
  for (const [draft, decisions] of TOOLS) {
    const { id } = await api(context, 'POST', '/api/v1/custom-tools', draft);
    for (const what of decisions) await api(context, 'POST', `/api/v1/custom-tools/${id}/${what}`);
  }
  await api(context, 'POST', '/api/v1/people', { name: 'Jonas', role: 'member', password: 'told at breakfast' });
  await api(context, 'POST', '/api/v1/people', { name: 'hallway tablet', role: 'viewer' });
  await api(context, 'POST', '/api/v1/tokens', { name: 'garden-sensor', role: 'member', scope: ['events', 'tool:remember'], expiresInDays: 365 });
  await page.goto(hob);
  await message(page).waitFor();
  await ask(page, 'what is 12 * 12?');
  await page.getByRole('button', { name: 'New conversation' }).click();
  await ask(page, 'remember that Marta serviced the boiler on 3 October');
  await ask(page, 'who looked after the heating?');
  await ask(page, 'turn on pin 17');
  for (const [content, type, tags, importance] of FACTS) await execute('remember', { content, type, tags, importance });
  for (const [name, args] of LISTS) await execute(name, args);
  await execute('gpio_write', { pin: 27, high: true });
  await execute('gpio_write', { pin: 22, high: false });
  const storageState = await context.storageState();
  await context.close();
  return storageState;
}

async function talk(page, name, scheme) {
  await page.goto(hob);
  const last = exchanges(page).nth(2).locator('details.did summary').first();
  await last.waitFor();
  if (name === 'desktop') await last.click();
  await page.evaluate(() => {
    document.activeElement?.blur();
    scrollTo(0, document.documentElement.scrollHeight);
  });
  await shot(page, `hob-${name}-${scheme}`);
}

const every = async (work) => {
  for (const [name, size] of Object.entries(sizes)) for (const scheme of schemes) await work(name, size, scheme);
};

const browser = await launch();
try {
  if (link) {
    await every(async (name, size, scheme) => {
      const { page, context } = await open(browser, { size, scheme, scale: 2 });
      await page.goto(link);
      await page.getByRole('button', { name: 'Claim this Hob' }).waitFor();
      await rest(page);
      await shot(page, `room-claim-${name}-${scheme}`);
      await context.close();
    });
  }
  const storageState = await furnish(browser);
  await every(async (name, size, scheme) => {
    const { page, context } = await open(browser, { size, scheme, storageState, scale: 2 });
    await page.route('**/api/v1/discover', (route) => route.fulfill(good({ count: NEAR.length, found: NEAR })));
    await talk(page, name, scheme);
    await page.getByRole('button', { name: 'Conversations' }).click();
    await page.locator('.list .line').first().waitFor();
    await shot(page, `room-drawer-${name}-${scheme}`);
    await page.keyboard.press('Escape');
    for (const [what, hash, ready] of ROOMS) {
      await page.goto(`${hob}/#/${hash}`);
      await page.locator(ready).first().waitFor();
      // The line of events never rests, so this waits a little.
      await page.waitForTimeout(700);
      await rest(page);
      await shot(page, `room-${what}-${name}-${scheme}`);
    }
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('heating');
    await page.getByRole('option', { name: /Jonas/ }).waitFor();
    await shot(page, `room-find-${name}-${scheme}`);
    await context.close();
    const stranger = await open(browser, { size, scheme, scale: 2 });
    await stranger.page.goto(hob);
    await stranger.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await rest(stranger.page);
    await shot(stranger.page, `room-sign-in-${name}-${scheme}`);
    await stranger.context.close();
  });
} finally {
  await browser.close();
}
