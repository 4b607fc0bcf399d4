//! Checks whether a backup can be restored, while the daemon keeps running.

use crate::{
    Error, FILES, FORMAT, Result, WORKSPACE, files, meta::read_meta, open::CACHE_BYTES, quietly::quietly,
    snapshot::Snapshot, tree,
};
use redb::Database;
use std::path::Path;

/// Reads all of a backup. It repairs a file that was not closed properly, so the file may change.
///
/// # Errors
/// `Newer` when a later Hob wrote it, `Damaged` when it is not whole or not a backup of Hob, `Io` when it cannot be read.
pub fn verify_backup(file: &Path) -> Result<()> {
    let unusable = |what: &str| Error::Damaged(format!("this is not a usable backup ({what}): nothing was changed"));
    match quietly(|| verify(file)) {
        Some(Ok(None)) => Ok(()),
        Some(Ok(Some(what))) => Err(unusable(&what)),
        Some(Err(error)) => Err(error),
        None => Err(unusable("its pages contradict each other")),
    }
}

/// Why the file is unusable, if it is.
fn verify(file: &Path) -> Result<Option<String>> {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    let mut db = match builder.open(file) {
        Ok(db) => db,
        Err(error) => return Ok(Some(error.to_string())),
    };
    match db.check_integrity() {
        Ok(true) => {}
        Ok(false) => return Ok(Some("its checksums do not match".into())),
        Err(error) => return Ok(Some(error.to_string())),
    }
    match read_meta(&db) {
        Err(error) => return Ok(Some(error.to_string())),
        Ok(meta) => match meta.format {
            None => return Ok(Some("it is not a Hob data file".into())),
            Some(found) if found > FORMAT => {
                return Err(Error::Newer { file: "the backup".into(), found, ours: FORMAT });
            }
            Some(_) if meta.check().is_err() => {
                return Ok(Some("what it says about itself does not match".into()));
            }
            Some(_) => {}
        },
    }
    if !tree::is_whole(&db)? {
        return Ok(Some(format!("a file of `{WORKSPACE}` in it is not whole")));
    }
    Ok((!has_whole_files(&db)?).then(|| format!("a file of `{FILES}` in it is not whole")))
}

/// Whether the pieces of each file are consecutive from the first one.
fn has_whole_files(db: &Database) -> Result<bool> {
    let tx = Snapshot::stored(db)?;
    let Some(table) = tx.open(files::TABLE)? else { return Ok(true) };
    let mut last = None;
    for row in table.iter()? {
        let (key, _) = row?;
        let Some((id, n)) = files::place(&key) else { return Ok(false) };
        let follows = match last {
            Some((before, at)) if before == id => Some(n) == u32::checked_add(at, 1),
            _ => n == 0,
        };
        if !follows {
            return Ok(false);
        }
        last = Some((id, n));
    }
    Ok(true)
}
