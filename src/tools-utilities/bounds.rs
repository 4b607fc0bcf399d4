//! How large what is given may be, and how long it may take.

use std::time::{Duration, Instant};
use text_kit::truncate;
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};
use tool::{Error, Result};

/// The longest text, in bytes.
pub(crate) const TEXT: usize = 1 << 20;
/// The longest list.
pub(crate) const ITEMS: usize = 100_000;
/// How long one piece of work may take, and how much later it is left alone.
const TIME: Duration = Duration::from_secs(5);
const GRACE: Duration = Duration::from_secs(2);
/// How many pieces of work are done at once: a bound on what those left alone may still take.
const AT_ONCE: usize = 2;

/// When work has to end.
pub(crate) struct Until(Instant);

impl Until {
    /// So much time from now on.
    pub(crate) fn after(time: Duration) -> Self {
        Self(Instant::now() + time)
    }
    pub(crate) fn at(&self) -> Instant {
        self.0
    }
    /// Asks for nothing while there is time.
    ///
    /// # Errors
    /// `BadArgs` once there is none.
    pub(crate) fn check(&self) -> Result<()> {
        if Instant::now() < self.0 { Ok(()) } else { Err(too_long()) }
    }
}

fn too_long() -> Error {
    Error::bad_args("this takes too long: give less at a time, or a simpler pattern")
}

/// Does what may take long beside the threads that everybody shares.
///
/// # Errors
/// Those of the work; `BadArgs` when it takes too long; `Unavailable` when too much of it is waiting.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce(&Until) -> Result<T> + Send + 'static,
) -> Result<T> {
    static FREE: Semaphore = Semaphore::const_new(AT_ONCE);
    let busy = || Error::unavailable("too much is being worked on at once: try again in a moment");
    let turn = timeout(TIME + GRACE, FREE.acquire()).await.map_err(|_| busy())?.map_err(|_| busy())?;
    let until = Until::after(TIME);
    // The turn ends with the work, not with the waiting for it.
    let work = spawn_blocking(move || (work(&until), turn).0);
    let done = timeout(TIME + GRACE, work).await.map_err(|_| too_long())?;
    done.map_err(|_| Error::failed("this could not be worked out: give it in another way"))?
}

/// Refuses a text that is too long; `what` names it.
///
/// # Errors
/// `BadArgs`.
pub(crate) fn short(what: &str, text: &str) -> Result<()> {
    within(what, text.len(), TEXT, "bytes")
}

/// Refuses a list that is too long.
///
/// # Errors
/// `BadArgs`.
pub(crate) fn few(what: &str, count: usize) -> Result<()> {
    within(what, count, ITEMS, "items")
}

/// Refuses more than `most` of something.
///
/// # Errors
/// `BadArgs`.
pub(crate) fn within(what: &str, count: usize, most: usize, of: &str) -> Result<()> {
    if count <= most {
        return Ok(());
    }
    Err(Error::bad_args(format!("`{what}` has {count} {of}, and {most} is the most: give it in parts")))
}

/// The beginning of a text, for a message about it.
pub(crate) fn clipped(text: &str) -> String {
    truncate(text, 60)
}

/// A result as a person is told it: whole, unless it is very long.
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
        assert!(matches!(Until(Instant::now()).check(), Err(Error::BadArgs(_))));
        let (most, more) = ("x".repeat(TEXT), "x".repeat(TEXT + 1));
        assert!(short("text", &most).is_ok());
        assert!(
            short("text", &more).unwrap_err().message().contains("`text` has 1048577 bytes, and 1048576 is the most")
        );
        assert_eq!(clipped(&"é".repeat(61)), format!("{}…", "é".repeat(60)));
    }
}
