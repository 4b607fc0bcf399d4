//! Backups under a passphrase: a backup as without one, with all secrets, sealed under the key of the device that made it; the
//! key; and all of that encrypted ([`age`]).
//!
//! A device that restores one seals the secrets again under its own key. Between the two steps they are in a table of their own
//! ([`INCOMING`]), so that a restore can be continued after a power cut.

use crate::{
    Error, Result, age,
    error::unusable,
    open::CACHE_BYTES,
    open_plain,
    secrets::{self, DeviceKey},
    snapshot::{Snapshot, Table},
};
use redb::Database;
use std::{
    fs,
    io::{BufReader, BufWriter, Cursor, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// The table of secrets that came with a backup, sealed under the key of this device.
const INCOMING: &str = "backup-secrets";
/// The last bytes of the content: the key of the device that made it, a mark, and the version of what is before it.
const MARK: &[u8; 7] = b"HOB-KEY";
const VERSION: u8 = 1;
const KEY: usize = 32;
const TRAILER: usize = KEY + MARK.len() + 1;
/// Names of secrets that are the device's own: where it has them, a backup does not replace them.
const OWN: [&str; 2] = ["device-certificate", "browser-key"];

/// Encrypts the finished backup `plain` into the new file `to`, with the key of its secrets.
pub(crate) fn seal(plain: &Path, to: &Path, passphrase: &str, key: &DeviceKey) -> Result<()> {
    let from = fs::File::open(plain).map_err(|e| Error::io(format!("read {}", plain.display()), &e))?;
    let trailer = Cursor::new([&key.bytes()[..], MARK, &[VERSION]].concat());
    let failed = |e: std::io::Error| Error::io(format!("write {}", to.display()), &e);
    let mut out = BufWriter::new(new_file(to).map_err(failed)?);
    age::encrypt(passphrase, &mut BufReader::new(from).chain(trailer), &mut out)?;
    out.flush().map_err(failed)
}

/// Copies a backup into the new file `to`, and decrypts it on the way where it is encrypted. Returns the key of its secrets.
///
/// # Errors
/// `NoPassphrase`, `WrongPassphrase`; `Damaged` and `Newer` where the file cannot be used.
pub(crate) fn open(file: &Path, to: &Path, passphrase: Option<&str>) -> Result<Option<DeviceKey>> {
    let mut from = BufReader::new(open_plain(file).map_err(|e| Error::io(format!("read {}", file.display()), &e))?);
    let failed = |e: std::io::Error| Error::io(format!("copy {} to {}", file.display(), to.display()), &e);
    // A downloaded backup may be readable by everybody; the data must not be.
    let mut copy = new_file(to).map_err(failed)?;
    let start = std::io::BufRead::fill_buf(&mut from).map_err(failed)?;
    if age::is_encrypted(start) {
        let passphrase = passphrase.filter(|given| !given.is_empty()).ok_or(Error::NoPassphrase)?;
        let mut out = BufWriter::new(&mut copy);
        age::decrypt(passphrase, &mut from, &mut out)?;
        out.flush().map_err(failed)?;
    } else {
        std::io::copy(&mut from, &mut copy).map_err(failed)?;
    }
    cut_key(&mut copy, file)
}

/// Whether a file is encrypted; `false` for one that cannot be read.
#[must_use]
pub fn is_encrypted(file: &Path) -> bool {
    let mut start = [0; 32];
    open_plain(file).and_then(|mut file| file.read(&mut start)).is_ok_and(|read| age::is_encrypted(&start[..read]))
}

/// Takes the key off the end of a decrypted backup, which is a data file then.
fn cut_key(copy: &mut fs::File, file: &Path) -> Result<Option<DeviceKey>> {
    let failed = |e: std::io::Error| Error::io(format!("read {}", file.display()), &e);
    let size = copy.metadata().map_err(failed)?.len();
    let Some(end) = size.checked_sub(TRAILER as u64) else { return Ok(None) };
    let mut trailer = [0; TRAILER];
    copy.seek(SeekFrom::Start(end)).and_then(|_| copy.read_exact(&mut trailer)).map_err(failed)?;
    let (Some(key), Some((mark, [version]))) =
        (trailer.first_chunk::<KEY>(), trailer[KEY..].split_first_chunk::<{ MARK.len() }>())
    else {
        return Ok(None);
    };
    if mark != MARK {
        return Ok(None);
    }
    if *version > VERSION {
        let (found, ours) = ((*version).into(), VERSION.into());
        return Err(Error::Newer { file: file.display().to_string(), found, ours });
    }
    copy.set_len(end).map_err(failed)?;
    Ok(Some(DeviceKey::from_bytes(*key)))
}

fn new_file(path: &Path) -> std::io::Result<fs::File> {
    fs::OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// Seals the secrets of a restored copy again, under the key of this device.
pub(crate) fn seal_anew(db: &Database, theirs: &DeviceKey, ours: &DeviceKey) -> Result<()> {
    let tx = db.begin_write()?;
    {
        let from = Snapshot::stored(db)?;
        let mut incoming = tx.open_table(Table::new(INCOMING))?;
        if let Some(table) = from.open(secrets::TABLE)? {
            for row in table.iter()? {
                let (name, sealed) = row?;
                let text = std::str::from_utf8(&name).map_err(|_| unusable("a secret without a name"))?;
                match theirs.open(text, &sealed) {
                    Ok(secret) => drop(incoming.insert(&*name, &ours.seal(text, &secret)?[..])?),
                    // It could not be read on that device either.
                    Err(error) => tracing::warn!(%error, "a secret of the backup cannot be read"),
                }
            }
        }
    }
    tx.delete_table(Table::new(secrets::TABLE))?;
    Ok(tx.commit()?)
}

/// Whether secrets came with the backup.
pub(crate) fn has_incoming(db: &Database) -> Result<bool> {
    Ok(Snapshot::stored(db)?.tables()?.iter().any(|name| name == INCOMING))
}

/// Makes the secrets that came with the backup those of the device; `own` finds those it had.
pub(crate) fn take_incoming(db: &Database, own: impl Fn(&str) -> Result<Option<Vec<u8>>>) -> Result<()> {
    let tx = db.begin_write()?;
    {
        let from = Snapshot::stored(db)?;
        let mut secrets = tx.open_table(Table::new(secrets::TABLE))?;
        if let Some(table) = from.open(INCOMING)? {
            for row in table.iter()? {
                let (name, sealed) = row?;
                secrets.insert(&*name, &*sealed)?;
            }
        }
        for name in OWN {
            if let Some(sealed) = own(name)? {
                secrets.insert(name.as_bytes(), &sealed[..])?;
            }
        }
    }
    tx.delete_table(Table::new(INCOMING))?;
    Ok(tx.commit()?)
}

/// Makes an uploaded backup ready to be restored at the next start: decrypted, with its secrets sealed under the key of this
/// device, in the new file `to`.
pub(crate) fn prepare(file: &Path, to: &Path, passphrase: Option<&str>, ours: &DeviceKey) -> Result<()> {
    let key = open(file, to, passphrase)?;
    crate::verify_backup(to)?;
    let Some(key) = key else { return Ok(()) };
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    let db = builder.open(to).map_err(|e| unusable(&e.to_string()))?;
    seal_anew(&db, &key, ours)
}
