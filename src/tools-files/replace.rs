//! Replaces exact passages of a text, and shows the changes as a unified diff.

use std::ops::Range;
use text_kit::truncate;

/// The maximum length of a quotation in an error, in characters.
const QUOTED: usize = 200;
/// How many places of a passage that is not unique are named.
const PLACES: usize = 5;
/// The lines around a change that a diff shows.
const CONTEXT: usize = 3;

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replacement {
    /// The passage, exactly as it is in the text.
    pub old: String,
    pub new: String,
    /// Replace every occurrence; otherwise there must be one.
    pub all: bool,
}

/// A text with its replacements made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replaced {
    pub text: String,
    /// How many passages were replaced.
    pub count: usize,
    /// The changes as a unified diff, without file names.
    pub diff: String,
    /// The first line that differs, counted from 1.
    pub first_line: usize,
    pub added: usize,
    pub removed: usize,
}

/// Makes replacements one after the other. In a text with `\r\n`, passages may be written with `\n`.
///
/// # Errors
/// A sentence that says which passage is missing or not unique, and what is there instead.
pub(crate) fn replace(original: &str, replacements: &[Replacement]) -> Result<Replaced, String> {
    let mut pieces = Pieces::new(original);
    let mut count = 0;
    for (index, replacement) in replacements.iter().enumerate() {
        let which = if replacements.len() == 1 { String::new() } else { format!("edit {}: ", index + 1) };
        let Replacement { old, new, all } = replacement;
        if old == new {
            return Err(format!("{which}`oldText` and `newText` are the same: nothing would change"));
        }
        let text = pieces.text();
        let (old, new) = fitted(&text, old, new);
        let places: Vec<usize> = memchr::memmem::find_iter(text.as_bytes(), old.as_bytes()).collect();
        match places.len() {
            0 => return Err(which + &missing(&text, &old)),
            n if n > 1 && !all => return Err(which + &ambiguous(&text, &places)),
            n => count += n,
        }
        pieces.replace(&places, old.len(), &new);
    }
    let text = pieces.text();
    if text == original {
        return Err("the edits undo each other: nothing would change".into());
    }
    let changes = changes(original, &text, &pieces);
    let first_line = changes.first().map_or(1, |change| change.new.start + 1);
    let added = changes.iter().map(|change| change.new.len()).sum();
    let removed = changes.iter().map(|change| change.old.len()).sum();
    let diff = unified(&lines_of(original), &lines_of(&text), &changes);
    Ok(Replaced { text, count, diff, first_line, added, removed })
}

/// The passages with the line breaks of the text, where they only fit so.
fn fitted(text: &str, old: &str, new: &str) -> (String, String) {
    let windows = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
    if !text.contains(old) && text.contains("\r\n") && old.contains('\n') {
        let fitted = windows(old);
        if text.contains(&fitted) {
            return (fitted, windows(new));
        }
    }
    let new = if text.contains("\r\n") && !has_bare_break(text) { windows(new) } else { new.to_owned() };
    (old.to_owned(), new)
}

/// Whether a line of the text ends with `\n` alone.
fn has_bare_break(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'\n', bytes).any(|at| at == 0 || bytes[at - 1] != b'\r')
}

fn line_at(text: &str, offset: usize) -> usize {
    memchr::memchr_iter(b'\n', &text.as_bytes()[..offset]).count() + 1
}

fn ambiguous(text: &str, places: &[usize]) -> String {
    let lines: Vec<String> = places.iter().take(PLACES).map(|at| line_at(text, *at).to_string()).collect();
    let more = if places.len() > PLACES { " …" } else { "" };
    format!(
        "`oldText` is in the file {} times, in lines {}{more}; nothing was changed. Pass more of the lines around the one that is \
         meant, or `replaceAll`: true",
        places.len(),
        lines.join(", ")
    )
}

fn missing(text: &str, old: &str) -> String {
    let head = "`oldText` is not in the file; nothing was changed. It must be there character by character.";
    if text.is_empty() {
        return "the file is empty: write its text with write_file".into();
    }
    if let Some((lines, passage)) = spaced_differently(text, old) {
        return format!(
            "{head} Lines {} to {} differ from it only in white space; they are:\n{}",
            lines.start + 1,
            lines.end,
            truncate(&passage, QUOTED * 4)
        );
    }
    match nearest(text, old) {
        Some((line, near)) => format!("{head} The nearest line, {line}: {near}"),
        None => format!("{head} Read the file again first."),
    }
}

