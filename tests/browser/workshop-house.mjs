// A workspace in memory for the tests of the Files room: places, files with versions, a trash, and refusals on demand.
import { bad, good } from './staged.mjs';

const parentOf = (path) => path.split('/').slice(0, -1).join('/');
const nameOf = (path) => path.split('/').at(-1);
const GB = 1e9;

let serial = 0;
const next = () => `v${++serial}`;

export const file = (body, mediaType = 'text/plain', more = {}) =>
  ({ kind: 'file', body: Buffer.from(body), mediaType, modified: Date.now() - 3_600_000, outside: false, version: next(), ...more });
export const folder = (more = {}) => ({ kind: 'folder', body: Buffer.alloc(0), mediaType: null, modified: Date.now() - 7_200_000, outside: false, version: next(), ...more });

/** `files` is by place and path; `calls` is what was asked for, `refuse` is a response by "METHOD path", once. */
export function workspace(files = {}, change = {}) {
  const it = {
    calls: [], refuse: {}, trash: [],
    places: [
      { id: 'own', name: 'My files', kind: 'own', readOnly: false, usedBytes: 1.2 * GB, quotaBytes: 10 * GB, available: true, trusted: true, removable: false },
      { id: 'household', name: 'Household files', kind: 'household', readOnly: false, usedBytes: 9.8 * GB, quotaBytes: 10 * GB, available: true, trusted: true, removable: false },
      { id: 'usb', name: 'usb', kind: 'added', readOnly: true, usedBytes: 0, quotaBytes: null, available: true, trusted: false, removable: true, path: '/media/usb' },
      { id: 'nas', name: 'nas', kind: 'added', readOnly: false, usedBytes: 0, quotaBytes: null, available: false, reason: 'there is no folder at /mnt/nas now: plug it in or mount it', trusted: true, removable: true, path: '/mnt/nas' },
    ],
    files: Object.fromEntries(Object.entries(files).map(([place, all]) => [place, new Map(Object.entries(all))])),
    ...change,
  };
  for (const { id } of it.places) it.files[id] ??= new Map();
  return it;
}

const entry = (path, { kind, body, mediaType, modified, outside, version }) => ({ name: nameOf(path), path, kind, size: body.length, modified, mediaType, outside, version });

