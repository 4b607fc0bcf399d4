//! Opens a database with all its limits.

use crate::{
    error::{Error, Result},
    functions::{self, VALUE_BYTES},
    guard::Guard,
    page_file::{PAGE, PageFile, RESERVED},
    vfs::{self, Announced},
};
use rusqlite::{Connection, FileControl, OpenFlags, config::DbConfig, ffi, limits::Limit};
use std::{
    ffi::c_int,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

/// The size of a database, in bytes.
pub(crate) const DATABASE_BYTES: u64 = 100 << 20;
/// The longest SQL text.
pub const SQL_BYTES: usize = 256 << 10;
/// The memory that SQLite may use in this process.
const MEMORY_BYTES: u64 = 96 << 20;
/// After how many instructions of SQLite the time is looked at.
const INSTRUCTIONS: c_int = 1000;

const LIMITS: &[(Limit, i32)] = &[
    (Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES as i32),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, SQL_BYTES as i32),
    (Limit::SQLITE_LIMIT_COLUMN, 1000),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 200),
    (Limit::SQLITE_LIMIT_VDBE_OP, 1_000_000),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    // The time of LIKE grows with the product of the lengths of text and pattern.
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 256),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 1000),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 32),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// When a call has to end.
#[derive(Clone)]
pub(crate) struct Deadline {
    pub at: Instant,
    /// Set when nobody waits for the result any more.
    pub gone: Arc<AtomicBool>,
}

impl Deadline {
    pub fn is_over(&self) -> bool {
        self.gone.load(Ordering::Relaxed) || Instant::now() >= self.at
    }
}

/// Opens a database of the store. The guard answers from then on.
pub(crate) fn open(file: PageFile, guard: &Guard, deadline: Deadline) -> Result<Connection> {
    if vfs::register() != ffi::SQLITE_OK {
        return Err(Error::Failed(
            "SQLite could not be started: the log has more, and a restart of Hob may help".into(),
        ));
    }
    let announced = Announced::new(file);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags_and_vfs(announced.name(), flags, vfs::NAME);
    let mut connection = opened.map_err(|e| failed(&e))?;
    drop(announced);
    prepare(&mut connection, guard, deadline).map_err(|e| failed(&e))?;
    Ok(connection)
}

fn failed(error: &rusqlite::Error) -> Error {
    crate::error::of_sqlite(error)
}

fn prepare(connection: &mut Connection, guard: &Guard, deadline: Deadline) -> rusqlite::Result<()> {
    restrict(connection, deadline)?;
    let mut reserved = RESERVED as c_int;
    connection.file_control(Some("main"), FileControl::ReserveBytes(&mut reserved))?;
    // Without spilling, a page is written only when a transaction commits.
    connection.execute_batch(&format!(
        "PRAGMA page_size = {PAGE}; PRAGMA journal_mode = MEMORY; PRAGMA temp_store = MEMORY; PRAGMA synchronous = NORMAL; \
         PRAGMA cache_size = -4096; PRAGMA cache_spill = OFF; PRAGMA max_page_count = {};",
        DATABASE_BYTES / PAGE as u64
    ))?;
    functions::replace_on(connection)?;
    let guard = guard.clone();
    connection.authorizer(Some(move |context: rusqlite::hooks::AuthContext| guard.decide(&context)))
}

/// Limits of time, memory and rights of any connection.
pub(crate) fn restrict(connection: &mut Connection, deadline: Deadline) -> rusqlite::Result<()> {
    for (limit, value) in LIMITS {
        connection.set_limit(*limit, *value)?;
    }
    for (config, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
    ] {
        connection.set_db_config(config, on)?;
    }
    connection.execute_batch(&format!("PRAGMA hard_heap_limit = {MEMORY_BYTES}; PRAGMA cell_size_check = ON;"))?;
    connection.progress_handler(INSTRUCTIONS, Some(move || deadline.is_over()))
}
