//! From pieces of text to lines, and from lines to Markdown: headings by size, lists by their marks, tables by gaps that align.

use super::content::Piece;
use crate::table;

/// Gaps in parts of the size: from which there is a space, and from which a cell of a table ends.
const SPACE: f64 = 0.15;
const CELL: f64 = 0.9;
/// A heading has at most so many characters.
const HEADING: usize = 160;

/// A line of text.
#[derive(Debug, Clone, PartialEq)]
struct Line {
    cells: Vec<Cell>,
    at: f64,
    size: f64,
    turn: u8,
    bold: bool,
}

/// Text without a wide gap in it.
#[derive(Debug, Clone, PartialEq)]
struct Cell {
    text: String,
    from: f64,
    to: f64,
}

impl Line {
    fn text(&self) -> String {
        self.cells.iter().map(|cell| cell.text.trim()).collect::<Vec<_>>().join(" ")
    }
}

/// Puts pieces together; in the order in which they were drawn, which is the order of reading in almost all files.
fn lines(pieces: &[Piece]) -> Vec<Line> {
    let mut lines: Vec<Line> = vec![];
    for piece in pieces {
        if let Some(line) = lines.last_mut()
            && line.turn == piece.turn
            && (line.at - piece.line).abs() < 0.45 * line.size.max(piece.size)
            && let Some(last) = line.cells.last_mut()
        {
            let size = piece.size.min(line.size);
            let gap = piece.from - last.to;
            if gap > -0.6 * size {
                if gap > CELL * size {
                    if !piece.text.trim().is_empty() {
                        line.cells.push(Cell { text: piece.text.clone(), from: piece.from, to: piece.to });
                    }
                } else {
                    if gap > SPACE * size && !last.text.ends_with(' ') && !piece.text.starts_with(' ') {
                        last.text.push(' ');
                    }
                    last.text.push_str(&piece.text);
                    last.to = last.to.max(piece.to);
                }
                if piece.size > line.size && !piece.text.trim().is_empty() {
                    (line.size, line.at) = (piece.size, piece.line);
                }
                line.bold &= piece.bold || piece.text.trim().is_empty();
                continue;
            }
        }
        if piece.text.trim().is_empty() {
            continue;
        }
        lines.push(Line {
            cells: vec![Cell { text: piece.text.clone(), from: piece.from, to: piece.to }],
            at: piece.line,
            size: piece.size,
            turn: piece.turn,
            bold: piece.bold,
        });
    }
    lines
}

/// The text of a page as it is, line by line.
pub(super) fn plain(pieces: &[Piece]) -> String {
    let (mut out, mut before): (String, Option<Line>) = (String::new(), None);
    for line in lines(pieces) {
        // A wide gap above begins a paragraph.
        if before.as_ref().is_some_and(|before| before.turn == line.turn && gap(before, &line) > 1.9) {
            out.push('\n');
        }
        out.push_str(tidy(&line.text()).trim());
        out.push('\n');
        before = Some(line);
    }
    out
}

/// How far a line is below another, in sizes.
fn gap(above: &Line, below: &Line) -> f64 {
    (above.at - below.at) / above.size.max(below.size).max(1.0)
}

/// The text of a page as Markdown.
pub(super) fn markdown(pieces: &[Piece]) -> String {
    let lines = lines(pieces);
    let body = body_size(&lines);
    let mut page = Page::default();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        if let Some((rows, used)) = table_at(&lines[at..]) {
            page.block(&table::markdown(&rows));
            page.last = None;
            at += used;
            continue;
        }
        page.add(line, body);
        at += 1;
    }
    page.end();
    page.out
}

#[derive(Default)]
struct Page<'a> {
    out: String,
    paragraph: String,
    last: Option<(&'a Line, Kind)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Heading(u8),
    Item,
    Plain,
}