/// The lines that are the passage but for their white space.
fn spaced_differently(text: &str, old: &str) -> Option<(Range<usize>, String)> {
    let plain = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted: Vec<String> = old.lines().map(plain).collect();
    let start = wanted.iter().position(|line| !line.is_empty())?;
    let end = wanted.iter().rposition(|line| !line.is_empty())? + 1;
    let wanted = &wanted[start..end];
    let lines: Vec<&str> = text.lines().collect();
    let at = lines
        .windows(wanted.len())
        .position(|window| window.iter().zip(wanted).all(|(line, want)| plain(line) == *want))?;
    let range = at..at + wanted.len();
    Some((range.clone(), lines[range].join("\n")))
}

/// The line that shares the most words with the passage, with its number.
fn nearest(text: &str, old: &str) -> Option<(usize, String)> {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        words.map(str::to_lowercase).take(100).collect()
    };
    let wanted = words(old);
    let shared = |line: &str| words(line).iter().filter(|word| wanted.contains(word)).count();
    let lines: Vec<(usize, &str)> = text.lines().enumerate().collect();
    // The first of equals: `max_by_key` returns the last.
    let (score, number, line) =
        lines.into_iter().rev().map(|(number, line)| (shared(line), number, line)).max_by_key(|(score, ..)| *score)?;
    (score > 0).then(|| (number + 1, truncate(line.trim(), QUOTED)))
}

/// The text as parts of the original and parts that were added, so that the changes are known without comparing.
struct Pieces<'a> {
    original: &'a str,
    list: Vec<Piece>,
}

enum Piece {
    Kept(Range<usize>),
    Added(String),
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Piece::Kept(range) => range.len(),
            Piece::Added(text) => text.len(),
        }
    }
    fn part(&self, range: Range<usize>) -> Piece {
        match self {
            Piece::Kept(kept) => Piece::Kept(kept.start + range.start..kept.start + range.end),
            Piece::Added(text) => Piece::Added(text[range].to_owned()),
        }
    }
}

impl<'a> Pieces<'a> {
    fn new(original: &'a str) -> Self {
        Self { original, list: vec![Piece::Kept(0..original.len())] }
    }

    fn text(&self) -> String {
        let parts = self.list.iter().map(|piece| match piece {
            Piece::Kept(range) => &self.original[range.clone()],
            Piece::Added(text) => text,
        });
        parts.collect()
    }

    /// Replaces `length` bytes at each of these places, which are in order and do not overlap.
    fn replace(&mut self, places: &[usize], length: usize, new: &str) {
        let (mut list, mut offset) = (Vec::with_capacity(self.list.len() + 2 * places.len()), 0);
        let mut places = places.iter().copied().peekable();
        for piece in self.list.drain(..) {
            let (start, end) = (offset, offset + piece.len());
            let mut at = start;
            while let Some(&place) = places.peek() {
                if place >= end {
                    break;
                }
                // The passage may have begun in a piece before.
                if place > at {
                    list.push(piece.part(at - start..place - start));
                }
                if place >= start {
                    list.push(Piece::Added(new.to_owned()));
                }
                at = (place + length).min(end).max(at);
                if place + length > end {
                    break;
                }
                places.next();
            }
            if at < end {
                list.push(piece.part(at - start..end - start));
            }
            offset = end;
        }
        self.list = list;
    }
}

/// Lines of the original, and the lines that took their place; counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    old: Range<usize>,
    new: Range<usize>,
}

