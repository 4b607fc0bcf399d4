//! Uploads: files from people and models, typed by their content.
//!
//! The metadata of a file is a record of its owner; the bytes are a file on disk named by the id. The bytes are
//! written before the record and removed after it, so no record points to a missing file. The store marks a file as
//! released before it is written and when its record is deleted. The next start removes released files that a power
//! cut left behind, and no others. An upload aborted by its sender leaves nothing behind.

mod kind;

pub use kind::media_type;

use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};
use store::{BackedUp, BackupOptions, Collection, Level, Listing, Record, Stamp, Store};
use tool::{
    Cx, Error, Id, Result, Scope,
    prelude::{JsonSchema, schemars},
};

/// The maximum size of a file, in bytes.
pub const LARGEST: usize = 20 << 20;
/// The quota of one person, in bytes: the data shares a small card with everything else.
const QUOTA: u64 = 256 << 20;
/// The suffix of a file while it is being written.
const PARTIAL: &str = ".half";
/// The maximum length of a name, in characters.
const NAME: usize = 120;

/// The metadata of a file. New fields go last.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Stored {
    name: String,
    media_type: String,
    size: u64,
}

impl Record for Stored {
    const NAME: &'static str = "uploads";
    const WORD: &'static str = "file";
    const LEVEL: Level = Level::User;
}

/// A stored file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Upload {
    /// Its id.
    pub id: Id,
    /// Its display name; never empty.
    pub name: String,
    /// Its media type by content, such as `image/png`.
    pub media_type: String,
    /// Its size in bytes.
    pub size: u64,
    /// Creation time in milliseconds since 1970.
    pub created_at: u64,
}

impl From<store::Entry<Stored>> for Upload {
    fn from(entry: store::Entry<Stored>) -> Self {
        let Stored { name, media_type, size } = entry.value;
        Upload { id: entry.id, name, media_type, size, created_at: entry.id.millis() }
    }
}

/// All files; cheap to clone.
#[derive(Clone)]
pub struct Uploads {
    records: Collection<Stored>,
    folder: Arc<Path>,
    /// Held while a file is added, so that the quota is exact.
    adding: Arc<tokio::sync::Mutex<()>>,
    /// Shared by deletions; a backup holds it exclusively.
    copying: Arc<tokio::sync::RwLock<()>>,
}

impl Uploads {
    /// Open the files in `folder`, which is created with the first file, and their metadata in `store`.
    pub fn new(store: &Store, folder: PathBuf) -> Self {
        Self { records: store.collection(), folder: folder.into(), adding: Arc::default(), copying: Arc::default() }
    }

    /// Store a file. `declared` is the sender's media type; it is used for text formats only.
    ///
    /// # Errors
    /// `BadArgs` when the file is empty or larger than [`LARGEST`], `Unavailable` when the quota or the disk is full.
    pub async fn put(&self, cx: &Cx, name: &str, declared: &str, bytes: Vec<u8>) -> Result<Upload> {
        if bytes.is_empty() {
            return Err(Error::bad_args("the file is empty: send its bytes as the body"));
        }
        if bytes.len() > LARGEST {
            let text =
                format!("the file has {} bytes, the maximum is {} MB: send a smaller one", bytes.len(), LARGEST >> 20);
            return Err(Error::bad_args(text));
        }
        let adding = self.adding.clone().lock_owned().await;
        let kept: u64 =
            self.records.list_in(Scope::User(cx.user()), &Listing::default())?.iter().map(|e| e.value.size).sum();
        if kept + bytes.len() as u64 > QUOTA {
            return Err(Error::unavailable("your files fill the quota of 256 MB: delete some of them"));
        }
        let media_type = media_type(&bytes, declared, name);
        let stored = Stored { name: plain_name(name, &media_type), media_type, size: bytes.len() as u64 };
        let (this, stamp) = (self.clone(), self.records.stamp(cx, "upload"));
        // Finish even if the sender disconnects: a file without a record would never count against the quota.
        let keeping = tokio::spawn(async move {
            let _adding = adding;
            this.write_file(stamp, stored, bytes).await
        });
        keeping.await.unwrap_or_else(|e| Err(Error::failed(format!("the file was not stored: {e}"))))
    }

    async fn write_file(&self, stamp: Stamp, stored: Stored, bytes: Vec<u8>) -> Result<Upload> {
        let (id, folder) = (Id::new(), self.folder.clone());
        let store = self.records.store();
        store.write(move |tx| tx.release_file(id)).await?;
        let written = tokio::task::spawn_blocking(move || write(&folder, id, &bytes)).await;
        let written = written.map_err(|e| Error::failed(format!("the file was not stored: {e}")));
        let kept = match written.and_then(|written| written.map_err(write_error)) {
            Ok(()) => {
                let records = self.records.clone();
                let keep = move |tx: &store::Tx| {
                    tx.settle_file(id)?;
                    records.put(tx, id, &stamp, &stored)
                };
                store.write(keep).await.map(Upload::from).map_err(Error::from)
            }
            Err(error) => Err(error),
        };
        if kept.is_err() {
            self.remove_released(id);
        }
        kept
    }

