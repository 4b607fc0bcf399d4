// Components whose code is loaded on demand, so that the first load stays light.
import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { deviceAway } from './away';
import { Notice } from './form';
import { text } from './text';

interface LazyComponent<P> {
  (props: P): JSX.Element | null;
  /** Prefetches the code. */
  prefetch: () => void;
}

/**
 * A component loaded when it is first shown, with a loading text and an error with a reload button; a `quiet` one is left out until
 * it is there, and where it cannot be loaded: what it shows is said in other words as well.
 */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>, quiet = false): LazyComponent<P> {
  let loaded: ComponentType<P> | undefined;
  // A failed prefetch is retried, and reported, when the component is shown.
  const prefetch = () => void (loaded ?? load().then((found) => (loaded = found), () => undefined));
  function Lazy(props: P): JSX.Element | null {
    const [Part, setPart] = useState<ComponentType<P> | undefined>(() => loaded);
    const [failed, setFailed] = useState(false);
    const away = deviceAway.value;
    useEffect(() => {
      if (Part || away) return;
      load().then(
        (found) => {
          loaded = found;
          setPart(() => found);
        },
        () => setFailed(true),
      );
    }, [away]);
    if (Part) return <Part {...props} />;
    if (quiet) return null;
    if (!failed) return <p class="soft small" role="status">{text.memoryRoom.listsLoading}</p>;
    return (
      <>
        <Notice bad>{text.memoryRoom.listsFailed}</Notice>
        <p><button type="button" onClick={() => location.reload()}>{text.memoryRoom.reload}</button></p>
      </>
    );
  }
  return Object.assign(Lazy, { prefetch });
}
