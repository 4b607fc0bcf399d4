//! Runs the statements of one call: in one transaction, within the time, with results of bounded size.

use crate::{
    Answer, SqlValue,
    connection::{self, Deadline},
    error::{Error, Result, of_sqlite},
    foreign::Named,
    guard::Guard,
    page_file::{PageFile, Traffic},
};
use rusqlite::{Batch, Connection, Statement, fallible_iterator::FallibleIterator};

/// The most rows of a result.
pub const ROWS: usize = 1000;
/// The most bytes of a result, roughly.
pub const ANSWER_BYTES: usize = 96 << 10;
/// The most bytes of a value in a row that is beyond that.
const LATE_BYTES: usize = 64;
/// The most seconds of a call.
pub const SECONDS: u64 = 5;

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
    pub traffic: Traffic,
}

/// Opens the database and runs `work`; the reason of a failure is the one that helps most.
pub(crate) fn with_session<T>(
    file: PageFile,
    guard: &Guard,
    deadline: &Deadline,
    work: impl FnOnce(&Session) -> Result<T>,
) -> Result<T> {
    let traffic = file.traffic();
    let opened = connection::open(file, guard, deadline.clone());
    let done = opened.and_then(|connection| {
        let (connection, traffic) = (&connection, traffic.clone());
        work(&Session { connection, guard, deadline, traffic })
    });
    done.map_err(|error| match (guard.refused(), traffic.failure()) {
        (Some(reason), _) => Error::Refused(reason),
        (None, Some(failure)) => Error::Store(failure),
        (None, None) if deadline.is_over() => Error::Busy(format!(
            "this takes longer than {SECONDS} s and was stopped; nothing of this call was stored. Read less (WHERE, LIMIT), \
             create an index for the columns in WHERE and JOIN, or do it in several calls"
        )),
        (None, None) => error,
    })
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
                        "the transaction was begun and not ended, so nothing of it was stored: end it with COMMIT, or leave \
                         BEGIN out, because all statements of a call are one transaction anyway"
                            .into(),
                    ));
                }
                Ok(answer)
            }
            Err(Error::Sql(text)) if self.traffic.commits() > 0 => {
                Err(Error::Sql(format!("{text}; statements up to the last COMMIT of this call are stored")))
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
            foreign.fill(connection, self.guard, self.deadline)?;
            bound = bind(&mut statement, given, bound)?;
            // A BEGIN IMMEDIATE counts as a change.
            let begins = self.guard.take_begins();
            if !ours && !begins && connection.is_autocommit() && !statement.readonly() {
                self.guard.trusting(|| connection.execute_batch("BEGIN IMMEDIATE")).map_err(|e| of_sqlite(&e))?;
                ours = true;
                self.guard.set_in_ours(true);
            }
            let before = connection.total_changes();
            let rows = self.step(&mut statement).map_err(|e| of_sqlite(&e))?;
            if connection.total_changes() != before {
                changes += connection.changes();
            }
            last = Some(rows);
        }
        if bound != given.len() {
            return Err(Error::Sql(format!(
                "{} were given, and the statement has {}: give one for each ?",
                text_count(given.len(), "parameter"),
                text_count(bound, "placeholder")
            )));
        }
        match last {
            None => Err(Error::Sql("there is no statement in the SQL text".into())),
            Some(Some(rows)) => Ok((rows, ours)),
            Some(None) => Ok((Answer::Changed { changes, last_insert_rowid: connection.last_insert_rowid() }, ours)),
        }
    }

    /// Runs one statement; its rows, where it returns some.
    fn step(&self, statement: &mut Statement) -> rusqlite::Result<Option<Answer>> {
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let writes = !statement.readonly();
        let mut found = statement.raw_query();
        if columns.is_empty() {
            while found.next()?.is_some() {}
            return Ok(None);
        }
        let (mut rows, mut truncated, mut size) = (vec![], false, 0);
        while let Some(row) = found.next()? {
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
                let value = SqlValue::of(row.get_ref(at)?, most);
                truncated |= matches!(value, SqlValue::CutText(..) | SqlValue::CutBlob(..));
                size += value.size();
                values.push(value);
            }
            rows.push(values);
        }
        Ok(Some(Answer::Rows { columns, rows, truncated }))
    }
}

/// Binds the next values to the placeholders of a statement; returns how many are bound by now.
fn bind(statement: &mut Statement, given: &[SqlValue], bound: usize) -> Result<usize> {
    let count = statement.parameter_count();
    let Some(values) = given.get(bound..bound + count) else {
        return Err(Error::Sql(format!(
            "{} were given, and the statements up to here have {}: give one for each ?, in their order",
            text_count(given.len(), "parameter"),
            text_count(bound + count, "placeholder")
        )));
    };
    for (at, value) in values.iter().enumerate() {
        statement.raw_bind_parameter(at + 1, value).map_err(|e| of_sqlite(&e))?;
    }
    Ok(bound + count)
}

fn text_count(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
