//! Tables as Markdown.

use std::fmt::Write;

/// The most columns and rows of a sheet or a table of CSV; the last of the columns has the name IV.
pub(crate) const COLUMNS: usize = 256;
pub(crate) const ROWS: usize = 100_000;
/// The longest list of sheets in a note, in characters.
const NAMES: usize = 200;

/// Counts the cells for which tables have no room, so that none goes without a word.
#[derive(Default)]
pub(crate) struct LeftOut {
    cells: usize,
    sheets: Vec<String>,
}

impl LeftOut {
    pub fn add(&mut self, sheet: Option<&str>, cells: usize) {
        self.cells = self.cells.saturating_add(cells);
        if cells > 0 {
            self.sheets.extend(sheet.map(str::to_owned));
        }
    }

    /// What is left out, and what is there.
    pub fn note(&self) -> Option<String> {
        let cells = text_kit::counted(self.cells, "cell");
        let of = match &self.sheets[..] {
            [] => String::new(),
            sheets => format!(" (in {})", text_kit::truncate(&text_kit::one_line(&sheets.join(", ")), NAMES)),
        };
        (self.cells > 0)
            .then(|| format!("columns A to IV are shown, which are {COLUMNS}: {cells} beyond them left out{of}"))
    }
}

/// Rows as a Markdown table, the first as its head. Rows that are empty are left out, and so are empty columns at the end.
pub(crate) fn markdown(rows: &[Vec<String>]) -> String {
    let filled = |row: &&Vec<String>| row.iter().any(|cell| !cell.trim().is_empty());
    let rows: Vec<&Vec<String>> = rows.iter().filter(filled).collect();
    let last = |row: &&Vec<String>| row.iter().rposition(|cell| !cell.trim().is_empty()).map_or(0, |at| at + 1);
    let width = rows.iter().map(last).max().unwrap_or(0);
    let mut out = String::new();
    for (at, row) in rows.iter().enumerate() {
        out.push('|');
        for column in 0..width {
            let cell = row.get(column).map_or("", String::as_str);
            let _ = write!(out, " {} |", escaped(cell));
        }
        out.push('\n');
        if at == 0 {
            out.push('|');
            out.push_str(&" --- |".repeat(width));
            out.push('\n');
        }
    }
    out
}

/// The text of a cell on one line, with its bars escaped.
fn escaped(cell: &str) -> String {
    let mut out = String::with_capacity(cell.len());
    for word in cell.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&word.replace('|', "\\|"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stay_in_their_columns() {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let rows = [row(&["a|b", "c", ""]), row(&[]), row(&["two\nlines"]), row(&["", "x", " "])];
        assert_eq!(markdown(&rows), "| a\\|b | c |\n| --- | --- |\n| two lines |  |\n|  | x |\n");
        assert_eq!(markdown(&[]), "");
    }

    #[test]
    fn cells_that_are_left_out_are_told() {
        let mut left_out = LeftOut::default();
        left_out.add(Some("Costs"), 0);
        assert_eq!(left_out.note(), None);
        left_out.add(None, 1);
        assert!(left_out.note().unwrap().ends_with("1 cell beyond them left out"));
        (0..500).for_each(|n| left_out.add(Some(&format!("Sheet {n}")), 2));
        let note = left_out.note().unwrap();
        assert!(
            note.contains("A to IV") && note.contains("1001 cells") && note.contains("(in Sheet 0, Sheet 1"),
            "{note}"
        );
        assert!(note.len() < NAMES + 100, "{note}");
    }
}
