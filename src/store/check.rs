//! Looks for damage: verifies the pages of a stopped Hob's file, the checksum of every record, and every index row against
//! its record.
//!
//! Index rows are derived from records, so wrong ones are rebuilt. A damaged record is reported and left unchanged: a backup
//! may have it.

use crate::{
    Error, FILE, Result, Store, Tx,
    checksum::Verdict,
    codec, files,
    kind::Kind,
    log::{self, Log, LogContent},
    medium::{Files, Medium},
    meta::{META, META_FORMAT, Meta, read_meta},
    open::CACHE_BYTES,
    open_plain,
    overlay::Overlay,
    pages,
    quietly::quietly,
    record::Level,
    rows, secrets,
    snapshot::Snapshot,
    staged_backend::StagedBackend,
    word_rows,
};
use redb::Database;
use std::{
    collections::BTreeMap,
    fs,
    ops::Bound,
    os::unix::fs::FileExt,
    path::Path,
    sync::{Arc, PoisonError},
};
use tool::{Id, UserId};

/// How many damaged records are listed; more are only counted.
const NAMED: usize = 1000;

/// A stored record that is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The table.
    pub table: String,
    /// The key; empty when the whole table is meant.
    pub key: Vec<u8>,
    /// The owner of the record, where that can be read.
    pub owner: Option<UserId>,
    /// The problem, as a sentence.
    pub problem: String,
}

impl Damage {
    fn new(table: &str, key: &[u8], bytes: &[u8], problem: impl Into<String>) -> Self {
        let owner = codec::owner(bytes);
        Self { table: table.into(), key: key.to_vec(), owner, problem: problem.into() }
    }

    /// The id of the record.
    pub fn id(&self) -> Option<Id> {
        self.key.last_chunk::<16>().map(|id| Id::from_bytes(*id))
    }
}

/// The findings of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Check {
    /// Tables that were read.
    pub tables: usize,
    /// Records that were read.
    pub records: u64,
    /// Records from before there were checksums; each gets one when it is changed.
    pub without_checksum: u64,
    /// Index rows that were wrong and have been rebuilt.
    pub repaired: u64,
    /// How many records are damaged.
    pub damages: u64,
    /// The first of them.
    pub damaged: Vec<Damage>,
}

