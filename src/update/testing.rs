//! Test helpers: bundles from bytes, files in memory, and repeatable noise. Used by the tests of the program, too.

use crate::{
    builder::{self, Contents},
    disk::DiskFile,
    error::{Error, Result},
    keys::SigningKey,
    manifest::{Payload, target},
};
use semver::Version;
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// A file in memory.
pub struct Memory(Mutex<Vec<u8>>);

impl Memory {
    /// A file with this content.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Mutex::new(bytes.to_vec()))
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DiskFile for Memory {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.bytes();
        let rest = bytes.get(offset as usize..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn write_at(&self, offset: u64, new: &[u8]) -> io::Result<()> {
        let mut bytes = self.bytes();
        let end = offset as usize + new.len();
        let length = bytes.len().max(end);
        bytes.resize(length, 0);
        bytes[offset as usize..end].copy_from_slice(new);
        Ok(())
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.bytes().resize(length as usize, 0);
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.bytes().len() as u64)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes that do not compress, the same for the same seed.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// A folder that is removed when dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    /// A new one.
    ///
    /// # Errors
    /// `Disk`.
    pub fn new(name: &str) -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("hob-{name}-{}-{count}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    /// Writes a file into it.
    ///
    /// # Errors
    /// `Disk`.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.0.join(name);
        fs::write(&path, bytes)?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Contents for this machine, of version 1.0.SERIAL, without images.
pub fn contents(payload: Payload, serial: u64) -> Contents {
    Contents {
        version: Version::new(1, 0, serial),
        serial,
        payload,
        targets: vec![target()],
        boards: vec![],
        data_schema: crate::DATA_SCHEMA,
        data_schema_min: 0,
        minimum_version: None,
        notes: format!("Notes of {serial}."),
        next_key: None,
        images: vec![],
        bases: vec![],
        level: 1,
    }
}

/// A bundle of images given as bytes, with deltas to earlier ones.
///
/// # Errors
/// Those of [`builder::build`].
pub fn bundle(mut about: Contents, images: &[&[u8]], bases: &[&[u8]], keys: &[SigningKey]) -> Result<Vec<u8>> {
    let folder = Folder::new("bundle")?;
    for (name, bytes) in about.payload.images().iter().zip(images) {
        about.images.push(folder.write(name, bytes)?);
    }
    for (name, bytes) in about.payload.images().iter().zip(bases) {
        about.bases.push(((*name).to_owned(), folder.write(&format!("{name}.old"), bytes)?));
    }
    let out = folder.0.join("out.hobupdate");
    builder::build(&about, keys, &out)?;
    Ok(fs::read(out)?)
}

/// An app bundle of version 1.0.SERIAL for this machine.
///
/// # Errors
/// Those of [`builder::build`].
pub fn app_bundle(serial: u64, hob: &[u8], key: SigningKey) -> Result<Vec<u8>> {
    bundle(contents(Payload::App, serial), &[hob], &[], &[key])
}

/// The head of a bundle file in memory.
///
/// # Errors
/// `Refused` when it is none.
pub fn head_of(bundle: &[u8]) -> Result<&[u8]> {
    let length = crate::bundle::head_length(bundle)?;
    bundle.get(..length).ok_or_else(|| Error::refused("the bundle is cut off"))
}

/// A new signing key without a password, and its public half.
///
/// # Errors
/// `Disk`.
pub fn key() -> Result<(SigningKey, String)> {
    let keys = crate::keys::generate(crate::keys::Protection::None)?;
    Ok((SigningKey::read(&keys.secret, None)?, keys.public))
}

/// The secret of a key pair in two values: a [`SigningKey`] cannot be cloned.
///
/// # Errors
/// `Disk`.
pub fn key_twice() -> Result<(SigningKey, SigningKey, String)> {
    let keys = crate::keys::generate(crate::keys::Protection::None)?;
    Ok((SigningKey::read(&keys.secret, None)?, SigningKey::read(&keys.secret, None)?, keys.public))
}

/// Reads a file of a folder.
///
/// # Errors
/// `Disk`.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    Ok(fs::read(path)?)
}
