//! Why SQL failed, and what to do about it.

use rusqlite::ErrorCode;

/// Why a call failed. Each text says what happened and what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The statement, a parameter or a file is wrong.
    #[error("{0}")]
    Sql(String),
    /// Something that is never allowed here.
    #[error("{0}")]
    Refused(String),
    /// It does not exist.
    #[error("{0}")]
    Missing(String),
    /// It takes too long, or others use the database.
    #[error("{0}")]
    Busy(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A part of Hob that SQL reads failed.
    #[error(transparent)]
    Tool(#[from] tool::Error),
    /// Something broke.
    #[error("{0}")]
    Failed(String),
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl From<Error> for tool::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Sql(text) => tool::Error::BadArgs(text.into()),
            Error::Refused(text) => tool::Error::Denied(text.into()),
            Error::Missing(text) => tool::Error::NotFound(text.into()),
            Error::Busy(text) => tool::Error::Unavailable(text.into()),
            Error::Store(error) => error.into(),
            Error::Tool(error) => error,
            Error::Failed(text) => tool::Error::Failed(text.into()),
        }
    }
}

/// The longest message of SQLite that is passed on, in characters: it may quote the statement.
const MESSAGE: usize = 500;

/// The error of a statement of the caller.
pub(crate) fn of_sqlite(error: &rusqlite::Error) -> Error {
    let (code, text) = match error {
        rusqlite::Error::SqliteFailure(code, text) => (*code, text.clone()),
        rusqlite::Error::SqlInputError { error, msg, .. } => (*error, Some(msg.clone())),
        other => return Error::Sql(other.to_string()),
    };
    let text = text.unwrap_or_else(|| code.to_string());
    let text: String = text.chars().take(MESSAGE).collect();
    match code.code {
        ErrorCode::DiskFull => Error::Sql(
            "the database is full: it takes 100 MB at most, and one call changes 32 MB at most; nothing of this call was \
             stored. Delete rows that nobody needs, or do it in several calls"
                .into(),
        ),
        ErrorCode::OutOfMemory => Error::Sql(
            "this needs more memory than SQL may use here; nothing of this call was stored. Use a WHERE or LIMIT, sort less, \
             or do it in several calls"
                .into(),
        ),
        ErrorCode::TooBig => Error::Sql(format!("{text}: one value takes 4 MB at most; split it")),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Error::Failed(format!(
            "this database is damaged ({text}): import an export of it, or restore a backup; `hob doctor` has more"
        )),
        ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::FileLockingProtocolFailed => {
            Error::Failed(format!("the database could not be read or written ({text}); nothing of this call was stored"))
        }
        ErrorCode::ConstraintViolation => Error::Sql(format!("{text}; nothing of this call was stored")),
        _ => Error::Sql(format!("SQLite says: {text}")),
    }
}
