// The lists of the Memory room, loaded on demand.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Session } from '../api';
import { deviceAway } from '../away';
import { Notice } from '../form';
import { text } from '../text';
import type { Section } from './sections';

const words = text.memoryRoom;

type Part = typeof import('../records/records');
let arrived: Part | undefined;

interface Props {
  section: Section;
  path: string[];
  session: Session;
}

export function Lists(props: Props): JSX.Element {
  const [part, setPart] = useState(arrived);
  const [failed, setFailed] = useState(false);
  const away = deviceAway.value;
  useEffect(() => {
    if (part || away) return;
    import('../records/records').then(
      (found) => {
        arrived = found;
        setPart(found);
      },
      () => setFailed(true),
    );
  }, [away]);
  if (part) return <part.Records {...props} />;
  if (!failed) return <p class="soft nothing" role="status">{words.listsLoading}</p>;
  return (
    <div class="again">
      <Notice bad>{words.listsFailed}</Notice>
      <p class="again"><button type="button" onClick={() => location.reload()}>{words.reload}</button></p>
    </div>
  );
}
