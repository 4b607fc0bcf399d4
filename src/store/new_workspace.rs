//! The files of the workspace that a restore brings: the new data names the folder that has them, and whoever opens the data next puts
//! that folder in its place, as often as it takes.

use crate::{Error, Result, WORKSPACE, meta::META, set_aside::names, snapshot::Snapshot, snapshot::Table};
use redb::Database;
use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    io::Errno,
};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use tool::Id;

/// The folder of restored files until it is complete.
pub(crate) const WORKSPACE_PART: &str = "workspace.part";
/// The row of the metadata that names the new workspace: the id of its folder, and the number of the set that the old one goes into.
const META_WORKSPACE: &[u8] = b"workspace";
/// The beginning of the name of that folder.
pub(crate) const READY: &str = "workspace.restored-";

/// The files of the workspace that a backup has.
pub(crate) struct NewWorkspace {
    pub id: Id,
    number: u32,
    /// The folder they are in until it is complete.
    pub part: PathBuf,
    /// The complete folder, which the new data may name.
    ready: PathBuf,
    /// The folder for the files that they replace.
    before: PathBuf,
}

impl NewWorkspace {
    pub fn of(dir: &Path, id: Id, number: u32) -> Self {
        let (part, ready) = (dir.join(WORKSPACE_PART), dir.join(format!("{READY}{id}")));
        Self { id, number, part, ready, before: names(dir, number).workspace }
    }

    /// Those that data names.
    pub fn named(dir: &Path, tx: &Snapshot) -> Result<Option<Self>> {
        let row = tx.get(META, META_WORKSPACE)?;
        Ok(row.and_then(|row| {
            let (id, number) = row.split_first_chunk::<16>()?;
            Some(Self::of(dir, Id::from_bytes(*id), u32::from_le_bytes(number.try_into().ok()?)))
        }))
    }

    /// Data that takes effect has them from then on.
    pub fn name_in(&self, db: &Database) -> Result<()> {
        let row = [&self.id.as_bytes()[..], &self.number.to_le_bytes()].concat();
        let tx = db.begin_write()?;
        tx.open_table(Table::new(META))?.insert(META_WORKSPACE, &row[..])?;
        Ok(tx.commit()?)
    }

    pub fn get_ready(&self, dir: &Path) -> Result<()> {
        if self.part.symlink_metadata().is_err() {
            return Ok(());
        }
        let rename = || fs::rename(&self.part, &self.ready).and_then(|()| fs::File::open(dir)?.sync_all());
        rename().map_err(|e| Error::io("get the files of the workspace ready", &e))
    }

    /// After the data that names them has taken effect; calling it again after a power cut finishes it.
    pub fn put_in_place(&self, dir: &Path) -> Result<()> {
        if self.ready.symlink_metadata().is_err() {
            return Ok(());
        }
        let place = dir.join(WORKSPACE);
        let put = || -> io::Result<()> {
            match renameat_with(CWD, &place, CWD, &self.before, RenameFlags::NOREPLACE) {
                Err(Errno::NOENT) => {}
                Err(Errno::INVAL | Errno::NOSYS) => fs::rename(&place, &self.before)?,
                renamed => renamed?,
            }
            fs::rename(&self.ready, &place)?;
            fs::File::open(dir)?.sync_all()
        };
        put().map_err(|e| {
            Error::Io(format!(
                "the restored files of the workspace could not be put in place ({e}): they are in {}, and the next start tries again",
                self.ready.display()
            ))
        })
    }

    pub fn remove(&self) {
        let _ = fs::remove_dir_all(&self.part);
        let _ = fs::remove_dir_all(&self.ready);
    }
}

/// Finishes what a power cut left of a restore: puts the files of the workspace in place that the data names, and removes those of a
/// restore that did not take effect. The caller holds the data file.
pub(crate) fn put_workspace_in_place(dir: &Path, tx: &Snapshot) -> Result<()> {
    let named = NewWorkspace::named(dir, tx)?;
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_named = named.as_ref().is_some_and(|named| named.ready == entry.path());
        if entry.file_name().to_string_lossy().starts_with(READY) && !is_named {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    named.map_or(Ok(()), |named| named.put_in_place(dir))
}