    /// Remove a released file. Only a plain file is removed; anything else under this name is not ours.
    fn remove_released(&self, id: Id) {
        let path = self.path(id);
        let remove = || match path.symlink_metadata() {
            Ok(about) if about.is_file() => {
                fs::remove_file(&path)?;
                fs::File::open(&self.folder)?.sync_all()
            }
            Ok(_) => {
                tracing::warn!(file = %path.display(), "not a plain file: left in place");
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        };
        match remove() {
            // Marked with the next write; until then a start tries again.
            Ok(()) => self.records.store().write_later(move |tx| tx.settle_file(id)),
            Err(error) => tracing::warn!(%error, "a deleted file could not be removed"),
        }
    }

    /// The metadata of a file of this person.
    ///
    /// # Errors
    /// `NotFound` when this person has no such file.
    pub fn get(&self, cx: &Cx, id: Id) -> Result<Upload> {
        self.records.get(cx, id)?.map(Upload::from).ok_or_else(|| missing(id))
    }

    /// Read a file of this person.
    ///
    /// # Errors
    /// `NotFound` when this person has no such file, `Failed` when it cannot be read.
    pub async fn load(&self, cx: &Cx, id: Id) -> Result<(Upload, Arc<[u8]>)> {
        let (upload, path) = (self.get(cx, id)?, self.path(id));
        let read = tokio::task::spawn_blocking(move || read(&path)).await;
        let bytes = read
            .map_err(|e| Error::failed(format!("the file could not be read: {e}")))?
            .map_err(|e| Error::failed(format!("the file `{}` could not be read: {e}", upload.name)))?;
        Ok((upload, bytes.into()))
    }

    /// Delete a file.
    ///
    /// # Errors
    /// `NotFound` when this person has no such file.
    pub async fn delete(&self, cx: &Cx, id: Id) -> Result<()> {
        let (this, cx) = (self.clone(), cx.clone());
        // Finish even if the caller disconnects, as above.
        let deleting = tokio::spawn(async move {
            let _there = this.copying.read().await;
            let (records, scope) = (this.records.clone(), Scope::User(cx.user()));
            let release = move |tx: &store::Tx| {
                let there = records.remove(tx, scope, id)?;
                if there {
                    tx.release_file(id)?;
                }
                Ok(there)
            };
            if !this.records.store().write(release).await? {
                return Err(missing(id));
            }
            this.remove_released(id);
            Ok(())
        });
        deleting.await.unwrap_or_else(|e| Err(Error::failed(format!("the file was not deleted: {e}"))))
    }

    /// Back up all data with all files: [`Store::backup_with`]. Deletions wait, so that every file in the copy's records
    /// is in the copy.
    ///
    /// # Errors
    /// As [`Store::backup_with`].
    pub async fn backup(&self, file: PathBuf, options: BackupOptions) -> store::Result<BackedUp> {
        let _copying = self.copying.write().await;
        self.records.store().backup_with(file, options).await
    }

    /// Remove partial and released files at start-up, before any upload. Files of unknown origin stay.
    pub fn tidy(&self) {
        for file in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = file.file_name();
            let half =
                name.to_str().and_then(|name| name.strip_suffix(PARTIAL)).is_some_and(|id| id.parse::<Id>().is_ok());
            if half
                && file.file_type().is_ok_and(|kind| kind.is_file())
                && let Err(error) = fs::remove_file(file.path())
            {
                tracing::warn!(%error, "a partial file could not be removed");
            }
        }
        match self.records.store().released_files() {
            Ok(released) => released.into_iter().for_each(|id| self.remove_released(id)),
            Err(error) => tracing::warn!(%error, "released files could not be listed, so all files stay"),
        }
    }

    fn path(&self, id: Id) -> PathBuf {
        self.folder.join(id.to_string())
    }
}

/// Read a plain file; links are not followed.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    match path.symlink_metadata()?.is_file() {
        true => fs::read(path),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file")),
    }
}

/// Write the bytes atomically: the file is complete or absent.
fn write(folder: &Path, id: Id, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let (path, half) = (folder.join(id.to_string()), folder.join(format!("{id}{PARTIAL}")));
    // Readable by the owner alone, like everything in the data folder.
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&half)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&half, &path))
        .and_then(|()| fs::File::open(folder)?.sync_all());
    if written.is_err() {
        let _ = fs::remove_file(&half);
    }
    written
}

fn write_error(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Error::unavailable("the disk is full: delete something and send the file again")
        }
        _ => Error::failed(format!("the file was not stored: {error}")),
    }
}

/// The last path segment of a name without characters that are not allowed.
fn plain_name(name: &str, media_type: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain: String = last.chars().filter(|c| !c.is_control()).take(NAME).collect();
    match plain.trim().trim_start_matches('.') {
        "" => media_type.split('/').next().unwrap_or("file").to_owned(),
        plain => plain.to_owned(),
    }
}

fn missing(id: Id) -> Error {
    Error::not_found(format!("there is no file {id} of yours: send it with POST /api/v1/files"))
}

#[cfg(test)]
mod tests;
