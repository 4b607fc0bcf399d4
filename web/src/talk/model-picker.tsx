// The menu behind the model in the composer: what can answer here, and a link to set up more.
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { Notice } from '../form';
import { models as readModels, providers as readProviders } from '../mind/api';
import { Check } from '../icons';
import { href } from '../rooms';
import { recentModels } from '../storage';
import { trouble } from '../text';
import { talk } from '../text/talk';
import { modelName } from './model-name';

const texts = talk.model;

/** How many models of each provider are offered, the best ones; the Models page has all. */
const EACH = 3;
const REFLEX = 'reflex';

interface Choice {
  model: string;
  /** The address of a server of one's own. */
  url?: string | undefined;
}

/** The models that could answer: the one in use, its fallbacks, earlier choices, and the best of providers with a key. */
async function choices(): Promise<{ current: string; all: Choice[] }> {
  const [now, known, providers] = await Promise.all([api.model(), readModels(), readProviders()]);
  const all: Choice[] = [{ model: now.model, url: now.url || undefined }, ...now.fallback.map((model) => ({ model })), ...recentModels.get()];
  for (const { id, hasKey } of providers.providers) {
    if (!hasKey) continue;
    const own = known.models.filter(({ model, tools }) => tools && model.startsWith(`${id}/`)).sort((a, b) => (b.quality ?? 0) - (a.quality ?? 0));
    all.push(...own.slice(0, EACH).map(({ model }) => ({ model })));
  }
  all.push({ model: REFLEX });
  if (now.model.startsWith('custom/')) recentModels.add({ model: now.model, url: now.url ?? '' });
  return { current: now.model, all: all.filter((one, n) => one.model && all.findIndex(({ model }) => model === one.model) === n) };
}

interface Props {
  onChosen: (model: string) => void;
  onClose: () => void;
}

export function ModelPicker({ onChosen, onClose }: Props): JSX.Element {
  const [found, setFound] = useState<{ current: string; all: Choice[] } | null>(null);
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState('');
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    choices().then(setFound, (cause) => setProblem(trouble(cause)));
  }, []);
  useLayoutEffect(() => {
    box.current?.querySelector<HTMLElement>('[aria-pressed="true"], button, a')?.focus({ preventScroll: true });
  }, [found === null]);
  // A press elsewhere closes it.
  useEffect(() => {
    const onPress = (event: Event) => !box.current?.parentElement?.contains(event.target as Node) && onClose();
    document.addEventListener('pointerdown', onPress);
    return () => document.removeEventListener('pointerdown', onPress);
  }, []);
  const choose = async ({ model, url }: Choice) => {
    if (busy) return;
    setBusy(model);
    setProblem('');
    try {
      await api.chooseModel({ model, ...(url && { url }) });
      onChosen(model);
    } catch (cause) {
      setProblem(trouble(cause));
      setBusy('');
    }
  };
  return (
    <div
      class="models"
      role="dialog"
      aria-label={texts.title}
      ref={box}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        onClose();
      }}
    >
      {!found && !problem && <p class="soft small" role="status">{texts.loading}</p>}
      {found && (
        <ul>
          {found.all.map((one) => {
            const { name, from } = modelName(one.model);
            const chosen = one.model === found.current;
            return (
              <li key={one.model}>
                <button type="button" aria-pressed={chosen} aria-disabled={busy !== ''} onClick={() => void (chosen ? onClose() : choose(one))}>
                  <span>{name}<small>{one.model === REFLEX ? texts.reflexWhy : from}</small></span>
                  {chosen && <Check />}
                </button>
              </li>
            );
          })}
        </ul>
      )}
      {found && found.all.length < 2 && <p class="soft small">{texts.only}</p>}
      {problem && <Notice bad>{problem}</Notice>}
      <p class="soft small">{texts.everybody} <a href={href('device', 'models')}>{texts.other}</a></p>
    </div>
  );
}
