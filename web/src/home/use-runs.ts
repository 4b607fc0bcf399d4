// The runs of this person that are under way, with the conversations they answer in.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../api';
import { deviceAway } from '../away';
import { call } from '../http';
import { useNews } from '../live';

export interface UnderWay {
  id: string;
  state: string;
  conversationId: string;
  title: string;
}

/** The most runs shown. */
const MOST = 10;

/** Titles of conversations, by id. */
const titles = new Map<string, string>();

async function titled(id: string): Promise<string> {
  const known = titles.get(id);
  if (known) return known;
  try {
    const { title } = await api.conversation(id, 1);
    if (title) titles.set(id, title);
    return title ?? '';
  } catch {
    return ''; // Deleted meanwhile, or the device is away.
  }
}

export function useRuns(): { runs: UnderWay[]; renew: () => Promise<void> } {
  const [runs, setRuns] = useState<UnderWay[]>([]);
  const away = deviceAway.value;
  const turn = useRef(0);
  const renew = useCallback(async () => {
    const mine = ++turn.current;
    try {
      const found = await call('GET /api/v1/runs', { query: { state: 'running,queued,waiting', limit: MOST } });
      const all = await Promise.all(found.runs.map(async ({ id, state, conversationId }): Promise<UnderWay> => ({
        id, state, conversationId: conversationId ?? '', title: conversationId ? await titled(conversationId) : '',
      })));
      if (mine === turn.current) setRuns(all);
    } catch {
      // Away: the banner says so. Refused: this person has no runs to see.
    }
  }, []);
  useEffect(() => {
    if (!away) void renew();
  }, [away]);
  useNews(['run:started', 'run:resumed', 'run:ended', 'approval:asked', 'approval:settled', 'interaction:pending', 'interaction:ended'], () => void renew());
  return { runs, renew };
}
