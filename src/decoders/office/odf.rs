//! OpenDocument: text with headings, lists, tables and notes; spreadsheets; presentations. Hidden text and deleted changes are left
//! out.

use super::{
    flow::{Flow, Kind, Run, marked},
    xlsx::CELLS,
};
use crate::{
    archive::Archive,
    fault::Result,
    table::{COLUMNS, LeftOut, ROWS},
    task::{Format, Unit},
    whole::Whole,
    xml::{Attributes, Node, Xml, text_of},
};
use std::collections::HashSet;

/// The most spaces that one element stands for.
const SPACES: usize = 100;

pub(super) fn read(archive: &Archive<'_>, format: Format) -> Result<Whole> {
    let bytes = archive.file("content.xml")?;
    let text = text_of(&bytes)?;
    let unit = match format {
        Format::Ods => Unit::Sheet,
        Format::Odp => Unit::Slide,
        _ => Unit::Whole,
    };
    let mut reader = Reader::new(Whole::new(format, unit));
    let mut xml = Xml::new(&text);
    while let Some(node) = xml.next()? {
        let goes_on = match node {
            Node::Open(name, attributes) => reader.open(&name, &attributes, &mut xml)?,
            Node::Close(name) => reader.close(&name),
            Node::Text(text) => {
                reader.text(&text);
                true
            }
        };
        if !goes_on {
            break;
        }
    }
    Ok(reader.finish())
}

/// A table while it is read.
#[derive(Default)]
struct Table {
    name: Option<String>,
    rows: Vec<Vec<String>>,
    cells: usize,
    row: Vec<String>,
    cell: String,
    /// How often the row and the cell that are read are there.
    row_times: usize,
    cell_times: usize,
    is_full: bool,
    /// Cells beyond the last column.
    beyond: usize,
}

impl Table {
    fn end_cell(&mut self) {
        let cell = std::mem::take(&mut self.cell);
        let room = COLUMNS.saturating_sub(self.row.len());
        // Thousands of empty cells fill the rest of a row.
        let times = self.cell_times.min(room);
        if !cell.is_empty() {
            self.beyond = self.beyond.saturating_add(self.cell_times - times);
        }
        self.row.extend(std::iter::repeat_n(cell, times));
    }

    fn end_row(&mut self) {
        let row = std::mem::take(&mut self.row);
        let filled = row.iter().rposition(|cell| !cell.is_empty()).map_or(0, |at| at + 1);
        if filled == 0 {
            return;
        }
        for _ in 0..self.row_times.min(1000) {
            if self.rows.len() >= ROWS || self.cells >= CELLS {
                self.is_full = true;
                return;
            }
            self.cells += filled;
            self.rows.push(row[..filled].to_vec());
        }
    }
}

struct Reader {
    whole: Whole,
    left_out: LeftOut,
    flow: Flow,
    /// The paragraph that is read, under those around it.
    paragraphs: Vec<(Kind, Vec<Run>)>,
    tables: Vec<Table>,
    /// For each list that is open, whether it has numbers.
    lists: Vec<bool>,
    link: Option<String>,
    /// Names of styles: of lists with numbers, of bold and of italic text.
    numbered: HashSet<String>,
    bold: HashSet<String>,
    italic: HashSet<String>,
    spans: Vec<(bool, bool)>,
    /// The style that is defined.
    style: String,
}

impl Reader {
    fn new(whole: Whole) -> Self {
        Self {
            whole,
            left_out: LeftOut::default(),
            flow: Flow::default(),
            paragraphs: vec![],
            tables: vec![],
            lists: vec![],
            link: None,
            numbered: HashSet::new(),
            bold: HashSet::new(),
            italic: HashSet::new(),
            spans: vec![],
            style: String::new(),
        }
    }

