//! Tables in a text: HTML, Markdown, comma- or tab-separated values, and columns that are aligned by spaces.

/// The most tables, rows of all tables, and columns.
pub(super) const TABLES: usize = 20;
pub(super) const ROWS: usize = 1_000;
const COLUMNS: usize = 50;
/// The longest cell, in characters.
const CELL: usize = 500;

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Table {
    /// Where it was found: `html`, `markdown`, `csv`, `tsv` or `columns`.
    pub kind: &'static str,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// The tables of a text, in order, and whether something was left out.
pub(super) fn tables(text: &str) -> (Vec<Table>, bool) {
    let found: Vec<Table> = match is_html(text) {
        true => html(text),
        false => blocks(text).iter().filter_map(|block| table(block)).collect(),
    };
    let (mut all, mut rows, mut cut) = (vec![], 0, false);
    for mut table in found {
        if all.len() == TABLES || rows == ROWS {
            return (all, true);
        }
        if table.rows.len() > ROWS - rows {
            table.rows.truncate(ROWS - rows);
            cut = true;
        }
        rows += table.rows.len();
        all.push(table);
    }
    (all, cut)
}

/// Whether a text has tables in HTML.
fn is_html(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.contains("<table") && lower.contains("<tr")
}

/// The tables that a reader of a page sees.
fn html(text: &str) -> Vec<Table> {
    let options = html_text::Options { main_only: false, max_chars: 100_000 };
    let page = html_text::markdown(text, None, options);
    page.tables.into_iter().filter_map(|rows| of_rows("html", rows)).collect()
}

/// Lines that belong together: between empty lines.
fn blocks(text: &str) -> Vec<Vec<&str>> {
    let mut all = vec![vec![]];
    for line in text.lines() {
        match (line.trim().is_empty(), all.last_mut()) {
            (true, Some(last)) if !last.is_empty() => all.push(vec![]),
            (false, Some(last)) => last.push(line),
            _ => {}
        }
    }
    all
}

fn table(block: &[&str]) -> Option<Table> {
    markdown(block)
        .or_else(|| separated(block, '\t', "tsv"))
        .or_else(|| separated(block, ';', "csv"))
        .or_else(|| separated(block, ',', "csv"))
        .or_else(|| aligned(block))
}

/// A table of rows; the first has the names of the columns. Rows get the width of the head.
fn of_rows(kind: &'static str, mut rows: Vec<Vec<String>>) -> Option<Table> {
    let width = rows.first()?.len();
    if !(2..=COLUMNS).contains(&width) || rows.len() < 2 {
        return None;
    }
    for row in &mut rows {
        row.resize(width, String::new());
        row.iter_mut().for_each(|cell| *cell = text_kit::truncate(cell.trim(), CELL));
    }
    let columns = rows.remove(0);
    Some(Table { kind, columns, rows })
}

fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let inner = line.strip_prefix('|').unwrap_or(line);
    let inner = inner.strip_suffix('|').filter(|rest| !rest.ends_with('\\')).unwrap_or(inner);
    let (mut all, mut cell, mut escaped) = (vec![], String::new(), false);
    for c in inner.chars() {
        match c {
            '|' if !escaped => all.push(std::mem::take(&mut cell)),
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            c => {
                if escaped && c != '|' {
                    cell.push('\\');
                }
                cell.push(c);
            }
        }
        escaped = false;
    }
    if escaped {
        cell.push('\\');
    }
    all.push(cell);
    all
}

fn markdown(block: &[&str]) -> Option<Table> {
    let is_rule = |line: &str| {
        let cells = cells(line);
        let rule = |cell: &String| {
            let bare = cell.trim().trim_start_matches(':').trim_end_matches(':');
            !bare.is_empty() && bare.chars().all(|c| c == '-')
        };
        line.contains('|') && cells.iter().all(rule)
    };
    let at = block.iter().position(|line| is_rule(line)).filter(|at| *at > 0)?;
    let lines =
        std::iter::once(block[at - 1]).chain(block[at + 1..].iter().copied().take_while(|line| line.contains('|')));
    of_rows("markdown", lines.map(cells).collect())
}