impl Check {
    pub(crate) fn add(&mut self, damage: Damage) {
        self.damages += 1;
        if self.damaged.len() < NAMED {
            self.damaged.push(damage);
        }
    }
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// The rows of the index that a record has.
fn rows_of(kind: &Kind, key: &[u8], bytes: &[u8]) -> Result<Rows> {
    let found = rows::entry(kind, key, bytes)?;
    let scope = &key[..key.len() - 16];
    Ok(rows::index_rows(kind, scope, found.id, found.audience, &(kind.keys)(&*found.value)))
}

pub(crate) type Kinds = BTreeMap<String, &'static Kind>;

/// An index row that is wrong: the record to index again, and a row that may not belong to it.
pub(crate) struct IndexRepair {
    table: String,
    record: Vec<u8>,
    stray: Option<Vec<u8>>,
}

/// The findings in a part of a table.
#[derive(Default)]
pub(crate) struct Scanned {
    pub check: Check,
    pub repairs: Vec<IndexRepair>,
    pub rows: u64,
    pub bytes: usize,
    /// The last key that was read, when there is more.
    pub last: Option<Vec<u8>>,
}

impl Scanned {
    /// A table that cannot be read at all.
    pub fn broken(table: &str, why: String) -> Self {
        let mut found = Self::default();
        found.check.add(Damage::new(table, &[], &[], why));
        found
    }
}

/// Checks the rows of a table after `after`, up to a number of rows or bytes.
pub(crate) fn scan_rows(
    tx: &Snapshot,
    name: &str,
    kinds: &Kinds,
    after: Option<&[u8]>,
    (rows, bytes): (u64, usize),
) -> Result<Scanned> {
    let mut found = Scanned::default();
    let Some(table) = tx.open(name)? else { return Ok(found) };
    let from = after.map_or(Bound::Unbounded, Bound::Excluded);
    for row in table.range((from, Bound::Unbounded))? {
        let (key, value) = row?;
        let (key, value) = (&key[..], &value[..]);
        found.rows += 1;
        found.bytes += key.len() + value.len();
        // A row that iteration finds must be found by its key too: else the pages above it are wrong.
        if table.get(key)?.is_none_or(|same| *same != *value) {
            found.check.add(Damage::new(name, key, value, "it is there, but not found by its key"));
        } else {
            check_record(tx, name, kinds, (key, value), &mut found)?;
        }
        if found.rows >= rows || found.bytes >= bytes {
            found.last = Some(key.to_vec());
            break;
        }
    }
    // Rows that iteration misses leave no other trace.
    if after.is_none() && found.last.is_none() {
        let counted = table.len()?;
        if counted != found.rows {
            let problem = format!("it should have {counted} rows, and {} are found", found.rows);
            found.check.add(Damage::new(name, &[], &[], problem));
        }
    }
    Ok(found)
}

fn check_record(
    tx: &Snapshot,
    name: &str,
    kinds: &Kinds,
    (key, value): (&[u8], &[u8]),
    found: &mut Scanned,
) -> Result<()> {
    if name.ends_with(word_rows::TABLE_END) {
        if !word_rows::is_sound(key, value) {
            found.repairs.push(IndexRepair { table: name.to_owned(), record: key.to_vec(), stray: None });
        }
        return Ok(());
    }
    if name == pages::TABLE {
        if !pages::is_sound(key, value) {
            found.check.add(Damage::new(name, key, &[], "a page of an SQL database does not match its checksum"));
        }
        return Ok(());
    }
    if let Some(of) = name.strip_suffix(".index") {
        return check_index_row(tx, of, kinds, (key, value), found);
    }
    if [META, secrets::TABLE, files::TABLE, files::RELEASED].contains(&name) {
        return Ok(());
    }
    found.check.records += 1;
    match codec::verify(name, key, value) {
        Verdict::Sound => {}
        Verdict::Unsummed => found.check.without_checksum += 1,
        Verdict::Damaged => {
            found.check.add(Damage::new(name, key, value, "its checksum does not match"));
            return Ok(());
        }
    }
    let Some(kind) = kinds.get(name) else { return Ok(()) };
    let Ok(rows) = rows_of(kind, key, value) else {
        found.check.add(Damage::new(name, key, value, "it cannot be read"));
        return Ok(());
    };
    let index = tx.open(&rows::index_table(name))?;
    for (row, holds) in rows {
        let there = index.as_ref().map(|index| index.get(&row)).transpose()?.flatten();
        if there.is_none_or(|there| *there != holds[..]) {
            found.repairs.push(IndexRepair { table: name.to_owned(), record: key.to_vec(), stray: None });
            break;
        }
    }
    Ok(())
}

/// Checks that an index row belongs to its record. A row whose record is gone is no damage: code that did not know the index
/// may have deleted the record.
fn check_index_row(
    tx: &Snapshot,
    of: &str,
    kinds: &Kinds,
    (key, value): (&[u8], &[u8]),
    found: &mut Scanned,
) -> Result<()> {
    let (Some(kind), Some(records)) = (kinds.get(of), tx.open(of)?) else { return Ok(()) };
    let Some(record) = record_of(kind, key, value) else { return Ok(()) };
    let Some(bytes) = records.get(&record)? else { return Ok(()) };
    if rows_of(kind, &record, &bytes).is_ok_and(|rows| is_stray(key, &rows)) {
        found.repairs.push(IndexRepair { table: of.to_owned(), record, stray: Some(key.to_vec()) });
    }
    Ok(())
}

/// Whether a row does not belong to its record, which has another row in that index. Where it has none, code of another version
/// may need the row.
fn is_stray(key: &[u8], rows: &[(Vec<u8>, Vec<u8>)]) -> bool {
    let index = &key[..key.len().min(scope_length(key) + 1)];
    !rows.iter().any(|(row, _)| row == key) && rows.iter().any(|(row, _)| row.starts_with(index))
}

/// The length of the scope at the start of a key.
fn scope_length(key: &[u8]) -> usize {
    match key.first() {
        Some(0) | None => 1,
        Some(1 | 2) => 17,
        Some(_) => 33,
    }
}

/// The key of the record that an index row points to.
fn record_of(kind: &Kind, key: &[u8], value: &[u8]) -> Option<Vec<u8>> {
    let id = key.last_chunk::<16>()?;
    if kind.level == Level::User && key.first() == Some(&0) {
        return Some([value, id].concat());
    }
    Some([key.get(..scope_length(key))?, id].concat())
}

/// Rebuilds the index rows of a record; returns whether anything was wrong.
fn repair(tx: &Tx, kinds: &Kinds, wanted: &IndexRepair) -> Result<bool> {
    if wanted.table.ends_with(word_rows::TABLE_END) {
        return word_rows::distrust(tx, &wanted.table);
    }
    let (Some(kind), Some(bytes)) = (kinds.get(&wanted.table), tx.get_raw(&wanted.table, &wanted.record)?) else {
        return Ok(false);
    };
    let Ok(rows) = rows_of(kind, &wanted.record, &bytes) else { return Ok(false) };
    let (index, mut done) = (rows::index_table(&wanted.table), false);
    if let Some(stray) = &wanted.stray
        && is_stray(stray, &rows)
    {
        done |= tx.remove_raw(&index, stray)?;
    }
    for (row, holds) in &rows {
        if tx.get_raw(&index, row)?.as_ref() != Some(holds) {
            tx.put_raw(&index, row, holds)?;
            done = true;
        }
    }
    Ok(done)
}

/// Reads all tables of a snapshot.
fn check_tables(tx: &Snapshot, kinds: &Kinds) -> Result<(Check, Vec<IndexRepair>)> {
    let (mut check, mut repairs) = (Check::default(), vec![]);
    for name in &tx.tables()? {
        let read = || scan_rows(tx, name, kinds, None, (u64::MAX, usize::MAX));
        // An inconsistent table breaks assertions inside redb; the other tables are still read.
        let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read));
        match read.unwrap_or_else(|_| Err(Error::Damaged("its pages contradict each other".into()))) {
            Ok(found) => {
                check.tables += 1;
                check.records += found.check.records;
                check.without_checksum += found.check.without_checksum;
                found.check.damaged.into_iter().for_each(|damage| check.add(damage));
                repairs.extend(found.repairs);
            }
            Err(Error::Damaged(why)) => check.add(Damage::new(name, &[], &[], why)),
            Err(other) => return Err(other),
        }
    }
    if tx.get(META, META_FORMAT)?.is_none() {
        check.add(Damage::new(META, &[], &[], "it does not say what it is"));
    }
    Ok((check, repairs))
}

