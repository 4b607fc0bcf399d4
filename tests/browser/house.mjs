// A small house for the tests of the doors and the Device room: people, tokens, sessions, a model, and answers as Hob gives them.
import { hob, open } from './page.mjs';
import { bad, good } from './staged.mjs';

const DAY = 86_400_000;
const GB = 1e9;
export const PRINT = Array.from({ length: 32 }, (_, n) => ((n * 37 + 11) % 256).toString(16).padStart(2, '0').toUpperCase()).join(':');
const IPHONE = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1';
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const CHROME = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';

export const state = (change = {}) => ({
  model: 'Raspberry Pi 5 Model B Rev 1.0', os: 'Debian GNU/Linux 12', arch: 'aarch64', cpus: 4, load: [0.42, 0.3, 0.2],
  memory: { total: 8.3 * GB, available: 6.1 * GB, used: 2 * GB }, ownMemory: 81e6, disk: { path: '/', total: 62 * GB, free: 41.2 * GB },
  temperature: 51.4, uptime: 300_000, startedAt: new Date(Date.now() - 300_000_000).toISOString(), concerns: [], ...change,
});

/** What Hob says of its updates; `change` replaces parts of it. */
export const update = (change = {}) => ({
  state: 'idle', version: null, running: { slot: 'a', version: '0.1.0', system: false }, other: null, kind: 'dir', board: 'generic', floor: 0,
  progress: null, upload: null, lastOutcome: null, channel: null, found: [], canInstall: true, whyNot: null, canRollBack: false, preparing: false,
  problem: null, restarting: false, ...change,
});

/** The five levels, as Hob tells them. */
export const LEVELS = [
  ['none', 'Hob asks before everything, also before it looks'], ['low', 'Hob looks by itself and asks before everything else'],
  ['medium', 'Hob asks before data leaves the house, before it deletes and before it administers'],
  ['high', 'Hob asks before it deletes and before it administers'], ['full', 'Hob asks nothing'],
].map(([level, about]) => ({ level, about }));

/** A house with three people; `change` replaces parts of it, `calls` is what it was asked to change. */
export function house(change = {}) {
  const at = Date.now() - 40 * DAY;
  const it = {
    in: true, role: 'admin', hasPassword: true, code: 'ABCD-EFGH-JKMN', password: 'four words in a row', calls: [],
    people: [
      { id: 'p1', name: 'Marta', role: 'admin', owner: true, hasPassword: true, program: false, invitedUntil: null, createdAt: at },
      { id: 'p2', name: 'Jonas', role: 'member', owner: false, hasPassword: true, program: false, invitedUntil: null, createdAt: at + DAY },
      { id: 'p3', name: 'hallway tablet', role: 'viewer', owner: false, hasPassword: false, program: false, invitedUntil: null, createdAt: at + 9 * DAY },
    ],
    tokens: [
      { id: 't1', name: 'garden-sensor', role: 'member', scope: ['events', 'tool:remember'], createdAt: at + 3 * DAY, expiresAt: Date.now() + 90 * DAY },
      { id: 't2', name: 'backup script', role: 'admin', scope: [], createdAt: at + 5 * DAY, expiresAt: null },
    ],
    sessions: [
      { id: 's1', device: IPHONE, createdAt: at, expiresAt: at + 90 * DAY, current: false },
      { id: 's2', device: FIREFOX, createdAt: at + 2 * DAY, expiresAt: at + 92 * DAY, current: true },
      { id: 's3', device: CHROME, createdAt: at + 20 * DAY, expiresAt: at + 110 * DAY, current: false },
    ],
    device: {
      id: 'd1', name: 'kitchen', version: '0.1.0', model: 'reflex', startedAt: Date.now() - 3 * DAY, hostname: 'kitchen.local',
      addresses: ['http://kitchen.local:4620', 'http://192.168.1.20:4620'], listensOn: '0.0.0.0:4620', claimed: true, renameable: true,
      tls: { url: 'https://kitchen.local:4621', port: 4621, fingerprint: PRINT },
    },
    model: { model: 'reflex', url: '', hasKey: false, from: 'built-in', changeable: true },
    autonomy: { level: 'medium', from: 'built-in', levels: LEVELS }, services: [], audit: [],
    home: { name: '', timeZone: 'Europe/Vienna', units: 'metric' }, update: update(),
    arrival: { open: false, steps: ['you', 'home', 'people', 'model'].map((step) => ({ step, state: 'done' })) },
    state: state(), say: 'All is well: 27% of memory is in use, 41.2 GB of disk are free, it is 51 °C warm and kitchen has been up for 3 days.',
    ...change,
  };
  return it;
}