    fn open(&mut self, name: &str, attributes: &Attributes, xml: &mut Xml<'_>) -> Result<bool> {
        match name {
            "tracked-changes" | "hidden-text" | "hidden-paragraph" | "annotation" | "forms" | "notes" => xml.skip()?,
            "style" | "list-style" => self.style = attributes.get("name").unwrap_or_default().to_owned(),
            "list-level-style-number" if attributes.get("level") == Some("1") => {
                self.numbered.insert(self.style.clone());
            }
            "text-properties" => {
                if attributes.get("font-weight") == Some("bold") {
                    self.bold.insert(self.style.clone());
                }
                if attributes.get("font-style") == Some("italic") {
                    self.italic.insert(self.style.clone());
                }
            }
            "h" => {
                let level = attributes.number::<u8>("outline-level").unwrap_or(1);
                self.paragraphs.push((Kind::Heading(level), vec![]));
            }
            "p" => {
                let depth = u8::try_from(self.lists.len()).unwrap_or(u8::MAX);
                let item = self.lists.last().map(|ordered| Kind::Item(depth - 1, *ordered));
                self.paragraphs.push((item.unwrap_or_default(), vec![]));
            }
            "span" => {
                let style = attributes.get("style-name").unwrap_or_default();
                let around = self.spans.last().copied().unwrap_or_default();
                self.spans.push((around.0 || self.bold.contains(style), around.1 || self.italic.contains(style)));
            }
            "a" => self.link = attributes.get("href").filter(|target| target.contains(':')).map(str::to_owned),
            "s" => self.text(&" ".repeat(attributes.number::<usize>("c").unwrap_or(1).min(SPACES))),
            "tab" => self.text(" "),
            "line-break" => self.text("\n"),
            "list" => {
                let around = self.lists.last().copied().unwrap_or(false);
                let named = attributes.get("style-name").map(|style| self.numbered.contains(style));
                self.lists.push(named.unwrap_or(around));
            }
            "note-citation" => {
                let mark = xml.text()?;
                self.text(&format!("[{}]", mark.trim()));
            }
            "note-body" => {
                // What the note says follows its mark.
                let note = xml.text()?;
                self.text(&format!(" ({}) ", note.split_whitespace().collect::<Vec<_>>().join(" ")));
            }
            "table" => {
                let name = attributes.get("name").map(str::to_owned);
                self.tables.push(Table { name, ..Table::default() });
            }
            "table-row" => {
                if let Some(table) = self.tables.last_mut() {
                    table.row = vec![];
                    table.row_times = attributes.number("number-rows-repeated").unwrap_or(1);
                }
            }
            "table-cell" | "covered-table-cell" => {
                if let Some(table) = self.tables.last_mut() {
                    table.cell = String::new();
                    table.cell_times = attributes.number("number-columns-repeated").unwrap_or(1);
                }
            }
            _ => {}
        }
        Ok(!self.flow.is_full())
    }

    fn close(&mut self, name: &str) -> bool {
        match name {
            "h" | "p" => {
                if let Some((kind, runs)) = self.paragraphs.pop() {
                    return self.end_paragraph(kind, &runs);
                }
            }
            "span" => drop(self.spans.pop()),
            "a" => self.link = None,
            "list" => drop(self.lists.pop()),
            "table-cell" | "covered-table-cell" => {
                self.tables.last_mut().into_iter().for_each(Table::end_cell);
            }
            "table-row" => self.tables.last_mut().into_iter().for_each(Table::end_row),
            "table" => return self.end_table(),
            // A slide.
            "page" if self.whole.unit == Unit::Slide => {
                let text = std::mem::take(&mut self.flow).finish();
                return self.whole.push(None, text);
            }
            _ => {}
        }
        true
    }

    fn end_paragraph(&mut self, kind: Kind, runs: &[Run]) -> bool {
        if let Some(table) = self.tables.last_mut() {
            let text = marked(runs);
            if !table.cell.is_empty() && !text.is_empty() {
                table.cell.push(' ');
            }
            table.cell.push_str(text.trim());
            return true;
        }
        self.flow.paragraph(kind, runs)
    }

    fn end_table(&mut self) -> bool {
        let Some(table) = self.tables.pop() else { return true };
        if let Some(around) = self.tables.last_mut() {
            let rows: Vec<String> = table.rows.iter().map(|row| row.join(", ")).collect();
            around.cell.push_str(&rows.join("; "));
            return true;
        }
        if table.is_full {
            self.whole.notes.push(format!("only the first {} rows of a large table are read", table.rows.len()));
        }
        self.left_out.add(table.name.as_deref(), table.beyond);
        if self.whole.unit == Unit::Sheet {
            let text = crate::table::markdown(&table.rows);
            return self.whole.push(table.name, text);
        }
        self.flow.table(&table.rows)
    }

    fn text(&mut self, text: &str) {
        let (bold, italic) = self.spans.last().copied().unwrap_or_default();
        let link = self.link.clone();
        if let Some((_, runs)) = self.paragraphs.last_mut() {
            runs.push(Run { text: text.to_owned(), bold, italic, link });
        }
    }

    fn finish(mut self) -> Whole {
        if self.flow.is_full() {
            self.whole.notes.push("the document is very long: only its first 8 MB of text are read".into());
        }
        self.whole.notes.extend(self.left_out.note());
        if self.whole.unit == Unit::Whole {
            self.whole.push(None, self.flow.finish());
        }
        self.whole
    }
}
