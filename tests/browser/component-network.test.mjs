// A component that a model wrote has no network of any kind. Each way out is tried in Chromium against a TCP and a UDP socket on loopback, and
// Chromium's own log shows which names it looked up. The same ways are tried from a plain page first, where they must arrive.
import assert from 'node:assert/strict';
import dgram from 'node:dgram';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { calls, modelServer, says } from './model.mjs';
import { api, enter, hob, launch, message } from './page.mjs';

/** Code that sends something to `at`, each with its own name in the address, so that an arrival tells by which way it came. */
const RTC = (servers) => `const it = new RTCPeerConnection({ iceServers: [${servers}] }); it.createDataChannel('x'); it.createOffer().then((offer) => it.setLocalDescription(offer))`;
const escaped = (text) => JSON.stringify(text).replaceAll('</', '<\\/');
const html = (name) => `<script>${RTC(`{ urls: 'stun:v-${name}.leak.test' }`)}</script>`;
const element = (tag, attributes, then = '') => `const it = document.createElement('${tag}'); for (const [k, v] of Object.entries(${attributes})) it.setAttribute(k, v); it.append('x'); document.body.append(it); ${then}`;
const PLACE = `const it = document.createElement('div'); document.body.append(it);`;
const QUIET = 'it.onerror = (event) => event.preventDefault()';
const WAYS = {
  fetch: 'return fetch(at)',
  xhr: `const it = new XMLHttpRequest(); it.open('GET', at); it.send()`,
  websocket: `new WebSocket(at.replace('http', 'ws'))`,
  eventsource: 'new EventSource(at)',
  beacon: `navigator.sendBeacon(at, 'x')`,
  fetchlater: 'fetchLater(at, { activateAfter: 0 })',
  webtransport: 'return new WebTransport(`https://127.0.0.1:${udp}/`).ready',
  rtc: RTC("{ urls: 'stun:127.0.0.1:' + udp }, { urls: 'turn:127.0.0.1:' + udp, username: 'secret', credential: 'x' }"),
  rtcdns: RTC("{ urls: 'stun:v-rtcdns.leak.test' }"),
  rtcsrcdoc: `const it = document.createElement('iframe'); it.setAttribute('srcdoc', ${escaped(html('rtcsrcdoc'))}); document.body.append(it)`,
  rtcframe: `const it = document.createElement('iframe'); it.setAttribute('src', 'javascript:' + ${escaped(RTC("{ urls: 'stun:v-rtcframe.leak.test' }"))}); document.body.append(it)`,
  rtchtml: `${PLACE} it.innerHTML = '<img src="data:," onerror="' + ${escaped(RTC("{ urls: 'stun:v-rtchtml.leak.test' }"))} + '">'`,
  importing: 'return import(at)',
  importscripts: `const it = new Worker(URL.createObjectURL(new Blob(['importScripts(' + JSON.stringify(at) + ')']))); ${QUIET}`,
  worker: `const it = new Worker(URL.createObjectURL(new Blob(['fetch(' + JSON.stringify(at) + ').catch(() => 0)']))); ${QUIET}`,
  sharedworker: `new SharedWorker(URL.createObjectURL(new Blob(['fetch(' + JSON.stringify(at) + ')'])))`,
  font: `return new FontFace('x', 'url(' + at + ')').load()`,
  image: 'new Image().src = at',
  img: element('img', '{ src: at }'),
  srcset: element('img', '{ srcset: at }'),
  inputimage: element('input', "{ type: 'image', src: at }"),
  video: element('video', '{ src: at, poster: at }'),
  object: element('object', '{ data: at }'),
  embed: element('embed', '{ src: at }'),
  frame: element('iframe', '{ src: at }'),
  framename: element('iframe', "{ src: 'http://v-framename.leak.test/' }"),
  script: element('script', '{ src: at }'),
  stylesheet: element('link', "{ rel: 'stylesheet', href: at }"),
  prefetch: element('link', "{ rel: 'prefetch', href: at }"),
  preload: element('link', "{ rel: 'preload', as: 'image', href: at }"),
  style: `const it = document.createElement('style'); it.append('@import "' + at + '"'); document.body.append(it)`,
  background: element('div', "{ style: 'background: url(' + at + ')' }"),
  svg: `${PLACE} it.innerHTML = '<svg><image href="' + at + '"/></svg>'`,
  htmlimg: `${PLACE} it.innerHTML = '<img src="' + at + '">'`,
  htmllink: `${PLACE} it.innerHTML = '<link rel="prefetch" href="' + at + '">'`,
  ping: element('a', "{ href: '#', ping: at }", 'it.click()'),
  form: element('form', '{ action: at }', 'it.submit()'),
  link: element('a', '{ href: at }', 'it.click()'),
  linkname: element('a', "{ href: 'http://v-linkname.leak.test/' }", 'it.click()'),
  linkblank: element('a', "{ href: at, target: '_blank' }", 'it.click()'),
  linktop: element('a', "{ href: at, target: '_top' }", 'it.click()'),
  download: element('a', "{ href: at, download: 'x' }", 'it.click()'),
  refresh: element('meta', "{ 'http-equiv': 'refresh', content: '0;url=' + at }"),
  open: 'window.open(at)',
  top: 'top.location = at',
  location: 'location = at',
  locationname: "location = 'http://v-locationname.leak.test/'",
};
/** Ways that Chromium closes to a plain page too, or needs what a test does not have; tried in the component all the same. */
const ONLY_TRIED = {
  preconnect: element('link', "{ rel: 'preconnect', href: 'http://v-preconnect.leak.test/' }"),
  dnsprefetch: element('link', "{ rel: 'dns-prefetch', href: 'http://v-dnsprefetch.leak.test/' }"),
  speculation: `const it = document.createElement('script'); it.setAttribute('type', 'speculationrules'); it.append(JSON.stringify({ prefetch: [{ source: 'list', urls: [at] }] })); document.body.append(it)`,
  formname: element('form', "{ action: 'http://v-formname.leak.test/' }", 'it.submit()'),
  stylename: element('div', "{ style: 'background: url(http://v-stylename.leak.test/)' }"),
  importname: `const it = document.createElement('style'); it.append('@import "http://v-importname.leak.test/"'); document.body.append(it)`,
  imagename: element('img', "{ src: 'http://v-imagename.leak.test/' }"),
  fetchname: `return fetch('http://v-fetchname.leak.test/')`,
  audioworklet: 'return new AudioContext().audioWorklet.addModule(at)',
  serviceworker: 'return navigator.serviceWorker.register(at)',
  websocketstream: `return new WebSocketStream(at.replace('http', 'ws')).opened`,
  cache: `return caches.open('x').then((it) => it.add(at))`,
  parent: 'parent.location = at',
  constructed: `return (function () {}).constructor('return this')().fetch(at)`,
};

