//! New content before it gets its name: a file in the folder of held files, on the same disk.

use crate::{
    Located, Shared, Workspaces,
    path::HELD,
    places::{HELD_FOLDER, PlaceRef, Source},
    resolve::{again, error, missing, readable},
    tree,
};
use rustix::{
    fs::{AtFlags, Mode, OFlags, openat, unlinkat},
    io::Errno,
};
use std::{ffi::CString, fs::File, io::Write, os::fd::OwnedFd, path::Path, sync::Arc};
use tool::{Cx, Error, Id, Result};

/// Content that is being received for a file. Dropped without [`Workspaces::write_staged`], nothing is left of it.
pub struct Staged {
    pub(crate) id: Id,
    pub(crate) place: Arc<PlaceRef>,
    folder: OwnedFd,
    file: Option<File>,
    size: u64,
    shared: Arc<Shared>,
    /// Whether it has its name, so that it stays.
    placed: bool,
}

/// The name of something held.
pub(crate) fn held_name(id: Id) -> CString {
    CString::new(id.to_string()).unwrap_or_default()
}

impl Shared {
    /// The folder of what is held for a place, on the same disk; made where it is missing.
    pub(crate) fn held_folder(&self, place: &PlaceRef) -> Result<OwnedFd> {
        self.held_folder_if(place, true)?.ok_or_else(|| missing(HELD))
    }

    /// The same; `None` where it is missing and not to be made.
    pub(crate) fn held_folder_if(&self, place: &PlaceRef, make: bool) -> Result<Option<OwnedFd>> {
        let shown = &place.id;
        match &place.source {
            Source::Own(_) => {
                let folder = Path::new(HELD_FOLDER).join(place.key.replace('/', "-"));
                self.own_folder(&folder).map(Some).map_err(|e| error(e, shown))
            }
            Source::Host(_) => {
                let root = self.root(place)?;
                let mut at = root.fd;
                // Each device has its own: a stick goes from one to another.
                for name in [HELD.to_owned(), self.store.device_id().to_string()] {
                    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
                    at = match openat(&at, &name, flags, Mode::empty()) {
                        Err(Errno::NOENT) if !make => return Ok(None),
                        Err(Errno::NOENT) => {
                            match rustix::fs::mkdirat(&at, &name, Mode::RWXU) {
                                Ok(()) | Err(Errno::EXIST) => {}
                                Err(e) => return Err(error(e, shown)),
                            }
                            openat(&at, &name, flags, Mode::empty()).map_err(|e| error(e, shown))?
                        }
                        opened => opened.map_err(|e| error(e, shown))?,
                    };
                }
                Ok(Some(at))
            }
        }
    }

    /// Begins new content for a place. Blocks on the disk.
    pub(crate) fn stage(self: &Arc<Self>, place: &Arc<PlaceRef>, mode: Option<u32>) -> Result<Staged> {
        let (folder, id) = (self.held_folder(place)?, Id::new());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&folder, held_name(id).as_c_str(), flags, Mode::from_raw_mode(mode.unwrap_or(0o644)));
        let file: File = file.map_err(|e| error(e, &place.id))?.into();
        Ok(Staged { id, place: place.clone(), folder, file: Some(file), size: 0, shared: self.clone(), placed: false })
    }

    /// Begins a copy of a tree for a place: the name is free. Blocks on the disk.
    pub(crate) fn stage_tree(self: &Arc<Self>, place: &Arc<PlaceRef>) -> Result<Staged> {
        let (folder, id) = (self.held_folder(place)?, Id::new());
        Ok(Staged { id, place: place.clone(), folder, file: None, size: 0, shared: self.clone(), placed: false })
    }
}

impl Workspaces {
    /// Begins new content for a file of a place that the caller may change.
    ///
    /// # Errors
    /// `Denied` where the place takes no changes; `Unavailable` where it cannot be reached.
    pub async fn stage(&self, cx: &Cx, located: &Located) -> Result<Staged> {
        crate::access::require_writable(cx, located)?;
        let (shared, place) = (self.0.clone(), located.place.clone());
        let staged = tokio::task::spawn_blocking(move || shared.stage(&place, None)).await;
        staged.unwrap_or_else(|e| Err(Error::failed(format!("the disk could not be used: {e}"))))
    }
}

