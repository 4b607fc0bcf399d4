//! A text in pieces: what is translated, and what stays as it is (layout of Markdown, code, placeholders, addresses).

/// The longest piece, in bytes: a model answers with a few thousand characters.
const PIECE: usize = 2_000;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Stays as it is.
    Keep(String),
    /// Is translated.
    Translate(String),
}

/// The pieces of a text, in order; joined they are the text.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let (mut all, mut fence) = (Pieces::default(), None::<&str>);
    for line in text.split_inclusive('\n') {
        let (content, end) = line.strip_suffix('\n').map_or((line, ""), |content| (content, "\n"));
        let bare = content.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, Some(mark)) => fence = Some(mark),
            (None, None) if bare.chars().any(char::is_alphabetic) => {
                if bare.starts_with('|') {
                    all.row(content);
                } else {
                    let lead = layout(content);
                    // A line without layout continues the paragraph before it.
                    if lead > 0 {
                        all.keep(&content[..lead]);
                    }
                    all.translate(&content[lead..], lead > 0);
                }
                all.end(end);
                continue;
            }
            _ => {}
        }
        all.keep(line);
    }
    all.finish()
}

#[derive(Default)]
struct Pieces {
    all: Vec<Piece>,
    /// The end of a line after a piece that is translated: part of it if the paragraph continues.
    end: String,
}

impl Pieces {
    fn settle(&mut self) {
        let end = std::mem::take(&mut self.end);
        self.push_keep(&end);
    }
    fn push_keep(&mut self, text: &str) {
        match self.all.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Keep(kept)) => kept.push_str(text),
            _ => self.all.push(Piece::Keep(text.to_owned())),
        }
    }
    fn keep(&mut self, text: &str) {
        self.settle();
        self.push_keep(text);
    }
    fn translate(&mut self, text: &str, apart: bool) {
        if !apart
            && !self.end.is_empty()
            && let Some(Piece::Translate(paragraph)) = self.all.last_mut()
            && paragraph.len() + text.len() < PIECE
        {
            paragraph.push_str(&std::mem::take(&mut self.end));
            paragraph.push_str(text);
            return;
        }
        self.settle();
        // White space at the ends is not the translator's.
        let trimmed = text.trim();
        let before = text.len() - text.trim_start().len();
        self.push_keep(&text[..before]);
        self.translate_long(trimmed);
        self.push_keep(&text[before + trimmed.len()..]);
    }
    /// Cuts a long text where a sentence ends, or a word.
    fn translate_long(&mut self, mut text: &str) {
        while text.len() > PIECE {
            let near = &text[..text.floor_char_boundary(PIECE)];
            let ends = [". ", "! ", "? ", "。", "; ", " "];
            let at =
                ends.iter().find_map(|end| near.rfind(end).filter(|at| *at > 0).map(|at| at + end.trim_end().len()));
            let (piece, rest) = text.split_at(at.filter(|at| *at > 0).unwrap_or(near.len()));
            self.all.push(Piece::Translate(piece.to_owned()));
            let trimmed = rest.trim_start();
            self.push_keep(&rest[..rest.len() - trimmed.len()]);
            text = trimmed;
        }
        if !text.is_empty() {
            self.all.push(Piece::Translate(text.to_owned()));
        }
    }
    fn end(&mut self, end: &str) {
        match self.all.last() {
            Some(Piece::Translate(_)) => self.end = end.to_owned(),
            _ => self.push_keep(end),
        }
    }
    /// A row of a table: its cells.
    fn row(&mut self, row: &str) {
        for (n, cell) in row.split('|').enumerate() {
            if n > 0 {
                self.keep("|");
            }
            if cell.chars().any(char::is_alphabetic) { self.translate(cell, true) } else { self.keep(cell) }
        }
    }
    fn finish(mut self) -> Vec<Piece> {
        self.settle();
        self.all
    }
}

/// The length of the layout that a line of Markdown begins with: quotes, markers of headings and lists, check boxes.
fn layout(line: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = &line[at..];
        let trimmed = rest.trim_start();
        let space = rest.len() - trimmed.len();
        let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
        let hashes = trimmed.bytes().take_while(|b| *b == b'#').count();
        let marker = if trimmed.starts_with('>') {
            1
        } else if ["- ", "* ", "+ "].iter().any(|mark| trimmed.starts_with(mark)) {
            2
        } else if ["[ ] ", "[x] ", "[X] "].iter().any(|mark| trimmed.starts_with(mark)) && at > 0 {
            4
        } else if (1..=6).contains(&hashes) && trimmed[hashes..].starts_with(' ') {
            hashes + 1
        } else if (1..=3).contains(&digits) && [". ", ") "].iter().any(|mark| trimmed[digits..].starts_with(mark)) {
            digits + 2
        } else {
            return if at > 0 { at + space } else { 0 };
        };
        at += space + marker;
    }
}

