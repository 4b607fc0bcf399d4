//! Tables: which hold data, and their cells in a grid.

use crate::{
    measure::Measures,
    tag::Tag,
    tree::{At, Tree},
};

/// The most rows and columns of a table.
const ROWS: usize = 2_000;
const COLUMNS: usize = 60;
/// Cells longer than this hold no data, and the mean of all.
const LONG: u32 = 800;
const MEAN: u32 = 150;

/// The cells of a table, each where it begins; what it spans beyond that is `None`.
pub(crate) struct Grid {
    pub rows: Vec<Vec<Option<At>>>,
    pub caption: Option<At>,
}

impl Grid {
    /// The grid of a table with data; `None` for one that only places things on the page.
    pub fn of(tree: &Tree, measures: &Measures, table: At) -> Option<Self> {
        let (mut rows, mut caption, mut has_heads) = (vec![], None, false);
        let is_seen = |at: &At| !measures.all[*at].is_out;
        if tree.children(table).any(|at| measures.all[at].has_table) {
            return None;
        }
        for at in tree.children(table).filter(is_seen) {
            match tree.tag(at) {
                Tag::Caption => caption = Some(at),
                Tag::Tr => rows.push(at),
                Tag::Tbody | Tag::Thead | Tag::Tfoot => {
                    has_heads |= tree.tag(at) == Tag::Thead;
                    rows.extend(tree.children(at).filter(|row| tree.tag(*row) == Tag::Tr && is_seen(row)));
                }
                _ => {}
            }
        }
        rows.truncate(ROWS);
        let (mut cells, mut length, mut longest) = (0_u32, 0_u32, 0_u32);
        let mut grid: Vec<Vec<Option<At>>> = Vec::with_capacity(rows.len());
        // How many more rows a cell above covers each column.
        let mut covered = [0_usize; COLUMNS];
        for row in rows {
            let mut line = vec![];
            let skip = |line: &mut Vec<Option<At>>, covered: &mut [usize; COLUMNS]| {
                while line.len() < COLUMNS && covered[line.len()] > 0 {
                    covered[line.len()] -= 1;
                    line.push(None);
                }
            };
            for cell in tree.children(row).filter(|at| tree.tag(*at).is_cell() && is_seen(at)) {
                skip(&mut line, &mut covered);
                if line.len() >= COLUMNS {
                    break;
                }
                has_heads |= tree.tag(cell) == Tag::Th;
                cells += 1;
                length = length.saturating_add(measures.all[cell].length);
                longest = longest.max(measures.all[cell].length);
                let it = tree.attributes(cell);
                let span = |text: &str, most: usize| text.trim().parse().unwrap_or(1_usize).clamp(1, most);
                let (wide, high) = (span(&it.number, COLUMNS - line.len()), span(&it.rows, ROWS));
                for place in 0..wide {
                    covered[line.len()] = high - 1;
                    line.push((place == 0).then_some(cell));
                }
            }
            skip(&mut line, &mut covered);
            if line.iter().any(Option::is_some) {
                grid.push(line);
            }
        }
        let width = grid.iter().map(Vec::len).max().unwrap_or(0);
        let is_data = longest <= LONG && (has_heads || grid.len() > 1 && length <= cells * MEAN);
        if width < 2 || !is_data {
            return None;
        }
        grid.iter_mut().for_each(|line| line.resize(width, None));
        Some(Self { rows: grid, caption })
    }
}

/// A table as lines of cells.
pub(crate) fn plain(rows: &[Vec<String>]) -> String {
    rows.iter().map(|row| row.join(" | ")).collect::<Vec<_>>().join("\n")
}

/// A table in Markdown; the first row is the head.
pub(crate) fn markdown(rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |", cells.join(" | "))
    };
    let mut lines: Vec<String> = rows.iter().map(|row| line(row)).collect();
    if let Some(head) = rows.first() {
        lines.insert(1, format!("|{}", " --- |".repeat(head.len())));
    }
    lines.join("\n")
}
