//! Runs the statements of one call: in one transaction, within the time, with results of bounded size.

use crate::{
    Answer, SqlValue, connection,
    deadline::Deadline,
    error::{Error, Result, of_sqlite},
    foreign::Named,
    guard::Guard,
    page_file::{PageFile, Traffic},
    value::ANSWER_BYTES,
};
use rusqlite::{Batch, Connection, Statement, fallible_iterator::FallibleIterator};
use std::cell::Cell;
use text_kit::counted;

/// The most rows of a result.
pub(crate) const ROWS: usize = 1000;
/// The most bytes of a value in a row that is beyond that.
const LATE_BYTES: usize = 64;
/// The most seconds of a call.
pub(crate) const SECONDS: u64 = 5;

/// One call: SQL text, with values for its placeholders in their order.
#[derive(Debug, Clone, Default)]
pub struct Query {
    pub sql: String,
    pub params: Vec<SqlValue>,
}

/// A connection for one call.
pub(crate) struct Session<'c> {
    pub connection: &'c Connection,
    pub guard: &'c Guard,
    pub deadline: &'c Deadline,
    /// Set when a statement of the caller may have changed something.
    pub wrote: &'c Cell<bool>,
}

/// Opens the database and runs `work`; the reason of a failure is the one that helps most.
pub(crate) fn with_session<T>(
    file: PageFile,
    guard: &Guard,
    deadline: &Deadline,
    work: impl FnOnce(&Session) -> Result<T>,
) -> Result<T> {
    let (traffic, wrote): (Traffic, _) = (file.traffic(), Cell::new(false));
    let opened = connection::open(file, guard, deadline.clone());
    let done = opened.and_then(|connection| work(&Session { connection: &connection, guard, deadline, wrote: &wrote }));
    let helpful = done.map_err(|error| match (guard.refused(), traffic.failure()) {
        (Some(reason), _) => Error::Refused(reason),
        (None, Some(failure)) => Error::Store(failure),
        (None, None) if deadline.is_over() => late(),
        (None, None) => error,
    });
    helpful.map_err(|error| match (traffic.commits(), wrote.get()) {
        (0, false) => error,
        (0, true) => error.noting("nothing of this call was stored"),
        _ => error.noting("statements up to the last COMMIT of this call are stored"),
    })
}

fn late() -> Error {
    Error::Busy(format!(
        "this takes longer than {SECONDS} s and was stopped. Read less (WHERE, LIMIT), create an index for the columns in WHERE \
         and JOIN, or do it in several calls"
    ))
}

impl Session<'_> {
    /// Runs all statements of a call.
    pub fn run(&self, query: &Query, mut foreign: Named) -> Result<Answer> {
        if query.sql.contains('\0') {
            return Err(Error::Sql("the SQL text has a NUL character: leave it out, or bind it as a parameter".into()));
        }
        foreign.make(self.connection, self.guard)?;
        let done = self.statements(query, &mut foreign);
        let open = !self.connection.is_autocommit();
        match done {
            Ok((answer, ours)) => {
                if open && ours {
                    self.guard.trusting(|| self.connection.execute_batch("COMMIT")).map_err(|e| of_sqlite(&e))?;
                } else if open {
                    return Err(Error::Sql(
                        "the transaction was begun and not ended: end it with COMMIT, or leave BEGIN out, because all \
                         statements of a call are one transaction anyway"
                            .into(),
                    ));
                }
                Ok(answer)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the result of the last statement, and whether a transaction is open that the caller did not begin.
    fn statements(&self, query: &Query, foreign: &mut Named) -> Result<(Answer, bool)> {
        let (connection, given) = (self.connection, &query.params);
        let (mut batch, mut bound, mut changes, mut ours) = (Batch::new(connection, &query.sql), 0, 0, false);
        let mut last = None;
        while let Some(mut statement) = self.guard.compiling(|| batch.next()).map_err(|e| of_sqlite(&e))? {
            // SQLite looks at the time only in loops.
            if self.deadline.is_over() {
                return Err(late());
            }
            foreign.fill(connection, self.guard, self.deadline)?;
            bound = bind(&mut statement, given, bound)?;
            // A BEGIN IMMEDIATE counts as a change.
            let begins = self.guard.take_begins();
            self.wrote.set(self.wrote.get() || begins || !statement.readonly());
            if !ours && !begins && connection.is_autocommit() && !statement.readonly() {
                self.guard.trusting(|| connection.execute_batch("BEGIN IMMEDIATE")).map_err(|e| of_sqlite(&e))?;
                ours = true;
                self.guard.set_in_ours(true);
            }
            let before = connection.total_changes();
            let rows = step(&mut statement)?;
            if connection.total_changes() != before {
                changes += connection.changes();
            }
            last = Some(rows);
        }
        if bound != given.len() {
            return Err(Error::Sql(format!(
                "the call gives {}, and the statement has {}: give one for each ?",
                counted(given.len(), "parameter"),
                counted(bound, "placeholder")
            )));
        }
        match last {
            None => Err(Error::Sql("there is no statement in the SQL text".into())),
            Some(Some(rows)) => Ok((rows, ours)),
            Some(None) => Ok((Answer::Changed { changes, last_insert_rowid: connection.last_insert_rowid() }, ours)),
        }
    }
}

/// Runs one statement; its rows, where it returns some.
fn step(statement: &mut Statement) -> Result<Option<Answer>> {
    let mut size: usize = statement.column_names().map(str::len).sum();
    if size > ANSWER_BYTES {
        return Err(Error::Sql(format!(
            "the names of the columns take {} KB, and a result has {} KB at most: name columns with AS, or select fewer",
            size >> 10,
            ANSWER_BYTES >> 10
        )));
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let writes = !statement.readonly();
    let mut found = statement.raw_query();
    if columns.is_empty() {
        while found.next().map_err(|e| of_sqlite(&e))?.is_some() {}
        return Ok(None);
    }
    let (mut rows, mut truncated) = (vec![], false);
    while let Some(row) = found.next().map_err(|e| of_sqlite(&e))? {
        if rows.len() == ROWS || size >= ANSWER_BYTES {
            truncated = true;
            // A change that returns its rows has been made by now.
            if writes {
                continue;
            }
            break;
        }
        let mut values = Vec::with_capacity(columns.len());
        for at in 0..columns.len() {
            // A row may have many columns.
            let most = if size >= ANSWER_BYTES { LATE_BYTES } else { usize::MAX };
            let value = SqlValue::of(row.get_ref(at).map_err(|e| of_sqlite(&e))?, most);
            truncated |= matches!(value, SqlValue::CutText(..) | SqlValue::CutBlob(..));
            size += value.size();
            values.push(value);
        }
        rows.push(values);
    }
    Ok(Some(Answer::Rows { columns, rows, truncated }))
}

/// Binds the next values to the placeholders of a statement; returns how many are bound by now.
fn bind(statement: &mut Statement, given: &[SqlValue], bound: usize) -> Result<usize> {
    let count = statement.parameter_count();
    let Some(values) = given.get(bound..bound + count) else {
        return Err(Error::Sql(format!(
            "the call gives {}, and the statements up to here have {}: give one for each ?, in their order",
            counted(given.len(), "parameter"),
            counted(bound + count, "placeholder")
        )));
    };
    for (at, value) in values.iter().enumerate() {
        statement.raw_bind_parameter(at + 1, value).map_err(|e| of_sqlite(&e))?;
    }
    Ok(bound + count)
}