const heard = new Set();
let browser, model, tcp, udp, folder, control;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hob-network-'));
  model = await modelServer();
  tcp = net.createServer((socket) => {
    let text = '';
    heard.add('a connection');
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      for (const [, name] of (text += data.toString('latin1')).matchAll(/\/v-(\w+)/g)) heard.add(name);
      socket.end('HTTP/1.1 204 Nothing\r\nconnection: close\r\n\r\n');
    });
  });
  udp = dgram.createSocket('udp4').on('message', () => heard.add('a packet'));
  await new Promise((done) => tcp.listen(0, '127.0.0.1', done));
  await new Promise((done) => udp.bind(0, '127.0.0.1', done));
});
after(async () => {
  await browser?.close();
  model?.close();
  tcp?.close();
  udp?.close();
  control?.close();
  rmSync(folder, { recursive: true, force: true });
});

const at = (name) => `http://127.0.0.1:${tcp.address().port}/v-${name}`;
const attempt = (name, code) => `try { Promise.resolve((() => { const at = ${JSON.stringify(at(name))}, udp = ${udp.address().port}; ${code} })()).catch(() => 0); } catch { }`;

/** Starts Chromium with its log of the network. The log ends with the browser; `names` reads which of our names it looked up. */
async function started(file) {
  browser = await launch([`--log-net-log=${join(folder, file)}`, '--net-log-capture-mode=Everything'], { quic: true });
  return async () => {
    await browser.close();
    browser = undefined;
    const log = readFileSync(join(folder, file), 'latin1');
    return new Set([...log.matchAll(/v-(\w+)\.leak\.test/g)].map(([, name]) => name));
  };
}