fn lines_of(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The changes in whole lines, in order and apart from each other.
fn changes(original: &str, text: &str, pieces: &Pieces) -> Vec<Change> {
    let (old, new) = (LineStarts::of(original), LineStarts::of(text));
    let mut changes: Vec<Change> = vec![];
    let mut add = |removed: Range<usize>, added: Range<usize>| {
        if removed.is_empty() && added.is_empty() {
            return;
        }
        // The text before is the same, so both begin within a line, or at its start. Only where both end at the start of one is
        // the line after them the same.
        let whole = old.has(removed.end) && new.has(added.end);
        let change = Change { old: old.lines(&removed, whole), new: new.lines(&added, whole) };
        match changes.last_mut() {
            Some(last) if change.old.start <= last.old.end || change.new.start <= last.new.end => {
                last.old.end = last.old.end.max(change.old.end);
                last.new.end = last.new.end.max(change.new.end);
            }
            _ => changes.push(change),
        }
    };
    let (mut old_at, mut new_at, mut new_from) = (0, 0, 0);
    for piece in &pieces.list {
        match piece {
            Piece::Kept(range) => {
                add(old_at..range.start, new_from..new_at);
                old_at = range.end;
                new_at += range.len();
                new_from = new_at;
            }
            Piece::Added(text) => new_at += text.len(),
        }
    }
    add(old_at..original.len(), new_from..new_at);
    let (old, new) = (lines_of(original), lines_of(text));
    let trimmed = changes.into_iter().map(|change| trim(change, &old, &new));
    trimmed.filter(|change| !(change.old.is_empty() && change.new.is_empty())).collect()
}

/// The byte offsets at which lines of a text begin; also the end, if the last line has a line break.
struct LineStarts {
    starts: Vec<usize>,
    /// How many lines there are.
    count: usize,
}

impl LineStarts {
    fn of(text: &str) -> Self {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
        let count = starts.len() - usize::from(text.is_empty() || text.ends_with('\n'));
        Self { starts, count }
    }

    fn has(&self, offset: usize) -> bool {
        self.starts.binary_search(&offset).is_ok()
    }

    /// The lines of a range of bytes, with the line at its end unless it ends with whole lines.
    fn lines(&self, bytes: &Range<usize>, whole: bool) -> Range<usize> {
        let line_at = |offset: usize| self.starts.partition_point(|start| *start <= offset) - 1;
        let end = line_at(bytes.end) + usize::from(!whole);
        line_at(bytes.start).min(self.count)..end.min(self.count)
    }
}

/// Leaves out equal lines at the beginning and the end.
fn trim(change: Change, old: &[&str], new: &[&str]) -> Change {
    let Change { old: mut o, new: mut n } = change;
    while !o.is_empty() && !n.is_empty() && old[o.start] == new[n.start] {
        (o.start, n.start) = (o.start + 1, n.start + 1);
    }
    while !o.is_empty() && !n.is_empty() && old[o.end - 1] == new[n.end - 1] {
        (o.end, n.end) = (o.end - 1, n.end - 1);
    }
    Change { old: o, new: n }
}

fn unified(old: &[&str], new: &[&str], changes: &[Change]) -> String {
    let mut diff = String::new();
    let mut rest = changes;
    while let Some(first) = rest.first() {
        let near = |pair: &[Change]| pair[1].old.start - pair[0].old.end <= 2 * CONTEXT;
        let count = rest.windows(2).take_while(|pair| near(pair)).count() + 1;
        let (hunk, after) = rest.split_at(count);
        rest = after;
        let last = &hunk[count - 1];
        let before = first.old.start.min(CONTEXT);
        let behind = (old.len() - last.old.end).min(CONTEXT);
        let (old_lines, new_lines) =
            (first.old.start - before..last.old.end + behind, first.new.start - before..last.new.end + behind);
        let numbers = |lines: &Range<usize>| {
            let start = if lines.is_empty() { lines.start } else { lines.start + 1 };
            if lines.len() == 1 { start.to_string() } else { format!("{start},{}", lines.len()) }
        };
        diff.push_str(&format!("@@ -{} +{} @@\n", numbers(&old_lines), numbers(&new_lines)));
        let mut at = old_lines.start;
        for change in hunk {
            old[at..change.old.start].iter().for_each(|line| push(&mut diff, ' ', line));
            old[change.old.clone()].iter().for_each(|line| push(&mut diff, '-', line));
            new[change.new.clone()].iter().for_each(|line| push(&mut diff, '+', line));
            at = change.old.end;
        }
        old[at..old_lines.end].iter().for_each(|line| push(&mut diff, ' ', line));
    }
    diff
}

fn push(diff: &mut String, sign: char, line: &str) {
    diff.push(sign);
    match line.strip_suffix('\n') {
        Some(line) => diff.push_str(line.strip_suffix('\r').unwrap_or(line)),
        None => {
            diff.push_str(line);
            diff.push_str("\n\\ No newline at end of file");
        }
    }
    diff.push('\n');
}

#[cfg(test)]
mod tests;
