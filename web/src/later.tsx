// Components whose code is loaded on demand, so that the first load stays light.
import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { deviceAway } from './away';
import { Notice } from './form';
import { text } from './text';

interface Fetched<P> {
  (props: P): JSX.Element;
  /** Prefetches the code. */
  ahead: () => void;
}

/** A component loaded when it is first shown, with a loading text and an error with a reload button. */
export function later<P extends object>(load: () => Promise<ComponentType<P>>): Fetched<P> {
  let arrived: ComponentType<P> | undefined;
  // A failed prefetch is retried, and reported, when the component is shown.
  const ahead = () => void (arrived ?? load().then((found) => (arrived = found), () => undefined));
  function Later(props: P): JSX.Element {
    const [Part, setPart] = useState<ComponentType<P> | undefined>(() => arrived);
    const [failed, setFailed] = useState(false);
    const away = deviceAway.value;
    useEffect(() => {
      if (Part || away) return;
      load().then(
        (found) => {
          arrived = found;
          setPart(() => found);
        },
        () => setFailed(true),
      );
    }, [away]);
    if (Part) return <Part {...props} />;
    if (!failed) return <p class="soft small" role="status">{text.memoryRoom.listsLoading}</p>;
    return (
      <>
        <Notice bad>{text.memoryRoom.listsFailed}</Notice>
        <p><button type="button" onClick={() => location.reload()}>{text.memoryRoom.reload}</button></p>
      </>
    );
  }
  return Object.assign(Later, { ahead });
}
