//! Breaks lines at words to the width of the terminal, also text that arrives in pieces.
//!
//! The last word of a piece is held back until it is complete. Continued lines of a list item are indented below its text.
//! Code blocks and tables are left as they are.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A whole text; continued lines begin with `indent` spaces at least.
pub fn wrap(text: &str, width: Option<usize>, indent: usize) -> String {
    let mut wrapper = Wrapper { indent, ..Wrapper::new(width) };
    wrapper.push(text) + &wrapper.flush()
}

/// The state between two pieces of a text.
#[derive(Default)]
pub struct Wrapper {
    /// Columns; `None` passes everything through.
    width: Option<usize>,
    /// Least indentation of continued lines.
    indent: usize,
    /// Columns of the current line that are written.
    column: usize,
    /// The word that is not written yet, and the white space before it.
    word: String,
    space: String,
    /// Indentation of what continues the current line.
    hanging: usize,
    /// Whether a word of the current line is written.
    has_word: bool,
    /// Whether the current line is of a table or code, and whether a code block is open.
    verbatim: bool,
    in_code: bool,
}

impl Wrapper {
    pub fn new(width: Option<usize>) -> Self {
        Self { width, ..Self::default() }
    }

    /// Sets the width for the next words: the terminal may have been resized.
    pub fn resize(&mut self, width: Option<usize>) {
        // Without a width nothing may be held back.
        if self.width.is_some() && width.is_some() {
            self.width = width;
        }
    }

    /// Whether the written text ends in the middle of a line.
    pub fn is_mid_line(&self) -> bool {
        self.column > 0 || self.has_word
    }

    /// The text to write for the next piece.
    pub fn push(&mut self, text: &str) -> String {
        if self.width.is_none() {
            if let Some(last) = text.chars().last() {
                self.column = usize::from(last != '\n');
            }
            return text.to_owned();
        }
        let mut out = String::new();
        for c in text.chars() {
            match c {
                '\n' => {
                    self.place(&mut out);
                    out.push('\n');
                    self.start_line();
                }
                ' ' | '\t' => {
                    self.place(&mut out);
                    self.space.push(c);
                }
                // Text without spaces between its words breaks anywhere.
                '\u{2e80}'..='\u{ff60}' if c.width() == Some(2) => {
                    self.place(&mut out);
                    self.word.push(c);
                    self.place(&mut out);
                }
                c => self.word.push(c),
            }
        }
        out
    }

    /// The rest of the text: its last word.
    pub fn flush(&mut self) -> String {
        let mut out = String::new();
        self.place(&mut out);
        out
    }

    /// Forgets the current line, after something else ended it. A word that is held back begins the next one.
    pub fn start_line(&mut self) {
        (self.column, self.hanging, self.has_word, self.verbatim) = (0, 0, false, false);
        self.space.clear();
    }

    /// Writes the held-back word, on the next line where it does not fit.
    fn place(&mut self, out: &mut String) {
        let (Some(width), false) = (self.width, self.word.is_empty()) else { return };
        let (word, space) = (std::mem::take(&mut self.word), std::mem::take(&mut self.space));
        let (columns, gap) = (word.width(), space.width());
        if !self.has_word {
            self.has_word = true;
            if word.starts_with("```") {
                self.in_code = !self.in_code;
                self.verbatim = true;
            }
            self.verbatim |= self.in_code || word.starts_with('|');
            let marker = if is_marker(&word) { columns + 1 } else { 0 };
            self.hanging = (gap + marker).max(self.indent).min(width / 2);
        } else if !self.verbatim && self.column + gap + columns > width && self.column > self.hanging {
            out.push('\n');
            out.push_str(&" ".repeat(self.hanging));
            out.push_str(&word);
            self.column = self.hanging + columns;
            return;
        }
        out.push_str(&space);
        out.push_str(&word);
        self.column += gap + columns;
        // The terminal itself breaks a word that is longer than a line.
        if self.column > width {
            self.column %= width;
        }
    }
}

/// "-", "*", "•", "1.", "12)".
fn is_marker(word: &str) -> bool {
    let number = word.strip_suffix(['.', ')']).unwrap_or_default();
    ["-", "*", "+", "•", "·", "?"].contains(&word)
        || (1..=3).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_words() {
        for (width, text, wrapped) in [
            (10, "one two three four", "one two\nthree four"),
            (10, "one two th", "one two th"),
            (10, "one two thr", "one two\nthr"),
            (10, "one\n\ntwo  three \nfour", "one\n\ntwo  three\nfour"),
            // Wide letters count twice, accents on their own not at all.
            (10, "Öl für Öfen", "Öl für\nÖfen"),
            (
                10,
                "e\u{301}e\u{301}e\u{301}e\u{301} e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}",
                "e\u{301}e\u{301}e\u{301}e\u{301} e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}",
            ),
            (10, "日本語の文章です", "日本語の文\n章です"),
            (10, "ok 👍👍👍 👍", "ok 👍👍👍\n👍"),
            // Items of a list, nested and numbered.
            (12, "- milk and eggs and oil", "- milk and\n  eggs and\n  oil"),
            (12, "  10. milk and eggs", "  10. milk\n      and\n      eggs"),
            // Too long for any line: the terminal breaks it.
            (10, "see https://example.org/page now", "see\nhttps://example.org/page\nnow"),
            (10, "https://example.org/page", "https://example.org/page"),
            // Code and tables stay.
            (10, "```\nlet a = 1 + 2 + 3;\n```\nand then more", "```\nlet a = 1 + 2 + 3;\n```\nand then\nmore"),
            (10, "| a | b | c | d |\nand then more", "| a | b | c | d |\nand then\nmore"),
            (10, "", ""),
            (10, "  ", ""),
        ] {
            assert_eq!(wrap(text, Some(width), 0), wrapped, "{text}");
            // Letter by letter it is the same.
            let mut wrapper = Wrapper::new(Some(width));
            let pieces: String = text.chars().map(|c| wrapper.push(&c.to_string())).collect();
            assert_eq!(pieces + &wrapper.flush(), wrapped, "{text}");
        }
        assert_eq!(wrap("name  about this tool", Some(16), 6), "name  about this\n      tool");
    }

    #[test]
    fn without_a_width_everything_passes_at_once() {
        let mut wrapper = Wrapper::new(None);
        assert_eq!(wrapper.push("a very  long "), "a very  long ");
        assert!(wrapper.is_mid_line());
        assert_eq!(wrapper.push("line\n"), "line\n");
        assert!(!wrapper.is_mid_line());
        assert_eq!(wrapper.flush(), "");
    }

    #[test]
    fn a_line_that_was_ended_from_outside_begins_again() {
        let mut wrapper = Wrapper::new(Some(10));
        assert_eq!(wrapper.push("one two"), "one");
        assert!(wrapper.is_mid_line());
        wrapper.start_line();
        assert!(!wrapper.is_mid_line());
        assert_eq!(wrapper.push(" three "), "two three");
        assert_eq!(wrapper.push("four "), "\nfour");
    }
}
