// The parts of a rule between the form and the tools: what nobody changed is sent back as it was stored, with what the form does not show.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { rolldown } from '../../web/node_modules/rolldown/dist/index.mjs';

let drafts, folder;
before(async () => {
  const bundle = await rolldown({ input: new URL('../../web/src/records/rules/drafts.ts', import.meta.url).pathname, moduleTypes: { '.css': 'empty' } });
  const { output } = await bundle.generate({ format: 'esm' });
  folder = await mkdtemp(join(tmpdir(), 'drafts-'));
  const file = join(folder, 'drafts.mjs');
  await writeFile(file, output[0].code);
  // What the modules around it look at when they are loaded.
  const nothing = () => {};
  globalThis.location ??= new URL('http://hob.local/');
  globalThis.document ??= { documentElement: { dataset: {} }, addEventListener: nothing, querySelector: () => null };
  globalThis.window ??= globalThis;
  globalThis.addEventListener ??= nothing;
  drafts = await import(pathToFileURL(file));
});
after(async () => {
  if (folder) await rm(folder, { recursive: true });
});

/** A stored part through the form: as it begins there, changed, and as it is sent; without problems. */
function through(kind, stored, change = {}) {
  const [draft, read] = { trigger: [drafts.triggerDraft, drafts.readTrigger], condition: [drafts.conditionDraft, drafts.readCondition], action: [drafts.actionDraft, drafts.readAction] }[kind];
  const problems = {};
  const sent = read({ ...draft(structuredClone(stored)), ...change }, 'p', problems);
  assert.deepEqual(problems, {}, JSON.stringify(stored));
  return sent;
}

/** Each part as it may be stored, with fields that the form has no place for. */
const STORED = {
  trigger: [
    { type: 'pin', pin: 4, press: 'double' },
    { type: 'pin', pin: 4, edge: 'rising', for: 90 },
    { type: 'thing', thing: 'pin:17', to: 'on', from: 'off', for: 7 },
    { type: 'threshold', thing: 'ha:sensor.t', above: 25, hysteresis: 0.5, for: 300 },
    { type: 'sun', event: 'sunset', offsetMinutes: -15, date: '2026-11-27' },
    { type: 'mqtt', topic: 'a/+', payload: '' },
    { type: 'event', topic: 'timer', match: { state: 'ringing', deep: { op: 'gt', value: 3 } } },
  ],
  condition: [
    { type: 'time', after: '22:00' },
    { type: 'days', days: ['sat', 'mon'] },
    { type: 'sun', is: 'up' },
    { type: 'pin', pin: 17, high: false },
    { type: 'thing', thing: 'ha:sensor.t', above: 1, below: 2, unknown: true },
    { type: 'any', conditions: [{ type: 'sun', is: 'up' }] },
    { type: 'not', condition: { type: 'thing', thing: 'ha:media_player.sonos', is: 'playing', more: 1 } },
    { type: 'not', condition: { type: 'not', condition: { type: 'sun', is: 'up' } } },
  ],
  action: [
    { type: 'thing', thing: 'pin:17', action: 'turn_on', for: 'PT1H0M5S' },
    { type: 'thing', thing: 'tv', action: 'mute', mute: false },
    { type: 'thing', thing: 'ha:climate.a', action: 'set_temperature', temperature: 70, unit: 'fahrenheit' },
    { type: 'thing', area: 'Kitchen', kind: 'light', action: 'turn_off' },
    { type: 'pin', pin: 17, high: true, for: 'PT5M' },
    { type: 'message', message: 'x', title: 'a title' },
    { type: 'wait', seconds: 90 },
    { type: 'mqtt', topic: 'a', payload: '1', retain: true, qos: 1 },
    { type: 'ha', domain: 'light', service: 'turn_on', entity: 'light.a', data: { brightness: 3 } },
    { type: 'tool', tool: 'add_task', arguments: { title: 'a' } },
  ],
};

test('what nobody changed is sent back as it was stored, without the words for people', () => {
  for (const [kind, all] of Object.entries(STORED)) {
    for (const stored of all) {
      const worded = { ...stored, words: 'in words' };
      assert.deepEqual(through(kind, kind === 'condition' && stored.type === 'not' ? stored : worded), stored, JSON.stringify(stored));
    }
  }
});

test('a change of what the form shows is sent', () => {
  for (const [kind, stored, change, sent] of [
    ['trigger', { type: 'pin', pin: 4, press: 'double' }, { press: 'long' }, { type: 'pin', pin: 4, press: 'long' }],
    ['trigger', { type: 'sun', event: 'sunset', offsetMinutes: -15 }, { offset: '0' }, { type: 'sun', event: 'sunset' }],
    ['condition', { type: 'time', after: '22:00', before: '06:00' }, { before: '' }, { type: 'time', after: '22:00' }],
    ['condition', { type: 'sun', is: 'up' }, { not: true }, { type: 'not', condition: { type: 'sun', is: 'up' } }],
    ['condition', { type: 'not', condition: { type: 'sun', is: 'up' } }, { not: false }, { type: 'sun', is: 'up' }],
    ['action', { type: 'thing', thing: 'pin:17', action: 'turn_on', for: 'PT5M' }, { lasts: { n: '', unit: '60' } }, { type: 'thing', thing: 'pin:17', action: 'turn_on' }],
    ['action', { type: 'wait', seconds: 90 }, { lasts: { n: '2', unit: '60' } }, { type: 'wait', seconds: 120 }],
    ['action', { type: 'message', message: 'x', title: 'a title' }, { message: 'y' }, { type: 'message', message: 'y' }],
  ]) {
    assert.deepEqual(through(kind, stored, change), sent, JSON.stringify([stored, change]));
  }
});

test('a new part is not taken for a stored one', () => {
  const problems = {};
  const fresh = drafts.readAction({ ...drafts.NEW_ACTION, thing: 'pin:17' }, 'p', problems);
  assert.deepEqual([fresh, problems], [{ type: 'thing', thing: 'pin:17', action: 'turn_on' }, {}]);
  assert.ok(drafts.readAction(drafts.NEW_ACTION, 'p', problems) && problems['p.thing']);
});
