//! Exports expenses for other programs: CSV for spreadsheets, or JSON.

use super::{
    money,
    query::{Filter, Period, scan},
    record::{Category, Expense},
};
use crate::json_text::run_blocking;
use records::{RecordKind, RecordStore};
use store::{Entry, Visit};
use text_kit::counted_one;
use tool::prelude::*;

/// The most bytes of content; the limit of results is above.
const BYTES: usize = 160 * 1024;

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    Csv,
    Json,
}

/// Export expenses as CSV or JSON text, oldest day first. The next call with nextOffset continues a long export.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Export {
    /// The format.
    format: Format,
    /// First day (ISO), or month.
    start_date: Option<String>,
    /// Last day (ISO), or month.
    end_date: Option<String>,
    /// A period instead of dates.
    period: Option<Period>,
    /// Only this category.
    category: Option<Category>,
    /// How many to skip, for the next part.
    offset: Option<u32>,
}

/// The columns of the CSV form.
const COLUMNS: [&str; 8] = ["date", "amount", "currency", "category", "description", "paymentMethod", "tags", "notes"];

/// A cell that no spreadsheet reads as a formula.
fn cell(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    if formula { format!("'{text}") } else { text.to_owned() }
}

fn line(e: &Expense) -> [String; 8] {
    [
        e.date.clone(),
        money::text(e.amount.into(), &e.currency),
        e.currency.clone(),
        e.category.word().to_owned(),
        cell(&e.description),
        cell(e.payment.as_deref().unwrap_or_default()),
        cell(&e.tags.join(", ")),
        cell(e.notes.as_deref().unwrap_or_default()),
    ]
}

/// Lines of CSV.
fn csv<const N: usize>(lines: impl IntoIterator<Item = [String; N]>) -> Result<String> {
    let wrong = |e: &dyn std::fmt::Display| Error::failed(format!("the CSV could not be written: {e}"));
    let mut writer = csv::Writer::from_writer(vec![]);
    for line in lines {
        writer.write_record(line).map_err(|e| wrong(&e))?;
    }
    let bytes = writer.into_inner().map_err(|e| wrong(&e))?;
    String::from_utf8(bytes).map_err(|e| wrong(&e))
}

/// An expense in a format.
fn format_one(cx: &Cx, format: Format, entry: &Entry<Expense>) -> Result<String> {
    match format {
        Format::Csv => csv([line(&entry.value)]),
        Format::Json => Ok(Expense::view(cx, entry).to_string()),
    }
}

/// The length of a text inside JSON.
fn escaped(text: &str) -> usize {
    Value::from(text).to_string().len()
}

pub(super) async fn export(expenses: RecordStore<Expense>, cx: Cx, args: Export) -> Result<Output> {
    let days = Filter::of_days(&cx, args.start_date, args.end_date, args.period)?;
    let filter = Filter { category: args.category, ..days };
    let (format, offset) = (args.format, args.offset.unwrap_or(0) as usize);
    run_blocking(move || {
        let (mut pieces, mut size, mut passed, mut more, mut wrong) = (vec![], 0, 0, false, None);
        scan(&expenses, &cx, &filter, &filter.walk(), |entry| {
            if passed < offset {
                passed += 1;
                return Visit::No;
            }
            let piece = match format_one(&cx, format, entry) {
                Ok(piece) => piece,
                Err(error) => {
                    wrong = Some(error);
                    return Visit::Stop;
                }
            };
            size += escaped(&piece);
            if size > BYTES && !pieces.is_empty() {
                more = true;
                return Visit::Stop;
            }
            pieces.push(piece);
            Visit::No
        })?;
        wrong.map_or(Ok(()), Err)?;
        let count = pieces.len();
        let content = match format {
            Format::Csv => csv([COLUMNS.map(str::to_owned)])? + &pieces.concat(),
            Format::Json => format!("[{}]", pieces.join(",\n")),
        };
        let next = more.then_some(offset + count);
        let rest = if more { " There are more: ask for the next part." } else { "" };
        let name = if format == Format::Csv { "CSV" } else { "JSON" };
        let sentence = match count {
            0 => "There are no expenses to export.".to_owned(),
            _ => format!(
                "Here {} {} as {name}.{rest}",
                if count == 1 { "is" } else { "are" },
                counted_one(count, "expense")
            ),
        };
        let content = json!({"format": name.to_lowercase(), "count": count, "content": content, "hasMore": more,
                             "nextOffset": next});
        Ok(Output::json(content)?.say(sentence))
    })
    .await
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::testing::cases;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(cases(256))]
        #[test]
        fn csv_is_read_again_and_has_no_formulas(texts in prop::array::uniform4("(?s).{0,30}|[=+@\\-\t\r\n\",;' a]{0,8}")) {
            let written = csv([["a"; 4].map(str::to_owned), texts.clone().map(|text| cell(&text))]).unwrap();
            let mut reader = csv::Reader::from_reader(written.as_bytes());
            let read: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
            prop_assert_eq!(read.len(), 1);
            for (text, cell) in texts.iter().zip(read[0].iter()) {
                prop_assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']), "{:?}", cell);
                prop_assert_eq!(cell.strip_prefix('\'').filter(|rest| *rest == text).unwrap_or(cell), text);
            }
        }
    }
}