export function session(it) {
  const me = it.people[0];
  return { user: me.id, person: me.name, role: it.role, name: it.device.name, version: '0.1.0', model: it.model.model, csrfToken: 'c', hasPassword: it.hasPassword, home: it.home, owner: true, arriving: it.arrival.open };
}

/** What the house answers; `body` is what was sent. */
/** A device without backups, and its checks. */
const BACKUPS = { plan: { every: 'off', folder: '', keep: 7, hour: 3, encrypted: false }, next: null, last: null, problem: null };
const DOCTOR = {
  well: true,
  checks: [
    { name: 'clock', outcome: 'well', text: 'It is 26 November 2026, 20:30 (Europe/Vienna).' },
    { name: 'backup', outcome: 'careful', text: 'There is no backup yet.', todo: 'download one on the page, at Device, Backup, or plan them there' },
  ],
  writes: { device: 'mmcblk0', kind: 'SD card', size: 32e9, ownToday: 12e6, allToday: 240e6, ownAverage: null, allAverage: null, budget: 1.3e9, exceeded: false, errors: 0, say: 'Hob wrote 12 MB today, and everything on this device 240 MB, to the SD card (mmcblk0).' },
};

const ROUTES = {
  'GET /healthz': () => good({}),
  'GET /api/v1/session': (it) => (it.in ? good(session(it)) : bad(401, 'unauthorized', 'who are you?')),
  'DELETE /api/v1/session': (it) => ((it.in = false), good({ signedOut: true })),
  'POST /api/v1/session': (it, body) => {
    if (body.token !== 'hob_right' && body.password !== it.password) return bad(401, 'unauthorized', 'not known');
    it.in = true;
    return good(session(it));
  },
  'GET /api/v1/arrival': (it) => good(it.arrival),
  'PATCH /api/v1/arrival': (it, { open, step, state: now }) => {
    if (open !== undefined) it.arrival.open = open;
    it.arrival.steps = it.arrival.steps.map((one) => (one.step === step ? { step, state: now } : one));
    return good(it.arrival);
  },
  'PATCH /api/v1/home': (it, body) => good(Object.assign(it.home, body)),
  'POST /api/v1/tools/system_info/execute': (it) => good({ tool: 'system_info', result: it.state, say: it.say, isError: false }),
  'GET /api/v1/device': (it) => good(it.device),
  'PATCH /api/v1/device': (it, body) => good(Object.assign(it.device, { name: body.name, hostname: `${body.name.toLowerCase()}.local` })),
  'GET /api/v1/update': (it) => good(it.update),
  'POST /api/v1/update/install': (it) => good({ restarting: true, version: it.update.upload?.version ?? it.update.channel?.available?.version }, 202),
  'POST /api/v1/update/rollback': (it) => good({ restarting: true, version: it.update.other.version }, 202),
  'POST /api/v1/update/confirm': (it) => good(it.update),
  'POST /api/v1/update/check': (it) => good(it.update),
  'POST /api/v1/factory-reset': () => good({ resetting: true }, 202),
  'GET /api/v1/model': (it) => good(it.model),
  'PUT /api/v1/model': (it, body) => {
    if (body.model === '') it.model = { model: 'reflex', url: '', hasKey: false, from: 'file', changeable: true };
    else it.model = { model: body.model, url: body.url ?? it.model.url, hasKey: body.key === undefined ? it.model.hasKey : body.key !== '', from: 'page', changeable: true };
    return good(it.model);
  },
  'GET /api/v1/autonomy': (it) => good(it.autonomy),
  'PUT /api/v1/autonomy': (it, body) => good(Object.assign(it.autonomy, { level: body.level, from: 'own' })),
  'GET /api/v1/config-services': (it) => good({ count: it.services.length, services: it.services }),
  'PUT /api/v1/config-services/*': (it, body, name) => {
    const fresh = { name, multiEntry: false, schema: [], entries: [], neededBy: [], from: 'person', ...body };
    it.services = [...it.services.filter((one) => one.name !== name), fresh];
    return good(fresh);
  },
  'DELETE /api/v1/config-services/*': (it, _, name) => ((it.services = it.services.filter((one) => one.name !== name)), good({ deleted: true })),
  'GET /api/v1/audit': (it) => good({ entries: it.audit, next: null }),
  'GET /api/v1/people': (it) => good({ count: it.people.length, people: it.people }),
  'POST /api/v1/people': (it, body) => {
    if (it.people.some((p) => p.name.toLowerCase() === body.name.toLowerCase())) return bad(409, 'unavailable', `there is a person called ${body.name} already: choose another name`);
    const fresh = { id: `p${it.people.length + 1}`, name: body.name, role: body.role, owner: false, hasPassword: Boolean(body.password), program: false, invitedUntil: null, createdAt: Date.now() };
    it.people = [...it.people, fresh];
    return good(fresh, 201);
  },
  'PATCH /api/v1/people/*': (it, body, id) => {
    const person = it.people.find((p) => p.id === id);
    if (id === 'p1' && it.hasPassword && body.password && body.currentPassword !== it.password) return bad(401, 'wrong_password', 'that is not the password');
    if (id === 'p1' && body.password) Object.assign(it, { password: body.password, hasPassword: true });
    Object.assign(person, { name: body.name ?? person.name, role: body.role ?? person.role, hasPassword: person.hasPassword || Boolean(body.password) });
    return good(person);
  },
  'DELETE /api/v1/people/*': (it, _, id) => ((it.people = it.people.filter((p) => p.id !== id)), good({ deleted: true })),
  'GET /api/v1/tokens': (it) => good({ count: it.tokens.length, tokens: it.tokens }),
  'POST /api/v1/tokens': (it, body) => {
    const expiresAt = body.expiresInDays ? Date.now() + body.expiresInDays * DAY : null;
    const fresh = { id: 't9', name: body.name, role: body.role, scope: body.scope ?? [], createdAt: Date.now(), expiresAt };
    it.tokens = [...it.tokens, fresh];
    return good({ ...fresh, token: `hob_${'0123456789abcdef'.repeat(4)}` }, 201);
  },
  'DELETE /api/v1/tokens/*': (it, _, id) => ((it.tokens = it.tokens.filter((t) => t.id !== id)), good({ deleted: true })),
  'GET /api/v1/sessions': (it) => good({ count: it.sessions.length, sessions: it.sessions }),
  'DELETE /api/v1/sessions/*': (it, _, id) => ((it.sessions = it.sessions.filter((s) => s.id !== id)), good({ deleted: true })),
  'GET /api/v1/backup': (it) => good(it.backups ?? BACKUPS),
  'PUT /api/v1/backup/plan': (it, { every, folder, keep, hour, files, passphrase }) => good((it.backups = { ...BACKUPS, plan: { every, folder, keep, hour, files, encrypted: Boolean(passphrase) }, next: every === 'off' ? null : Date.now() + DAY })),
  'POST /api/v1/backup/run': (it) => good((it.backups = { ...it.backups, problem: null, last: { at: Date.now(), size: 4_200_000, path: '/media/usb/x.hob.age', encrypted: true } })),
  'GET /api/v1/doctor': () => good(DOCTOR),
  'POST /api/v1/support': () => ({ contentType: 'text/plain', headers: { 'content-disposition': 'attachment; filename="hob-support.txt"' }, body: 'Hob support bundle.' }),
  'POST /api/v1/backup': () => ({ contentType: 'application/octet-stream', headers: { 'content-disposition': 'attachment; filename="backup.hob"' }, body: 'HOB1 everything' }),
};

