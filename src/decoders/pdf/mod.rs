//! PDF: text by page, and facts. Whatever is scripted, attached or linked in a file is neither run nor read.

mod cmap;
mod content;
mod font;
mod lines;
mod names;

use crate::{
    fault::{Fault, Result},
    select::{Collector, numbers},
    task::{Document, Format, PdfInfo, ReadTask, Unit},
};
use hayro_syntax::{DecryptionError, LoadPdfError, Pdf, PdfVersion, metadata::Metadata, object::DateTime};

/// How many of the first pages show whether there is text.
const LOOKED_AT: usize = 5;
/// The longest fact, in bytes.
const FACT: usize = 500;

fn open(bytes: Vec<u8>, password: Option<&str>) -> Result<Pdf> {
    Pdf::new_with_password(bytes, password.unwrap_or_default()).map_err(|error| match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => match password {
            None => Fault::NeedsPassword,
            Some(_) => Fault::WrongPassword,
        },
        LoadPdfError::Decryption(DecryptionError::UnsupportedAlgorithm) => {
            Fault::Unsupported("the PDF is encrypted by a method that is not known: save it without a password".into())
        }
        LoadPdfError::Decryption(_) => Fault::Broken("the encryption of the PDF is damaged".into()),
        LoadPdfError::Invalid => Fault::Broken("the PDF is damaged beyond repair: no pages were found in it".into()),
    })
}

/// The text of pages.
pub(crate) fn read(task: &ReadTask, bytes: Vec<u8>) -> Result<Document> {
    let pdf = open(bytes, task.password.as_deref())?;
    let pages = pdf.pages();
    let count = u32::try_from(pages.len()).unwrap_or(u32::MAX);
    let (mut collector, mut fonts) = (Collector::new(task), content::Fonts::default());
    let (mut empty, mut seen) = (0_u32, 0_u32);
    for number in numbers(task, count, Unit::Page)? {
        let Some(page) = pages.get(number as usize - 1) else { continue };
        let pieces = content::pieces(page, &mut fonts);
        let text = if task.plain { lines::plain(&pieces) } else { lines::markdown(&pieces) };
        seen += 1;
        empty += u32::from(text.trim().is_empty());
        if !collector.push(number, None, text) {
            break;
        }
    }
    let (parts, next) = collector.finish();
    let mut notes = vec![];
    if empty > 0 && empty == seen {
        notes.push(
            "these pages have no text: they are pictures, such as a scan, which a model that sees pictures can read"
                .into(),
        );
    } else if empty > 0 {
        notes.push(format!("{} without text (pictures, or empty)", text_kit::counted(empty, "page")));
    }
    let Metadata { title, author, .. } = pdf.metadata();
    Ok(Document {
        format: Format::Pdf,
        title: fact(title.as_deref()),
        author: fact(author.as_deref()),
        unit: Unit::Page,
        count,
        parts,
        next,
        notes,
    })
}

/// The facts of a file.
pub(crate) fn info(bytes: Vec<u8>, password: Option<&str>) -> Result<PdfInfo> {
    if !bytes[..bytes.len().min(1024)].windows(5).any(|five| five == b"%PDF-") {
        return Err(Fault::Unsupported("it is no PDF file".into()));
    }
    let encrypted = bytes.windows(8).any(|eight| eight == b"/Encrypt");
    let pdf = open(bytes, password)?;
    let pages = pdf.pages();
    let mut fonts = content::Fonts::default();
    let has_text =
        pages.iter().take(LOOKED_AT).any(|page| !lines::plain(&content::pieces(page, &mut fonts)).trim().is_empty());
    let (width, height) = pages.first().map_or((0.0, 0.0), |page| page.render_dimensions());
    let facts = pdf.metadata();
    let version = match pdf.version() {
        PdfVersion::Pdf10 => "1.0",
        PdfVersion::Pdf11 => "1.1",
        PdfVersion::Pdf12 => "1.2",
        PdfVersion::Pdf13 => "1.3",
        PdfVersion::Pdf14 => "1.4",
        PdfVersion::Pdf15 => "1.5",
        PdfVersion::Pdf16 => "1.6",
        PdfVersion::Pdf17 => "1.7",
        PdfVersion::Pdf20 => "2.0",
    };
    Ok(PdfInfo {
        version: version.into(),
        pages: u32::try_from(pages.len()).unwrap_or(u32::MAX),
        width,
        height,
        encrypted,
        title: fact(facts.title.as_deref()),
        author: fact(facts.author.as_deref()),
        subject: fact(facts.subject.as_deref()),
        keywords: fact(facts.keywords.as_deref()),
        creator: fact(facts.creator.as_deref()),
        producer: fact(facts.producer.as_deref()),
        created: facts.creation_date.map(time),
        modified: facts.modification_date.map(time),
        has_text,
    })
}

fn time(at: DateTime) -> String {
    let DateTime { year, month, day, hour, minute, second, .. } = at;
    let zone = match (at.utc_offset_hour, at.utc_offset_minute) {
        (0, 0) => "Z".to_owned(),
        (hours, minutes) => format!("{hours:+03}:{:02}", minutes),
    };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{zone}")
}

fn fact(bytes: Option<&[u8]>) -> Option<String> {
    let text = text_string(&bytes?[..bytes?.len().min(4 * FACT)]);
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    let text = text_kit::truncate(text.trim(), FACT);
    (!text.is_empty()).then_some(text)
}

/// A string for people: UTF-16 or UTF-8 by its mark, else by PDF's own encoding, which is nearly that of Windows.
fn text_string(bytes: &[u8]) -> String {
    match bytes {
        [0xFE, 0xFF, rest @ ..] => {
            let units = rest.chunks_exact(2).map(|two| u16::from_be_bytes([two[0], two[1]]));
            char::decode_utf16(units).map(|c| c.unwrap_or('\u{fffd}')).collect()
        }
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        bytes => bytes.iter().map(|byte| crate::text::windows(*byte)).collect(),
    }
}

#[cfg(test)]
mod tests;
