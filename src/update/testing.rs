//! Test helpers: bundles from bytes, files in memory, and repeatable noise. Used by the tests of the program, too.

use crate::{
    builder::{self, Contents},
    bundle,
    digest::Digest,
    disk::DiskFile,
    error::{Error, Result},
    index::{Chunk, Index, Stored},
    keys::SigningKey,
    manifest::{Image, IndexSeal, Manifest, Payload, target},
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

/// An app bundle whose only chunk is given as it is stored, although it may be none: correctly signed, and not to be had from the
/// builder.
///
/// # Errors
/// `BadRequest`.
pub fn forged(about: Contents, stored: &[u8], length: u32, key: SigningKey) -> Result<Vec<u8>> {
    let chunk = Chunk { hash: [1; 32], length, stored: Some(Stored::of(stored)) };
    let index = Index { chunks: vec![chunk], bases: vec![] };
    let index = index.to_bytes().map_err(|why| Error::BadRequest(why.to_string()))?;
    let mut manifest = Manifest {
        kind: Manifest::TYPE.into(),
        version: about.version,
        serial: about.serial,
        payload: Payload::App,
        targets: about.targets,
        boards: about.boards,
        data_schema: about.data_schema,
        data_schema_min: about.data_schema_min,
        minimum_version: None,
        notes: about.notes,
        next_key: None,
        images: vec![Image { name: "hob".into(), length: length.into(), sha256: Digest([7; 32]) }],
        index: IndexSeal { length: index.len() as u64, sha256: Digest::sha256(&index) },
        bundle_length: 0,
    };
    let mut all = builder::head(&mut manifest, &index, stored.len() as u64, &[key])?;
    all.extend(stored);
    Ok(all)
}

/// A zip bomb: 30 KB that would become 30 MB, and declare 5,000 bytes.
///
/// # Errors
/// As [`forged`].
pub fn bomb(about: Contents, key: SigningKey) -> Result<Vec<u8>> {
    let stored = zstd::bulk::compress(&vec![0; 30 << 20], 1)?;
    forged(about, &stored, 5_000, key)
}

/// A head with parts of three heads.
///
/// # Errors
/// `Refused` when one of them is none.
pub fn mixed(manifest: &[u8], signatures: &[u8], index: &[u8]) -> Result<Vec<u8>> {
    let (manifest, signatures, index) = (bundle::parts(manifest)?, bundle::parts(signatures)?, bundle::parts(index)?);
    let parts = bundle::Parts { signatures: signatures.signatures, index: index.index, ..manifest };
    Ok(bundle::assemble(&parts))
}

/// A head without its signatures.
///
/// # Errors
/// `Refused` when it is none.
pub fn unsigned(head: &[u8]) -> Result<Vec<u8>> {
    Ok(bundle::assemble(&bundle::Parts { signatures: b"", ..bundle::parts(head)? }))
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
