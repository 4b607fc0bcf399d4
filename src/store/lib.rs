//! Layer 1: all of Hob's data, in one redb file with a log in front of it.
//!
//! A [`Collection`] holds records of one type. A key begins with its [`tool::Scope`]; a record is a small header
//! (version, owner, audience, label, source) and a postcard body. All writes go through one OS thread that
//! batches them into durable commits ([`Store::write`]); reads are short snapshots on the caller's thread.
//!
//! **Commits**: a batch is appended to `hob.wal` and synced once; until the log is nearly full, its changes are in memory over
//! the data file. A checkpoint then writes them all into redb in one commit. A clean stop leaves the data file complete.
//!
//! **Evolution**: new fields of a record go last, and their all-zero encoding is their default. Old bytes are
//! then read padded with zeros, and old code keeps the tail of new bytes as it is, so a rollback needs no migration.
//! A struct inside a record never changes (write it as JSON text where it may have to), an enum is stored as a number
//! ([`Coded`]), and a new index needs a pass over the old records.

mod age;
mod backup;
mod changes;
mod check;
mod checksum;
mod codec;
mod collection;
mod compact;
mod compared;
mod effects;
mod engine;
mod entry;
mod error;
mod files;
mod folder;
mod journal;
mod kind;
mod log;
mod log_record;
mod medium;
mod meta;
mod new_workspace;
mod open;
mod overlay;
mod pages;
mod part;
mod patrol;
mod quietly;
mod record;
mod restore;
mod rows;
mod sealed_backup;
mod secrets;
mod set_aside;
mod snapshot;
mod staged_backend;
mod tree;
mod tx;
mod verify;
mod walk;
mod wipe;
mod word_rows;
mod words;
mod writer;

#[cfg(test)]
mod sim_disk;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_cuts;
#[cfg(test)]
mod tests_damage;
#[cfg(test)]
mod tests_disk;
#[cfg(test)]
mod tests_log;
#[cfg(test)]
mod tests_sealed;

pub use backup::{BackedUp, BackupOptions};
pub use check::{Check, Damage, FileCheck, backup_has, check_file};
pub use collection::Collection;
pub use compact::{Compacted, Compaction, Space};
pub use compared::{Compared, Until};
pub use effects::{Effect, EffectSource, effect_key, inherit_effect, sync_within, with_effect, with_soon};
pub use entry::{Entry, Listing, Stamp};
pub use error::{Error, Result, rejected};
pub use folder::{open_plain, regain};
pub use journal::{BinItem, Change, ChangeSource, Did, Part, PutBack, as_undo_of, with_change, without_change};
pub use log::LogContent;
pub use medium::is_read_only;
pub use pages::{PAGE_BYTES, Pages};
pub use patrol::Patrolled;
pub use quietly::is_quiet;
pub use record::{Audience, Coded, Key, Level, Record, coded};
pub use restore::{restore, restore_with};
pub use sealed_backup::is_encrypted;
pub use set_aside::PreviousData;
pub use tree::TreeSize;
pub use tx::Tx;
pub use verify::verify_backup;
pub use walk::{Visit, Walk, order};
pub use wipe::{FolderEntry, wipe, wipeable};
pub use words::{Searching, Words};

use secrets::DeviceKey;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tool::Id;

/// The folder of uploaded files in the data folder; each is named after the id of its record. A file never changes
/// under its id.
pub const FILES: &str = "uploads";
/// The folder of the workspace's files in the data folder.
pub const WORKSPACE: &str = "workspace";
/// The name of the file in the data folder.
pub const FILE: &str = "hob.redb";
/// The name of the memory index's file in the data folder: a cache, which backups leave out and a restore removes.
pub const MEMORY_INDEX: &str = "memory.index";
/// The newest version of the file format. Raised only when old code could not read new files; see the evolution rule. A file
/// that was closed in order has version 1, which Hob from before there was a log reads.
pub const FORMAT: u32 = meta::WITH_LOG;

/// A handle to the open store; cheap to clone. The file is unlocked when the last handle is gone.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

/// Usage of the store.
#[derive(Debug, Clone, Default)]
pub struct StoreStats {
    /// Bytes of the data file on disk.
    pub size: u64,
    /// The part of the data that is in the log alone.
    pub log: LogContent,
    /// Durable commits since the start.
    pub commits: u64,
    /// Bytes written to the disk since the start.
    pub bytes_written: u64,
    /// How many records each collection holds.
    pub records: BTreeMap<String, u64>,
}

