//! Layer 2: files people send and models make, typed by their content and kept beside the data.
//!
//! What is known of a file is a record of its person; its bytes are a file of that id. The bytes are on the disk before the
//! record says so, and gone after it: nobody is told of a file that is not there. The store notes a file as released before it is
//! written and when its record is deleted; such files, when a power cut leaves them, the next start removes, and no others. A
//! sender who leaves in between breaks nothing.

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
use store::{Collection, Level, Listing, Record, Stamp, Store};
use tool::{
    Cx, Error, Id, Result, Scope,
    prelude::{JsonSchema, schemars},
};

/// The largest file, in bytes.
pub const LARGEST: usize = 20 << 20;
/// How much one person may keep, in bytes: the data shares a small card with everything else.
const ALL: u64 = 256 << 20;
/// What the name of a file ends in while it is written.
const HALF: &str = ".half";
/// The longest name, in characters.
const NAME: usize = 120;

/// What is known of a file. New fields go last.
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

/// A file that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Upload {
    /// Its id.
    pub id: Id,
    /// Its name, for people; never empty.
    pub name: String,
    /// Its type by what is in it, such as `image/png`.
    pub media_type: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it came: milliseconds since 1970.
    pub created_at: u64,
}

impl From<store::Entry<Stored>> for Upload {
    fn from(entry: store::Entry<Stored>) -> Self {
        let Stored { name, media_type, size } = entry.value;
        Upload { id: entry.id, name, media_type, size, created_at: entry.id.millis() }
    }
}

/// The files of everybody; cheap to clone.
#[derive(Clone)]
pub struct Uploads {
    records: Collection<Stored>,
    folder: Arc<Path>,
    /// One file at a time, so that what is kept is counted right.
    adding: Arc<tokio::sync::Mutex<()>>,
    /// Held by what deletes, and by a copy alone.
    copying: Arc<tokio::sync::RwLock<()>>,
}

impl Uploads {
    /// The files in `folder`, which is made when the first one comes, and what is known of them in `store`.
    pub fn new(store: &Store, folder: PathBuf) -> Self {
        Self { records: store.collection(), folder: folder.into(), adding: Arc::default(), copying: Arc::default() }
    }

    /// Keeps a file. `declared` is the type its sender gives; it counts only among texts, which look alike.
    ///
    /// # Errors
    /// `BadArgs` when it is empty or larger than [`LARGEST`], `Unavailable` when this person keeps too much or the disk is
    /// full.
    pub async fn put(&self, cx: &Cx, name: &str, declared: &str, bytes: Vec<u8>) -> Result<Upload> {
        if bytes.is_empty() {
            return Err(Error::bad_args("the file is empty: send its bytes as the body"));
        }
        if bytes.len() > LARGEST {
            let text =
                format!("the file has {} bytes, and {} MB is the most: send a smaller one", bytes.len(), LARGEST >> 20);
            return Err(Error::bad_args(text));
        }
        let adding = self.adding.clone().lock_owned().await;
        let kept: u64 =
            self.records.list_in(Scope::User(cx.user()), &Listing::default())?.iter().map(|e| e.value.size).sum();
        if kept + bytes.len() as u64 > ALL {
            return Err(Error::unavailable("your files fill their 256 MB: delete some that are not needed any more"));
        }
        let media_type = media_type(&bytes, declared, name);
        let stored = Stored { name: plain_name(name, &media_type), media_type, size: bytes.len() as u64 };
        let (this, stamp) = (self.clone(), self.records.stamp(cx, "upload"));
        // To its end also when the sender is gone: a file that nobody counts would fill the card.
        let keeping = tokio::spawn(async move {
            let _adding = adding;
            this.keep(stamp, stored, bytes).await
        });
        keeping.await.unwrap_or_else(|e| Err(Error::failed(format!("the file was not kept: {e}"))))
    }