test('from a plain page each way arrives, so that this test can fail', { timeout: 180_000 }, async () => {
  control = createServer((request, response) => {
    const name = request.url.slice(1);
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(WAYS[name] ? `<body><script>setTimeout(() => { ${attempt(name, WAYS[name]).replaceAll('</', '<\\/')} }, 20)</script>` : '');
  });
  await new Promise((done) => control.listen(0, '127.0.0.1', done));
  const names = await started('control.json');
  for (const name of Object.keys(WAYS)) {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${control.address().port}/${name}`);
    // What is seen in the log only is seen when the browser ends.
    const named = WAYS[name].includes('leak.test');
    for (const end = Date.now() + (named ? 600 : 2000); Date.now() < end && !heard.has(name) && !heard.has('a packet');) await sleep(20);
    if (['rtc', 'webtransport'].includes(name) && heard.delete('a packet')) heard.add(name);
    await context.close();
  }
  const seen = new Set([...heard, ...(await names())]);
  assert.deepEqual(Object.keys(WAYS).filter((name) => !seen.has(name)), []);
});

test('from a component nothing arrives, and no name is looked up', { timeout: 120_000 }, async () => {
  heard.clear();
  const names = await started('component.json');
  const { context, page } = await enter(browser);
  await api(context, 'PUT', '/api/v1/model', { model: 'custom/scripted', url: model.url });
  await page.goto(hob);
  await message(page).waitFor();
  // Once by code, and once by what it renders: elements of every kind, with listeners as code might have them.
  const all = { ...ONLY_TRIED, ...WAYS };
  const rendered = ['a', 'form', 'iframe', 'img', 'link', 'meta', 'object', 'embed', 'script', 'video', 'audio', 'base', 'area', 'input', 'portal', 'source', 'track', 'style', 'svg', 'image', 'use'];
  const address = (name) => JSON.stringify(at(`rendered${name}`));
  const elements = rendered.map((name) => `h('${name}', { href: ${address(name)}, src: ${address(name)}, action: ${address(name)}, data: ${address(name)}, srcset: ${address(name)}, poster: ${address(name)}, ping: ${address(name)}, rel: 'preconnect prefetch stylesheet', target: '_top', 'http-equiv': 'refresh', content: '0;url=' + ${address(name)}, style: 'background: url(' + ${address(name)} + ')', fill: 'url(' + ${address(name)} + '#x)', onload: 'x' }, '@import ' + ${address(name)})`);
  const code = `function Component({ callTool }) {
    useEffect(() => {
      ${Object.entries(all).map(([name, way]) => attempt(name, way)).join('\n      ')}
    }, []);
    return h('div', null, h('button', { onClick: () => callTool('tried', { ways: ${Object.keys(all).length} }) }, 'All tried'), h('form', { onSubmit: () => 0 }, h('button', { type: 'submit', formaction: ${address('button')} }, 'Send')), ${elements.join(', ')});
  }`;
  model.script = [calls(['render_and_wait', { title: 'Ways out', code }]), says('Tried.')];
  await message(page).fill('try to get out');
  await message(page).press('Enter');
  const frame = page.frameLocator('iframe.component');
  const trying = async () => {
    const failed = page.locator('.interaction .problem').waitFor().then(async () => assert.fail(await page.locator('.interaction').innerText()));
    await Promise.race([frame.getByRole('button', { name: 'All tried' }).waitFor(), failed]);
    await frame.getByRole('button', { name: 'Send' }).click();
    // A person presses whatever is there.
    for (const text of await frame.getByText('@import').all()) await text.click({ force: true, timeout: 1000 }).catch(() => undefined);
    await sleep(3000);
    await frame.getByRole('button', { name: 'All tried' }).click();
    await page.locator('.words').getByText('Tried.', { exact: true }).first().waitFor();
    assert.equal(await page.evaluate(() => location.origin), new URL(hob).origin);
  };
  // What arrived is told first: a component that got away is not there to be asked.
  const trouble = await trying().then(() => undefined, (error) => error);
  await context.close();
  assert.deepEqual({ heard: [...heard], names: [...(await names())] }, { heard: [], names: [] });
  assert.ifError(trouble);
});
