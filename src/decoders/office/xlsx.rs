//! XLSX: each sheet as a table, with dates as dates. Hidden sheets are named and left out.

use super::{relationships, resolved};
use crate::{
    archive::Archive,
    fault::{Result, broken},
    table::{self, COLUMNS, LeftOut, ROWS},
    task::{Format, Unit},
    whole::{TEXT, Whole},
    xml::{Node, Xml, text_of},
};

/// The most sheets, and of a sheet the most cells.
const SHEETS: usize = 500;
pub(super) const CELLS: usize = 500_000;

/// What is the same for all sheets.
struct Book {
    strings: Vec<String>,
    /// What each format of a cell shows.
    formats: Vec<Shows>,
    /// Whether days are counted from 1904.
    from_1904: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shows {
    Number,
    Date,
    Time,
    Percent,
}

pub(super) fn read(archive: &Archive<'_>) -> Result<Whole> {
    let targets = relationships(archive, "xl/_rels/workbook.xml.rels")?;
    let mut whole = Whole::new(Format::Xlsx, Unit::Sheet);
    let bytes = archive.file("xl/workbook.xml")?;
    let text = text_of(&bytes)?;
    let (mut xml, mut sheets, mut hidden, mut from_1904) = (Xml::new(&text), vec![], vec![], false);
    while let Some(node) = xml.next()? {
        let Node::Open(name, attributes) = node else { continue };
        match name.as_str() {
            "workbookPr" => from_1904 = matches!(attributes.get("date1904"), Some("1" | "true")),
            "sheet" => {
                let name = attributes.get("name").unwrap_or("Sheet").to_owned();
                if matches!(attributes.get("state"), Some("hidden" | "veryHidden")) {
                    hidden.push(name);
                } else if let Some(target) = attributes.get("id").and_then(|id| targets.get(id)) {
                    sheets.push((name, resolved("xl", target)));
                }
            }
            _ => {}
        }
    }
    if sheets.is_empty() && hidden.is_empty() {
        return broken("no sheet was found in it: save the document again");
    }
    if !hidden.is_empty() {
        let names = text_kit::truncate(&hidden.join(", "), 200);
        whole.notes.push(format!("hidden sheets are left out: {names}"));
    }
    let strings = archive.find("xl/sharedStrings.xml")?.map(|bytes| strings(&bytes)).transpose()?;
    let formats = archive.find("xl/styles.xml")?.map(|bytes| formats(&bytes)).transpose()?;
    let book = Book { strings: strings.unwrap_or_default(), formats: formats.unwrap_or_default(), from_1904 };
    let (count, mut left_out) = (sheets.len(), LeftOut::default());
    for (at, (name, path)) in sheets.into_iter().enumerate() {
        let Some(bytes) = archive.find(&path)? else { continue };
        let (text, beyond) = sheet(&bytes, &book, &mut whole.notes)?;
        left_out.add(Some(&name), beyond);
        if (!whole.push(Some(name), text) || at + 1 >= SHEETS) && at + 1 < count {
            whole.notes.push(format!("only the first {} of {count} sheets are read", at + 1));
            break;
        }
    }
    whole.notes.extend(left_out.note());
    Ok(whole)
}

fn strings(bytes: &[u8]) -> Result<Vec<String>> {
    let text = text_of(bytes)?;
    let (mut xml, mut all, mut current) = (Xml::new(&text), vec![], String::new());
    while let Some(node) = xml.next()? {
        match node {
            Node::Open(name, _) => match name.as_str() {
                "si" => current = String::new(),
                // How it is spoken, in Japanese.
                "rPh" => xml.skip()?,
                "t" => current.push_str(&xml.text()?),
                _ => {}
            },
            Node::Close(name) if name == "si" => all.push(std::mem::take(&mut current)),
            _ => {}
        }
    }
    Ok(all)
}

fn formats(bytes: &[u8]) -> Result<Vec<Shows>> {
    let text = text_of(bytes)?;
    let (mut xml, mut own, mut all, mut in_cells) = (Xml::new(&text), vec![], vec![], false);
    while let Some(node) = xml.next()? {
        match node {
            Node::Open(name, attributes) => match name.as_str() {
                "numFmt" => {
                    if let (Some(id), Some(code)) = (attributes.number::<u32>("numFmtId"), attributes.get("formatCode"))
                    {
                        own.push((id, shows(code)));
                    }
                }
                "cellXfs" => in_cells = true,
                "xf" if in_cells => {
                    let id = attributes.number::<u32>("numFmtId").unwrap_or(0);
                    let found = own.iter().find(|(other, _)| *other == id).map(|(_, shows)| *shows);
                    all.push(found.unwrap_or(match id {
                        9 | 10 => Shows::Percent,
                        14..=17 | 22 => Shows::Date,
                        18..=21 | 45..=47 => Shows::Time,
                        _ => Shows::Number,
                    }));
                }
                _ => {}
            },
            Node::Close(name) if name == "cellXfs" => in_cells = false,
            _ => {}
        }
    }
    Ok(all)
}

/// What a format of its own shows.
fn shows(code: &str) -> Shows {
    // Text in quotes and colours in brackets say nothing.
    let (mut plain, mut skip_to) = (String::new(), None);
    for c in code.chars() {
        match (skip_to, c) {
            (Some(end), c) if c == end => skip_to = None,
            (Some(_), _) => {}
            (None, '"') => skip_to = Some('"'),
            (None, '[') => skip_to = Some(']'),
            (None, c) => plain.push(c.to_ascii_lowercase()),
        }
    }
    match plain {
        plain if plain.contains('%') => Shows::Percent,
        plain if plain.contains('y') || plain.contains('d') => Shows::Date,
        plain if plain.contains("h:") || plain.contains(":s") || plain.contains("m:") => Shows::Time,
        _ => Shows::Number,
    }
}

/// A sheet as Markdown, and how many of its cells are beyond the last column.
fn sheet(bytes: &[u8], book: &Book, notes: &mut Vec<String>) -> Result<(String, usize)> {
    let text = text_of(bytes)?;
    let mut xml = Xml::new(&text);
    let (mut rows, mut cells, mut size, mut beyond) = (Vec::<Vec<String>>::new(), 0, 0, 0);
    let (mut column, mut kind, mut format) = (0, String::new(), 0);
    while let Some(node) = xml.next()? {
        let Node::Open(name, attributes) = node else { continue };
        match name.as_str() {
            "row" => {
                rows.push(vec![]);
                column = 0;
                if rows.len() > ROWS || cells > CELLS || size > TEXT {
                    notes.push(format!("only the first {} rows of a large sheet are read", rows.len() - 1));
                    break;
                }
            }
            "c" => {
                if let Some(at) = attributes.get("r").and_then(column_of) {
                    column = at;
                }
                kind = attributes.get("t").unwrap_or("n").to_owned();
                format = attributes.number("s").unwrap_or(0);
                column += 1;
            }
            "v" | "t" => {
                let value = xml.text()?;
                let value = value_of(&value, &kind, format, book)?;
                // A value in no cell is none.
                let (Some(row), Some(at)) = (rows.last_mut(), column.checked_sub(1)) else { continue };
                if column > COLUMNS {
                    beyond += usize::from(!value.trim().is_empty());
                    continue;
                }
                row.resize(row.len().max(column), String::new());
                if let Some(cell) = row.get_mut(at) {
                    cells += 1;
                    size += value.len();
                    cell.push_str(&value);
                }
            }
            _ => {}
        }
    }
    Ok((table::markdown(&rows), beyond))
}

/// The column of a cell's name: 0 for `A7`.
fn column_of(name: &str) -> Option<usize> {
    let letters = name.bytes().take_while(u8::is_ascii_alphabetic).take(4);
    let number = letters.fold(0, |sum, letter| sum * 26 + usize::from(letter.to_ascii_uppercase() - b'A') + 1);
    number.checked_sub(1)
}

fn value_of(value: &str, kind: &str, format: usize, book: &Book) -> Result<String> {
    Ok(match kind {
        "s" => match value.trim().parse::<usize>().ok().and_then(|at| book.strings.get(at)) {
            Some(text) => text.clone(),
            None => return broken("a cell names a text that is not in the file: save the document again"),
        },
        "b" => if value.trim() == "1" { "TRUE" } else { "FALSE" }.to_owned(),
        "n" => match value.trim().parse::<f64>() {
            Ok(number) => shown(number, book.formats.get(format).copied().unwrap_or(Shows::Number), book.from_1904),
            Err(_) => value.to_owned(),
        },
        _ => value.to_owned(),
    })
}

/// A number as its format shows it.
fn shown(number: f64, shows: Shows, from_1904: bool) -> String {
    let plain = || {
        let text = format!("{:.10}", number);
        match number.abs() {
            size if size != 0.0 && !(1e-6..1e15).contains(&size) => format!("{number:e}"),
            _ => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        }
    };
    match shows {
        Shows::Number => plain(),
        Shows::Percent => format!("{}%", shown((number * 1e8).round() / 1e6, Shows::Number, false)),
        Shows::Date if (0.0..2_958_466.0).contains(&number) => date(number, from_1904),
        Shows::Time if (0.0..1e6).contains(&number) => time(number),
        Shows::Date | Shows::Time => plain(),
    }
}

/// A day of a spreadsheet, with its time unless that is midnight.
fn date(number: f64, from_1904: bool) -> String {
    #[allow(clippy::cast_possible_truncation, reason = "the caller checked its range")]
    let days = number.floor() as i64;
    // Day 60 is a 29 February 1900 that never was.
    let since_1970 = if from_1904 { days - 24_107 } else { days - 25_569 + i64::from(days < 60) };
    let (year, month, day) = civil(since_1970);
    let rest = number - number.floor();
    let clock = if rest * 86_400.0 < 0.5 { String::new() } else { format!(" {}", time(rest)) };
    format!("{year:04}-{month:02}-{day:02}{clock}")
}

fn time(days: f64) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the caller checked its range")]
    let seconds = (days * 86_400.0).round() as u64;
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if rest == 0 { format!("{hours:02}:{minutes:02}") } else { format!("{hours:02}:{minutes:02}:{rest:02}") }
}

/// Year, month and day of a day since 1970, by Howard Hinnant's algorithm.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let (day, month) = (day_of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_by_their_format() {
        for (number, format, expected) in [
            (3.0, "General", "3"),
            (1234.5, "#,##0.00 \"days\"", "1234.5"),
            (0.1 + 0.2, "0.00", "0.3"),
            (1e20, "0", "1e20"),
            (0.125, "0.0%", "12.5%"),
            (46_353.0, "dd.mm.yyyy", "2026-11-27"),
            (46_353.75, "[$-407]yyyy-mm-dd hh:mm", "2026-11-27 18:00"),
            (1.0, "d/m/yy", "1900-01-01"),
            (61.0, "d/m/yy", "1900-03-01"),
            (0.5, "h:mm", "12:00"),
            (-1.0, "d/m/yy", "-1"),
            (f64::MAX, "d/m/yy", "1.7976931348623157e308"),
        ] {
            assert_eq!(shown(number, shows(format), false), expected, "{number} {format}");
        }
        assert_eq!(date(0.0, true), "1904-01-01");
        assert_eq!([column_of("A1"), column_of("AB12"), column_of("7")], [Some(0), Some(27), None]);
    }
}
