//! Parse and generate CSV.

use crate::{
    bounds::{run_blocking, short, within},
    grid::{COLUMNS, Grid},
};
use csv::{ReaderBuilder, StringRecord, WriterBuilder};
use std::collections::{HashMap, HashSet};
use text_kit::counted;
use tool::prelude::*;

/// The default and the maximum number of returned rows.
const ROWS: usize = 1000;
const MOST_ROWS: usize = 10_000;
/// The maximum size of names and fields in the returned rows, in bytes: each row repeats the names.
const BYTES: usize = 4 << 20;
/// The supported delimiters, most common first.
const DELIMITERS: [u8; 4] = *b",;\t|";
/// The number of records inspected to detect the delimiter.
const SAMPLE: usize = 20;

/// Parse CSV into rows: objects keyed by the header, or lists without a header.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ParseCsv {
    /// CSV text.
    csv: String,
    /// Field delimiter: , ; | or tab (default: detected).
    delimiter: Option<String>,
    /// Whether the first line contains column names (default: true).
    has_header: Option<bool>,
    /// Maximum number of rows, 1 to 10,000 (default: 1000).
    #[schemars(range(min = 1, max = 10_000))]
    limit: Option<usize>,
}

pub(crate) async fn parse(_: (), _: Cx, args: ParseCsv) -> Result<Output> {
    short("csv", &args.csv)?;
    let limit = args.limit.unwrap_or(ROWS).clamp(1, MOST_ROWS);
    let asked = args.delimiter.as_deref().map(delimiter).transpose()?;
    let header = args.has_header.unwrap_or(true);
    run_blocking(move |until| {
        let text = args.csv.trim_start_matches('\u{feff}');
        let delimiter = asked.unwrap_or_else(|| detect_delimiter(text));
        let mut reader = reader(text, delimiter);
        let mut records = reader.records().map(|record| {
            let record = record.map_err(unreadable)?;
            within("csv", record.len(), COLUMNS, "columns")?;
            Ok::<_, Error>(record)
        });
        let first = records.next().transpose()?;
        let columns = first.as_ref().filter(|_| header).map(columns).unwrap_or_default();
        let first = first.filter(|_| !header).map(Ok);
        let names: usize = columns.iter().map(String::len).sum();
        let (mut rows, mut count, mut size) = (Vec::new(), 0_usize, 0);
        for record in first.into_iter().chain(records) {
            until.check()?;
            let record = record?;
            count += 1;
            size += names + record.as_slice().len();
            if rows.len() < limit && size <= BYTES {
                rows.push(row(&record, &columns, header));
            }
        }
        let sentence = match header {
            true => format!("It has {} and {}.", counted(count, "row"), counted(columns.len(), "column")),
            false => format!("It has {}.", counted(count, "row")),
        };
        let answer = json!({
            "columns": columns, "truncated": count > rows.len(), "rows": rows, "rowCount": count,
            "delimiter": char::from(delimiter).to_string()
        });
        Ok(Output::json(answer)?.say(sentence))
    })
    .await
}

fn unreadable(why: csv::Error) -> Error {
    Error::bad_args(format!("this CSV cannot be parsed: {why}"))
}

fn delimiter(name: &str) -> Result<u8> {
    match name {
        "\t" | "\\t" | "tab" => Ok(b'\t'),
        "," | "comma" => Ok(b','),
        ";" | "semicolon" => Ok(b';'),
        "|" | "pipe" => Ok(b'|'),
        " " | "space" => Ok(b' '),
        ":" | "colon" => Ok(b':'),
        _ => Err(Error::bad_args("`delimiter` is one of , ; | : tab and space")),
    }
}

/// The delimiter that splits the first records into the most fields, with equal counts.
fn detect_delimiter(text: &str) -> u8 {
    let fields = |delimiter: u8| {
        let mut lengths: HashMap<usize, usize> = HashMap::new();
        for record in reader(text, delimiter).records().take(SAMPLE).flatten() {
            *lengths.entry(record.len()).or_default() += 1;
        }
        let usual = lengths.into_iter().max_by_key(|(length, times)| (*times, *length));
        usual.filter(|(length, _)| *length > 1).map_or((0, 0), |(length, times)| (times, length))
    };
    let mut best = (b',', (0, 0));
    for delimiter in DELIMITERS {
        let found = fields(delimiter);
        if found > best.1 {
            best = (delimiter, found);
        }
    }
    best.0
}

/// Unique, non-empty column names.
fn columns(record: &StringRecord) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut next: HashMap<String, usize> = HashMap::new();
    let mut all = Vec::with_capacity(record.len());
    for (at, name) in record.iter().enumerate() {
        let name = match name.trim() {
            "" => format!("column_{}", at + 1),
            name => name.to_owned(),
        };
        let mut unique = name.clone();
        let number = next.entry(name.clone()).or_insert(2);
        while !taken.insert(unique.clone()) {
            unique = format!("{name}_{number}");
            *number += 1;
        }
        all.push(unique);
    }
    all
}