impl Store {
    pub(crate) fn kinds(&self) -> Kinds {
        self.0.kinds.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads every record and rebuilds wrong index rows. Damaged records are logged and left unchanged.
    ///
    /// # Errors
    /// As every read.
    pub async fn check(&self) -> Result<Check> {
        let this = self.clone();
        let read = move || {
            let (mut check, repairs) = this.0.engine.read(|tx| check_tables(tx, &this.kinds()))?;
            for name in this.unreadable_secrets()? {
                check.add(Damage::new(secrets::TABLE, name.as_bytes(), &[], "it cannot be opened: enter it again"));
            }
            Ok::<_, Error>((check, repairs))
        };
        let done = tokio::task::spawn_blocking(read).await;
        let (mut check, repairs) = done.unwrap_or_else(|e| Err(Error::Io(format!("the check broke off: {e}"))))?;
        check.repaired = self.repair(repairs).await?;
        log_findings(&check.damaged, check.repaired);
        Ok(check)
    }

    pub(crate) async fn repair(&self, repairs: Vec<IndexRepair>) -> Result<u64> {
        if repairs.is_empty() {
            return Ok(0);
        }
        let kinds = self.kinds();
        self.write(move |tx| repairs.iter().try_fold(0, |done, one| Ok(done + u64::from(repair(tx, &kinds, one)?))))
            .await
    }

    fn unreadable_secrets(&self) -> Result<Vec<String>> {
        self.0.engine.read(|tx| {
            let Some(table) = tx.open(secrets::TABLE)? else { return Ok(vec![]) };
            let mut odd = vec![];
            for row in table.iter()? {
                let (name, sealed) = row?;
                let name = String::from_utf8_lossy(&name).into_owned();
                if self.0.key.open(&name, &sealed).is_err() {
                    odd.push(name);
                }
            }
            Ok(odd)
        })
    }
}

/// Logs the findings.
pub(crate) fn log_findings(damaged: &[Damage], repaired: u64) {
    for damage in damaged {
        let id = damage.id().map(|id| id.to_string()).unwrap_or_default();
        tracing::error!(table = damage.table, id, "stored data is damaged: {}", damage.problem);
    }
    if repaired > 0 {
        tracing::warn!(repaired, "entries of indexes were wrong and have been made again");
    }
}

/// The findings in the data file of a stopped Hob.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileCheck {
    /// Errors of its pages and of its log; empty when all are intact.
    pub pages: Vec<String>,
    /// The records, as far as the pages let them be read.
    pub records: Check,
    /// The commits that are in the log alone; none after a clean stop.
    pub log: LogContent,
}

