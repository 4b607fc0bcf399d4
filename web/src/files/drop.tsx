// The drop zone: the whole room takes files that are dragged over it.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Bring } from '../icons';
import { files as words } from '../text/files';
import type { Spot } from './api';
import { addUploads, droppedFiles } from './uploads';

interface Props {
  /** Where what is dropped goes; `null` where nothing can be uploaded. */
  into: Spot | null;
  /** The name of it. */
  name: string;
  children: ComponentChildren;
}

const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;

export function DropZone({ into, name, children }: Props): JSX.Element {
  const [over, setOver] = useState(false);
  // Leaving one element for another inside is no leaving of the room.
  const depth = useRef(0);
  useEffect(() => {
    // Outside the room too, a dropped file must not replace the page.
    const refuse = (event: DragEvent) => hasFiles(event) && event.preventDefault();
    addEventListener('dragover', refuse);
    addEventListener('drop', refuse);
    return () => {
      removeEventListener('dragover', refuse);
      removeEventListener('drop', refuse);
    };
  }, []);
  const end = () => {
    depth.current = 0;
    setOver(false);
  };
  return (
    <div
      class="drop-zone"
      onDragEnter={(event) => {
        if (!hasFiles(event)) return;
        depth.current++;
        setOver(true);
      }}
      onDragOver={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        if (event.dataTransfer) event.dataTransfer.dropEffect = into ? 'copy' : 'none';
      }}
      onDragLeave={(event) => {
        if (!hasFiles(event)) return;
        if (--depth.current <= 0) end();
      }}
      onDrop={(event) => {
        if (!hasFiles(event) || !event.dataTransfer) return;
        event.preventDefault();
        end();
        if (into) void droppedFiles(event.dataTransfer).then((chosen) => chosen.length > 0 && addUploads(into, chosen));
      }}
    >
      {children}
      {over && <div class="drop-over"><p><Bring />{into ? words.drop(name) : words.dropNot}</p></div>}
    </div>
  );
}