/// Values with a separator: as many in each line, and without one in a sentence.
fn separated(block: &[&str], separator: char, kind: &'static str) -> Option<Table> {
    if !block.iter().any(|line| line.contains(separator)) {
        return None;
    }
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(u8::try_from(separator).ok()?)
        .from_reader(std::io::Cursor::new(block.join("\n")));
    let rows: Vec<Vec<String>> = reader
        .records()
        .take(ROWS + 2)
        .map(|record| record.ok().map(|record| record.iter().map(str::to_owned).collect()))
        .collect::<Option<_>>()?;
    let width = rows.first()?.len();
    let even = rows.iter().all(|row| row.len() == width);
    // "Well, I think" is a sentence: in a table no cell is long, and the head has no empty one.
    let long = |row: &Vec<String>| row.iter().any(|cell| cell.split_whitespace().count() > 12);
    let head = rows.first()?.iter().all(|cell| !cell.trim().is_empty());
    (even && head && !rows.iter().any(long)).then(|| of_rows(kind, rows))?
}

/// Columns that begin at the same places, with two spaces or more between them.
fn aligned(block: &[&str]) -> Option<Table> {
    let split = |line: &&str| -> Vec<String> {
        let line = line.trim().replace('\t', "  ");
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
    };
    let rule = |line: &&&str| !line.chars().all(|c| "-=+_ ".contains(c));
    let rows: Vec<Vec<String>> = block.iter().filter(rule).take(ROWS + 2).map(split).collect();
    let width = rows.first()?.len();
    rows.iter().all(|row| row.len() == width).then(|| of_rows("columns", rows))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&'static str, Vec<String>, usize)> {
        tables(text).0.into_iter().map(|table| (table.kind, table.columns, table.rows.len())).collect()
    }

    #[test]
    fn tables_of_each_kind_are_found() {
        for (text, kind, columns, rows) in [
            (
                "Prices:\n| Item | EUR |\n|:---|---:|\n| tea \\| bag | 3 |\n| milk | 1 |\nend",
                "markdown",
                ["Item", "EUR"],
                2,
            ),
            ("Item | EUR\n--- | ---\ntea | 3", "markdown", ["Item", "EUR"], 1),
            ("Item,EUR\n\"tea, green\",3\nmilk,1\n", "csv", ["Item", "EUR"], 2),
            ("Item;EUR\ntea;3,50\n", "csv", ["Item", "EUR"], 1),
            ("Item\tEUR\ntea\t3\n", "tsv", ["Item", "EUR"], 1),
            ("<p>Prices</p><TABLE><tr><th>Item<th>EUR</tr><tr><td><b>tea</b><td>3</table>", "html", ["Item", "EUR"], 1),
            ("Item   EUR\n-----------\ntea      3\nmilk     1", "columns", ["Item", "EUR"], 2),
        ] {
            assert_eq!(found(text), [(kind, columns.map(str::to_owned).to_vec(), rows)], "{text}");
        }
        let (all, cut) = tables("A,B\n1,2\n\ntext between\n\n|C|D|\n|-|-|\n|3|\n");
        assert_eq!((all.len(), cut), (2, false));
        assert_eq!(all[1].rows, [vec!["3".to_owned(), String::new()]], "a short row is filled");
        assert_eq!(cells("| a \\| b |"), [" a | b "]);
    }

    #[test]
    fn sentences_are_no_tables() {
        for text in [
            "Well, I think so.\nYes, that is it and there is much more to say about this matter than one would think.",
            "one line, only",
            "",
            "|\n|-|",
            "a  b\nc",
            "---|---",
            "\\|\\",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn large_tables_are_cut() {
        let (all, cut) = tables(&format!("A,B\n{}", "1,2\n".repeat(3000)));
        assert_eq!((all[0].rows.len(), cut), (ROWS, true));
        let (all, cut) = tables(&"A,B\n1,2\n\n".repeat(30));
        assert_eq!((all.len(), cut), (TABLES, true));
        assert!(found(&format!("{}\n{}", "a,".repeat(100), "b,".repeat(100))).is_empty());
    }
}
