// How full a place is.
import type { JSX } from 'preact';
import { size } from '../device/units';
import { files as words } from '../text/files';
import type { Place } from './api';

/** From this part on, the bar warns. */
const FULL = 0.95;

export function Quota({ place: { usedBytes, quotaBytes, available } }: { place: Place }): JSX.Element | null {
  if (!available || usedBytes === null) return null;
  if (!quotaBytes) return usedBytes ? <p class="soft small quota">{words.usedOnly(size(usedBytes))}</p> : null;
  const full = usedBytes / quotaBytes >= FULL;
  return (
    <div class="quota">
      <progress class={full ? 'full' : undefined} max={quotaBytes} value={Math.min(usedBytes, quotaBytes)} aria-label={words.used(size(usedBytes), size(quotaBytes))} />
      <p class={full ? 'small' : 'soft small'}>{(full ? words.full : words.used)(size(usedBytes), size(quotaBytes))}</p>
    </div>
  );
}
