//! Text of a document: which format it has, and as much of its text as was asked for.

use crate::{
    archive::Archive,
    fault::{Fault, Result},
    office, pdf,
    select::{Collector, numbers},
    task::{Document, ReadTask},
    text,
    whole::Whole,
};

/// Reads a document of any format.
pub(crate) fn read(task: &ReadTask, bytes: Vec<u8>) -> Result<Document> {
    let head = &bytes[..bytes.len().min(1024)];
    if head.windows(5).any(|five| five == b"%PDF-") {
        return pdf::read(task, bytes);
    }
    let whole = if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        office::read(&Archive::open(&bytes)?)?
    } else if bytes.starts_with(&[0xD0, 0xCF, 0x11, 0xE0]) {
        return Err(Fault::Unsupported(
            "it is an old Office document, or one under a password: save it as DOCX or XLSX without a password".into(),
        ));
    } else if bytes.starts_with(b"{\\rtf") {
        return Err(Fault::Unsupported("RTF is not read: save it as DOCX or ODT".into()));
    } else {
        text::read(&bytes, &task.ending)?
    };
    select(task, whole)
}

fn select(task: &ReadTask, whole: Whole) -> Result<Document> {
    let count = u32::try_from(whole.parts.len()).unwrap_or(u32::MAX);
    let numbers = numbers(task, count, whole.unit)?;
    let mut collector = Collector::new(task);
    let mut parts: Vec<Option<(Option<String>, String)>> = whole.parts.into_iter().map(Some).collect();
    for number in numbers {
        let Some((name, text)) = parts.get_mut(number as usize - 1).and_then(Option::take) else { continue };
        if !collector.push(number, name, text) {
            break;
        }
    }
    let (parts, next) = collector.finish();
    let Whole { format, title, author, unit, notes, .. } = whole;
    Ok(Document { format, title, author, unit, count, parts, next, notes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_read_says_how_to_save_it() {
        for bytes in [&b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"[..], b"{\\rtf1 x}", b"\x89PNG\r\n\x1a\n\0\0\0"] {
            let fault = read(&ReadTask { room: 100, ..ReadTask::default() }, bytes.to_vec()).unwrap_err();
            assert!(matches!(fault, Fault::Unsupported(_)), "{fault}");
        }
    }
}
