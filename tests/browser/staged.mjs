// A page whose API answers come from the test: for states a healthy daemon does not show on demand.
import { hob, open } from './page.mjs';

export const good = (data, status = 200) => ({ status, json: { success: true, data, meta: {} } });
export const bad = (status, code, message) => ({ status, json: { success: false, error: { code, message }, meta: {} } });

/** A whole event stream at once. */
export const stream = (events) => ({
  contentType: 'text/event-stream',
  body: events.map(([name, data]) => `: alive\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join(''),
});

/** What GET /api/v1/session says of the owner. */
export const owner = {
  user: 'owner', person: 'owner', role: 'admin', name: 'test', version: '0', model: 'custom/test', csrfToken: 'csrf-of-this-session', hasPassword: true,
};

/** In the page: `/api/v1/events` is a line of the test's own. `tell(topic, data)` says something on it, `cutLine()` breaks it. */
function line() {
  const real = globalThis.fetch;
  let seq = 0;
  let lines = [];
  globalThis.asked = [];
  globalThis.tell = (topic, data = {}) => {
    const body = topic === 'resync' ? '{}' : JSON.stringify({ seq: ++seq, topic, at: new Date().toISOString(), data });
    for (const one of lines) one.enqueue(new TextEncoder().encode(`id: ${seq}\nevent: ${topic}\ndata: ${body}\n\n`));
  };
  globalThis.cutLine = () => {
    for (const one of lines) one.close();
    lines = [];
  };
  globalThis.fetch = (path, init) => {
    if (!String(path).startsWith('/api/v1/events') || globalThis.noLine) return real(path, init);
    globalThis.asked.push(String(path));
    const body = new ReadableStream({
      start(controller) {
        lines.push(controller);
        init?.signal?.addEventListener('abort', () => {
          if (!lines.includes(controller)) return;
          lines = lines.filter((other) => other !== controller);
          controller.error(new DOMException('aborted', 'AbortError'));
        });
      },
    });
    return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
  };
}

/**
 * A signed-in page whose API answers come from `answers`, by "METHOD path", or "ANY start of a path"; a function handles the route itself.
 * `live` gives the page a line of events to be told over, `init` runs in the page before its own script, `at` is a hash.
 */
export async function staged(browser, answers, { live = false, init, at = '', ...options } = {}) {
  const opened = await open(browser, options);
  const all = { 'GET /api/v1/session': good(owner), 'GET /healthz': good({}), ...answers };
  await opened.page.route((url) => /^\/(api\/|healthz$)/.test(url.pathname), (route) => {
    const request = route.request();
    const { pathname } = new URL(request.url());
    const found = all[`${request.method()} ${pathname}`] ?? Object.entries(all).find(([key]) => key.startsWith('ANY ') && pathname.startsWith(key.slice(4)))?.[1];
    if (typeof found === 'function') return found(route);
    return route.fulfill(found ?? bad(404, 'not_found', 'Nothing here.'));
  });
  if (live) await opened.page.addInitScript(line);
  if (init) await opened.page.addInitScript(init);
  await opened.page.goto(`${hob}/${at}`);
  return { ...opened, all };
}
