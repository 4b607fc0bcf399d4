//! The store's errors: what happened and what to do about it.

/// The result of a store operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why the store refused. Each text says what happened and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Another process has the file open.
    #[error("another hob is using {0}: stop it first, or give this one its own folder with --data DIR")]
    InUse(String),
    /// The file was written by a later version.
    #[error(
        "{file} was written by a newer Hob (format {found}; this one reads up to {ours}): update Hob, or restore a backup made by this version with `hob restore FILE`. Nothing was changed"
    )]
    Newer {
        /// The file.
        file: String,
        /// Its format.
        found: u32,
        /// The newest format this code reads.
        ours: u32,
    },
    /// The file, or a sealed secret, cannot be trusted.
    #[error("{0}")]
    Damaged(String),
    /// A backup is encrypted, and no passphrase was given.
    #[error("this backup is encrypted: give the passphrase it was made with. Nothing was changed")]
    NoPassphrase,
    /// The passphrase does not open the backup.
    #[error(
        "the passphrase is wrong: type it as it was when the backup was made; without it nobody can open this backup. Nothing was changed"
    )]
    WrongPassphrase,
    /// The disk is full.
    #[error(
        "the disk is full: nothing stored was lost, but nothing more can be kept. Free some space; Hob goes on by itself"
    )]
    Full,
    /// Another record has that name or value already.
    #[error("{0}")]
    Conflict(String),
    /// The record to change does not exist, or is not this caller's.
    #[error("{0}")]
    Missing(String),
    /// A restore replaces the data: a write now would be lost.
    #[error("Hob is restoring a backup and starts again: try again in a moment")]
    Restoring,
    /// The disk or the system failed.
    #[error("{0}")]
    Io(String),
}

impl Error {
    /// An I/O failure while doing something: "could not `doing`".
    pub(crate) fn io(doing: impl std::fmt::Display, e: &std::io::Error) -> Self {
        if matches!(
            e.kind(),
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded | std::io::ErrorKind::FileTooLarge
        ) {
            return Error::Full;
        }
        Error::Io(format!("could not {doing}: {e}"))
    }
}

/// Rejects a change by a write's own check; reaches the caller as `BadArgs`.
pub fn rejected(text: impl Into<String>) -> Error {
    Error::Conflict(text.into())
}

/// A file that cannot be restored, and why.
pub(crate) fn unusable(what: &str) -> Error {
    Error::Damaged(format!("this is not a usable backup ({what}): nothing was changed"))
}

impl From<redb::StorageError> for Error {
    fn from(e: redb::StorageError) -> Self {
        match e {
            redb::StorageError::Io(e) => Error::io("write the data file", &e),
            redb::StorageError::Corrupted(what) => {
                Error::Damaged(format!("the data file is damaged ({what}): restore a backup with `hob restore FILE`"))
            }
            redb::StorageError::PreviousIo | redb::StorageError::DatabaseClosed => {
                Error::Io("the disk failed a moment ago; the data file is being opened again, try once more".into())
            }
            redb::StorageError::ValueTooLarge(n) => Error::Io(format!("a value of {n} bytes is too large to keep")),
            other => Error::Io(format!("the data file failed: {other}")),
        }
    }
}

/// redb has an error type for each step; all wrap a storage error.
macro_rules! from_redb {
    ($($kind:ident),*) => {$(
        impl From<redb::$kind> for Error {
            fn from(e: redb::$kind) -> Self {
                match e {
                    redb::$kind::Storage(e) => e.into(),
                    other => Error::Io(format!("the data file failed: {other}")),
                }
            }
        }
    )*};
}
from_redb!(TransactionError, TableError, CommitError);

impl From<Error> for tool::Error {
    fn from(e: Error) -> Self {
        let text = e.to_string();
        match e {
            Error::Conflict(_) | Error::NoPassphrase | Error::WrongPassphrase => tool::Error::BadArgs(text.into()),
            Error::Missing(_) => tool::Error::NotFound(text.into()),
            Error::Full | Error::InUse(_) | Error::Restoring => tool::Error::Unavailable(text.into()),
            Error::Newer { .. } | Error::Damaged(_) | Error::Io(_) => tool::Error::Failed(text.into()),
        }
    }
}
