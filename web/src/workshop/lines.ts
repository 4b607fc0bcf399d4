// Text areas with one thing a line.

export const linesOf = (text: string): string[] => text.split('\n').map((line) => line.trim()).filter(Boolean);

/** `NAME=value` lines; `null` where one is none. */
export function pairsOf(text: string): Record<string, string> | null {
  const pairs: Record<string, string> = {};
  for (const line of linesOf(text)) {
    const [, name = '', value = ''] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line) ?? [];
    if (!name) return null;
    pairs[name] = value;
  }
  return pairs;
}
