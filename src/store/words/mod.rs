//! The index of words: finds the records whose text contains words, also within longer words, without reading the others.
//!
//! Each searched kind has a table `KIND.words.index` (a name that older code neither counts nor checks):
//!
//! - A commit that adds, changes or removes a record writes one small row to the **tail**: the record's key (`word_rows`). Nothing else is
//!   written then, and nothing is held in memory.
//! - A background task ([`tend`]) moves the tail into **segments**, immutable sets of rows: sorted terms, their postings in
//!   blocks, and the ids of the records. Small segments are merged into larger ones.
//! - A search ([`find`]) scans the terms, combines their postings, and adds the tail. The result may contain too many records,
//!   but never too few: a posting may be stale and a term is only part of a word, so the caller checks the text of each.
//!
//! Shared records have their words a second time in the household's scope, where the other members search.
//!
//! The index follows from the records, so it is rebuilt whenever it cannot be trusted: after a restore (backups leave it out),
//! when a row is damaged, when the text of a kind or the rules of this module change, and when an older Hob wrote to the file.
//! That begins a new lineage ([`crate::Store::lineage`]). Until the index is complete again, a search reads every record.

mod find;
mod merge;
mod postings;
mod search;
mod segment;
mod segment_writer;
mod state;
mod table;
mod tend;
#[cfg(test)]
mod tests;
mod text;

pub use search::Searching;
pub use text::Words;

pub(crate) use tend::WordTasks;