/** Opens a page whose /api is the house; `answers` take the place of routes. */
export const visitor = (browser) => async (it, { at = '', answers = {}, ...options } = {}) => {
  const opened = await open(browser, options);
  await opened.page.route((url) => /^\/(api\/|healthz$)/.test(url.pathname), (route) => {
    const request = route.request();
    const [method, path] = [request.method(), new URL(request.url()).pathname];
    const isJson = request.headers()['content-type'] === 'application/json';
    const sent = isJson && request.postData() ? request.postDataJSON() : {};
    if (method !== 'GET' && !path.endsWith('/execute')) it.calls.push([method, path, sent, request.headers()['x-csrf-token']]);
    const [, general, id] = /^(.*\/)([^/]+)$/.exec(path) ?? [];
    const answer = answers[`${method} ${path}`] ?? ROUTES[`${method} ${path}`] ?? ROUTES[`${method} ${general}*`];
    return route.fulfill(typeof answer === 'function' ? answer(it, sent, id, new URL(request.url()).searchParams) : (answer ?? bad(404, 'not_found', 'Nothing here.')));
  });
  await opened.page.goto(`${hob}/${at}`);
  return opened;
};

export const part = (page, title) => page.getByRole('region', { name: title, exact: true });
export const ready = (page) => part(page, 'Health').locator('dl').waitFor();
export const button = (place, name) => place.getByRole('button', { name, exact: true });

/** The focus is on the button of that name. */
export const focused = (page, name) => page.waitForFunction((wanted) => (document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent) === wanted, name);

/** The last thing the house was asked to do. */
export const last = (it) => it.calls.at(-1);
