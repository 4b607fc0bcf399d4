//! Text that flows: headings, paragraphs, items of lists and tables, as Markdown.

use crate::{table, whole::TEXT};

/// Markdown while it is made.
#[derive(Default)]
pub(crate) struct Flow {
    out: String,
    after_item: bool,
    is_full: bool,
}

/// What a paragraph is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Kind {
    #[default]
    Plain,
    /// From 1 to 6.
    Heading(u8),
    /// How deep, from 0 on, and whether it has a number.
    Item(u8, bool),
}

/// A piece of a paragraph.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Run {
    pub text: String,
    pub bold: bool,
    pub italic: bool,
    pub link: Option<String>,
}

impl Flow {
    /// Adds a paragraph. Whether there is room for more.
    pub fn paragraph(&mut self, kind: Kind, runs: &[Run]) -> bool {
        let text = match kind {
            Kind::Heading(_) => plain(runs),
            _ => marked(runs),
        };
        let text = text.trim();
        if text.is_empty() {
            return !self.is_full;
        }
        let is_item = matches!(kind, Kind::Item(..));
        self.begin(is_item);
        match kind {
            Kind::Plain => self.out.push_str(text),
            Kind::Heading(level) => {
                self.out.push_str(&"#".repeat(level.clamp(1, 6).into()));
                self.out.push(' ');
                self.out.push_str(&text.replace('\n', " "));
            }
            Kind::Item(level, ordered) => {
                let indent = "  ".repeat(level.min(8).into());
                self.out.push_str(&indent);
                self.out.push_str(if ordered { "1. " } else { "- " });
                self.out.push_str(&text.replace('\n', &format!("\n{indent}  ")));
            }
        }
        self.out.push('\n');
        self.after_item = is_item;
        self.has_room()
    }

    pub fn table(&mut self, rows: &[Vec<String>]) -> bool {
        let table = table::markdown(rows);
        if !table.is_empty() {
            self.begin(false);
            self.out.push_str(&table);
            self.after_item = false;
        }
        self.has_room()
    }

    fn begin(&mut self, is_item: bool) {
        let goes_on = is_item && self.after_item;
        if !(self.out.is_empty() || goes_on) {
            self.out.push('\n');
        }
    }

    fn has_room(&mut self) -> bool {
        self.is_full |= self.out.len() > TEXT;
        !self.is_full
    }

    /// Whether text is missing because it was too much.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    pub fn finish(self) -> String {
        self.out
    }
}

/// The text of runs alone.
pub(crate) fn plain(runs: &[Run]) -> String {
    runs.iter().map(|run| run.text.as_str()).collect()
}

/// The text of runs with emphasis and links.
pub(crate) fn marked(runs: &[Run]) -> String {
    let mut merged: Vec<Run> = vec![];
    for run in runs.iter().filter(|run| !run.text.is_empty()) {
        match merged.last_mut() {
            Some(last) if (last.bold, last.italic, &last.link) == (run.bold, run.italic, &run.link) => {
                last.text.push_str(&run.text);
            }
            _ => merged.push(run.clone()),
        }
    }
    let mut out = String::new();
    for run in merged {
        let text = run.text.trim();
        let mark = match (run.bold, run.italic) {
            (true, true) => "***",
            (true, false) => "**",
            (false, true) => "*",
            (false, false) => "",
        };
        if text.is_empty() || (mark.is_empty() && run.link.is_none()) {
            out.push_str(&run.text);
            continue;
        }
        let (before, after) = run.text.split_once(text).unwrap_or_default();
        let inner = format!("{mark}{text}{mark}");
        let inner = match &run.link {
            Some(link) => format!("[{inner}]({link})"),
            None => inner,
        };
        out.extend([before, &inner, after]);
    }
    out
}