/** The answers of `staged` for this workspace. */
export function answersOf(it) {
  const asked = (route) => {
    const request = route.request();
    const url = new URL(request.url());
    const isJson = request.headers()['content-type'] === 'application/json';
    return {
      query: Object.fromEntries(url.searchParams), headers: request.headers(), bytes: request.postDataBuffer() ?? Buffer.alloc(0), body: isJson && request.postData() ? request.postDataJSON() : {},
      key: `${request.method()} ${url.pathname.replace('/api/v1/workspace', '')}`,
    };
  };
  const all = (place) => it.files[place] ?? new Map();
  const below = (place, path) => [...all(place).keys()].filter((one) => one === path || one.startsWith(`${path}/`));
  const gone = () => bad(404, 'not_found', 'there is no such file: list the folder to see what is there');
  const taken = () => bad(400, 'bad_args', 'this exists already: pass `overwrite`, or choose another name');
  const transfer = (keep) => ({ body: { place, path, toPlace, toPath, overwrite } }) => {
    if (!all(place).has(path)) return gone();
    if (all(toPlace).has(toPath) && !overwrite) return taken();
    for (const one of below(place, path)) {
      all(toPlace).set(toPath + one.slice(path.length), { ...all(place).get(one), version: next() });
      if (!keep) all(place).delete(one);
    }
    return good({});
  };
  const routes = {
    'GET /places': () => good({ places: it.places }),
    'POST /places': ({ body }) => {
      if (!body.path.startsWith('/media/')) return bad(400, 'bad_request', `there is no folder ${body.path} on this device: check the path`);
      const fresh = { id: body.name, name: body.name, kind: 'added', readOnly: body.readOnly, usedBytes: null, quotaBytes: null, available: true, trusted: body.trusted, removable: true };
      it.places = [...it.places, fresh];
      it.files[fresh.id] = new Map();
      return good(fresh, 201);
    },
    'GET /list': ({ query: { place, path, offset, limit } }) => {
      if (path && all(place).get(path)?.kind !== 'folder') return gone();
      const found = [...all(place)].filter(([one]) => parentOf(one) === (path ?? '')).map(([one, what]) => entry(one, what))
        .sort((a, b) => Number(b.kind === 'folder') - Number(a.kind === 'folder') || a.name.localeCompare(b.name));
      const entries = found.slice(Number(offset ?? 0), Number(offset ?? 0) + Number(limit));
      return good({ entries, total: found.length, truncated: false });
    },
    'GET /text': ({ query: { place, path } }) => {
      const found = all(place).get(path);
      return found ? good({ text: found.body.toString('utf8'), encoding: found.encoding ?? 'utf-8', language: null, truncated: Boolean(found.truncated), size: found.truncated ?? found.body.length, version: found.version, outside: found.outside }) : gone();
    },
    'GET /file': ({ query: { place, path } }) => {
      const found = all(place).get(path);
      return found ? { status: 200, contentType: found.mediaType, body: found.body, headers: { 'content-security-policy': "default-src 'none'", 'x-frame-options': 'SAMEORIGIN' } } : gone();
    },
    'PUT /file': ({ query, headers, bytes }) => {
      const { place, path } = query;
      const found = all(place).get(path);
      if (headers['if-none-match'] && found) return bad(412, 'changed', 'there is a file of that name already');
      if (headers['if-match'] && headers['if-match'] !== `"${found?.version}"`) return bad(412, 'changed', 'this file was changed meanwhile: read it again');
      all(place).set(path, { ...file(bytes), mediaType: found?.mediaType ?? 'text/plain', outside: found?.outside ?? !query.own, modified: Date.now() });
      return good(entry(path, all(place).get(path)));
    },
    'POST /folders': ({ body: { place, path } }) => (all(place).has(path) || all(place).set(path, folder()), good({})),
    'POST /move': transfer(false),
    'POST /copy': transfer(true),
    'POST /delete': ({ body: { place, path } }) => {
      if (!all(place).has(path)) return gone();
      const { kind, body, mediaType } = all(place).get(path);
      it.trash.unshift({ id: next(), name: nameOf(path), place, path, kind, size: body.length, mediaType, deletedAt: Date.now(), held: below(place, path).map((one) => [one, all(place).get(one)]) });
      for (const one of below(place, path)) all(place).delete(one);
      return good({});
    },
    'POST /vouch': ({ body: { place, path } }) => ((all(place).get(path).outside = false), good({})),
    'GET /trash': () => good({ entries: it.trash.map(({ held, ...one }) => one) }),
    'POST /trash/empty': () => ((it.trash = []), good({})),
    'GET /search': ({ query }) => good({
      truncated: false,
      files: it.places.flatMap(({ id }) => [...all(id)].filter(([path]) => nameOf(path).toLowerCase().includes(query.query.toLowerCase())).map(([path, what]) => ({ ...entry(path, what), place: id }))),
    }),
  };
  const answer = async (route) => {
    const what = asked(route);
    if (!what.key.startsWith('GET')) it.calls.push([what.key, what.key === 'PUT /file' ? what.query : what.body]);
    const refused = it.refuse[what.key];
    if (refused) {
      delete it.refuse[what.key];
      return route.fulfill(refused);
    }
    if (it.slow?.[what.key]) await it.slow[what.key];
    const [, id] = /^POST \/trash\/(\w+)\/restore$/.exec(what.key) ?? [];
    if (id) {
      const one = it.trash.find((other) => other.id === id);
      it.trash = it.trash.filter((other) => other !== one);
      for (const [path, held] of one.held) all(one.place).set(path, held);
      return route.fulfill(good({}));
    }
    const [, place] = /^DELETE \/places\/(\w+)$/.exec(what.key) ?? [];
    if (place) {
      it.places = it.places.filter((other) => other.id !== place);
      return route.fulfill(good({}));
    }
    return route.fulfill(routes[what.key]?.(what) ?? bad(404, 'not_found', 'Nothing here.'));
  };
  return { 'ANY /api/v1/workspace/': answer };
}