struct Inner {
    engine: Arc<engine::Engine>,
    writer: writer::Writer,
    key: DeviceKey,
    /// Tables that backups leave out.
    staying: Mutex<BTreeSet<String>>,
    /// The types of the collections that were asked for.
    kinds: Mutex<check::Kinds>,
    /// The position of the slow check, once it has begun.
    patrol: Mutex<Option<patrol::Cursor>>,
    words: words::WordTasks,
    progress: compact::Progress,
    /// The size of the workspace, and when it was looked at.
    workspace: Mutex<Option<(Instant, TreeSize)>>,
}

/// How long the size of the workspace counts as recent.
const RECENT: Duration = Duration::from_secs(300);

impl Store {
    /// Opens the store in the data folder `dir`, creating both if they are missing (mode 0700).
    ///
    /// # Errors
    /// `InUse` when another process holds it, `Newer` and `Damaged` when the file cannot be read, or is missing in a
    /// used folder; nothing is changed then. `Io` when the folder is open to other users and cannot be closed to
    /// them.
    pub fn open(dir: &Path) -> Result<Self> {
        folder::prepare(dir)?;
        let path = dir.join(folder::KEY);
        let key = DeviceKey::load(&path)?;
        folder::begin(dir)?;
        let engine = engine::Engine::open(dir.join(FILE))?;
        folder::remove_half_made(dir);
        // Before anybody opens a file of the workspace.
        if let Err(error) = engine.read(|tx| new_workspace::put_workspace_in_place(dir, tx)) {
            tracing::error!("{error}");
        }
        restore::remove_cut_off(dir);
        // After the data file: a key without one is damage.
        let key = key.map_or_else(|| DeviceKey::make(&path), Ok)?;
        Self::start(engine, key)
    }

    /// The same store in memory, for tests.
    ///
    /// # Errors
    /// `Io` when the system has no randomness to give.
    pub fn in_memory() -> Result<Self> {
        Self::start(engine::Engine::in_memory()?, DeviceKey::random()?)
    }

    fn start(engine: engine::Engine, key: DeviceKey) -> Result<Self> {
        let engine = Arc::new(engine);
        let writer = writer::Writer::start(engine.clone())?;
        let staying = Mutex::new([secrets::TABLE.to_owned()].into());
        Ok(Self(Arc::new(Inner {
            engine,
            writer,
            key,
            staying,
            kinds: Mutex::default(),
            patrol: Mutex::default(),
            words: words::WordTasks::default(),
            progress: Default::default(),
            workspace: Mutex::default(),
        })))
    }

    /// The collection of one record type.
    pub fn collection<T: Record>(&self) -> Collection<T> {
        if T::STAYS {
            let mut staying = self.0.staying.lock().unwrap_or_else(PoisonError::into_inner);
            staying.extend([T::NAME.to_owned(), rows::index_table(T::NAME)]);
        }
        if T::WORDS > 0 {
            // A restored Hob rebuilds it: backups are smaller, and without words of deleted records.
            let mut staying = self.0.staying.lock().unwrap_or_else(PoisonError::into_inner);
            staying.insert(word_rows::index_table(T::NAME));
        }
        let mut kinds = self.0.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.entry(T::NAME.to_owned()).or_insert_with(kind::Kind::of::<T>);
        drop(kinds);
        Collection::new(self.clone())
    }

    /// The files in [`FILES`] that may be removed: they were released and have no record.
    ///
    /// # Errors
    /// As every read.
    pub fn released_files(&self) -> Result<Vec<Id>> {
        self.0.engine.read(files::released)
    }

    /// Runs `job` within the next durable commit and returns once it is on disk. Jobs of one batch share a commit; a
    /// job that fails is undone alone. It must only touch the transaction: the commit may fail after it. Under
    /// [`with_effect`] the commit also holds the mark of the call.
    ///
    /// # Errors
    /// The error of the job, or why the commit failed (`Full`, `Io`).
    pub async fn write<T, F>(&self, job: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&Tx) -> Result<T> + Send + 'static,
    {
        self.0.writer.write(job).await
    }

    /// Like [`Store::write`] for data that may be lost in a power cut (usage counts): waits up to 5 s for a commit to
    /// share, and returns at once.
    pub fn write_later<F>(&self, job: F)
    where
        F: FnMut(&Tx) -> Result<()> + Send + 'static,
    {
        self.0.writer.write_later(job);
    }