impl<'a> Page<'a> {
    fn add(&mut self, line: &'a Line, body: f64) {
        let text = tidy(&line.text());
        let text = text.trim();
        let item = item(text);
        let kind = match heading(line, text, body) {
            Some(level) if item.is_none() => Kind::Heading(level),
            _ if item.is_some() => Kind::Item,
            _ => Kind::Plain,
        };
        let goes_on = self.last.is_some_and(|(last, before)| {
            let near = (0.3..1.75).contains(&gap(last, line)) && last.turn == line.turn;
            let alike = (last.size - line.size).abs() < 0.1 * last.size;
            near && alike && kind != Kind::Item && (kind == before || before == Kind::Item)
        });
        if goes_on {
            match self.paragraph.strip_suffix('-') {
                // A word that was divided at the end of its line.
                Some(start) if start.ends_with(char::is_alphabetic) && text.starts_with(char::is_lowercase) => {
                    self.paragraph.truncate(start.len());
                }
                _ => self.paragraph.push(' '),
            }
            self.paragraph.push_str(text);
        } else {
            let tight = kind == Kind::Item && self.last.is_some_and(|(_, before)| before == Kind::Item);
            self.end();
            if tight {
                self.out.truncate(self.out.trim_end().len());
                self.out.push('\n');
            }
            self.paragraph = match (kind, item) {
                (Kind::Heading(level), _) => format!("{} {text}", "#".repeat(level.into())),
                (Kind::Item, Some(item)) => item,
                _ => text.to_owned(),
            };
        }
        // An item that goes on stays one.
        let kind = if goes_on { self.last.map_or(kind, |(_, before)| before) } else { kind };
        self.last = Some((line, kind));
    }

    fn end(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        if !paragraph.is_empty() {
            self.out.push_str(&paragraph);
            self.out.push_str("\n\n");
        }
    }

    fn block(&mut self, text: &str) {
        self.end();
        self.out.push_str(text);
        self.out.push('\n');
    }
}

/// The size that most characters have.
fn body_size(lines: &[Line]) -> f64 {
    let mut sizes: Vec<(f64, usize)> = vec![];
    for line in lines {
        let length = line.text().chars().count();
        match sizes.iter().position(|(size, _)| (size - line.size).abs() < 0.3) {
            Some(at) => sizes[at].1 += length,
            None if sizes.len() < 64 => sizes.push((line.size, length)),
            None => {}
        }
    }
    sizes.into_iter().max_by_key(|(_, count)| *count).map_or(0.0, |(size, _)| size)
}

fn heading(line: &Line, text: &str, body: f64) -> Option<u8> {
    if body <= 0.0 || text.chars().count() > HEADING || !text.contains(char::is_alphabetic) || line.cells.len() > 2 {
        return None;
    }
    match line.size / body {
        ratio if ratio >= 1.6 => Some(1),
        ratio if ratio >= 1.3 => Some(2),
        ratio if ratio >= 1.12 => Some(3),
        ratio if ratio >= 0.98 && line.bold && text.chars().count() <= 80 && !text.ends_with(['.', ':', ',']) => {
            Some(4)
        }
        _ => None,
    }
}

/// An item of a list by its mark, as Markdown.
fn item(text: &str) -> Option<String> {
    if let Some(rest) = text.strip_prefix(['•', '◦', '▪', '●', '○', '■', '‣', '⁃', '∙', '·', '\u{f0b7}', '\u{f0a7}'])
    {
        return Some(format!("- {}", rest.trim()));
    }
    if let Some(rest) = text.strip_prefix("- ").or_else(|| text.strip_prefix("– ")) {
        return Some(format!("- {}", rest.trim()));
    }
    let (number, rest) = text.split_once(['.', ')'])?;
    let is_number = (1..=3).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && rest.starts_with(' ')).then(|| format!("{number}. {}", rest.trim()))
}

