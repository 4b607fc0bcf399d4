//! EPUB: the chapters of a book in their order.

use super::resolved;
use crate::{
    archive::Archive,
    fault::{Fault, Result},
    task::{Format, Unit},
    whole::{TEXT, Whole},
    xml::{Node, Xml, text_of},
};
use html_text::Options;
use std::collections::HashMap;

/// The most chapters.
const CHAPTERS: usize = 2_000;

pub(super) fn read(archive: &Archive<'_>) -> Result<Whole> {
    let package = package(archive)?;
    let folder = package.rsplit_once('/').map_or("", |(folder, _)| folder);
    let bytes = archive.file(&package)?;
    let text = text_of(&bytes)?;
    let (mut xml, mut files, mut order) = (Xml::new(&text), HashMap::new(), vec![]);
    let mut whole = Whole::new(Format::Epub, Unit::Chapter);
    while let Some(node) = xml.next()? {
        let Node::Open(name, attributes) = node else { continue };
        match name.as_str() {
            "title" if whole.title.is_none() => whole.title = Some(fact(&xml.text()?)),
            "creator" if whole.author.is_none() => whole.author = Some(fact(&xml.text()?)),
            "item" => {
                if let (Some(id), Some(href)) = (attributes.get("id"), attributes.get("href")) {
                    files.insert(id.to_owned(), resolved(folder, &text_kit::percent_decode(href)));
                }
            }
            "itemref" => order.extend(attributes.get("idref").map(str::to_owned)),
            _ => {}
        }
    }
    let protected = archive.find("META-INF/encryption.xml")?.unwrap_or_default();
    let protected = String::from_utf8_lossy(&protected).into_owned();
    for id in order.into_iter().take(CHAPTERS) {
        let Some(path) = files.get(&id) else { continue };
        if protected.contains(&format!("\"{path}\"")) {
            return Err(Fault::Unsupported("the book is encrypted by its publisher, so it cannot be read here".into()));
        }
        let Some(bytes) = archive.find(path)? else { continue };
        let html = html_text::decode(&bytes, None).text;
        let chapter = html_text::markdown(&html, None, Options { main_only: false, max_chars: TEXT }).markdown;
        // Covers and the like have no text.
        if !chapter.trim().is_empty() && !whole.push(None, chapter) {
            whole.notes.push("the book is very long: only its first 8 MB of text are read".into());
            break;
        }
    }
    Ok(whole)
}

/// The file with the list of all others.
fn package(archive: &Archive<'_>) -> Result<String> {
    let bytes = archive.file("META-INF/container.xml")?;
    let text = text_of(&bytes)?;
    let mut xml = Xml::new(&text);
    while let Some(node) = xml.next()? {
        if let Node::Open(name, attributes) = node
            && name == "rootfile"
            && let Some(path) = attributes.get("full-path")
        {
            return Ok(path.to_owned());
        }
    }
    Err(Fault::Broken("the book does not say where its chapters are".into()))
}

fn fact(text: &str) -> String {
    text_kit::truncate(text.trim(), 300)
}
