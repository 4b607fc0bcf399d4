// A link with which a person joins: shown once, copied or sent.
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { Device } from '../api';
import type { Invitation } from '../arrival/api';
import { Copy } from '../copy';
import { Notice } from '../form';
import { arrival } from '../text/arrival';
import './invite.css';
import { day } from './units';

const words = arrival.invite;
const LOOPBACK = /^(127\.|localhost$|\[?::1\]?$)/;

/** Whether only the device itself can reach an address. */
export function onlyHere(listensOn: string | null | undefined): boolean {
  return /^(127\.|localhost|\[::1\])/.test(listensOn ?? '');
}

/** The address at which others open the page: this one, unless it is the device's own. */
function addressFor(device: Device | null): string {
  if (!LOOPBACK.test(location.hostname)) return location.origin;
  if (onlyHere(device?.listensOn)) return location.origin;
  return device?.tls?.url ?? location.origin;
}

interface Props {
  person: string;
  home: string;
  invitation: Invitation;
  device: Device | null;
}

export function InviteLink({ person, home, invitation, device }: Props): JSX.Element {
  const shown = useRef<HTMLElement>(null);
  const link = `${addressFor(device)}/#join=${invitation.code}`;
  // Phones offer their own way to send something.
  const sends = typeof navigator.share === 'function';
  return (
    <section class="invite" aria-label={words.link(person)}>
      <p><b>{words.link(person)}</b></p>
      <code ref={shown}>{link}</code>
      <p class="soft small">{words.what(day(invitation.expiresAt))}</p>
      {onlyHere(device?.listensOn) && <Notice quiet>{words.alone}</Notice>}
      <div class="buttons">
        <Copy value={link} label={words.copy} shown={shown} />
        {sends && <button type="button" class="small" onClick={() => void navigator.share({ text: words.message(home), url: link }).catch(() => undefined)}>{words.send}</button>}
      </div>
    </section>
  );
}
