//! Values, and the result of a call.

use rusqlite::{
    ToSql,
    types::{ToSqlOutput, Value, ValueRef},
};

/// The most bytes of a text and of a BLOB in a result; longer ones are cut.
pub const TEXT_BYTES: usize = 8 << 10;
pub const BLOB_BYTES: usize = 4 << 10;

/// A value of SQL.
#[derive(Debug, Clone, PartialEq)]
pub enum SqlValue {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
    /// The beginning of a longer text, and the length of all of it in bytes.
    CutText(String, usize),
    /// The beginning of a longer BLOB, and the length of all of it.
    CutBlob(Vec<u8>, usize),
}

impl SqlValue {
    /// A value of a result, cut where it is longer than `most` bytes.
    pub(crate) fn of(value: ValueRef<'_>, most: usize) -> Self {
        let (most_text, most_blob) = (TEXT_BYTES.min(most), BLOB_BYTES.min(most));
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(bytes) if bytes.len() > most_text => {
                // A character is not cut in two.
                let end = (most_text.saturating_sub(3)..=most_text).rev().find(|end| bytes[*end] & 0xc0 != 0x80);
                let part = &bytes[..end.unwrap_or(most_text)];
                Self::CutText(String::from_utf8_lossy(part).into_owned(), bytes.len())
            }
            ValueRef::Text(bytes) => Self::Text(String::from_utf8_lossy(bytes).into_owned()),
            ValueRef::Blob(bytes) if bytes.len() > most_blob => Self::CutBlob(bytes[..most_blob].to_vec(), bytes.len()),
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }

    /// Its size in a result, roughly.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Null | Self::Integer(_) | Self::Real(_) => 8,
            Self::Text(text) | Self::CutText(text, _) => text.len() + 2,
            Self::Blob(bytes) | Self::CutBlob(bytes, _) => bytes.len() * 4 / 3 + 16,
        }
    }
}

impl ToSql for SqlValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Value::Null),
            Self::Integer(number) => ToSqlOutput::Owned(Value::Integer(*number)),
            Self::Real(number) => ToSqlOutput::Owned(Value::Real(*number)),
            Self::Text(text) | Self::CutText(text, _) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Blob(bytes) | Self::CutBlob(bytes, _) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        })
    }
}

/// The result of a call: that of its last statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Of a statement that returns rows.
    Rows {
        columns: Vec<String>,
        rows: Vec<Vec<SqlValue>>,
        /// Whether there are more rows, or values were cut.
        truncated: bool,
    },
    /// Of any other.
    Changed {
        /// The rows that all statements of the call changed.
        changes: u64,
        last_insert_rowid: i64,
    },
}

/// A table, for a reader who wants to know what there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableInfo {
    pub name: String,
    pub columns: Vec<ColumnInfo>,
    pub rows: u64,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnInfo {
    pub name: String,
    /// As it was declared; empty without.
    pub kind: String,
    pub not_null: bool,
    pub primary_key: bool,
}