    /// Like [`Store::write`], but returns once reads see the data, which are on disk `within` a time: with the next
    /// durable write, [`Store::sync`], or a commit of their own. A power cut before that undoes it, with everything
    /// written after it: what is on disk is always a beginning of what was written. For a step that is made again
    /// then, and that nobody has seen.
    ///
    /// # Errors
    /// As [`Store::write`]; a failure of the later commit is reported by the write or sync that causes it.
    pub async fn write_soon<T, F>(&self, within: Duration, job: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&Tx) -> Result<T> + Send + 'static,
    {
        self.0.writer.write_soon(within, job).await
    }

    /// Waits until everything written so far is on disk; makes no commit when it is already. Writes that wait for a
    /// shared commit ([`Store::write_later`]) only come along; [`Store::flush`] commits those too.
    ///
    /// # Errors
    /// Why the commit failed (`Full`, `Io`).
    pub async fn sync(&self) -> Result<()> {
        self.0.writer.sync().await
    }

    /// The id of this device, made with the file.
    pub fn device_id(&self) -> Id {
        self.0.engine.device_id()
    }

    /// An id that changes at an opening where the file was last written by a Hob without lineages, or restored from a
    /// backup. Data that every Hob since maintains beside its source is trusted only under the lineage it was made in.
    pub fn lineage(&self) -> Id {
        self.0.engine.lineage()
    }

