//! Uploaded files: stored in a folder next to the data file, and in pieces in a backup.

use crate::{
    Error, FILES, Result, Tx, folder::make_private_dir, open_plain, rows, snapshot::Snapshot, snapshot::Table,
};
use redb::Database;
use std::{
    collections::HashSet,
    fs,
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};
use tool::Id;

/// The table of files in a backup, keyed by id and piece number. A data file has no such table.
pub(crate) const TABLE: &str = "backup-files";
/// The size of a piece in bytes: with its key it just fills a page.
const PIECE: usize = (64 << 10) - 64;
/// The most pieces in one commit of a backup: it bounds the memory.
const PIECES: usize = 64;

/// Files without an owner: their ids are here until they are deleted or get a record. Only such files are ever removed. Copies
/// leave the table out.
pub(crate) const RELEASED: &str = "uploads.released";

impl Tx<'_> {
    /// Marks the file of this id as without an owner: it may be removed after this write.
    ///
    /// # Errors
    /// As every write.
    pub fn release_file(&self, id: Id) -> Result<()> {
        self.put_raw(RELEASED, id.as_bytes(), &[])
    }
    /// Removes the mark: the file of this id has a record after this write, or is deleted.
    ///
    /// # Errors
    /// As every write.
    pub fn settle_file(&self, id: Id) -> Result<()> {
        self.remove_raw(RELEASED, id.as_bytes()).map(drop)
    }
}

/// The ids that end the keys of a table.
fn ids(tx: &Snapshot, table: &str) -> Result<HashSet<Id>> {
    let Some(table) = tx.open(table)? else { return Ok(HashSet::new()) };
    table.iter()?.map(|row| rows::id_of(&row?.0)).collect()
}

/// The files that were released and have no record, readable or not.
pub(crate) fn released(tx: &Snapshot) -> Result<Vec<Id>> {
    let released = ids(tx, RELEASED)?;
    if released.is_empty() {
        return Ok(vec![]);
    }
    let known = ids(tx, FILES)?;
    Ok(released.into_iter().filter(|id| !known.contains(id)).collect())
}

/// Releases the files of a folder that this data does not refer to; they have been copied already.
pub(crate) fn release_unknown(folder: &Path, db: &Database) -> Result<()> {
    let known = ids(&Snapshot::stored(db)?, FILES)?;
    let tx = db.begin_write()?;
    {
        let mut table = tx.open_table(Table::new(RELEASED))?;
        for (id, ..) in list(folder)?.iter().filter(|(id, ..)| !known.contains(id)) {
            table.insert(&id.as_bytes()[..], &[][..])?;
        }
    }
    Ok(tx.commit()?)
}

/// The files of a folder with their sizes in bytes; none where the folder does not exist. Links are ignored.
fn list(folder: &Path) -> Result<Vec<(Id, PathBuf, u64)>> {
    let read = || -> io::Result<Vec<(Id, PathBuf, u64)>> {
        let mut found = vec![];
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            // Others, such as incomplete uploads, do not count.
            if entry.file_type()?.is_file()
                && let Some(id) = name.to_str().and_then(|n| n.parse::<Id>().ok().filter(|id| id.to_string() == n))
            {
                found.push((id, entry.path(), entry.metadata()?.len()));
            }
        }
        Ok(found)
    };
    match read() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(vec![]),
        other => other.map_err(|e| Error::io(format!("look into {}", folder.display()), &e)),
    }
}

/// The size of all files of a folder in bytes.
pub(crate) fn size(folder: &Path) -> Result<u64> {
    Ok(list(folder)?.iter().map(|(_, _, size)| size).sum())
}

/// Copies the files that the data refers to into a backup.
pub(crate) fn pack(from: &Snapshot, folder: &Path, db: &Database) -> Result<()> {
    let (mut files, known) = (list(folder)?, ids(from, FILES)?);
    files.retain(|(id, ..)| known.contains(id));
    if files.is_empty() {
        return Ok(());
    }
    files.sort_by_key(|(id, ..)| *id);
    let (mut tx, mut held) = (db.begin_write()?, 0);
    for (id, path, _) in files {
        let failed = |e| Error::io(format!("read {}", path.display()), &e);
        let mut file = open_plain(&path).map_err(failed)?;
        for n in 0u32.. {
            let mut piece = Vec::with_capacity(PIECE);
            Read::by_ref(&mut file).take(PIECE as u64).read_to_end(&mut piece).map_err(failed)?;
            if piece.is_empty() && n > 0 {
                break;
            }
            tx.open_table(Table::new(TABLE))?.insert(&key(id, n)[..], &piece[..])?;
            held += 1;
            if held == PIECES {
                tx.commit()?;
                (tx, held) = (db.begin_write()?, 0);
            }
        }
    }
    Ok(tx.commit()?)
}

/// Moves the files of a backup into a new folder; returns whether there were any. Their space in the data is not free before it is
/// compacted.
pub(crate) fn unpack(db: &Database, into: &Path) -> Result<bool> {
    if !unpack_all(db, into)? {
        return Ok(false);
    }
    let tx = db.begin_write()?;
    tx.delete_table(Table::new(TABLE))?;
    tx.commit()?;
    Ok(true)
}

