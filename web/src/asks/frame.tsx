// Shows a component that Hob wrote in a frame without an origin. The frame (web/public/frame.html) runs the component's code in a worker,
// which has no document and no network; the only way out is a message to this page, which becomes the answer. The worker's script and
// Preact are sent to the frame as text.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import preact from '../../node_modules/preact/dist/preact.mjs?raw';
import hooks from '../../node_modules/preact/hooks/dist/hooks.mjs?raw';
import runner from './component-worker.js?raw';
import { Notice } from '../form';
import type { Interaction } from '../api';
import { asks } from '../text/asks';
import type { Reply } from './card';

const words = asks.frame;

/** A frame that stays silent this long is missing. */
const PATIENCE_MS = 6000;
const LOWEST = 44;
const HIGHEST = 640;

/** A module's source as a function body that returns its exports. */
function body(source: string): string {
  return source
    .replace(/\/\/# sourceMappingURL.*$/m, '')
    .replace(/import\s*\{([^}]*)\}\s*from\s*"preact";?/, (_, names: string) => `const {${names.replace(/\sas\s/g, ':')}}=preact;`)
    .replace(/export\s*\{([^}]*)\};?\s*$/, (_, names: string) => `return{${names.split(',').map((pair) => pair.trim().split(/\s+as\s+/).reverse().join(':')).join(',')}};`);
}

export function Frame({ it, reply }: { it: Interaction; reply: Reply }): JSX.Element {
  const frame = useRef<HTMLIFrameElement>(null);
  const [state, setState] = useState<'loading' | 'shown' | 'jsx' | 'silent' | { broken: string }>('loading');
  const [height, setHeight] = useState(LOWEST);
  const give = useRef(reply.give);
  give.current = reply.give;
  const { code } = it;

  useEffect(() => {
    if (!code) return;
    const timer = setTimeout(() => setState((now) => (now === 'loading' ? 'silent' : now)), PATIENCE_MS);
    const hear = (event: MessageEvent) => {
      // Accepts messages of this frame only, as plain data.
      if (event.source !== frame.current?.contentWindow) return;
      const said = event.data as { hob?: unknown; why?: unknown; height?: unknown; action?: unknown; payload?: unknown } | null;
      switch (said?.hob) {
        case 'ready': {
          const dark = matchMedia('(prefers-color-scheme: dark)').matches;
          // The frame has no origin to name.
          frame.current?.contentWindow?.postMessage({ hob: 'run', preact: body(preact), hooks: body(hooks), runner, code, props: it.props ?? {}, dark }, '*');
          break;
        }
        case 'shown':
          clearTimeout(timer);
          setState('shown');
          break;
        case 'jsx':
          clearTimeout(timer);
          setState('jsx');
          break;
        case 'broken':
          clearTimeout(timer);
          setState({ broken: String(said.why).slice(0, 300) });
          break;
        case 'height':
          if (typeof said.height === 'number') setHeight(Math.min(HIGHEST, Math.max(LOWEST, Math.ceil(said.height))));
          break;
        case 'call': {
          const payload = said.payload && typeof said.payload === 'object' && !Array.isArray(said.payload) ? said.payload : {};
          void give.current({ ...payload, action: String(said.action ?? '') });
          break;
        }
      }
    };
    addEventListener('message', hear);
    return () => {
      clearTimeout(timer);
      removeEventListener('message', hear);
    };
  }, [code]);

  const trouble = !code ? words.stored(it.component ?? '') : state === 'jsx' ? words.jsx : state === 'silent' ? words.silent : typeof state === 'object' ? words.broken(state.broken) : '';
  return (
    <>
      {trouble
        ? <Notice bad>{trouble}</Notice>
        : (
          <iframe
            ref={frame}
            class="component"
            title={it.title || words.title}
            src="/frame.html"
            sandbox="allow-scripts"
            referrerpolicy="no-referrer"
            style={{ height: `${height}px` }}
            aria-busy={state === 'loading'}
          />
        )}
      {trouble && code && (
        <details>
          <summary><span class="soft small">{asks.code('')}</span></summary>
          <pre class="plain" tabIndex={0} role="group" aria-label={asks.code('')}>{code}</pre>
        </details>
      )}
      <div class="buttons"><button type="button" class="quiet" aria-disabled={reply.busy} onClick={() => void reply.give(null)}>{asks.aside}</button></div>
    </>
  );
}
