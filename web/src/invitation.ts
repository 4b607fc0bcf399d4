// The code of an invitation in a link to join.

export interface JoinProps {
  code: string;
  /** Who is signed in here already; '' for nobody. */
  signedIn: string;
  onDone: () => Promise<void>;
}

/** The code in `#join=…`; '' when there is none. */
export function invitationIn(hash: string): string {
  const found = /#join=([^&\s]*)/.exec(hash)?.[1] ?? '';
  try {
    return decodeURIComponent(found).trim();
  } catch {
    return found;
  }
}