impl Staged {
    /// Adds bytes. Blocks on the disk.
    ///
    /// # Errors
    /// `Unavailable` where the quota or the disk is full.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.take(bytes.len() as u64)?;
        let Some(file) = &mut self.file else { return Err(Error::failed("the new content was closed already")) };
        file.write_all(bytes).map_err(|e| error(Errno::from_io_error(&e).unwrap_or(Errno::IO), &self.place.id))?;
        Ok(())
    }

    /// Takes room for so many bytes: others that stage at the same time have that much less.
    fn take(&mut self, bytes: u64) -> Result<()> {
        let room = self.shared.room(&self.place)?;
        if !self.shared.usage.stage(&self.place.key, bytes, room) {
            return Err(self.shared.full(&self.place));
        }
        self.size += bytes;
        Ok(())
    }

    /// Refuses more bytes than fit, before they are sent. Blocks on the disk.
    ///
    /// # Errors
    /// `Unavailable` where the quota is smaller.
    pub fn check_room(&self, bytes: u64) -> Result<()> {
        if self.room()? < bytes {
            return Err(self.shared.full(&self.place));
        }
        match rustix::fs::fstatvfs(&self.folder) {
            Ok(disk) if disk.f_blocks > 0 && disk.f_bavail.saturating_mul(disk.f_frsize) < bytes => {
                Err(error(Errno::NOSPC, &self.place.id))
            }
            _ => Ok(()),
        }
    }

    /// Adds bytes without blocking the caller's thread.
    ///
    /// # Errors
    /// As [`Staged::write`].
    pub async fn receive(mut self, bytes: bytes::Bytes) -> Result<Self> {
        let written = tokio::task::spawn_blocking(move || self.write(&bytes).map(|()| self)).await;
        written.unwrap_or_else(|e| Err(Error::failed(format!("the disk could not be used: {e}"))))
    }

    /// The bytes so far.
    pub fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn set_size(&mut self, size: u64) -> Result<()> {
        self.take(size)
    }

    /// How many more bytes fit now.
    pub(crate) fn room(&self) -> Result<u64> {
        let room = self.shared.room(&self.place)?;
        Ok(room.map_or(u64::MAX, |room| room.saturating_sub(self.shared.usage.staged(&self.place.key))))
    }

    pub(crate) fn folder(&self) -> &OwnedFd {
        &self.folder
    }

    /// Puts it on the disk, with these permissions where they are given.
    pub(crate) fn finish(&mut self, mode: Option<u32>) -> Result<()> {
        let shown = &self.place.id;
        if let Some(file) = self.file.take() {
            if let Some(mode) = mode {
                // Some file systems have no permissions.
                let _ = rustix::fs::fchmod(&file, Mode::from_raw_mode(mode & 0o777));
            }
            file.sync_all().map_err(|e| error(Errno::from_io_error(&e).unwrap_or(Errno::IO), shown))?;
        }
        sync_folder(&self.folder).map_err(|e| error(e, shown))
    }

    /// It has its name.
    pub(crate) fn place(mut self) {
        self.placed = true;
        self.shared.usage.add(&self.place.key, i64::try_from(self.size).unwrap_or(i64::MAX));
    }
}

/// Puts the names of a folder on the disk.
pub(crate) fn sync_folder(folder: &OwnedFd) -> Result<(), Errno> {
    match rustix::fs::fsync(readable(folder)?) {
        // Not every file system can.
        Err(Errno::INVAL | Errno::NOTSUP | Errno::ROFS) => Ok(()),
        done => done,
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        self.shared.usage.unstage(&self.place.key, self.size);
        if self.placed {
            return;
        }
        let name = held_name(self.id);
        match unlinkat(&self.folder, name.as_c_str(), AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) => {}
            _ => return,
        }
        let Ok(folder) = again(&self.folder) else { return };
        // A tree may take its time; a start removes what this leaves.
        std::thread::spawn(move || tree::remove(&folder, &name));
    }
}
