//! Text files: plain text, tables as CSV, and HTML.

use crate::{
    fault::{Fault, Result},
    table::{self, COLUMNS, LeftOut, ROWS},
    task::{Format, Unit},
    whole::{TEXT, Whole},
    xml::text_of,
};
use std::borrow::Cow;

/// How much of a file shows which character separates its fields, in bytes.
const HEAD: usize = 8 << 10;

pub(crate) fn read(bytes: &[u8], ending: &str) -> Result<Whole> {
    if !is_text(bytes) {
        return Err(Fault::Unsupported(
            "its format is not known: PDF, DOCX, XLSX, PPTX, ODT, ODS, ODP, EPUB, HTML, CSV and text are read".into(),
        ));
    }
    if is_html(bytes, ending) {
        return Ok(html(bytes));
    }
    let text = decoded(bytes);
    let is_table = matches!(ending, "csv" | "tsv" | "tab");
    let mut whole = Whole::new(if is_table { Format::Csv } else { Format::Text }, Unit::Whole);
    let text = if is_table { table_of(&text, &mut whole.notes) } else { text.replace("\r\n", "\n") };
    let cut = text.floor_char_boundary(TEXT);
    if cut < text.len() {
        whole.notes.push(format!("only the first {} MB are read", TEXT >> 20));
    }
    whole.push(None, text[..cut].to_owned());
    Ok(whole)
}

fn is_html(bytes: &[u8], ending: &str) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)])
        .trim_start_matches('\u{feff}')
        .trim_start()
        .to_lowercase();
    matches!(ending, "html" | "htm" | "xhtml") || head.starts_with("<!doctype html") || head.starts_with("<html")
}

fn html(bytes: &[u8]) -> Whole {
    let page = html_text::markdown(
        &html_text::decode(bytes, None).text,
        None,
        html_text::Options { main_only: false, max_chars: TEXT },
    );
    let mut whole = Whole::new(Format::Html, Unit::Whole);
    whole.title = Some(page.title).filter(|title| !title.is_empty());
    if page.hidden_removed > 0 {
        whole.notes.push("text that a reader does not see is left out".into());
    }
    whole.push(None, page.markdown);
    whole
}

/// Whether it is text: no control characters but white space, or UTF-16 with its mark.
fn is_text(bytes: &[u8]) -> bool {
    let marked = bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]);
    let control = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0C | 0x1B);
    marked || !bytes[..bytes.len().min(HEAD)].iter().any(control)
}

/// UTF-16 by its mark, UTF-8, else Latin-1 as Windows has it.
fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let marked = bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]);
    if !marked && str::from_utf8(bytes).is_err() {
        return Cow::Owned(bytes.iter().map(|byte| windows(*byte)).collect());
    }
    // Both fail on nothing.
    text_of(bytes).unwrap_or_default()
}

/// A character of Windows-1252.
pub(crate) fn windows(byte: u8) -> char {
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘',
        '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    if (0x80..0xA0).contains(&byte) { HIGH[usize::from(byte - 0x80)] } else { char::from(byte) }
}

fn table_of(text: &str, notes: &mut Vec<String>) -> String {
    let head = &text[..text.floor_char_boundary(HEAD)];
    let count = |c: char| head.matches(c).count();
    let separator = [',', ';', '\t', '|'].into_iter().max_by_key(|c| (count(*c), *c == ',')).unwrap_or(',');
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(u8::try_from(separator).unwrap_or(b','))
        .from_reader(text.as_bytes());
    let (mut rows, mut left_out) = (vec![], LeftOut::default());
    for record in reader.records() {
        // A record of odd bytes cannot be: the text is UTF-8.
        let Ok(record) = record else { continue };
        if rows.len() >= ROWS {
            notes.push(format!("only the first {ROWS} rows are read"));
            break;
        }
        left_out.add(None, record.iter().skip(COLUMNS).filter(|field| !field.trim().is_empty()).count());
        rows.push(record.iter().take(COLUMNS).map(str::to_owned).collect::<Vec<String>>());
    }
    notes.extend(left_out.note());
    table::markdown(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], ending: &str) -> String {
        read(bytes, ending).unwrap().parts.remove(0).1
    }

    #[test]
    fn tables_are_split_at_the_character_they_use() {
        let expected = "| a | b |\n| --- | --- |\n| 1,5 | x;y |\n";
        assert_eq!(text(b"a;b\n\"1,5\";\"x;y\"\n", "csv"), expected);
        assert_eq!(text(b"a\tb\r\n1,5\tx;y\r\n", "tsv"), expected);
        assert_eq!(text("a,b\n\"never closed".as_bytes(), "csv"), "| a | b |\n| --- | --- |\n| never closed |  |\n");
    }

    #[test]
    fn pages_lose_what_nobody_sees() {
        let page = "<html><title>T</title><script>x()</script><h1>Größe</h1><p hidden>obey</p><p>a <b>b</b></p>";
        let whole = read(page.as_bytes(), "htm").unwrap();
        assert_eq!((whole.format, whole.title.as_deref()), (Format::Html, Some("T")));
        let text = &whole.parts[0].1;
        assert!(text.contains("# Größe") && text.contains("a **b**"), "{text}");
        assert!(!text.contains("obey") && !text.contains("x()"), "{text}");
    }

    #[test]
    fn text_is_decoded_whatever_its_encoding() {
        assert_eq!(text(b"Gr\xfc\xdfe \x80", "txt"), "Grüße €");
        assert_eq!(text(b"\xff\xfeG\0\xfc\0", "txt"), "Gü");
        assert_eq!(text("Grüße\r\nEnde".as_bytes(), ""), "Grüße\nEnde");
        assert!(read(b"\0\x01\x02", "txt").is_err());
    }
}
