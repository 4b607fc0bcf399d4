//! Documents that are XML files in a ZIP archive: those of Office, OpenDocument and EPUB.

mod docx;
mod epub;
mod flow;
mod odf;
mod pptx;
mod xlsx;

use crate::{
    archive::Archive,
    fault::{Fault, Result},
    task::Format,
    whole::Whole,
    xml::{Node, Xml, text_of},
};
use std::collections::HashMap;

/// Reads a document by what is in its archive.
pub(crate) fn read(archive: &Archive<'_>) -> Result<Whole> {
    let mut whole = if archive.has("word/document.xml") {
        docx::read(archive)?
    } else if archive.has("xl/workbook.xml") {
        xlsx::read(archive)?
    } else if archive.has("ppt/presentation.xml") {
        pptx::read(archive)?
    } else {
        let kind = archive.find("mimetype")?.unwrap_or_default();
        match String::from_utf8_lossy(&kind).trim() {
            "application/vnd.oasis.opendocument.text" => odf::read(archive, Format::Odt)?,
            "application/vnd.oasis.opendocument.spreadsheet" => odf::read(archive, Format::Ods)?,
            "application/vnd.oasis.opendocument.presentation" => odf::read(archive, Format::Odp)?,
            "application/epub+zip" => epub::read(archive)?,
            _ => {
                return Err(Fault::Unsupported(
                    "it is a ZIP archive and no document: unpack it, and read what is in it".into(),
                ));
            }
        }
    };
    let (title, author) = match archive.find("docProps/core.xml")? {
        Some(core) => facts(&core)?,
        None => match archive.find("meta.xml")? {
            Some(meta) => facts(&meta)?,
            None => (None, None),
        },
    };
    whole.title = whole.title.or(title);
    whole.author = whole.author.or(author);
    Ok(whole)
}

/// Title and author by Dublin Core.
fn facts(bytes: &[u8]) -> Result<(Option<String>, Option<String>)> {
    let text = text_of(bytes)?;
    let (mut xml, mut title, mut author) = (Xml::new(&text), None, None);
    while let Some(node) = xml.next()? {
        let Node::Open(name, _) = node else { continue };
        match name.as_str() {
            "title" => title = Some(xml.text()?),
            "creator" => author = Some(xml.text()?),
            _ => {}
        }
    }
    let plain =
        |text: Option<String>| text.map(|text| text_kit::truncate(text.trim(), 300)).filter(|text| !text.is_empty());
    Ok((plain(title), plain(author)))
}

/// The targets of relationships by id: those of `word/document.xml` are in `word/_rels/document.xml.rels`.
fn relationships(archive: &Archive<'_>, path: &str) -> Result<HashMap<String, String>> {
    let Some(bytes) = archive.find(path)? else { return Ok(HashMap::new()) };
    let text = text_of(&bytes)?;
    let (mut xml, mut all) = (Xml::new(&text), HashMap::new());
    while let Some(node) = xml.next()? {
        if let Node::Open(name, attributes) = node
            && name == "Relationship"
            && let (Some(id), Some(target)) = (attributes.get("Id"), attributes.get("Target"))
        {
            all.insert(id.to_owned(), target.to_owned());
        }
    }
    Ok(all)
}

/// The name in the archive of a target that is relative to `folder`.
fn resolved(folder: &str, target: &str) -> String {
    if let Some(absolute) = target.strip_prefix('/') {
        return absolute.to_owned();
    }
    let mut names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    for name in target.split('/') {
        match name {
            "." | "" => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names.join("/")
}

#[cfg(test)]
mod tests;