/// A piece with what must not change in it: texts and kept parts, in turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Masked<'a> {
    /// One more than the kept parts, which are between them.
    pub texts: Vec<&'a str>,
    pub kept: Vec<&'a str>,
}

/// Finds code, placeholders, addresses and targets of links in a piece.
pub(super) fn masked(piece: &str) -> Masked<'_> {
    let (mut texts, mut kept, mut from, mut at) = (vec![], vec![], 0, 0);
    while at < piece.len() {
        let rest = &piece[at..];
        match constant(rest, piece[..at].chars().next_back()) {
            0 => at += rest.chars().next().map_or(1, char::len_utf8),
            length => {
                texts.push(&piece[from..at]);
                kept.push(&piece[at..at + length]);
                at += length;
                from = at;
            }
        }
    }
    texts.push(&piece[from..]);
    Masked { texts, kept }
}

/// How far the end of a constant part is looked for, in bytes: the search stays linear.
const REACH: usize = 300;

/// The length of the constant part that a text begins with; 0 for none. `before` is the character in front of it.
fn constant(text: &str, before: Option<char>) -> usize {
    let near = &text[..text.floor_char_boundary(REACH)];
    let until = |open: &str, close: &str| -> usize {
        let inner = near.strip_prefix(open).and_then(|inner| Some((inner, inner.find(close)?)));
        inner
            .filter(|(inner, end)| *end > 0 && !inner[..*end].contains('\n'))
            .map_or(0, |(_, end)| open.len() + end + close.len())
    };
    let begins_word = !before.is_some_and(char::is_alphanumeric);
    match text.as_bytes().first() {
        Some(b'`') => until("`", "`"),
        Some(b'$') => until("${", "}"),
        Some(b'{') => [until("{{", "}}"), until("{", "}")].into_iter().find(|length| *length > 0).unwrap_or(0),
        Some(b'<') => until("<", ">"),
        Some(b']') if text.starts_with("](") => until("](", ")"),
        Some(b'%') => format_specifier(near),
        Some(b'h' | b'H' | b'w' | b'W') if begins_word => {
            let lower = near.to_ascii_lowercase();
            let is_url = ["http://", "https://", "www."].iter().any(|start| lower.starts_with(start));
            let length = near.find(|c: char| c.is_whitespace() || "<>\"'`()[]".contains(c)).unwrap_or(near.len());
            if is_url { near[..length].trim_end_matches(['.', ',', ';', ':', '!', '?']).len() } else { 0 }
        }
        _ => 0,
    }
}

/// The length of `%s`, `%d`, `%1$s`, `%.2f`, `%(name)s`, `%NAME%`.
fn format_specifier(text: &str) -> usize {
    let bytes = text.as_bytes();
    let named = bytes[1..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    if named > 0 && bytes.get(1 + named) == Some(&b'%') {
        return named + 2;
    }
    let start = match text.strip_prefix("%(").and_then(|rest| rest.find(')')) {
        Some(end) => end + 3,
        None => 1,
    };
    let middle = bytes[start..].iter().take_while(|b| b.is_ascii_digit() || b"$.-+#@".contains(b)).count();
    let at = start + middle;
    let is_end =
        bytes.get(at).is_some_and(|b| b"sdifuxXcge".contains(b)) || middle > 0 && bytes.get(at - 1) == Some(&b'@');
    let goes_on = bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic);
    if is_end && !goes_on { at + 1 } else { 0 }
}

/// How kept parts are marked for a translator, and found again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marks {
    /// Empty XML elements in escaped text.
    Xml,
    /// Numbers in brackets that no text has.
    Brackets,
}

impl Marks {
    /// The text for the translator.
    pub fn write(self, masked: &Masked) -> String {
        let mut text = String::new();
        for (n, part) in masked.texts.iter().enumerate() {
            if n > 0 {
                text += &match self {
                    Self::Xml => format!("<x id=\"{}\"/>", n - 1),
                    Self::Brackets => format!("⟦{}⟧", n - 1),
                };
            }
            match self {
                Self::Xml => text += &part.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"),
                Self::Brackets => text += &part.replace(['⟦', '⟧'], ""),
            }
        }
        text
    }

    /// The translation with the kept parts in their places; `None` unless each is there once.
    pub fn read(self, answer: &str, masked: &Masked) -> Option<String> {
        let (open, close) = match self {
            Self::Xml => ("<x id=\"", "\""),
            Self::Brackets => ("⟦", "⟧"),
        };
        let (mut text, mut rest, mut seen) = (String::new(), answer, vec![false; masked.kept.len()]);
        while let Some(at) = rest.find(open) {
            text += &self.plain(&rest[..at]);
            let inner = &rest[at + open.len()..];
            let end = inner.find(close)?;
            let number: usize = inner[..end].trim().parse().ok()?;
            if std::mem::replace(seen.get_mut(number)?, true) {
                return None;
            }
            text += masked.kept.get(number)?;
            rest = &inner[end + close.len()..];
            if self == Self::Xml {
                rest = &rest[rest.find('>')? + 1..];
                rest = rest.strip_prefix("</x>").unwrap_or(rest);
            }
        }
        text += &self.plain(rest);
        seen.iter().all(|seen| *seen).then_some(text)
    }

