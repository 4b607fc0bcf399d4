// A terminal's screen: text with sequences in, lines of styled cells out. It only draws: nothing it reads can reach the page, the
// clipboard or the program.

/** Colours: 0 is the page's own, 1 to 16 are the terminal's. */
export interface Style {
  ink: number;
  paper: number;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  inverse: boolean;
}

export interface Run {
  text: string;
  style: Style;
}

interface Line {
  chars: string[];
  styles: Style[];
}

export const PLAIN: Style = { ink: 0, paper: 0, bold: false, dim: false, italic: false, underline: false, inverse: false };
/** Lines that have left the screen at its top. */
const SCROLLBACK = 3000;
/** The most numbers in a sequence, and their largest value. */
const NUMBERS = 16;
const LARGEST = 9999;

const same = (a: Style, b: Style): boolean =>
  a === b || (a.ink === b.ink && a.paper === b.paper && a.bold === b.bold && a.dim === b.dim && a.italic === b.italic && a.underline === b.underline && a.inverse === b.inverse);

/** The terminal's 16 colours, to find the nearest of another one. */
const PALETTE = [
  [0, 0, 0], [205, 49, 49], [13, 188, 121], [229, 229, 16], [36, 114, 200], [188, 63, 188], [17, 168, 205], [229, 229, 229],
  [102, 102, 102], [241, 76, 76], [35, 209, 139], [245, 245, 67], [59, 142, 234], [214, 112, 214], [41, 184, 219], [255, 255, 255],
];

function nearest(r: number, g: number, b: number): number {
  let [best, distance] = [0, Infinity];
  PALETTE.forEach(([pr = 0, pg = 0, pb = 0], n) => {
    const d = (pr - r) ** 2 + (pg - g) ** 2 + (pb - b) ** 2;
    if (d < distance) [best, distance] = [n, d];
  });
  return best + 1;
}

function ofIndex(n: number): number {
  if (n < 16) return n + 1;
  if (n >= 232) return nearest(8 + (n - 232) * 10, 8 + (n - 232) * 10, 8 + (n - 232) * 10);
  const [r, g, b] = [Math.floor((n - 16) / 36), Math.floor((n - 16) / 6) % 6, (n - 16) % 6].map((part) => (part ? 55 + part * 40 : 0));
  return nearest(r ?? 0, g ?? 0, b ?? 0);
}

export class Screen {
  private lines: Line[] = [{ chars: [], styles: [] }];
  /** Where the screen begins in `lines`. */
  private top = 0;
  private row = 0;
  private column = 0;
  private style = PLAIN;
  private saved = { row: 0, column: 0, style: PLAIN };
  /** The lines under the other screen, while that is shown. */
  private under: { lines: Line[]; top: number; row: number; column: number } | null = null;
  private region: [first: number, last: number];
  /** The beginning of a sequence whose end has not come yet. */
  private rest = '';
  private wraps = false;
  /** Whether lines were dropped at the top. */
  dropped = false;

  constructor(private columns = 100, private rows = 30) {
    this.region = [0, rows - 1];
  }

  resize(columns: number, rows: number): void {
    this.columns = columns;
    // What no longer fits at the bottom moves up.
    if (!this.under) this.top = Math.max(this.top, this.top + this.row - rows + 1);
    this.row = Math.min(this.row, rows - 1);
    this.rows = rows;
    this.region = [0, rows - 1];
    this.column = Math.min(this.column, columns - 1);
  }

  write(more: string): void {
    const text = this.rest + more;
    this.rest = '';
    let at = 0;
    while (at < text.length) {
      const code = text.codePointAt(at) ?? 0;
      const char = String.fromCodePoint(code);
      if (char === '\x1b' || char === '\x9b') {
        const length = this.sequence(text.slice(at, at + 256));
        if (!length) {
          // Longer than any sequence that means something: left out.
          if (text.length - at < 256) this.rest = text.slice(at);
          else at++;
          if (this.rest) return;
          continue;
        }
        at += length;
        continue;
      }
      at += char.length;
      this.char(char, code);
    }
  }

