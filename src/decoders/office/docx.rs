//! DOCX: headings by style, lists by numbering, tables, links, footnotes. Hidden and deleted text is left out.

use super::{
    flow::{Flow, Kind, Run, marked},
    relationships,
};
use crate::{
    archive::Archive,
    fault::Result,
    task::{Format, Unit},
    whole::Whole,
    xml::{Attributes, Node, Xml, text_of},
};
use std::collections::HashMap;

pub(super) fn read(archive: &Archive<'_>) -> Result<Whole> {
    let styles = archive.find("word/styles.xml")?.map(|bytes| styles(&bytes)).transpose()?.unwrap_or_default();
    let lists = archive.find("word/numbering.xml")?.map(|bytes| lists(&bytes)).transpose()?.unwrap_or_default();
    let links = relationships(archive, "word/_rels/document.xml.rels")?;
    let mut whole = Whole::new(Format::Docx, Unit::Whole);
    let bytes = archive.file("word/document.xml")?;
    let mut body = Body::new(&styles, &lists, &links);
    body.read(&text_of(&bytes)?)?;
    drop(bytes);
    let mut text = body.finish(&mut whole.notes);
    for (name, title) in [("word/footnotes.xml", "Footnotes"), ("word/endnotes.xml", "Endnotes")] {
        let Some(bytes) = archive.find(name)? else { continue };
        let mut notes = Body::new(&styles, &lists, &links);
        notes.read(&text_of(&bytes)?)?;
        let notes = notes.finish(&mut whole.notes);
        if !notes.trim().is_empty() {
            text.push_str(&format!("\n## {title}\n\n{notes}"));
        }
    }
    whole.push(None, text);
    Ok(whole)
}

/// What a style makes of a paragraph.
#[derive(Debug, Clone, Copy, Default)]
struct Style {
    heading: Option<u8>,
    list: Option<u32>,
}

/// Styles by id.
fn styles(bytes: &[u8]) -> Result<HashMap<String, Style>> {
    let text = text_of(bytes)?;
    let (mut xml, mut all, mut id) = (Xml::new(&text), HashMap::new(), None);
    let mut style = Style::default();
    while let Some(node) = xml.next()? {
        match node {
            Node::Open(name, attributes) => match name.as_str() {
                "style" => (id, style) = (attributes.get("styleId").map(str::to_owned), Style::default()),
                "name" => style.heading = attributes.get("val").and_then(heading_name).or(style.heading),
                "outlineLvl" => style.heading = outline(&attributes).or(style.heading),
                "numId" => style.list = attributes.number("val"),
                _ => {}
            },
            Node::Close(name) if name == "style" => {
                if let Some(id) = id.take() {
                    all.insert(id, style);
                }
            }
            _ => {}
        }
    }
    Ok(all)
}

fn heading_name(name: &str) -> Option<u8> {
    let name = name.to_lowercase();
    if name == "title" {
        return Some(1);
    }
    name.strip_prefix("heading ")?.parse().ok().filter(|level| (1..=9).contains(level))
}

fn outline(attributes: &Attributes) -> Option<u8> {
    attributes.number::<u8>("val").filter(|level| *level < 9).map(|level| level + 1)
}

