//! Real database files: writing one from the pages of the store, and checking and converting one that comes from outside.

use crate::{
    connection::{DATABASE_BYTES, Deadline, restrict},
    error::{Error, Result, of_sqlite},
    guard::module,
    page_file::{PAGE, RESERVED},
};
use rusqlite::{Connection, FileControl, OpenFlags};
use std::{
    ffi::c_int,
    fs,
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};
use store::Pages;

/// The bytes that every database file begins with.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

fn failed(doing: &str, file: &Path, error: &io::Error) -> Error {
    Error::Failed(format!("could not {doing} {}: {error}", file.display()))
}

/// Writes pages as a database file, which must not exist; returns its size in bytes.
pub(crate) fn write(pages: &Pages, file: &Path) -> Result<u64> {
    let write = || -> Result<u64> {
        let doing = |error: io::Error| failed("write", file, &error);
        let mut options = fs::OpenOptions::new();
        let opened = options.write(true).create_new(true).mode(0o600).open(file).map_err(doing)?;
        let mut to = io::BufWriter::with_capacity(64 * PAGE, opened);
        for page in 0..pages.count() {
            let mut data = pages.read(page)?.unwrap_or_default();
            data.resize(PAGE, 0);
            to.write_all(&data).map_err(doing)?;
        }
        let opened = to.into_inner().map_err(|e| doing(e.into_error()))?;
        opened.sync_all().map_err(doing)?;
        Ok(u64::from(pages.count()) * PAGE as u64)
    };
    write().inspect_err(|_| drop(fs::remove_file(file)))
}

/// Checks the file `from` thoroughly, and writes its content into the new file `to`, with pages as the store takes them. The
/// header of `from` is changed.
pub(crate) fn convert(from: &Path, to: &Path, deadline: Deadline) -> Result<()> {
    let over = deadline.clone();
    let converted = begin(from).and_then(|()| copy(from, to, deadline));
    converted.map_err(|error| match over.is_over() {
        true => Error::Busy("the file takes too long to check: it may be damaged, or too large for this device".into()),
        false => error,
    })
}

/// Looks at the header of a file, and makes it one that needs no other file beside it.
fn begin(from: &Path) -> Result<()> {
    let doing = |error: io::Error| failed("read", from, &error);
    let mut file = fs::OpenOptions::new().read(true).write(true).open(from).map_err(doing)?;
    let size = file.metadata().map_err(doing)?.len();
    if size > DATABASE_BYTES {
        let mb = size.div_ceil(1 << 20);
        return Err(Error::Sql(format!(
            "the file has {mb} MB, and a database takes 100 MB at most: remove something first"
        )));
    }
    let mut header = [0; 20];
    let whole = file.read_exact(&mut header).is_ok();
    if !whole || header[..16] != *MAGIC {
        return Err(Error::Sql(
            "this is no SQLite database file (they begin with `SQLite format 3`): give the .db file itself, not packed and not \
             encrypted"
                .into(),
        ));
    }
    // A file in WAL mode is complete after its program closed it; without this, SQLite would look for its log.
    if header[18] == 2 || header[19] == 2 {
        file.seek(SeekFrom::Start(18)).and_then(|_| file.write_all(&[1, 1])).map_err(doing)?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path, deadline: Deadline) -> Result<()> {
    let unusable = |e: rusqlite::Error| match of_sqlite(&e) {
        Error::Failed(text) => Error::Sql(format!("the file cannot be used: {text}")),
        other => other,
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut source = Connection::open_with_flags(from, flags).map_err(unusable)?;
    restrict(&mut source, deadline).map_err(unusable)?;
    // Only VACUUM INTO attaches a file here.
    source.set_limit(rusqlite::limits::Limit::SQLITE_LIMIT_ATTACHED, 1).map_err(unusable)?;
    source.execute_batch("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192;").map_err(unusable)?;
    let found: String = source.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).map_err(unusable)?;
    if found != "ok" {
        let found: String = found.chars().take(300).collect();
        return Err(Error::Sql(format!("the file is damaged, so nothing was changed: {found}")));
    }
    for name in virtual_modules(&source).map_err(unusable)? {
        if let Some(reason) = module(&name) {
            return Err(Error::Sql(format!("the file cannot be used: {reason}")));
        }
    }
    // In this order: setting the size of pages forgets the reserved bytes.
    source.execute_batch(&format!("PRAGMA page_size = {PAGE}; PRAGMA auto_vacuum = NONE;")).map_err(unusable)?;
    let mut reserved = RESERVED as c_int;
    source.file_control(Some("main"), FileControl::ReserveBytes(&mut reserved)).map_err(unusable)?;
    let target = to.to_str().ok_or_else(|| Error::Failed("the data folder has a name that is no text".into()))?;
    source.execute("VACUUM INTO ?1", [target]).map_err(unusable)?;
    drop(source);
    check_form(to)
}

/// The modules of the virtual tables of a file.
fn virtual_modules(source: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut ask =
        source.prepare("SELECT sql FROM sqlite_schema WHERE type = 'table' AND rootpage = 0 AND sql IS NOT NULL")?;
    let texts = ask.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(texts.iter().map(|sql| module_of(sql)).collect())
}

/// The module in `CREATE VIRTUAL TABLE name USING module(…)`; the whole text where it is not found, so that it is refused.
fn module_of(sql: &str) -> String {
    let rest = sql.to_ascii_lowercase();
    let after = rest.split_once(" using ").map_or(rest.as_str(), |(_, after)| after);
    after
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .find(|word| !word.is_empty())
        .unwrap_or_default()
        .to_owned()
}

/// Whether a converted file has pages as the store takes them.
fn check_form(file: &Path) -> Result<()> {
    let doing = |error: io::Error| failed("read", file, &error);
    let mut header = [0; 24];
    let mut opened = fs::File::open(file).map_err(doing)?;
    opened.read_exact(&mut header).map_err(doing)?;
    let size = opened.metadata().map_err(doing)?.len();
    if header[16..18] != (PAGE as u16).to_be_bytes() || usize::from(header[20]) != RESERVED {
        return Err(Error::Failed("the file could not be converted; this is a fault of Hob".into()));
    }
    if size > DATABASE_BYTES {
        let mb = size.div_ceil(1 << 20);
        return Err(Error::Sql(format!(
            "the content takes {mb} MB, and a database 100 MB at most: remove something first"
        )));
    }
    Ok(())
}

/// Calls `each` with the pages of a converted file, some at a time.
pub(crate) fn pieces(file: &Path, pages: usize) -> Result<impl Iterator<Item = Result<Vec<u8>>>> {
    let opened = fs::File::open(file).map_err(|e| failed("read", file, &e))?;
    let (mut opened, shown) = (opened, file.to_path_buf());
    Ok(std::iter::from_fn(move || {
        let mut piece = Vec::with_capacity(pages * PAGE);
        match Read::by_ref(&mut opened).take((pages * PAGE) as u64).read_to_end(&mut piece) {
            Ok(0) => None,
            Ok(_) => Some(Ok(piece)),
            Err(e) => Some(Err(failed("read", &shown, &e))),
        }
    }))
}