    /// Seals a secret under the device key: it is stored encrypted, bound to its name.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub async fn seal(&self, name: &str, secret: &[u8]) -> Result<()> {
        let (name, sealed) = (name.to_owned(), self.0.key.seal(name, secret)?);
        self.write(move |tx| tx.put_raw(secrets::TABLE, name.as_bytes(), &sealed)).await
    }

    /// Within a write: seals a secret in the same commit; `None` deletes it.
    ///
    /// # Errors
    /// `Io` when the system has no randomness to give, or the secret is too long.
    pub fn seal_in(&self, tx: &Tx, name: &str, secret: Option<&[u8]>) -> Result<()> {
        match secret {
            Some(secret) => tx.put_raw(secrets::TABLE, name.as_bytes(), &self.0.key.seal(name, secret)?),
            None => tx.remove_raw(secrets::TABLE, name.as_bytes()).map(drop),
        }
    }

    /// Opens a sealed secret; `None` when there is none of that name.
    ///
    /// # Errors
    /// `Damaged` when it was sealed under another device's key or was tampered with.
    pub fn unseal(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let sealed = self.0.engine.read(|tx| tx.get(secrets::TABLE, name.as_bytes()))?;
        sealed.map(|sealed| self.0.key.open(name, &sealed)).transpose()
    }

    /// Like [`Store::unseal`], for a secret that can be obtained again: one sealed with another device's key (the key
    /// was lost, or the card was copied) counts as none.
    ///
    /// # Errors
    /// As every read.
    pub fn unseal_if_ours(&self, name: &str) -> Result<Option<Vec<u8>>> {
        match self.unseal(name) {
            Err(Error::Damaged(why)) => {
                tracing::warn!("the secret `{name}` is made anew: {why}");
                Ok(None)
            }
            other => other,
        }
    }

    /// Deletes a sealed secret.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub async fn forget_secret(&self, name: &str) -> Result<()> {
        let name = name.to_owned();
        self.write(move |tx| tx.remove_raw(secrets::TABLE, name.as_bytes()).map(drop)).await
    }

    /// As [`Store::backup_with`], without a passphrase and with the files of the workspace; returns its size in bytes.
    ///
    /// # Errors
    /// As there.
    pub async fn backup(&self, file: PathBuf) -> Result<u64> {
        self.backup_with(file, BackupOptions::default()).await.map(|made| made.size)
    }

    /// Writes a consistent copy to `file` while reads and writes continue. Includes the files in [`FILES`], none of
    /// which may be deleted meanwhile, and those in [`WORKSPACE`] as they are when they are read. Leaves out secrets, which are sealed to
    /// this device, unless it is encrypted, and data that stays on this device ([`Record::STAYS`]). Another device that restores an
    /// encrypted one needs nothing else.
    ///
    /// # Errors
    /// `Io` when `file` exists already, cannot be written or has not enough room; `Full` when the disk is full. No
    /// partial file is left behind.
    pub async fn backup_with(&self, file: PathBuf, options: BackupOptions) -> Result<BackedUp> {
        let this = self.clone();
        let tables = self.0.staying.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let without = backup::Without { tables, workspace: options.without_workspace };
        let work = move || match &options.passphrase {
            Some(passphrase) => backup::sealed(&this.0.engine, &file, &without, (passphrase, &this.0.key)),
            None => backup::backup(&this.0.engine, &file, &without),
        };
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|e| Err(Error::Io(format!("the backup stopped: {e}"))))
    }

    /// The files of the workspace, which backups have, and what they leave out there. Blocks; walks through all folders.
    ///
    /// # Errors
    /// `Io` when the folder cannot be read.
    pub fn workspace_size(&self) -> Result<TreeSize> {
        let Some(folder) = self.folder() else { return Ok(TreeSize::default()) };
        let size = tree::tree_size(&folder.join(WORKSPACE))?;
        *self.0.workspace.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), size));
        Ok(size)
    }

    /// The same as of the last minutes, for those who ask again and again.
    ///
    /// # Errors
    /// As [`Store::workspace_size`].
    pub fn recent_workspace_size(&self) -> Result<TreeSize> {
        let known = *self.0.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        match known.filter(|(at, _)| at.elapsed() < RECENT) {
            Some((_, size)) => Ok(size),
            None => self.workspace_size(),
        }
    }

    /// Bytes of the uploaded files. Blocks.
    ///
    /// # Errors
    /// `Io` when the folder cannot be read.
    pub fn uploads_size(&self) -> Result<u64> {
        self.folder().map_or(Ok(0), |folder| files::size(&folder.join(FILES)))
    }
    /// Checks an uploaded backup, and writes it to the new file `to` so that [`restore`] takes it without a passphrase.
    /// Blocks; `to` must be deleted after an error.
    ///
    /// # Errors
    /// `NoPassphrase`, `WrongPassphrase`, `Newer`, `Damaged`, `Full` or `Io`, as [`restore`].
    pub fn prepare_restore(&self, file: &Path, to: &Path, passphrase: Option<&str>) -> Result<()> {
        sealed_backup::prepare(file, to, passphrase, &self.0.key)
    }
    /// Commits the writes that wait for a shared commit, and returns once they are on disk.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub async fn flush(&self) -> Result<()> {
        self.0.writer.commit(|_| Ok(())).await
    }

    /// Like [`Store::flush`], and makes the data file complete without its log, before the process ends. Without it nothing is
    /// lost, but only this version of Hob or a later one can open the file.
    ///
    /// # Errors
    /// As [`Store::write`]; nothing is lost then.
    pub async fn close(&self) -> Result<()> {
        self.0.writer.complete().await
    }

    /// Refuses every write from now on, because the next start replaces the data with a backup.
    pub fn seal_for_restore(&self) {
        self.0.writer.seal();
    }

    /// Whether a backup will replace the data, so that writes are refused.
    pub fn is_restoring(&self) -> bool {
        self.0.writer.is_sealed()
    }

    /// The data folder; `None` in memory.
    pub fn folder(&self) -> Option<&Path> {
        self.0.engine.folder()
    }

    /// Usage since the start, and the number of records; reads no record.
    ///
    /// # Errors
    /// `Io` when the file cannot be read.
    pub fn stats(&self) -> Result<StoreStats> {
        let (commits, bytes_written) = self.0.engine.traffic();
        let records = self.0.engine.read(|tx| {
            let mut all = BTreeMap::new();
            for name in tx.tables()? {
                let inner = name == meta::META || name == secrets::TABLE || name.ends_with(".index");
                if !inner && let Some(table) = tx.open(&name)? {
                    all.insert(name, table.len()?);
                }
            }
            Ok(all)
        })?;
        Ok(StoreStats { size: self.size(), log: self.0.engine.log_content(), commits, bytes_written, records })
    }

    /// How often what readers see has changed since the start. A write is counted once every reader sees it.
    pub fn version(&self) -> u64 {
        self.0.engine.version()
    }

    /// Bytes of the file on disk; 0 in memory.
    pub fn size(&self) -> u64 {
        self.0.engine.size()
    }

    /// Bytes the data file takes on the disk, without the parts that were never written; 0 in memory.
    pub fn size_on_disk(&self) -> u64 {
        self.0.engine.path().and_then(|path| compact::on_disk(path).ok()).unwrap_or_default()
    }
}