/// Whether a level of a list has numbers, by the list's id and the level.
fn lists(bytes: &[u8]) -> Result<HashMap<(u32, u8), bool>> {
    let text = text_of(bytes)?;
    let mut xml = Xml::new(&text);
    let (mut kinds, mut all) = (HashMap::<(u32, u8), bool>::new(), HashMap::new());
    let (mut abstract_id, mut id, mut level) = (None, None, 0);
    while let Some(node) = xml.next()? {
        let Node::Open(name, attributes) = node else { continue };
        match name.as_str() {
            "abstractNum" => abstract_id = attributes.number::<u32>("abstractNumId"),
            "lvl" => level = attributes.number("ilvl").unwrap_or(0),
            "numFmt" => {
                if let Some(of) = abstract_id {
                    kinds.insert((of, level), !matches!(attributes.get("val"), Some("bullet" | "none")));
                }
            }
            "num" => id = attributes.number::<u32>("numId"),
            "abstractNumId" => {
                if let (Some(id), Some(of)) = (id, attributes.number::<u32>("val")) {
                    for level in 0..9 {
                        all.insert((id, level), kinds.get(&(of, level)).copied().unwrap_or(false));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(all)
}

/// A paragraph while it is read.
#[derive(Default)]
struct Paragraph {
    heading: Option<u8>,
    list: Option<u32>,
    level: u8,
    runs: Vec<Run>,
}

/// A table while it is read.
#[derive(Default)]
struct Table {
    rows: Vec<Vec<String>>,
}

struct Body<'a> {
    styles: &'a HashMap<String, Style>,
    lists: &'a HashMap<(u32, u8), bool>,
    links: &'a HashMap<String, String>,
    flow: Flow,
    /// Text boxes are paragraphs in paragraphs.
    paragraphs: Vec<Paragraph>,
    tables: Vec<Table>,
    /// Formats of the run, and the link around it.
    run: Run,
    link: Option<String>,
    hidden: bool,
    in_run_format: bool,
}

impl<'a> Body<'a> {
    fn new(
        styles: &'a HashMap<String, Style>,
        lists: &'a HashMap<(u32, u8), bool>,
        links: &'a HashMap<String, String>,
    ) -> Self {
        Self {
            styles,
            lists,
            links,
            flow: Flow::default(),
            paragraphs: vec![],
            tables: vec![],
            run: Run::default(),
            link: None,
            hidden: false,
            in_run_format: false,
        }
    }

    fn read(&mut self, text: &str) -> Result<()> {
        let mut xml = Xml::new(text);
        while let Some(node) = xml.next()? {
            match node {
                Node::Open(name, attributes) => {
                    if !self.open(&name, &attributes, &mut xml)? {
                        break;
                    }
                }
                Node::Close(name) => {
                    if !self.close(&name) {
                        break;
                    }
                }
                Node::Text(_) => {}
            }
        }
        Ok(())
    }

    fn open(&mut self, name: &str, attributes: &Attributes, xml: &mut Xml<'_>) -> Result<bool> {
        match name {
            // What is old, hidden, or the same once more.
            "del" | "moveFrom" | "Fallback" | "instrText" | "pPrChange" | "rPrChange" => xml.skip()?,
            "p" => self.paragraphs.push(Paragraph::default()),
            "tbl" => self.tables.push(Table::default()),
            "tr" => drop(self.tables.last_mut().map(|table| table.rows.push(vec![]))),
            "tc" => {
                if let Some(row) = self.tables.last_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(String::new());
                }
            }
            "r" => (self.run, self.hidden) = (Run { link: self.link.clone(), ..Run::default() }, false),
            "rPr" => self.in_run_format = true,
            "b" if self.in_run_format => self.run.bold = attributes.is_on(),
            "i" if self.in_run_format => self.run.italic = attributes.is_on(),
            "vanish" if self.in_run_format => self.hidden = attributes.is_on(),
            "hyperlink" => {
                let target = attributes.get("id").and_then(|id| self.links.get(id));
                self.link = target.filter(|target| target.contains("://") || target.starts_with("mailto:")).cloned();
            }
            "t" => {
                let text = xml.text()?;
                self.text(&text);
            }
            "tab" => self.text(" "),
            "br" | "cr" => self.text("\n"),
            "noBreakHyphen" => self.text("-"),
            "pStyle" => {
                let style = attributes.get("val").and_then(|id| self.styles.get(id)).copied().unwrap_or_default();
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    (paragraph.heading, paragraph.list) = (style.heading, style.list);
                }
            }
            "outlineLvl" | "ilvl" | "numId" => {
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    match name {
                        "outlineLvl" => paragraph.heading = outline(attributes),
                        "ilvl" => paragraph.level = attributes.number("val").unwrap_or(0),
                        // 0 takes a paragraph out of a list.
                        _ => paragraph.list = attributes.number("val").filter(|id| *id != 0),
                    }
                }
            }
            _ => {}
        }
        Ok(!self.flow.is_full())
    }

    fn close(&mut self, name: &str) -> bool {
        match name {
            "rPr" => self.in_run_format = false,
            "hyperlink" => self.link = None,
            "p" => {
                if let Some(paragraph) = self.paragraphs.pop() {
                    return self.end_paragraph(&paragraph);
                }
            }
            "tbl" => {
                let Some(table) = self.tables.pop() else { return true };
                match self.cell() {
                    // A table in a cell becomes part of its text.
                    Some(cell) => {
                        for row in &table.rows {
                            join(cell, &row.join(", "));
                        }
                    }
                    None => return self.flow.table(&table.rows),
                }
            }
            _ => {}
        }
        true
    }

    fn end_paragraph(&mut self, paragraph: &Paragraph) -> bool {
        let kind = match (paragraph.heading, paragraph.list) {
            (Some(level), _) => Kind::Heading(level),
            (None, Some(list)) => {
                let ordered = self.lists.get(&(list, paragraph.level)).copied().unwrap_or(false);
                Kind::Item(paragraph.level, ordered)
            }
            (None, None) => Kind::Plain,
        };
        match self.cell() {
            Some(cell) => {
                join(cell, marked(&paragraph.runs).trim());
                true
            }
            None => self.flow.paragraph(kind, &paragraph.runs),
        }
    }

    fn cell(&mut self) -> Option<&mut String> {
        self.tables.last_mut()?.rows.last_mut()?.last_mut()
    }

    fn text(&mut self, text: &str) {
        if !self.hidden
            && let Some(paragraph) = self.paragraphs.last_mut()
        {
            paragraph.runs.push(Run { text: text.to_owned(), ..self.run.clone() });
        }
    }

    fn finish(self, notes: &mut Vec<String>) -> String {
        if self.flow.is_full() {
            notes.push("the document is very long: only its first 8 MB of text are read".into());
        }
        self.flow.finish()
    }
}

/// Adds text to a cell.
fn join(cell: &mut String, text: &str) {
    if !cell.is_empty() && !text.is_empty() {
        cell.push(' ');
    }
    cell.push_str(text);
}
