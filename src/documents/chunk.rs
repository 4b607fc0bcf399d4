//! Splits a text into chunks along headings and paragraphs. A chunk is a range of whole lines, so that an answer can name them;
//! only a line that is too long by itself is split further.

/// Chunks grow to about this length, in bytes, and never beyond the second. The model reads about so much at once.
const TARGET: usize = 700;
const LONGEST: usize = 1000;
/// The maximum number of chunks of a document. A text of many short sections gets larger chunks.
const MOST: usize = 512;
/// Raised when the same text is split in another way: documents are then indexed again.
pub const CHUNKER: u8 = 1;

/// A piece of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk<'t> {
    /// Its first line, counted from 1.
    pub first: u32,
    /// Its last line.
    pub last: u32,
    /// The headings it is under, from the outermost on.
    pub heading: String,
    /// Its text.
    pub text: &'t str,
}

/// A line with its position.
#[derive(Clone, Copy)]
struct Line {
    number: u32,
    start: usize,
    end: usize,
}

/// The chunks of a text in order; none of a text without words.
pub fn chunks(text: &str) -> Vec<Chunk<'_>> {
    let mut found = split(text, TARGET, true);
    if found.len() > MOST {
        found = split(text, (text.len() / MOST * 2).max(TARGET), false);
    }
    found.truncate(MOST);
    found
}

struct Splitter<'t> {
    text: &'t str,
    longest: usize,
    headings: Vec<(usize, &'t str)>,
    /// The lines of the chunk that grows.
    open: Option<(Line, Line)>,
    /// Whether it has more than headings.
    has_body: bool,
    found: Vec<Chunk<'t>>,
}

fn split(text: &str, target: usize, at_headings: bool) -> Vec<Chunk<'_>> {
    let longest = if at_headings { LONGEST } else { LONGEST.max(target * 3 / 2) };
    let mut splitter = Splitter { text, longest, headings: vec![], open: None, has_body: false, found: vec![] };
    let (mut start, mut fenced, mut blank) = (0, false, false);
    for (number, piece) in (1..).zip(text.split_inclusive('\n')) {
        let line = Line { number, start, end: start + piece.trim_end().len() };
        start += piece.len();
        let shown = piece.trim();
        let fence = shown.starts_with("```") || shown.starts_with("~~~");
        let level = if fenced { 0 } else { heading_level(shown) };
        if level > 0 {
            if at_headings && splitter.has_body {
                splitter.close();
            }
            splitter.headings.retain(|(outer, _)| *outer < level);
            splitter.headings.push((level, shown.trim_start_matches('#').trim()));
        } else if blank && !fenced && splitter.length() >= target {
            // Between paragraphs.
            splitter.close();
        }
        if shown.is_empty() {
            blank = true;
        } else {
            splitter.add(line, level == 0);
            blank = false;
        }
        fenced ^= fence;
    }
    splitter.close();
    splitter.found
}

/// 1 to 6 for a heading, else 0.
fn heading_level(line: &str) -> usize {
    let level = line.bytes().take_while(|b| *b == b'#').count();
    if (1..=6).contains(&level) && line[level..].starts_with(' ') { level } else { 0 }
}

impl<'t> Splitter<'t> {
    fn length(&self) -> usize {
        self.open.map_or(0, |(first, last)| last.end - first.start)
    }

    fn add(&mut self, line: Line, is_body: bool) {
        if self.open.is_some_and(|(first, _)| line.end - first.start > self.longest) {
            self.close();
        }
        if line.end - line.start > self.longest {
            return self.add_long(line);
        }
        let first = self.open.map_or(line, |(first, _)| first);
        self.open = Some((first, line));
        self.has_body |= is_body;
    }

    /// A line that is too long, in pieces that end at a sentence or a space where there is one.
    fn add_long(&mut self, line: Line) {
        self.close();
        let mut rest = line;
        while rest.end - rest.start > self.longest {
            let window = floor(self.text, rest.start, rest.start + self.longest);
            let piece = &self.text[rest.start..window];
            let cut = piece.rfind(". ").map(|at| at + 1).filter(|at| *at > self.longest / 3);
            let cut = cut.or_else(|| piece.rfind(' ').filter(|at| *at > self.longest / 3)).unwrap_or(piece.len());
            self.push(Line { end: rest.start + cut, ..rest }, Line { end: rest.start + cut, ..rest });
            rest.start += cut;
        }
        self.push(rest, rest);
    }

    fn close(&mut self) {
        if let Some((first, last)) = self.open.take() {
            self.push(first, last);
        }
        self.has_body = false;
    }

    fn push(&mut self, first: Line, last: Line) {
        let text = self.text[first.start..last.end].trim();
        if text.chars().any(char::is_alphanumeric) {
            let heading = self.headings.iter().map(|(_, text)| *text).collect::<Vec<_>>().join(" › ");
            self.found.push(Chunk { first: first.number, last: last.number, heading, text });
        }
    }
}

/// The last boundary between characters at or before `at`, after `from`.
fn floor(text: &str, from: usize, mut at: usize) -> usize {
    while at > from + 4 && !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<(u32, u32, String)> {
        chunks(text).into_iter().map(|c| (c.first, c.last, c.heading)).collect()
    }

    #[test]
    fn headings_and_paragraphs_are_boundaries() {
        let text = "intro\n\n# Boat\n\n## Engine\noil: 10W40\n\n## Sails\nmain: torn\n\n# House\nkey under the pot\n";
        let expected = [(1, 1, ""), (3, 6, "Boat › Engine"), (8, 9, "Boat › Sails"), (11, 12, "House")];
        assert_eq!(shown(text), expected.map(|(a, b, h)| (a, b, h.to_owned())));
        let paragraph = "A sentence of some length about the garden. ".repeat(10);
        let text = format!("{paragraph}\n\n{paragraph}\n\n{paragraph}");
        assert_eq!(shown(&text).iter().map(|c| (c.0, c.1)).collect::<Vec<_>>(), [(1, 3), (5, 5)]);
        // A heading in code is none.
        assert_eq!(shown("```\n# not a heading\n```\n").len(), 1);
        assert_eq!(shown("```\n# not a heading\n```\n")[0].2, "");
        for empty in ["", "\n\n", "---\n\n***"] {
            assert_eq!(shown(empty), [], "{empty:?}");
        }
    }

    #[test]
    fn every_text_is_split_within_bounds_and_nothing_is_lost() {
        let long_line = "word ".repeat(5000);
        let no_spaces = "ä".repeat(9000);
        let many = "# x\ny\n".repeat(20_000);
        let lines = "short\n".repeat(5000);
        let crlf = "# A\r\nb\r\n\r\nc\r\n".repeat(50);
        for text in [&long_line, &no_spaces, &many, &lines, &crlf] {
            let found = chunks(text);
            assert!(!found.is_empty() && found.len() <= MOST, "{}", found.len());
            let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
            assert_eq!(found.iter().map(|c| letters(c.text)).sum::<usize>(), letters(text));
            let most = (LONGEST + 50).max(text.len() / MOST * 3 + 3);
            assert!(found.iter().all(|c| c.text.len() <= most && c.first <= c.last), "{}", text.len());
            assert!(found.windows(2).all(|pair| pair[0].last <= pair[1].first));
        }
    }
}
