// The machine's health; concerns come first.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import * as api from '../api';
import { useLive } from '../live';
import type { SystemInfo } from '../results';
import { href } from '../rooms';
import { Sentence } from '../sentence';
import { facts, text, when } from '../text';
import { modelTrouble } from '../text/model-trouble';
import { Doctor } from './doctor';
import { Part, LoadState, useAdmin, useRead } from './part';
import { size, span } from './units';

/** The polling interval while the page is visible. */
const EVERY_MS = 30_000;

/** "61 MB, 3 MB of it free · compacted 20 Nov, 212 → 61 MB". */
function data(storage: api.Storage): string {
  const words = text.device.health;
  const { compacted, compacting, free } = storage;
  const now = typeof free === 'number' ? words.dataIs(size(storage.size), size(free)) : size(storage.size);
  if (typeof compacting === 'number') return facts(now, words.compacting(compacting));
  return facts(now, compacted ? words.compacted(when(compacted.at), size(compacted.before), size(compacted.after)) : '');
}

function lines(state: SystemInfo, storage: api.Storage | null): [string, string][] {
  const words = text.device.health;
  const all: [string, string][] = [];
  const { memory, disk, load, temperature, uptime } = state;
  if (memory) all.push([words.memory, words.memoryIs(size(memory.total - memory.available), size(memory.total), size(state.ownMemory ?? 0))]);
  if (disk) all.push([words.disk, words.diskIs(size(disk.free), size(disk.total))]);
  if (storage) all.push([words.data, data(storage)]);
  if (storage?.files) all.push([words.files, words.filesAre(storage.files, size(storage.fileBytes))]);
  if (temperature !== undefined) all.push([words.temperature, `${Math.round(temperature)} °C`]);
  if (load?.[0] !== undefined) all.push([words.load, words.loadIs(load[0], state.cpus ?? 1)]);
  if (uptime !== undefined) all.push([words.up, words.upIs(span(uptime), when(state.startedAt))]);
  const machine = facts(state.model, state.os, state.arch);
  if (machine) all.push([words.machine, machine]);
  return all;
}

/** The models that do not answer. */
function useModelTrouble(): api.ModelInUse['trouble'] {
  const read = useRead(api.model);
  const admin = useAdmin();
  useLive(['model:trouble', 'model:changed'], () => void read.again());
  // A server at home that is off shows before anybody asks it something.
  const athome = admin && (read.data?.url ?? '').startsWith('http:');
  useEffect(() => {
    if (athome) void api.checkModel().then(read.again, () => undefined);
  }, [athome]);
  return read.data?.trouble ?? [];
}

export function Health(): JSX.Element {
  const read = useRead(() => api.execute('system_info'));
  const storage = useRead(() => api.storage());
  const troubles = useModelTrouble();
  const admin = useAdmin();

  useEffect(() => {
    let last = Date.now();
    const look = () => {
      if (document.hidden || Date.now() - last < EVERY_MS - 500) return;
      last = Date.now();
      void read.again();
      void storage.again();
    };
    const timer = setInterval(look, EVERY_MS);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, []);

  const state: SystemInfo = read.data?.result ?? {};
  const concerns = state.concerns ?? [];
  return (
    <Part id="health" title={text.device.health.title} why={text.device.health.why}>
      <LoadState of={read} />
      {read.data && (
        <>
          {/* The sentence would repeat the concerns. */}
          {concerns.length + troubles.length === 0 ? <p class="say"><Sentence words={read.data.say ?? text.device.health.well} /></p> : (
            <div role="alert">
              <ul class="concerns">
                {concerns.map((concern) => <li key={concern}>{text.device.health.concern(concern)}</li>)}
                {troubles.map((one) => <li key={one.model}>{modelTrouble.since(one, when(one.since))} {modelTrouble.todo[one.problem](one)} <a href={href('device', 'models')}>{modelTrouble.open}</a></li>)}
              </ul>
            </div>
          )}
          <dl class="facts-list">
            {lines(state, storage.data).map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
      {admin && <Doctor />}
    </Part>
  );
}
