// The time zones a person can choose from, by region, and the units a browser's language suggests.
import { browserZone } from '../clock';
import type { Home } from './api';

export interface Region {
  name: string;
  zones: { value: string; label: string }[];
}

/** Where a browser cannot list its zones. */
const FEW = [
  'Africa/Cairo', 'Africa/Johannesburg', 'Africa/Lagos', 'America/Chicago', 'America/Denver', 'America/Los_Angeles', 'America/Mexico_City', 'America/New_York',
  'America/Sao_Paulo', 'Asia/Bangkok', 'Asia/Dubai', 'Asia/Jakarta', 'Asia/Kolkata', 'Asia/Manila', 'Asia/Shanghai', 'Asia/Singapore', 'Asia/Tokyo', 'Australia/Perth',
  'Australia/Sydney', 'Europe/Athens', 'Europe/Berlin', 'Europe/Istanbul', 'Europe/Lisbon', 'Europe/London', 'Europe/Madrid', 'Europe/Paris', 'Europe/Vienna', 'Pacific/Auckland',
];

const readable = (name: string) => name.replaceAll('_', ' ');

/** Every zone, and always `also`, by region: "Europe", "Vienna". */
export function regions(also: string[]): Region[] {
  let all: string[] = FEW;
  try {
    all = (Intl as typeof Intl & { supportedValuesOf?: (key: 'timeZone') => string[] }).supportedValuesOf?.('timeZone') ?? FEW;
  } catch {
    // An older browser: the few will do.
  }
  const by = new Map<string, string[]>();
  for (const name of [...new Set([...all, ...also.filter(Boolean)])].sort()) {
    const region = name.includes('/') ? name.slice(0, name.indexOf('/')) : 'UTC';
    by.set(region, [...(by.get(region) ?? []), name]);
  }
  return [...by].map(([name, zones]) => ({
    name,
    zones: zones.map((value) => ({ value, label: readable(value.slice(value.indexOf('/') + 1)).replaceAll('/', ', ') })),
  }));
}

export const zoneName = (zone: string) => readable(zone.slice(zone.lastIndexOf('/') + 1));

/** Time zones where miles and Fahrenheit are usual, besides what the language says. */
export function likelyUnits(): Home['units'] {
  try {
    const region = new Intl.Locale(navigator.language).maximize().region;
    const inAmerica = /^(America|Pacific)\//.test(browserZone());
    return region && ['US', 'LR', 'MM'].includes(region) && inAmerica ? 'imperial' : 'metric';
  } catch {
    return 'metric';
  }
}
