// How often each device is used on this screen: the most used come first where a home has many.
const KEY = 'hob.things';
/** The most that are remembered. */
const MOST = 40;
/** Counts fade, so that last year's lamp makes room. */
const FADE = 0.98;

type Counts = Record<string, number>;

function read(): Counts {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    return typeof found === 'object' && found ? Object.fromEntries(Object.entries(found).filter((one): one is [string, number] => typeof one[1] === 'number')) : {};
  } catch {
    return {};
  }
}

export function countUse(address: string): void {
  const faded = Object.entries(read()).map(([name, count]): [string, number] => [name, count * FADE]);
  const counts = new Map(faded);
  counts.set(address, (counts.get(address) ?? 0) + 1);
  const kept = [...counts].sort((a, b) => b[1] - a[1]).slice(0, MOST);
  try {
    localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(kept)));
  } catch {
    // Storage is full or forbidden: nothing comes first then.
  }
}

export const mostUsed = (most: number): string[] => Object.entries(read()).sort((a, b) => b[1] - a[1]).slice(0, most).map(([address]) => address);
