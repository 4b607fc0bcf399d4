//! Limits of input sizes and computing time.

use std::time::{Duration, Instant};
use text_kit::truncate;
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};
use tool::{Error, Result};

/// The maximum length of a text, in bytes.
pub(crate) const TEXT: usize = 1 << 20;
/// The maximum length of a list.
pub(crate) const ITEMS: usize = 100_000;
/// The time limit of blocking work, and the grace period until it is abandoned.
const TIME: Duration = Duration::from_secs(5);
const GRACE: Duration = Duration::from_secs(2);
/// The maximum number of concurrent blocking jobs, which bounds the cost of abandoned ones.
const CONCURRENCY: usize = 2;

/// A deadline.
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// A deadline after this time.
    pub(crate) fn after(time: Duration) -> Self {
        Self(Instant::now() + time)
    }
    pub(crate) fn at(&self) -> Instant {
        self.0
    }
    /// Check the deadline.
    ///
    /// # Errors
    /// `BadArgs` after the deadline.
    pub(crate) fn check(&self) -> Result<()> {
        if Instant::now() < self.0 { Ok(()) } else { Err(too_long()) }
    }
}

fn too_long() -> Error {
    Error::bad_args("this takes too long: pass less at a time, or a simpler pattern")
}

/// Run blocking work outside the async threads.
///
/// # Errors
/// Errors of the work; `BadArgs` when it exceeds the time limit; `Unavailable` when too much work is queued.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce(&Deadline) -> Result<T> + Send + 'static,
) -> Result<T> {
    static FREE: Semaphore = Semaphore::const_new(CONCURRENCY);
    let busy = || Error::unavailable("too many computations are running: try again in a moment");
    let turn = timeout(TIME + GRACE, FREE.acquire()).await.map_err(|_| busy())?.map_err(|_| busy())?;
    let until = Deadline::after(TIME);
    // The slot is released when the work ends, not when the wait does.
    let work = spawn_blocking(move || (work(&until), turn).0);
    let done = timeout(TIME + GRACE, work).await.map_err(|_| too_long())?;
    done.map_err(|_| Error::failed("the computation failed: try other input"))?
}

/// Check the length of a text; `what` is its name.
///
/// # Errors
/// `BadArgs`.
pub(crate) fn short(what: &str, text: &str) -> Result<()> {
    within(what, text.len(), TEXT, "bytes")
}

/// Check the length of a list.
///
/// # Errors
/// `BadArgs`.
pub(crate) fn few(what: &str, count: usize) -> Result<()> {
    within(what, count, ITEMS, "items")
}

/// Check a count against a maximum.
///
/// # Errors
/// `BadArgs`.
pub(crate) fn within(what: &str, count: usize, most: usize, of: &str) -> Result<()> {
    if count <= most {
        return Ok(());
    }
    Err(Error::bad_args(format!("`{what}` has {count} {of}, and the maximum is {most}: split it")))
}

/// The beginning of a text, for an error message.
pub(crate) fn excerpt(text: &str) -> String {
    truncate(text, 60)
}

/// A result in a spoken sentence, truncated if very long.
pub(crate) fn result_sentence(text: &str) -> String {
    truncate(text, 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn blocking_work_returns_its_result_or_error() {
        assert_eq!(run_blocking(|until| until.check().map(|()| 7)).await, Ok(7));
        let failed = run_blocking(|_| -> Result<u8> { std::panic::resume_unwind(Box::new("bad")) }).await;
        assert!(matches!(failed, Err(Error::Failed(_))), "{failed:?}");
        assert!(matches!(Deadline(Instant::now()).check(), Err(Error::BadArgs(_))));
        let (most, more) = ("x".repeat(TEXT), "x".repeat(TEXT + 1));
        assert!(short("text", &most).is_ok());
        assert!(
            short("text", &more)
                .unwrap_err()
                .message()
                .contains("`text` has 1048577 bytes, and the maximum is 1048576")
        );
        assert_eq!(excerpt(&"é".repeat(61)), format!("{}…", "é".repeat(60)));
    }
}
