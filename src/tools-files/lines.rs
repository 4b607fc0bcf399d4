//! Reads a range of lines of a text of any size, in constant memory.

use std::io::{self, Read};
use workspace::text::TextForm;

/// How much is read at once, in bytes.
const BLOCK: usize = 64 * 1024;

/// The lines to read, and how much of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    /// The first line, counted from 1.
    pub first: u64,
    /// How many lines at most.
    pub lines: u64,
    /// The length of the text at most, in bytes.
    pub room: usize,
    /// The length of a line at most, in bytes; the rest of it is left out.
    pub width: usize,
    /// Whether to read on after the range, to count all lines.
    pub count: bool,
}

/// A range of lines that was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Lines {
    /// The lines, without the last line break; line breaks are `\n`.
    pub text: String,
    /// The number of the last line in it; one less than the first where there is none.
    pub last: u64,
    /// How many lines there are, if all were counted.
    pub total: Option<u64>,
    /// Whether lines follow.
    pub more: bool,
    /// The numbers of lines whose end is missing here.
    pub cut: Vec<u64>,
    /// Whether lines in the range end with `\r\n`.
    pub crlf: bool,
    /// Whether bytes of it are not of the encoding and were replaced.
    pub replaced: bool,
}

/// Reads lines from the position after the byte order mark; `stop` ends it early.
pub(crate) fn read(input: &mut impl Read, form: TextForm, range: Range, stop: &dyn Fn() -> bool) -> io::Result<Lines> {
    let mut reader = Reader { input, block: vec![0; BLOCK], filled: 0..0, stop };
    let mut lines = Collector::new(range);
    if form.is_bytewise() {
        reader.skip_lines(range.first.saturating_sub(1), &mut lines)?;
    }
    let mut decoder = form.decoder();
    let mut text = String::with_capacity(BLOCK);
    let mut at_end = false;
    while !lines.is_done() && !at_end {
        at_end = reader.fill()?;
        loop {
            text.clear();
            text.reserve(BLOCK);
            let decoded = decoder.decode(reader.rest(), &mut text, at_end);
            reader.filled.start += decoded.read;
            lines.outcome.replaced |= decoded.replaced;
            lines.add(&text);
            if !decoded.full || lines.is_done() {
                break;
            }
        }
    }
    if lines.is_done() && range.count && form.is_bytewise() {
        // What was decoded after the range was counted with it.
        return reader.count_rest(lines);
    }
    while range.count && lines.is_done() && !at_end {
        at_end = reader.fill()?;
        loop {
            text.clear();
            text.reserve(BLOCK);
            let decoded = decoder.decode(reader.rest(), &mut text, at_end);
            reader.filled.start += decoded.read;
            lines.count(&text);
            if !decoded.full {
                break;
            }
        }
    }
    Ok(lines.finish(at_end))
}

struct Reader<'a, R> {
    input: &'a mut R,
    block: Vec<u8>,
    filled: std::ops::Range<usize>,
    stop: &'a dyn Fn() -> bool,
}

impl<R: Read> Reader<'_, R> {
    fn rest(&self) -> &[u8] {
        &self.block[self.filled.clone()]
    }

    /// Reads the next block if all of this one was used; returns whether the end was reached.
    fn fill(&mut self) -> io::Result<bool> {
        if !self.filled.is_empty() {
            return Ok(false);
        }
        if (self.stop)() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let read = loop {
            match self.input.read(&mut self.block) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.filled = 0..read;
        Ok(read == 0)
    }

    /// Passes lines over without decoding them.
    fn skip_lines(&mut self, lines: u64, into: &mut Collector) -> io::Result<()> {
        while into.number <= lines {
            if self.fill()? {
                return Ok(());
            }
            match memchr::memchr(b'\n', self.rest()) {
                Some(at) => {
                    self.filled.start += at + 1;
                    into.number += 1;
                    into.begun = false;
                }
                None => {
                    self.filled.start = self.filled.end;
                    into.begun = true;
                }
            }
        }
        Ok(())
    }

    /// Counts the lines of what is left.
    fn count_rest(mut self, mut lines: Collector) -> io::Result<Lines> {
        while !self.fill()? {
            let rest = self.rest();
            lines.number += memchr::memchr_iter(b'\n', rest).count() as u64;
            lines.begun = rest.last() != Some(&b'\n');
            self.filled.start = self.filled.end;
        }
        Ok(lines.finish(true))
    }
}