/// Lines from here on whose cells stand in columns: the rows, and how many lines they are.
fn table_at(lines: &[Line]) -> Option<(Vec<Vec<String>>, usize)> {
    let first = lines.first().filter(|line| line.cells.len() >= 2)?;
    let mut used = vec![first];
    for line in &lines[1..] {
        let last = used.last()?;
        if line.cells.len() < 2 || line.turn != first.turn || !(0.3..4.0).contains(&gap(last, line)) {
            break;
        }
        used.push(line);
    }
    let columns = columns(&used);
    if used.len() < 2 || columns.len() < 2 {
        return None;
    }
    let rows = used.iter().map(|line| {
        let mut row = vec![String::new(); columns.len()];
        for cell in &line.cells {
            let middle = f64::midpoint(cell.from, cell.to);
            let at = columns.iter().position(|(_, to)| middle <= *to).unwrap_or(columns.len() - 1);
            if !row[at].is_empty() {
                row[at].push(' ');
            }
            row[at].push_str(tidy(&cell.text).trim());
        }
        row
    });
    Some((rows.collect(), used.len()))
}

/// Where columns begin and end: what the cells of all lines cover.
fn columns(lines: &[&Line]) -> Vec<(f64, f64)> {
    let mut spans: Vec<(f64, f64)> =
        lines.iter().flat_map(|line| &line.cells).map(|cell| (cell.from, cell.to)).collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut columns: Vec<(f64, f64)> = vec![];
    for (from, to) in spans {
        match columns.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => columns.push((from, to)),
        }
    }
    columns
}

/// Without control characters, and with ligatures and odd spaces as plain ones.
fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{ad}' => out.push('-'),
            'ﬀ' => out.push_str("ff"),
            'ﬁ' => out.push_str("fi"),
            'ﬂ' => out.push_str("fl"),
            'ﬃ' => out.push_str("ffi"),
            'ﬄ' => out.push_str("ffl"),
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {}
            '\u{e0000}'..='\u{e007f}' => {}
            c if c.is_whitespace() => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str, from: f64, line: f64, size: f64) -> Piece {
        let to = from + text.chars().count() as f64 * size / 2.0;
        Piece { text: text.into(), from, to, line, size, turn: 0, bold: false }
    }

    #[test]
    fn pieces_become_words_and_lines() {
        let pieces = [
            piece("Hel", 0.0, 100.0, 10.0),
            piece("lo", 15.2, 100.0, 10.0),
            piece("there", 28.0, 100.0, 10.0),
            piece("2", 53.5, 103.0, 6.0),
            piece("next", 0.0, 88.0, 10.0),
            piece("apart", 0.0, 60.0, 10.0),
        ];
        assert_eq!(plain(&pieces), "Hello there2\nnext\n\napart\n");
    }

    #[test]
    fn structure_is_found() {
        let pieces = [
            piece("Title", 0.0, 200.0, 20.0),
            piece("A paragraph that is long and ends in a divi-", 0.0, 170.0, 10.0),
            piece("ded word.", 0.0, 158.0, 10.0),
            piece("• one", 10.0, 140.0, 10.0),
            piece("goes on", 20.0, 128.0, 10.0),
            piece("2. two", 10.0, 116.0, 10.0),
            piece("a", 0.0, 90.0, 10.0),
            piece("b", 100.0, 90.0, 10.0),
            piece("c d", 0.0, 78.0, 10.0),
            piece("e|f", 102.0, 78.0, 10.0),
        ];
        assert_eq!(
            markdown(&pieces),
            "# Title\n\nA paragraph that is long and ends in a divided word.\n\n- one goes on\n2. two\n\n| a | b |\n| --- | --- |\n| c d | e\\|f |\n\n"
        );
    }

    #[test]
    fn nothing_and_odd_numbers_are_no_trouble() {
        assert_eq!(markdown(&[]), "");
        let odd = [piece("a", 1e300, -1e300, 1e-300), piece("b", -1e300, 1e300, 1e300)];
        assert_eq!(plain(&odd).lines().count(), 2);
        assert!(markdown(&odd).contains('b'));
    }
}