    fn plain(self, text: &str) -> String {
        match self {
            Self::Xml => text
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&quot;", "\"")
                .replace("&#39;", "'")
                .replace("&apos;", "'")
                .replace("&amp;", "&"),
            Self::Brackets => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(all: &[Piece]) -> String {
        all.iter()
            .map(|piece| match piece {
                Piece::Keep(text) | Piece::Translate(text) => text.as_str(),
            })
            .collect()
    }

    fn translated(text: &str) -> Vec<String> {
        let all = pieces(text);
        assert_eq!(joined(&all), text);
        all.into_iter()
            .filter_map(|piece| match piece {
                Piece::Translate(text) => Some(text),
                Piece::Keep(_) => None,
            })
            .collect()
    }

    #[test]
    fn layout_and_code_stay() {
        for (text, expected) in [
            ("Hello there", &["Hello there"][..]),
            ("One line\nand its end.\n\nAnother  \n", &["One line\nand its end.", "Another"]),
            ("# Title\n- [ ] buy milk\n  1. first\n> quoted\n", &["Title", "buy milk", "first", "quoted"]),
            ("```rust\nfn main() {}\n```\nText", &["Text"]),
            ("| Name | 12 |\n|---|---|\n| a b | x |\n", &["Name", "a b", "x"]),
            ("12 + 3\n---\n", &[]),
            ("", &[]),
            ("  spaced  \r\n", &["spaced"]),
            ("#hashtag is text\n", &["#hashtag is text"]),
        ] {
            assert_eq!(translated(text), expected, "{text}");
        }
        let long = format!("{}\n{}", "One more sentence. ".repeat(300), "x".repeat(5000));
        assert!(translated(&long).iter().all(|piece| (1..=PIECE).contains(&piece.len())));
        for odd in ["```", "|", "- ", "1. ", "> > > ", "\n\n", "ä|ö\n|ä", "[ ] x"] {
            translated(odd);
        }
    }

    #[test]
    fn placeholders_and_addresses_stay() {
        for (text, kept) in [
            ("Dear {name}, {{count}} items", &["{name}", "{{count}}"][..]),
            ("use `rm -rf` or ${HOME}", &["`rm -rf`", "${HOME}"]),
            ("%s and %1$d, %.2f, %(who)s of 100% sure", &["%s", "%1$d", "%.2f", "%(who)s"]),
            (
                "see https://example.org/a?b=c. Or www.example.org, ok",
                &["https://example.org/a?b=c", "www.example.org"],
            ),
            ("[the page](https://example.org/x) <br/> end", &["](https://example.org/x)", "<br/>"]),
            ("%PATH% is 5 < 6 and 7 % of {", &["%PATH%"]),
            ("50 % discount, 5% sugar", &[]),
        ] {
            let masked = masked(text);
            assert_eq!(masked.kept, kept, "{text}");
            for marks in [Marks::Xml, Marks::Brackets] {
                assert_eq!(marks.read(&marks.write(&masked), &masked).as_deref(), Some(text), "{marks:?}");
            }
        }
    }

    #[test]
    fn lost_and_doubled_marks_are_noticed() {
        let masked = masked("a {x} b {y}");
        for (answer, expected) in [
            ("⟦1⟧ B ⟦0⟧ A", Some("{y} B {x} A")),
            ("⟦ 1 ⟧⟦0⟧", Some("{y}{x}")),
            ("⟦0⟧", None),
            ("⟦0⟧⟦0⟧⟦1⟧", None),
            ("⟦0⟧⟦1⟧⟦2⟧", None),
            ("⟦0⟧⟦1", None),
        ] {
            assert_eq!(Marks::Brackets.read(answer, &masked).as_deref(), expected, "{answer}");
        }
        let answer = "A &amp; <x id=\"0\"></x> B <x id=\"1\" />";
        assert_eq!(Marks::Xml.read(answer, &masked).as_deref(), Some("A & {x} B {y}"));
    }

    #[test]
    fn long_texts_take_linear_time() {
        for unit in ["{", "`", "<", "](", "%", "http", "- ", "|", "%(", "\n# "] {
            let text = unit.repeat(30_000 / unit.len());
            assert_eq!(joined(&pieces(&text)), text);
            masked(&text);
        }
    }
}