/// Unpacks the files; returns whether there were any.
fn unpack_all(db: &Database, into: &Path) -> Result<bool> {
    let tx = Snapshot::stored(db)?;
    let Some(table) = tx.open(TABLE)? else { return Ok(false) };
    let failed = |e| Error::io(format!("write {}", into.display()), &e);
    make_private_dir(into)?;
    let mut writing: Option<(Id, u32, fs::File)> = None;
    for row in table.iter()? {
        let (key, piece) = row?;
        let (id, n) = place(&key).ok_or_else(incomplete)?;
        let mut file = match writing.take() {
            Some((of, last, file)) if of == id && Some(n) == last.checked_add(1) => file,
            before if n == 0 => {
                before.map_or(Ok(()), |(_, _, file)| file.sync_all()).map_err(failed)?;
                let mut options = fs::OpenOptions::new();
                options.write(true).create_new(true).mode(0o600).open(into.join(id.to_string())).map_err(failed)?
            }
            _ => return Err(incomplete()),
        };
        file.write_all(&piece).map_err(failed)?;
        writing = Some((id, n, file));
    }
    writing.map_or(Ok(()), |(_, _, file)| file.sync_all()).and_then(|()| sync(into)).map_err(failed)?;
    Ok(true)
}

/// Copies the files of a folder, as links where the disk has them: restored data releases the files that it does not refer to.
pub(crate) fn set_aside(folder: &Path, before: &Path) -> Result<()> {
    let files = list(folder)?;
    if files.is_empty() {
        return Ok(());
    }
    make_private_dir(before)?;
    let keep = || -> io::Result<()> {
        for (id, path, _) in files {
            let kept = before.join(id.to_string());
            fs::hard_link(&path, &kept).or_else(|_| fs::copy(&path, &kept).map(drop))?;
        }
        sync(before)
    };
    keep().map_err(|e| Error::io(format!("set the files aside in {}", before.display()), &e))
}

/// Moves files that came out of a backup into the folder. They have no owner until data refers to them.
pub(crate) fn add(from: &Path, folder: &Path) -> Result<()> {
    let files = list(from)?;
    if files.is_empty() {
        return Ok(());
    }
    make_private_dir(folder)?;
    let add = || -> io::Result<()> {
        for (id, path, _) in files {
            fs::rename(path, folder.join(id.to_string()))?;
        }
        sync(folder)
    };
    add().map_err(|e| Error::io(format!("put the files into {}", folder.display()), &e))
}

fn sync(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

fn key(id: Id, n: u32) -> [u8; 20] {
    let mut key = [0; 20];
    key[..16].copy_from_slice(id.as_bytes());
    key[16..].copy_from_slice(&n.to_be_bytes());
    key
}

pub(crate) fn place(key: &[u8]) -> Option<(Id, u32)> {
    let (id, n) = key.split_first_chunk::<16>()?;
    Some((Id::from_bytes(*id), u32::from_be_bytes(n.try_into().ok()?)))
}

fn incomplete() -> Error {
    Error::Damaged("a file in the backup is not whole: nothing was changed".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_out_as_they_went_in_and_leave_nothing_behind() {
        let dir = std::env::temp_dir().join(format!("hob-files-{}", Id::new()));
        let (from, to) = (dir.join("from"), dir.join("to"));
        fs::create_dir_all(&from).unwrap();
        let mut files = vec![];
        // None, one, a whole piece and its neighbours, and more pieces than a commit holds.
        for size in [0, 1, PIECE - 1, PIECE, PIECE + 1, PIECE * (PIECES + 1)] {
            let (id, bytes) = (Id::new(), (0..size).map(|n| (n * 31 % 251) as u8).collect::<Vec<_>>());
            fs::write(from.join(id.to_string()), &bytes).unwrap();
            files.push((id, bytes));
        }
        fs::write(from.join(format!("{}.half", Id::new())), "half").unwrap();
        let mut db = Database::create(dir.join("db")).unwrap();
        let source = Database::create(dir.join("source")).unwrap();
        let tx = source.begin_write().unwrap();
        for (id, _) in &files {
            let key = [&[0], &id.as_bytes()[..]].concat();
            tx.open_table(Table::new(FILES)).unwrap().insert(&key[..], &[][..]).unwrap();
        }
        tx.commit().unwrap();
        let known = Snapshot::stored(&source).unwrap();
        // Without a record, or a link: not in a backup.
        fs::write(from.join(Id::new().to_string()), "unknown").unwrap();
        pack(&known, &from, &db).unwrap();
        assert!(unpack(&db, &to).unwrap());
        db.compact().unwrap();
        assert_eq!(fs::read_dir(&to).unwrap().count(), files.len());
        for (id, bytes) in &files {
            assert!(fs::read(to.join(id.to_string())).unwrap() == *bytes, "{} bytes", bytes.len());
        }
        assert!(fs::metadata(dir.join("db")).unwrap().len() < size(&from).unwrap() / 2, "their room is given back");
        let empty = dir.join("empty");
        assert!(!unpack(&db, &empty).unwrap());
        assert!(!empty.exists(), "they are in it no more");

        // A missing piece is not mistaken for the end, or for another file's.
        for missing in [0, 1, 2] {
            let db = Database::create(dir.join(format!("db{missing}"))).unwrap();
            pack(&known, &from, &db).unwrap();
            let tx = db.begin_write().unwrap();
            tx.open_table(Table::new(TABLE)).unwrap().remove(&key(files[5].0, missing)[..]).unwrap();
            tx.commit().unwrap();
            let told = unpack(&db, &dir.join(format!("to{missing}"))).unwrap_err();
            assert!(matches!(&told, Error::Damaged(text) if text.contains("not whole")), "{told}");
        }
        fs::remove_dir_all(dir).unwrap();
    }
}