/// Verifies every page and every record of the data file in `dir` with its log; `None` when there is no file. Nothing is
/// changed.
///
/// # Errors
/// `InUse` while a daemon runs; `Io` when the file cannot be read.
pub fn check_file(dir: &Path) -> Result<Option<FileCheck>> {
    let path = dir.join(FILE);
    let shown = path.display().to_string();
    // A missing or odd file is reported when the store is opened.
    let Ok(header) = open_plain(&path) else { return Ok(None) };
    if !header.metadata().is_ok_and(|about| about.len() > 0) {
        return Ok(None);
    }
    let medium = Files::to_check(path);
    // Opened for writing to lock it, where that can be; redb's repairs stay in memory.
    let open = || match medium.data() {
        Err(redb::DatabaseError::DatabaseAlreadyOpen) => Err(Error::InUse(shown.clone())),
        Err(e) => Err(Error::Io(format!("could not open {shown}: {e}"))),
        Ok(file) => StagedBackend::new(file, Default::default()).map_err(|e| Error::io(format!("read {shown}"), &e)),
    };
    let mut found = FileCheck::default();
    if points_to_older_state(&header) {
        found.pages.push("its header points at a state that is not the newest".into());
    }
    let careful = open()?;
    let mut changes = Overlay::default();
    let read = quietly(|| {
        let mut db = match Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(careful) {
            Ok(db) => db,
            Err(redb::DatabaseError::DatabaseAlreadyOpen) => return Err(Error::InUse(shown.clone())),
            Err(e) => {
                found.pages.push(e.to_string());
                return Ok(());
            }
        };
        match quietly(|| db.check_integrity()) {
            Some(Ok(true)) => {}
            Some(Ok(false)) => found.pages.push("pages do not match their checksums".into()),
            Some(Err(e)) => found.pages.push(e.to_string()),
            None => found.pages.push("its pages contradict each other".into()),
        }
        match read_meta(&db) {
            Ok(meta) if meta.format.is_some() && meta.check().is_ok() => match read_log(&medium, &meta) {
                Ok((in_log, content)) => (changes, found.log) = (in_log, content),
                Err(e) => found.pages.push(e.to_string()),
            },
            _ => found.pages.push("what it says about itself does not match".into()),
        }
        Ok(())
    });
    match read {
        Some(read) => read?,
        None => found.pages.push("its pages contradict each other".into()),
    }
    let records = quietly(|| {
        let opened = Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(open()?);
        let db = opened.map_err(|e| Error::Io(e.to_string()))?;
        let stored = Arc::new(redb::ReadableDatabase::begin_read(&db)?);
        check_tables(&Snapshot::new(stored, changes), &Kinds::new()).map(|(check, _)| check)
    });
    if let Some(Ok(records)) = records {
        found.records = records;
    }
    Ok(Some(found))
}

/// The changes that a data file lacks, from its log.
fn read_log(medium: &Files, meta: &Meta) -> Result<(Overlay, LogContent)> {
    let Some(mark) = meta.log else { return Ok(Default::default()) };
    let disk = medium.log().map_err(|e| Error::io("read the log", &e))?.ok_or_else(log::missing)?;
    let (_, changes, content) = Log::replay(disk, &mark, Default::default())?;
    Ok((changes, content))
}

/// Whether a file that was closed in order names the older of its two states as its own: a flipped bit of its header does
/// that, and takes back the last write. (redb's file format: flags at 9, two states of 128 bytes from 64 on, each with its
/// number at 104.)
fn points_to_older_state(file: &fs::File) -> bool {
    let mut header = [0; 320];
    if file.read_exact_at(&mut header, 0).is_err() {
        return false;
    }
    let flags = header[9];
    let number = |state: usize| {
        let at = 64 + 128 * state + 104;
        header[at..at + 8].try_into().map_or(0, u64::from_le_bytes)
    };
    let own = usize::from(flags & 1);
    flags & 2 == 0 && number(1 - own) > number(own)
}

/// For each record, whether a backup has an intact one under that key.
///
/// # Errors
/// `Damaged` when `file` cannot be used, `Io` when it cannot be read.
pub fn backup_has(file: &Path, wanted: &[(String, Vec<u8>)]) -> Result<Vec<bool>> {
    let shown = file.display();
    open_plain(file).map_err(|e| Error::io(format!("read {shown}"), &e))?;
    let read = quietly(|| {
        let opened = Database::builder().set_cache_size(CACHE_BYTES).open_read_only(file);
        let db = opened.map_err(|e| Error::Damaged(format!("{shown} is not a usable backup ({e})")))?;
        let tx = Snapshot::stored(&db)?;
        let sound = |(table, key): &(String, Vec<u8>)| -> Result<bool> {
            let bytes = tx.get(table, key)?;
            Ok(bytes.is_some_and(|bytes| match table.as_str() {
                pages::TABLE => pages::is_sound(key, &bytes),
                _ => codec::verify(table, key, &bytes) != Verdict::Damaged,
            }))
        };
        wanted.iter().map(sound).collect::<Result<Vec<bool>>>()
    });
    read.unwrap_or_else(|| {
        Err(Error::Damaged(format!("{shown} is not a usable backup: its pages contradict each other")))
    })
}
