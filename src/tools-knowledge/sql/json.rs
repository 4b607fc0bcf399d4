//! Values of SQL as JSON, and back.

use base64::{Engine, engine::general_purpose::STANDARD};
use records::truncate;
use sql::SqlValue;
use tool::prelude::*;

/// Whole numbers up to this are exact in every program that reads JSON.
const EXACT: i64 = 1 << 53;
/// The most characters of a value in a sentence.
const SPOKEN: usize = 60;

/// A whole number; as text where a program might read it as another one.
pub(super) fn integer(number: i64) -> Value {
    if (-EXACT..=EXACT).contains(&number) { json!(number) } else { json!(number.to_string()) }
}

/// A value of a result.
pub(super) fn value(value: SqlValue) -> Value {
    match value {
        SqlValue::Null => Value::Null,
        SqlValue::Integer(number) => integer(number),
        // JSON has no infinity.
        SqlValue::Real(number) if number == f64::INFINITY => json!("Infinity"),
        SqlValue::Real(number) if number == f64::NEG_INFINITY => json!("-Infinity"),
        SqlValue::Real(number) => json!(number),
        SqlValue::Text(text) => Value::String(text),
        SqlValue::CutText(text, bytes) => json!(format!("{text}… (cut: {bytes} bytes in all)")),
        SqlValue::Blob(bytes) => json!({"base64": STANDARD.encode(bytes)}),
        SqlValue::CutBlob(part, bytes) => json!({"base64": STANDARD.encode(part), "cut": true, "bytes": bytes}),
    }
}

/// A parameter; `at` counts from 0.
pub(super) fn param(at: usize, value: &Value) -> Result<SqlValue> {
    let wrong = |what: &str| Err(Error::bad_args(format!("parameter {}: {what}", at + 1)));
    match value {
        Value::Null => Ok(SqlValue::Null),
        Value::Bool(on) => Ok(SqlValue::Integer(i64::from(*on))),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(whole), ..) => Ok(SqlValue::Integer(whole)),
            (None, Some(_), _) => wrong("whole numbers go up to 9223372036854775807: give it as text"),
            (None, None, Some(real)) => Ok(SqlValue::Real(real)),
            _ => wrong("this number is too large: give it as text"),
        },
        Value::String(text) => Ok(SqlValue::Text(text.clone())),
        Value::Object(fields) if fields.len() == 1 && fields.contains_key("base64") => {
            let decoded = fields["base64"].as_str().map(|text| STANDARD.decode(text));
            match decoded {
                Some(Ok(bytes)) => Ok(SqlValue::Blob(bytes)),
                _ => wrong("`base64` is a text in base64 with its padding"),
            }
        }
        // The JSON functions of SQLite read it.
        Value::Array(_) | Value::Object(_) => Ok(SqlValue::Text(value.to_string())),
    }
}

/// A row in a sentence: its values, with the names of the columns where there are several.
pub(super) fn row_words(columns: &[String], row: &[SqlValue]) -> String {
    let word = |value: &SqlValue| match value {
        SqlValue::Null => "nothing".to_owned(),
        SqlValue::Blob(bytes) | SqlValue::CutBlob(bytes, _) => format!("{} bytes", bytes.len()),
        other => match self::value(other.clone()) {
            Value::String(text) => truncate(&text, SPOKEN),
            other => other.to_string(),
        },
    };
    match row {
        [one] => word(one),
        row => {
            let named = |(name, value): (&String, &SqlValue)| format!("{} {}", truncate(name, SPOKEN), word(value));
            columns.iter().zip(row).take(8).map(named).collect::<Vec<_>>().join(", ")
        }
    }
}