/// A record as a row. Missing fields are omitted; extra fields are named by position.
fn row(record: &StringRecord, columns: &[String], header: bool) -> Value {
    if !header {
        return record.iter().collect::<Vec<_>>().into();
    }
    let name = |at: usize| columns.get(at).cloned().unwrap_or_else(|| format!("column_{}", at + 1));
    Value::Object(record.iter().enumerate().map(|(at, field)| (name(at), field.into())).collect())
}

fn reader(text: &str, delimiter: u8) -> csv::Reader<&[u8]> {
    ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(text.as_bytes())
}

/// Generate CSV from objects or lists. Text that a spreadsheet would run as a formula is prefixed with '.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct GenerateCsv {
    /// Rows: objects, lists, or single values.
    data: Vec<Value>,
    /// Field delimiter: , ; | or tab (default: ,).
    delimiter: Option<String>,
    /// Whether to write column names in the first line (default: true).
    include_header: Option<bool>,
    /// Columns and their order (default: all, by name). For lists: their names.
    columns: Option<Vec<String>>,
    /// Whether to neutralise formulas (default: true).
    escape_formulas: Option<bool>,
}

pub(crate) async fn generate(_: (), _: Cx, args: GenerateCsv) -> Result<Output> {
    let delimiter = args.delimiter.as_deref().map_or(Ok(b','), delimiter)?;
    let (header, safe) = (args.include_header.unwrap_or(true), args.escape_formulas.unwrap_or(true));
    run_blocking(move |until| {
        let grid = Grid::new(args.data, args.columns)?;
        let mut writer = WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
        let head = (header && !grid.columns.is_empty()).then_some(&grid.columns);
        for row in head.into_iter().chain(&grid.rows) {
            until.check()?;
            // A row without cells cannot be written, and an empty line is not parsed as a row.
            let cells = row.iter().map(|cell| if safe { escape_formula(cell) } else { cell.clone() });
            writer.write_record(cells).map_err(|why| Error::failed(format!("the CSV could not be written: {why}")))?;
        }
        let bytes = writer.into_inner().map_err(|why| Error::failed(format!("the CSV could not be written: {why}")))?;
        let text = String::from_utf8(bytes).map_err(|why| Error::failed(format!("the CSV is not text: {why}")))?;
        let sentence = format!("I have written {} of CSV.", counted(grid.rows.len(), "row"));
        let answer = json!({"csv": text, "rowCount": grid.rows.len(), "columns": grid.columns});
        Ok(Output::json(answer)?.say(sentence))
    })
    .await
}

