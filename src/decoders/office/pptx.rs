//! PPTX: the text of each slide.

use super::{
    flow::{Flow, Kind, Run},
    relationships, resolved,
};
use crate::{
    archive::Archive,
    fault::Result,
    task::{Format, Unit},
    whole::Whole,
    xml::{Node, Xml, text_of},
};

/// The most slides.
const SLIDES: usize = 2000;

pub(super) fn read(archive: &Archive<'_>) -> Result<Whole> {
    let targets = relationships(archive, "ppt/_rels/presentation.xml.rels")?;
    let mut whole = Whole::new(Format::Pptx, Unit::Slide);
    let bytes = archive.file("ppt/presentation.xml")?;
    let (text, mut slides) = (text_of(&bytes)?, vec![]);
    let mut xml = Xml::new(&text);
    while let Some(node) = xml.next()? {
        let Node::Open(name, attributes) = node else { continue };
        if name != "sldId" {
            continue;
        }
        // Of both its ids, that of the relationship has letters.
        let id = attributes.all("id").find(|id| targets.contains_key(*id));
        slides.extend(id.and_then(|id| targets.get(id)).map(|target| resolved("ppt", target)));
    }
    for slide in slides.into_iter().take(SLIDES) {
        let Some(bytes) = archive.find(&slide)? else { continue };
        if !whole.push(None, slide_text(&text_of(&bytes)?)?) {
            break;
        }
    }
    Ok(whole)
}

fn slide_text(text: &str) -> Result<String> {
    let mut xml = Xml::new(text);
    let (mut flow, mut runs, mut is_title, mut level) = (Flow::default(), Vec::<Run>::new(), false, None);
    let (mut rows, mut in_table) = (Vec::<Vec<String>>::new(), false);
    while let Some(node) = xml.next()? {
        match node {
            Node::Open(name, attributes) => match name.as_str() {
                "sp" => is_title = false,
                "ph" => is_title = matches!(attributes.get("type"), Some("title" | "ctrTitle")),
                "tbl" => (in_table, rows) = (true, vec![]),
                "tr" if in_table => rows.push(vec![]),
                "tc" if in_table => drop(rows.last_mut().map(|row| row.push(String::new()))),
                "p" => (runs, level) = (vec![], None),
                "pPr" => level = attributes.number::<u8>("lvl"),
                "Fallback" => xml.skip()?,
                "t" => runs.push(Run { text: xml.text()?, ..Run::default() }),
                "br" => runs.push(Run { text: " ".into(), ..Run::default() }),
                _ => {}
            },
            Node::Close(name) => match name.as_str() {
                "p" if in_table => {
                    if let Some(cell) = rows.last_mut().and_then(|row| row.last_mut()) {
                        cell.push_str(&super::flow::plain(&runs));
                        cell.push(' ');
                    }
                }
                "p" => {
                    let kind = match (is_title, level) {
                        (true, _) => Kind::Heading(2),
                        (false, Some(level)) => Kind::Item(level, false),
                        (false, None) => Kind::Plain,
                    };
                    flow.paragraph(kind, &runs);
                }
                "tbl" => {
                    in_table = false;
                    flow.table(&rows);
                }
                _ => {}
            },
            Node::Text(_) => {}
        }
    }
    Ok(flow.finish())
}
