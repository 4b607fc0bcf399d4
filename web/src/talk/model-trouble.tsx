// A quiet line above the composer while the chosen model does not answer; it goes by itself when the model is back.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import * as api from '../api';
import { useLive } from '../live';
import { href } from '../rooms';
import { when } from '../text';
import { modelTrouble as words } from '../text/model-trouble';
import { modelName } from './model-name';
import './model-trouble.css';

export function ModelTrouble({ admin }: { admin: boolean }): JSX.Element | null {
  const [now, setNow] = useState<api.ModelInUse | null>(null);
  const read = () => void api.model().then(setNow, () => undefined);
  useEffect(read, []);
  useLive(['model:trouble', 'model:changed'], read);
  const troubles = now?.trouble ?? [];
  const one = troubles.find(({ model }) => model === now?.model);
  if (!now || !one) return null;
  const well = now.fallback.find((model) => troubles.every((other) => other.model !== model));
  // A wrong key or an empty account is reported, and nobody answers instead.
  const lasting = one.problem === 'key' || one.problem === 'credit';
  return (
    <p class="model-trouble small" role="status">
      {words.since(one, when(one.since))} {lasting ? words.todo[one.problem](one) : well ? words.instead(modelName(well).name) : words.alone}
      {admin && <> <a href={href('device', 'models')}>{words.open}</a></>}
    </p>
  );
}
