// The difference of two texts by lines.

export interface DiffLine {
  mark: ' ' | '+' | '-';
  text: string;
}

/** More lines than these are not compared one by one. */
const MOST = 1500;

/** What turns `before` into `after`; long equal stretches are not left out here. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const left = a.slice(head, a.length - tail);
  const right = b.slice(head, b.length - tail);
  const same = (lines: string[]) => lines.map((text): DiffLine => ({ mark: ' ', text }));
  return [...same(a.slice(0, head)), ...middle(left, right), ...same(a.slice(a.length - tail))];
}

function middle(a: string[], b: string[]): DiffLine[] {
  const gone = a.map((text): DiffLine => ({ mark: '-', text }));
  const fresh = b.map((text): DiffLine => ({ mark: '+', text }));
  if (!a.length || !b.length || a.length > MOST || b.length > MOST) return [...gone, ...fresh];
  // The lengths of the longest common parts of what follows, by row.
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] = a[i] === b[j] ? (common[(i + 1) * width + j + 1] ?? 0) + 1 : Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0);
    }
  }
  const out: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push({ mark: ' ', text: a[i] ?? '' });
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))) {
      out.push({ mark: '-', text: a[i++] ?? '' });
    } else {
      out.push({ mark: '+', text: b[j++] ?? '' });
    }
  }
  return out;
}

export interface Hunk {
  lines: DiffLine[];
  /** How many equal lines were left out before it. */
  skipped: number;
}

/** Only the changed lines, with `around` equal ones beside them. */
export function hunksOf(lines: DiffLine[], around = 3): Hunk[] {
  const near = new Set<number>();
  lines.forEach(({ mark }, n) => {
    if (mark !== ' ') for (let at = n - around; at <= n + around; at++) near.add(at);
  });
  const out: Hunk[] = [];
  let skipped = 0;
  let open = false;
  lines.forEach((line, n) => {
    if (!near.has(n)) {
      skipped++;
      open = false;
      return;
    }
    if (!open) out.push({ lines: [], skipped });
    open = true;
    skipped = 0;
    out.at(-1)?.lines.push(line);
  });
  return out;
}