/// A cell that no spreadsheet runs as a formula; numbers stay. The export of expenses uses the same prefixes.
fn escape_formula(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    if formula && cell.parse::<f64>().is_err() { format!("'{cell}") } else { cell.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cases, cx, wait};
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    async fn ask(tool: &str, args: Value) -> Result<Output> {
        call(crate::data(), &cx(), tool, args).await
    }

    #[tokio::test]
    async fn rows_are_read_by_their_header() {
        let text = "\u{feff}name; name ;\r\n\"Müller; \"\"Anna\"\"\";1\r\n\r\nBen;2;x;y\r\n";
        let answer = ask("parse_csv", json!({"csv": text})).await.unwrap();
        assert_eq!(
            answer.content,
            json!({
                "columns": ["name", "name_2", "column_3"], "delimiter": ";", "rowCount": 2, "truncated": false,
                "rows": [
                    {"name": "Müller; \"Anna\"", "name_2": "1"},
                    {"name": "Ben", "name_2": "2", "column_3": "x", "column_4": "y"},
                ]
            })
        );
        assert_eq!(answer.say.unwrap(), "It has 2 rows and 3 columns.");
        let rows = [
            (json!({"csv": "a,b\n1,2\n", "hasHeader": false}), json!([["a", "b"], ["1", "2"]])),
            (json!({"csv": "a\tb\n1\t2,5"}), json!([{"a": "1", "b": "2,5"}])),
            (json!({"csv": "a|b\n1|2", "delimiter": "pipe"}), json!([{"a": "1", "b": "2"}])),
            (json!({"csv": "a\n\"x\ny\"\n"}), json!([{"a": "x\ny"}])),
            (json!({"csv": "a\n1\n2", "limit": 1}), json!([{"a": "1"}])),
            (json!({"csv": ""}), json!([])),
            (json!({"csv": "a,b"}), json!([])),
        ];
        for (args, wanted) in rows {
            assert_eq!(ask("parse_csv", args.clone()).await.unwrap().content["rows"], wanted, "{args}");
        }
        let bad = ask("parse_csv", json!({"csv": "a", "delimiter": "ab"})).await;
        assert!(matches!(bad, Err(Error::BadArgs(_))));
    }

    #[tokio::test]
    async fn rows_are_written_safely() {
        let data = json!([{"name": "a \"b\"", "sum": -5, "note": "=HYPERLINK(1)"}, {"name": "x,y", "note": "-5", "who": "@me"}]);
        let rows = [
            (json!({"data": data}), "name,note,sum,who\n\"a \"\"b\"\"\",'=HYPERLINK(1),-5,\n\"x,y\",-5,,'@me\n"),
            (
                json!({"data": data, "columns": ["sum", "name"], "delimiter": ";"}),
                "sum;name\n-5;\"a \"\"b\"\"\"\n;x,y\n",
            ),
            (
                json!({"data": data, "columns": ["note"], "includeHeader": false, "escapeFormulas": false}),
                "=HYPERLINK(1)\n-5\n",
            ),
            (json!({"data": [[1, "a"], [2]]}), "1,a\n2,\n"),
            (json!({"data": [[1, "a"]], "columns": ["n", "t"]}), "n,t\n1,a\n"),
            (json!({"data": ["x", "+1 2"]}), "value\nx\n'+1 2\n"),
            (json!({"data": ["\n=1", "\t=1", "\r=1"]}), "value\n\"'\n=1\"\n'\t=1\n\"'\r=1\"\n"),
            (json!({"data": []}), "value\n"),
        ];
        for (args, wanted) in rows {
            assert_eq!(ask("generate_csv", args.clone()).await.unwrap().content["csv"], wanted, "{args}");
        }
    }

    #[tokio::test]
    async fn long_csv_is_read_in_time() {
        let begun = Instant::now();
        for text in ["x\n".repeat(500_000), "\"".repeat(1 << 20), ",,\n\"a\"".repeat(100_000)] {
            let answer = ask("parse_csv", json!({"csv": text})).await.unwrap().content;
            assert!(answer["rows"].as_array().unwrap().len() <= ROWS);
        }
        for wide in
            ["a,".repeat(500_000), ",".repeat(1 << 20), "x,".repeat(400_000), format!("a\n{}", ",".repeat(1000))]
        {
            for header in [true, false] {
                let error = ask("parse_csv", json!({"csv": wide, "hasHeader": header})).await.unwrap_err();
                assert!(error.message().contains("the maximum is 1000"), "{error}");
            }
        }
        let most = format!("{}\n{}", ",".repeat(999), ",".repeat(999));
        assert_eq!(ask("parse_csv", json!({"csv": most})).await.unwrap().content["columns"][999], "column_1000");
        // A long name is not repeated for very many cells.
        let names: Vec<String> = (0..500).map(|n| format!("{n}{}", "x".repeat(1000))).collect();
        let tall = format!("{}\n{}", names.join(","), format!("{}\n", ",".repeat(499)).repeat(1000));
        let answer = ask("parse_csv", json!({"csv": tall})).await.unwrap().content;
        assert_eq!((&answer["rowCount"], &answer["truncated"]), (&json!(1000), &json!(true)));
        assert!(!answer["rows"].as_array().unwrap().is_empty() && answer.to_string().len() < 8 << 20);
        assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());
    }

    proptest! {
        #![proptest_config(cases(256))]

        /// Generated CSV parses to the same rows, whatever their content.
        #[test]
        fn what_is_written_is_read(
            names in prop::collection::btree_set("[a-zA-Z][a-z \",;ä\n]{0,5}[a-z]", 1..5),
            cells in prop::collection::vec(prop::collection::vec("[a,;|\t\"\r\n=+ äß€-]{0,6}|\\PC{0,6}", 5), 0..8),
            delimiter in prop::sample::select(vec![",", ";", "tab", "|"]),
        ) {
            let names: Vec<String> = names.into_iter().collect();
            let object = |row: &Vec<String>| {
                Value::Object(names.iter().zip(row).map(|(name, cell)| (name.clone(), cell.clone().into())).collect())
            };
            let data: Vec<Value> = cells.iter().map(object).collect();
            wait(async {
                let args = json!({"data": data, "delimiter": delimiter, "columns": names, "escapeFormulas": false});
                let csv = ask("generate_csv", args).await.unwrap().content["csv"].clone();
                let read = ask("parse_csv", json!({"csv": csv, "delimiter": delimiter})).await.unwrap().content;
                assert_eq!(read["rows"], json!(data), "{csv}");
                assert_eq!(read["columns"], json!(names), "{csv}");
            });
        }

        #[test]
        fn no_text_does_harm(text in "[a,;|\t\"\r\n ]{0,40}|\\PC{0,40}") {
            for header in [true, false] {
                wait(ask("parse_csv", json!({"csv": text, "hasHeader": header}))).unwrap();
            }
        }
    }
}
