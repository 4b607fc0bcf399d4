//! Layer 2: SQL databases of agents. SQLite runs over pages that the store keeps, so backups, checks and power cuts treat them
//! like everything else.
//!
//! - `page_file`: a file as SQLite sees it: one state of the store to read from, one write for each commit. `vfs` gives it to
//!   SQLite; all unsafe code is there.
//! - `guard`: what SQL may not do, with reasons; `connection`: limits of time, memory and size; `functions`: functions of
//!   SQLite that would run too long.
//! - `run`: the statements of one call. `databases`: turns, threads, commits, import and export.
//! - `foreign`: tables of other parts that SQL reads. `intent`: what SQL text is about to do, for policy.

mod connection;
mod databases;
mod error;
mod foreign;
mod functions;
mod guard;
mod intent;
mod page_file;
mod run;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_random;
mod transfer;
mod value;
mod vfs;

pub use connection::SQL_BYTES;
pub use databases::{Damaged, Databases, Imported};
pub use error::{Error, Result};
pub use foreign::{EachRow, ForeignTables, NoTables};
pub use intent::Intent;
pub use run::{ANSWER_BYTES, Query, ROWS, SECONDS};
pub use value::{Answer, BLOB_BYTES, ColumnInfo, SqlValue, TEXT_BYTES, TableInfo};
