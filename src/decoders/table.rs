//! Tables as Markdown.

use std::fmt::Write;

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
}
