//! Why an event could not be read, or a server did not answer.

/// The result of a call to this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an event could not be read, or a server did not answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The connection failed or broke.
    #[error("the connection failed: {0}")]
    Io(#[from] std::io::Error),
    /// A part of an event is longer than its limit.
    #[error("the {part} of an event is longer than {limit} bytes")]
    TooLong {
        /// `header`, `data`, `payload` or `audio`.
        part: &'static str,
        /// The limit.
        limit: usize,
    },
    /// An event is not of the form that the protocol has.
    #[error("the event is malformed: {0}")]
    Malformed(&'static str),
    /// Nothing was received in time.
    #[error("no answer within {0} seconds")]
    TimedOut(u64),
    /// The server closed the connection before it had answered.
    #[error("the connection was closed before the answer")]
    Closed,
    /// The server answered with an error; its text, truncated.
    #[error("the server reports: {0}")]
    Refused(String),
}