  private char(char: string, code: number): void {
    if (char === '\n' || char === '\v' || char === '\f') return this.down();
    if (char === '\r') return this.to(this.row, 0);
    if (char === '\b') return this.to(this.row, this.column - 1);
    if (char === '\t') return this.to(this.row, Math.min(this.columns - 1, (Math.floor(this.column / 8) + 1) * 8));
    if (code < 32 || (code >= 127 && code < 160) || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069)) return;
    if (/\p{M}|\u200d|\ufe0f/u.test(char)) {
      // It belongs to the character before it.
      const line = this.line();
      const before = this.column - 1;
      if (before >= 0 && line.chars[before] && (line.chars[before] ?? '').length < 16) line.chars[before] += char;
      return;
    }
    if (this.wraps) {
      this.column = 0;
      this.down();
    }
    const line = this.line();
    while (line.chars.length < this.column) {
      line.chars.push(' ');
      line.styles.push(PLAIN);
    }
    line.chars[this.column] = char;
    line.styles[this.column] = this.style;
    if (this.column >= this.columns - 1) this.wraps = true;
    else this.column++;
  }

  private line(row = this.row): Line {
    const index = this.top + row;
    while (this.lines.length <= index) this.lines.push({ chars: [], styles: [] });
    return this.lines[index] as Line;
  }

  private to(row: number, column: number): void {
    this.wraps = false;
    this.row = Math.max(0, Math.min(this.rows - 1, row));
    this.column = Math.max(0, Math.min(this.columns - 1, column));
  }

  private down(): void {
    this.wraps = false;
    const [first, last] = this.region;
    if (this.row !== last) return this.to(this.row + 1, this.column);
    if (first > 0 || this.under) return this.scroll(1);
    if (last < this.rows - 1) return this.scroll(1);
    // The top line leaves the screen and stays above it.
    this.top++;
    this.line();
    const excess = this.top - SCROLLBACK;
    if (excess > 200) {
      this.lines.splice(0, excess);
      this.top -= excess;
      this.dropped = true;
    }
  }

  /** Moves the lines of the region up (or down, where negative). */
  private scroll(by: number, first = this.region[0], last = this.region[1]): void {
    this.line(last);
    const n = Math.min(Math.abs(by), last - first + 1);
    for (let i = 0; i < n; i++) {
      const [from, to] = by > 0 ? [first, last] : [last, first];
      this.lines.splice(this.top + from, 1);
      this.lines.splice(this.top + to, 0, { chars: [], styles: [] });
    }
  }

  /** Reads the sequence at the start of the text; 0 where its end is missing. */
  private sequence(text: string): number {
    const csi = /^(?:\x1b\[|\x9b)([0-9;:<=>?]*)([ -/]*)([@-~])/.exec(text);
    if (csi) {
      this.control(csi[1] ?? '', csi[2] ?? '', csi[3] ?? '');
      return csi[0].length;
    }
    if (/^(?:\x1b\[|\x9b)[0-9;:<=>?]*[ -/]*$/.test(text)) return 0;
    // Titles, links and the clipboard: nothing of them is done.
    const string = /^\x1b[\]PX^_][^]*?(?:\x07|\x1b\\|\x9c)/.exec(text);
    if (string) return string[0].length;
    if (/^\x1b[\]PX^_]/.test(text)) return 0;
    const [, kind = ''] = /^\x1b([^]?)/.exec(text) ?? [];
    if (!kind) return 0;
    if (kind === '7') this.saved = { row: this.row, column: this.column, style: this.style };
    else if (kind === '8') this.back();
    else if (kind === 'D') this.down();
    else if (kind === 'E') (this.column = 0), this.down();
    else if (kind === 'M') this.row === this.region[0] ? this.scroll(-1) : this.to(this.row - 1, this.column);
    else if (kind === 'c') this.clear();
    if (/[ -/]/.test(kind)) return text.length > 2 ? 3 : 0;
    return 2;
  }

  private back(): void {
    this.to(this.saved.row, this.saved.column);
    this.style = this.saved.style;
  }

  private clear(): void {
    for (let row = 0; row < this.rows; row++) this.erase(row, 0);
    this.to(0, 0);
    this.style = PLAIN;
  }

  private erase(row: number, from: number, to = Infinity): void {
    const line = this.line(row);
    if (to >= line.chars.length) {
      line.chars.length = Math.min(line.chars.length, from);
      line.styles.length = line.chars.length;
      return;
    }
    for (let at = from; at <= to; at++) {
      line.chars[at] = ' ';
      line.styles[at] = PLAIN;
    }
  }

  private control(given: string, between: string, kind: string): void {
    const own = /^[<=>?]/.exec(given)?.[0] ?? '';
    const numbers = given.replace(/^[<=>?]/, '').split(/[;:]/).slice(0, NUMBERS).map((one) => Math.min(LARGEST, Number(one) || 0));
    const n = Math.max(1, numbers[0] ?? 1);
    if (between) return;
    if (own === '?') {
      if ((kind === 'h' || kind === 'l') && numbers.some((one) => one === 1049 || one === 47 || one === 1047)) this.swap(kind === 'h');
      return;
    }
    if (own) return;
    switch (kind) {
      case 'm': return this.look(numbers, given);
      case 'A': return this.to(this.row - n, this.column);
      case 'B': case 'e': return this.to(this.row + n, this.column);
      case 'C': case 'a': return this.to(this.row, this.column + n);
      case 'D': return this.to(this.row, this.column - n);
      case 'E': return this.to(this.row + n, 0);
      case 'F': return this.to(this.row - n, 0);
      case 'G': case '`': return this.to(this.row, n - 1);
      case 'd': return this.to(n - 1, this.column);
      case 'H': case 'f': return this.to(n - 1, Math.max(1, numbers[1] ?? 1) - 1);
      case 's': this.saved = { row: this.row, column: this.column, style: this.style }; return;
      case 'u': return this.back();
      case 'J': return this.eraseScreen(numbers[0] ?? 0);
      case 'K': return this.eraseLine(numbers[0] ?? 0);
      case 'L': case 'M': if (this.row >= this.region[0] && this.row <= this.region[1]) this.scroll(kind === 'M' ? n : -n, this.row, this.region[1]); return;
      case 'S': return this.scroll(n);
      case 'T': return this.scroll(-n);
      case 'P': case '@': case 'X': return this.shift(kind, n);
      case 'r': {
        const [first, last] = [n - 1, (numbers[1] || this.rows) - 1];
        this.region = first < last && last < this.rows ? [first, last] : [0, this.rows - 1];
        return this.to(0, 0);
      }
    }
  }

  private eraseScreen(how: number): void {
    const [from, to] = how === 0 ? [this.row + 1, this.rows] : how === 1 ? [0, this.row] : [0, this.rows];
    if (how === 0) this.erase(this.row, this.column);
    if (how === 1) this.erase(this.row, 0, this.column);
    const end = Math.min(to, this.lines.length - this.top);
    for (let row = from; row < end; row++) this.erase(row, 0);
  }

  private eraseLine(how: number): void {
    if (how === 0) this.erase(this.row, this.column);
    else if (how === 1) this.erase(this.row, 0, this.column);
    else this.erase(this.row, 0);
  }

  private shift(kind: string, n: number): void {
    if (kind === 'X') return this.erase(this.row, this.column, this.column + n - 1);
    const line = this.line();
    const many = Math.min(n, this.columns);
    if (kind === 'P') {
      line.chars.splice(this.column, many);
      line.styles.splice(this.column, many);
    } else if (this.column < line.chars.length) {
      line.chars.splice(this.column, 0, ...Array<string>(many).fill(' '));
      line.styles.splice(this.column, 0, ...Array<Style>(many).fill(PLAIN));
      line.chars.length = Math.min(line.chars.length, this.columns);
      line.styles.length = line.chars.length;
    }
  }

  private swap(other: boolean): void {
    if (other && !this.under) {
      this.under = { lines: this.lines, top: this.top, row: this.row, column: this.column };
      this.lines = [{ chars: [], styles: [] }];
      this.top = 0;
      this.to(0, 0);
    } else if (!other && this.under) {
      const { lines, top, row, column } = this.under;
      this.under = null;
      [this.lines, this.top] = [lines, top];
      this.to(row, column);
    }
    this.region = [0, this.rows - 1];
  }

  private look(numbers: number[], given: string): void {
    if (!given) numbers = [0];
    let next = { ...this.style };
    for (let at = 0; at < numbers.length; at++) {
      const n = numbers[at] ?? 0;
      if (n === 0) next = { ...PLAIN };
      else if (n === 1) next.bold = true;
      else if (n === 2) next.dim = true;
      else if (n === 3) next.italic = true;
      else if (n === 4) next.underline = true;
      else if (n === 7) next.inverse = true;
      else if (n === 22) next.bold = next.dim = false;
      else if (n === 23) next.italic = false;
      else if (n === 24) next.underline = false;
      else if (n === 27) next.inverse = false;
      else if (n >= 30 && n <= 37) next.ink = n - 29;
      else if (n >= 90 && n <= 97) next.ink = n - 81;
      else if (n === 39) next.ink = 0;
      else if (n >= 40 && n <= 47) next.paper = n - 39;
      else if (n >= 100 && n <= 107) next.paper = n - 91;
      else if (n === 49) next.paper = 0;
      else if (n === 38 || n === 48) {
        const wide = numbers[at + 1] === 2;
        const colour = wide ? nearest(numbers[at + 2] ?? 0, numbers[at + 3] ?? 0, numbers[at + 4] ?? 0) : ofIndex(Math.min(255, numbers[at + 2] ?? 0));
        if (n === 38) next.ink = colour;
        else next.paper = colour;
        at += wide ? 4 : 2;
      }
    }
    this.style = same(next, PLAIN) ? PLAIN : next;
  }

  /** The lines as runs of one style, without the empty ones at the end. */
  shown(): Run[][] {
    const all = this.lines.map(({ chars, styles }) => {
      const runs: Run[] = [];
      chars.forEach((char, n) => {
        const style = styles[n] ?? PLAIN;
        const last = runs.at(-1);
        if (last && same(last.style, style)) last.text += char;
        else runs.push({ text: char, style });
      });
      return runs;
    });
    while (all.length && !all.at(-1)?.some(({ text }) => text.trim())) all.pop();
    return all;
  }
}

/** The text of a program that has no terminal, or has ended, as lines. */
export function shownText(text: string, columns = 400): Run[][] {
  const screen = new Screen(columns, 200);
  screen.write(text.replace(/\r?\n/g, '\r\n'));
  return screen.shown();
}
