//! Runs work that takes time on a thread for it.

use crate::{Error, Result};

/// Runs blocking work outside the async threads; `what` names it where it panics, such as "the search in tables".
///
/// # Errors
/// Those of `work`; `Failed` when it panics.
pub async fn blocking<T: Send + 'static>(what: &str, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Error::failed(format!("{what} stopped ({error}): try again"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error_that_names_the_work() {
        assert_eq!(blocking("the sum", || Ok(1 + 1)).await, Ok(2));
        let refused = blocking("the sum", || Err::<(), _>(Error::bad_args("no"))).await;
        assert_eq!(refused, Err(Error::bad_args("no")));
        let failed = blocking("the sum", || -> Result<()> { std::panic::resume_unwind(Box::new("bad")) }).await;
        let error = failed.unwrap_err();
        assert!(error.code() == "failed" && error.to_string().contains("the sum stopped"), "{error}");
    }
}