/// Collects the lines of a range out of text that comes in pieces.
struct Collector {
    range: Range,
    outcome: Lines,
    /// The number of the line that comes next or goes on.
    number: u64,
    /// Whether something of that line has come.
    begun: bool,
    /// The line in the range that is being read, up to its width.
    line: String,
    is_cut: bool,
    /// Whether the range is complete.
    done: bool,
    /// Whether the text has a line already.
    any: bool,
}

impl Collector {
    fn new(range: Range) -> Self {
        let outcome = Lines { last: range.first.saturating_sub(1), ..Lines::default() };
        Self { range, outcome, number: 1, begun: false, line: String::new(), is_cut: false, done: false, any: false }
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn add(&mut self, text: &str) {
        for piece in text.split_inclusive('\n') {
            if self.done {
                self.count(piece);
                continue;
            }
            let ends = piece.ends_with('\n');
            if self.number >= self.range.first {
                if self.number - self.range.first >= self.range.lines {
                    self.done = true;
                    self.count(piece);
                    continue;
                }
                self.take(piece.strip_suffix('\n').unwrap_or(piece));
            }
            self.begun = !ends;
            if ends {
                if self.number >= self.range.first && !self.end_line(true) {
                    // It did not fit: it is the first of the lines that follow.
                    self.done = true;
                }
                self.number += 1;
            }
        }
    }

    fn take(&mut self, piece: &str) {
        let room = self.range.width.saturating_sub(self.line.len());
        let end = piece.floor_char_boundary(room);
        self.is_cut |= end < piece.len();
        self.line.push_str(&piece[..end]);
    }

    /// Puts a complete line into the text; `false` if it does not fit.
    fn end_line(&mut self, broken: bool) -> bool {
        let mut line = std::mem::take(&mut self.line);
        let is_cut = std::mem::take(&mut self.is_cut);
        if broken && !is_cut && line.ends_with('\r') {
            line.pop();
            self.outcome.crlf = true;
        }
        if self.any && self.outcome.text.len() + 1 + line.len() > self.range.room {
            return false;
        }
        if self.any {
            self.outcome.text.push('\n');
        }
        self.any = true;
        self.outcome.text.push_str(&line);
        self.outcome.last = self.number;
        if is_cut {
            self.outcome.cut.push(self.number);
        }
        true
    }

    /// Counts lines after the range.
    fn count(&mut self, text: &str) {
        self.number += memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
        if let Some(last) = text.bytes().last() {
            self.begun = last != b'\n';
        }
    }

    fn finish(mut self, at_end: bool) -> Lines {
        if at_end && !self.done && self.begun && self.number >= self.range.first {
            self.end_line(false);
        }
        let total = self.number - u64::from(!self.begun);
        self.outcome.total = at_end.then_some(total);
        self.outcome.more = if at_end { total > self.outcome.last.max(self.range.first - 1) } else { true };
        self.outcome
    }
}

/// A text with the number of each line before it, as `cat -n` writes them.
pub(crate) fn numbered(text: &str, first: u64) -> String {
    let width = (first + text.lines().count() as u64).to_string().len();
    let mut all = String::with_capacity(text.len() + 64);
    for (line, number) in text.split('\n').zip(first..) {
        if number > first {
            all.push('\n');
        }
        all.push_str(&format!("{number:>width$}\t{line}"));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use workspace::text::Encoding;

    fn range(first: u64, lines: u64) -> Range {
        Range { first, lines, room: 1000, width: 100, count: true }
    }

    fn of(text: &str, range: Range) -> Lines {
        read(&mut text.as_bytes(), TextForm::default(), range, &|| false).unwrap()
    }

    #[test]
    fn ranges_of_lines() {
        let text = "one\ntwo\r\nthree\n";
        let rows = [
            (text, range(1, 10), "one\ntwo\nthree", 3, Some(3), false),
            (text, range(2, 1), "two", 2, Some(3), true),
            (text, range(3, 1), "three", 3, Some(3), false),
            (text, range(4, 1), "", 3, Some(3), false),
            (text, range(9, 1), "", 8, Some(3), false),
            ("one\ntwo", range(2, 5), "two", 2, Some(2), false),
            ("", range(1, 5), "", 0, Some(0), false),
            ("\n", range(1, 5), "", 1, Some(1), false),
            ("\n\nx", range(1, 2), "\n", 2, Some(3), true),
            ("aaaa\nbbbb\ncccc", Range { room: 9, ..range(1, 9) }, "aaaa\nbbbb", 2, Some(3), true),
            ("aaaa\nbbbb\ncccc", Range { room: 8, ..range(1, 9) }, "aaaa", 1, Some(3), true),
        ];
        for (text, range, expected, last, total, more) in rows {
            let lines = of(text, range);
            let seen = (lines.text.as_str(), lines.last, lines.total, lines.more);
            assert_eq!(seen, (expected, last, total, more), "{text:?} {range:?}");
        }
        assert!(of(text, range(1, 9)).crlf && !of(text, range(3, 1)).crlf);
    }

    #[test]
    fn long_lines_are_cut_and_named() {
        let text = format!("short\n{}\nend\n", "ü".repeat(200_000));
        let lines = of(&text, Range { width: 5, ..range(1, 9) });
        assert_eq!((lines.text.as_str(), lines.cut, lines.total), ("short\nüü\nend", vec![2], Some(3)));
        // The first line is returned whatever the room.
        let lines = of(&text, Range { room: 3, width: 1000, ..range(2, 9) });
        assert_eq!((lines.text.len(), lines.last, lines.more), (1000, 2, true));
    }

    #[test]
    fn without_counting_the_end_is_not_known() {
        let text = "a line\n".repeat(100_000);
        let lines = of(&text, Range { count: false, ..range(5, 2) });
        assert_eq!((lines.text.as_str(), lines.last, lines.total, lines.more), ("a line\na line", 6, None, true));
    }

    #[test]
    fn bytes_of_no_character_are_replaced() {
        let lines = read(&mut &b"a\xffb\n"[..], TextForm::default(), range(1, 9), &|| false).unwrap();
        assert!(lines.replaced && lines.text == "a\u{fffd}b");
    }

    #[test]
    fn lines_are_numbered() {
        assert_eq!(numbered("a\n\nb", 9), " 9\ta\n10\t\n11\tb");
        assert_eq!(numbered("a", 1), "1\ta");
    }

    proptest! {
        /// Whatever the encoding and the size of the pieces: the same lines as by `str::lines`.
        #[test]
        fn every_range_is_the_same_in_every_encoding(
            words in prop::collection::vec("[a-zäß東🚲\\r]{0,12}", 0..60), ends in any::<bool>(), first in 1u64..70, count in 1u64..70,
        ) {
            let text = words.join("\n") + if ends { "\n" } else { "" };
            let plain: Vec<&str> = text.lines().collect();
            let expected: Vec<&str> = plain.iter().skip(first as usize - 1).take(count as usize).copied().collect();
            for encoding in [Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be] {
                let form = TextForm { encoding, mark: false };
                let bytes = form.encode(&text).unwrap();
                let wide = Range { first, lines: count, room: usize::MAX, width: usize::MAX, count: true };
                let lines = read(&mut bytes.as_slice(), form, wide, &|| false).unwrap();
                prop_assert_eq!(lines.text, expected.join("\n"), "{:?}", encoding);
                prop_assert_eq!(lines.total, Some(plain.len() as u64));
                prop_assert_eq!(lines.more, first as usize - 1 + expected.len() < plain.len() && !expected.is_empty());
            }
        }
    }
}
