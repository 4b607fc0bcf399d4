//! Long jobs: asked about until they are done, through failures that pass.

use crate::{api::Api, failure::Failure};
use futures::future::BoxFuture;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The pause between two questions, at first and at most.
const FIRST: Duration = Duration::from_secs(2);
const MOST: Duration = Duration::from_secs(15);
/// How many questions in a row may fail.
const FAILURES: u32 = 5;

/// What a question about a job brought.
pub(crate) enum Waiting<T> {
    Done(T),
    /// Not yet: the provider's word for where it is.
    Still(String),
}

/// Hears how far a job is.
pub(crate) trait Progress: Send + Sync {
    fn note(&self, note: &str);
}

/// Asks until the job `id` is done, or the time of the link is over.
pub(crate) async fn poll<'a, T>(
    api: &Api<'_>,
    id: &str,
    progress: &dyn Progress,
    ask: impl Fn() -> BoxFuture<'a, Result<Waiting<T>, Failure>> + Send + Sync,
) -> Result<T, Failure> {
    let end = Instant::now() + Duration::from_secs(api.link.seconds);
    let (mut pause, mut failures) = (FIRST, 0);
    // The provider too: only there the job is known.
    let task = format!("{}/{id}", api.link.provider);
    loop {
        match ask().await {
            Ok(Waiting::Done(done)) => return Ok(done),
            Ok(Waiting::Still(status)) => {
                failures = 0;
                let left = end.saturating_duration_since(Instant::now()).as_secs().div_ceil(60);
                let name = &api.endpoint.provider.name;
                progress.note(&format!("{name}: {status} (task {task}); I wait up to {left} minutes more"));
            }
            // The job goes on there; only the question failed.
            Err(failure @ (Failure::Busy(_) | Failure::Silent(_) | Failure::Odd(_))) => {
                failures += 1;
                if failures >= FAILURES {
                    tracing::debug!(provider = api.link.provider, why = failure.words(), "a media job was given up");
                    return Err(Failure::Unfinished(task));
                }
            }
            Err(failure) => return Err(failure),
        }
        if Instant::now() + pause >= end {
            return Err(Failure::Unfinished(task));
        }
        sleep(pause).await;
        pause = (pause * 3 / 2).min(MOST);
    }
}
