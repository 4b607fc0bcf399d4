// The places this person sees, read once for the room.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Refused } from '../api';
import { deviceAway } from '../away';
import { useNews } from '../live';
import { trouble } from '../text';
import { places as read, type Place } from './api';

/** Events after which the files may be others. */
export const FILE_EVENTS = ['workspace:changed', 'change'] as const;

/** `null`: not read yet. */
export const places = signal<Place[] | null>(null);
export const placesProblem = signal('');

export async function renewPlaces(): Promise<void> {
  try {
    places.value = (await read()).places;
    placesProblem.value = '';
  } catch (cause) {
    if (cause instanceof Refused) placesProblem.value = trouble(cause);
  }
}

/** Keeps the places as they are while mounted. */
export function usePlaces(): Place[] | null {
  const away = deviceAway.value;
  useEffect(() => {
    if (!away) void renewPlaces();
  }, [away]);
  useNews(FILE_EVENTS, () => void renewPlaces());
  return places.value;
}

export const placeOf = (id: string): Place | undefined => places.value?.find((place) => place.id === id);
export const placeName = (id: string): string => placeOf(id)?.name ?? id;
