//! Compacts the data file in idle hours: at night, when nobody has used Hob for a while, and only when it pays off.

use agent::Agent;
use api::RequestCounts;
use std::{sync::Arc, time::Duration};
use store::Store;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tool::Clock;

/// How often is looked whether it is time.
const LOOK_EVERY: Duration = Duration::from_secs(300);
/// How long nobody has used Hob when it begins.
const UNUSED: Duration = Duration::from_secs(600);
/// The least time between two looks at the free space, which read the whole data file.
const MEASURE_EVERY: Duration = Duration::from_secs(20 * 3600);
/// A smaller data file is not looked at.
const SMALL: u64 = 16 << 20;

/// The conditions under which it is time.
pub(super) struct IdleHours {
    /// From this hour to before that one; `None` is never.
    pub hours: Option<(i8, i8)>,
    pub clock: Arc<dyn Clock>,
    pub requests: RequestCounts,
    pub agent: Agent,
}

impl IdleHours {
    fn is_now(&self, up_for: Duration) -> bool {
        let stats = self.agent.run_stats();
        let quiet = stats.running + stats.queued == 0 && self.requests.unused_for().unwrap_or(up_for) >= UNUSED;
        quiet && self.hours.is_some_and(|hours| is_within(self.clock.local().hour(), hours))
    }
}

/// Whether an hour is in a range, which may span midnight.
fn is_within(hour: i8, (from, to): (i8, i8)) -> bool {
    match from < to {
        true => (from..to).contains(&hour),
        false => hour >= from || hour < to,
    }
}

/// Runs until `closing`.
pub(super) async fn compact_in_idle_hours(store: Store, idle: IdleHours, closing: CancellationToken) {
    let (began, mut measured) = (Instant::now(), None::<Instant>);
    loop {
        if closing.run_until_cancelled(tokio::time::sleep(LOOK_EVERY)).await.is_none() {
            return;
        }
        let due = measured.is_none_or(|at| at.elapsed() >= MEASURE_EVERY);
        if due && idle.is_now(began.elapsed()) && store.size_on_disk() >= SMALL {
            measured = Some(Instant::now());
            if let Err(error) = compact_if_worth_it(&store, &closing).await {
                tracing::warn!(%error, "the data file was not compacted");
            }
        }
    }
}

async fn compact_if_worth_it(store: &Store, closing: &CancellationToken) -> store::Result<()> {
    let space = store.measure_space().await?;
    if space.is_worth_compacting(store.compaction()?.last.as_ref()) {
        let closing = closing.clone();
        store.compact(move || !closing.is_cancelled()).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_may_span_midnight() {
        let within = |hours| (0..24).filter(|hour| is_within(*hour, hours)).collect::<Vec<i8>>();
        assert_eq!(within((2, 5)), [2, 3, 4]);
        assert_eq!(within((22, 1)), [0, 22, 23]);
        assert_eq!(within((0, 24)).len(), 24);
    }
}