    async fn keep(&self, stamp: Stamp, stored: Stored, bytes: Vec<u8>) -> Result<Upload> {
        let (id, folder) = (Id::new(), self.folder.clone());
        let store = self.records.store();
        store.write(move |tx| tx.release_file(id)).await?;
        let written = tokio::task::spawn_blocking(move || write(&folder, id, &bytes)).await;
        let written = written.map_err(|e| Error::failed(format!("the file was not kept: {e}")));
        let kept = match written.and_then(|written| written.map_err(not_kept)) {
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

    /// Removes a file that the store has released. Only a plain file goes; what else is there under its name is somebody's.
    fn remove_released(&self, id: Id) {
        let path = self.path(id);
        let remove = || match path.symlink_metadata() {
            Ok(about) if about.is_file() => {
                fs::remove_file(&path)?;
                fs::File::open(&self.folder)?.sync_all()
            }
            Ok(_) => {
                tracing::warn!(file = %path.display(), "what is there is not the file that was sent: it stays");
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        };
        match remove() {
            // Noted with the next write: until then it is looked for once more.
            Ok(()) => self.records.store().write_later(move |tx| tx.settle_file(id)),
            Err(error) => tracing::warn!(%error, "a deleted file is still there"),
        }
    }

    /// What is known of a file of this person.
    ///
    /// # Errors
    /// `NotFound` when it is not theirs.
    pub fn get(&self, cx: &Cx, id: Id) -> Result<Upload> {
        self.records.get(cx, id)?.map(Upload::from).ok_or_else(|| missing(id))
    }

    /// A file of this person, with its bytes.
    ///
    /// # Errors
    /// `NotFound` when it is not theirs, `Failed` when it cannot be read.
    pub async fn load(&self, cx: &Cx, id: Id) -> Result<(Upload, Arc<[u8]>)> {
        let (upload, path) = (self.get(cx, id)?, self.path(id));
        let read = tokio::task::spawn_blocking(move || read(&path)).await;
        let bytes = read
            .map_err(|e| Error::failed(format!("the file could not be read: {e}")))?
            .map_err(|e| Error::failed(format!("the file `{}` could not be read: {e}", upload.name)))?;
        Ok((upload, bytes.into()))
    }

    /// Deletes a file.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's.
    pub async fn delete(&self, cx: &Cx, id: Id) -> Result<()> {
        let (this, cx) = (self.clone(), cx.clone());
        // As above: the bytes go with the record.
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

    /// A copy of all data, with everybody's files: [`Store::backup`]. Nothing is deleted meanwhile, so that what the copy
    /// knows is in it. Answers its size in bytes.
    ///
    /// # Errors
    /// As there.
    pub async fn backup(&self, file: PathBuf) -> store::Result<u64> {
        let _copying = self.copying.write().await;
        self.records.store().backup(file).await
    }

    /// Removes what was left half written, and what the store has released; before any comes. Files of unknown origin stay.
    pub fn tidy(&self) {
        for file in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = file.file_name();
            let half =
                name.to_str().and_then(|name| name.strip_suffix(HALF)).is_some_and(|id| id.parse::<Id>().is_ok());
            if half
                && file.file_type().is_ok_and(|kind| kind.is_file())
                && let Err(error) = fs::remove_file(file.path())
            {
                tracing::warn!(%error, "half of a file is still there");
            }
        }
        match self.records.store().released_files() {
            Ok(released) => released.into_iter().for_each(|id| self.remove_released(id)),
            Err(error) => tracing::warn!(%error, "it is not known which files are not needed any more, so all stay"),
        }
    }

    fn path(&self, id: Id) -> PathBuf {
        self.folder.join(id.to_string())
    }
}

/// The bytes of a plain file; a link is not followed.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    match path.symlink_metadata()?.is_file() {
        true => fs::read(path),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not the file that was sent")),
    }
}

/// Writes the bytes so that a file of that name is whole or not there.
fn write(folder: &Path, id: Id, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let (path, half) = (folder.join(id.to_string()), folder.join(format!("{id}{HALF}")));
    // For its owner alone, as all in the data folder.
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

fn not_kept(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Error::unavailable("the disk is full: delete something and send the file again")
        }
        _ => Error::failed(format!("the file was not kept: {error}")),
    }
}

/// The last part of a name, without what does not belong into one.
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
