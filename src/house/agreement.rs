//! Indexes that agree with their records: a line for the doctor, and the repair soon after a start, once a day, and when the doctor
//! found a disagreement.

use super::background::BACKFILL_AFTER;
use care::{Check, Checks};
use documents::MemoryDocuments;
use graph::Graph;
use memory::Memories;
use skills::Skills;
use sql::Databases;
use std::{
    fmt::Write as _,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use store::{Compared, Until};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tool::Result;
use vectors::Vectors;

/// How long the doctor compares at most; the daily comparison takes as long as it needs.
const AT_MOST: Duration = Duration::from_secs(3);
/// Delay after a start: before missing vectors and indexes are computed, and memories are compared with the facts of the graph.
const AFTER: Duration = Duration::from_secs(BACKFILL_AFTER.as_secs() / 2);
const EVERY: Duration = Duration::from_secs(24 * 3600);
const NAME: &str = "indexes";
const REPORT: &str = "if they come back, send a support bundle (`hob support FILE`) to the people who make Hob";

/// The parts that derive something from records.
#[derive(Clone)]
pub struct Derived {
    pub memories: Memories,
    pub documents: MemoryDocuments,
    pub graph: Graph,
    pub vectors: Vectors,
    pub databases: Databases,
    pub skills: Skills,
}

/// A part in words, and what was found there.
type Finding = (&'static str, Result<Compared>);

impl Derived {
    /// Compares all parts. Blocks.
    fn check(&self, until: Until) -> [Finding; 6] {
        [
            ("memories", self.memories.check(until)),
            ("memory documents", self.documents.check(until)),
            ("the knowledge graph", self.graph.check(until)),
            ("vector collections", self.vectors.check(until)),
            ("SQL databases", self.orphaned_pages()),
            ("copies of skills", self.skills.check(until)),
        ]
    }

    /// The pages of a database are checked by SQLite itself, which has a line of its own.
    fn orphaned_pages(&self) -> Result<Compared> {
        let health = self.databases.check(Duration::ZERO).map_err(tool::Error::from)?;
        Ok(Compared { wrong: health.orphans as u64, ..Compared::default() })
    }

    async fn repair(&self) -> [Finding; 6] {
        let orphaned = self.orphaned_pages();
        let tidied = self.databases.tidy().await.map_err(tool::Error::from);
        [
            ("memories", self.memories.repair().await),
            ("memory documents", self.documents.repair().await),
            ("the knowledge graph", self.graph.repair().await),
            ("vector collections", self.vectors.repair().await),
            ("SQL databases", tidied.and(orphaned)),
            ("copies of skills", self.skills.repair().await),
        ]
    }
}

/// Compares and repairs; cheap to clone.
#[derive(Clone)]
pub struct Agreement {
    derived: Derived,
    /// How many disagreements were corrected since the start.
    repaired: Arc<Mutex<u64>>,
    /// Wakes the repair.
    found: Arc<Notify>,
}

impl Agreement {
    pub fn new(derived: Derived) -> Self {
        Self { derived, repaired: Arc::default(), found: Arc::default() }
    }

    /// Adds the doctor's line.
    pub fn add_check(&self, checks: &Checks) {
        let this = self.clone();
        checks.add(move || {
            let found = this.derived.check(Until::within(AT_MOST));
            if found.iter().any(|(_, found)| matches!(found, Ok(found) if found.wrong > 0)) {
                this.found.notify_one();
            }
            Some(line(&found, *this.repaired.lock().unwrap_or_else(PoisonError::into_inner)))
        });
    }

    /// Repairs until `closing`.
    pub fn schedule(self, closing: CancellationToken) {
        let work = async move {
            let mut wait = AFTER;
            loop {
                let _ = tokio::time::timeout(wait, self.found.notified()).await;
                self.repair().await;
                wait = EVERY;
            }
        };
        tokio::spawn(closing.run_until_cancelled_owned(work));
    }

    async fn repair(&self) {
        for (part, found) in self.derived.repair().await {
            match found {
                Ok(found) if found.wrong > 0 => {
                    tracing::warn!(
                        part,
                        count = found.wrong,
                        "indexes disagreed with their records, and were corrected"
                    );
                    *self.repaired.lock().unwrap_or_else(PoisonError::into_inner) += found.wrong;
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(part, %error, "indexes could not be compared with their records"),
            }
        }
    }
}

fn line(found: &[Finding], repaired: u64) -> Check {
    if let Some((part, Err(error))) = found.iter().find(|(_, found)| found.is_err()) {
        let text = format!("The indexes of {part} could not be compared with their records: {error}");
        return Check::wrong(NAME, text, "see what the line `data` says; restore a backup with `hob restore FILE`");
    }
    let of = |count: fn(&Compared) -> u64| {
        let some = found.iter().filter_map(move |(part, found)| Some((*part, count(found.as_ref().ok()?))));
        some.filter(|(_, count)| *count > 0).collect::<Vec<_>>()
    };
    let listed = |some: &[(&str, u64)]| {
        let some: Vec<String> = some.iter().map(|(part, count)| format!("{part} ({count})")).collect();
        some.join(", ")
    };
    let wrong = of(|found| found.wrong);
    if !wrong.is_empty() {
        let text = format!("Indexes do not agree with their records: {}.", listed(&wrong));
        let todo = format!("nothing: Hob corrects them now, or soon after its next start; {REPORT}");
        return Check::careful(NAME, text, todo);
    }
    if repaired > 0 {
        let count = text_kit::counted(repaired, "entry");
        return Check::careful(NAME, format!("Hob corrected {count} of indexes since its start."), REPORT);
    }
    let compared: u64 = of(|found| found.compared).iter().map(|(_, count)| count).sum();
    let mut text = match found.iter().any(|(_, found)| matches!(found, Ok(found) if found.cut_short)) {
        true => {
            format!("The first {compared} entries of indexes agree with their records; all are compared once a day.")
        }
        false => format!("The indexes agree with their records ({compared} compared)."),
    };
    let pending = of(|found| found.pending);
    if !pending.is_empty() {
        // Writing to a text does not fail.
        let _ = write!(text, " Made in the background: {}.", listed(&pending));
    }
    Check::well(NAME, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use care::Outcome;

    #[test]
    fn the_line_says_what_disagrees_what_was_corrected_and_what_is_still_made() {
        let of = |compared, wrong, pending| Ok(Compared { compared, wrong, pending, cut_short: false });
        let sound = [("memories", of(7, 0, 0)), ("vector collections", of(3, 0, 0))];
        assert_eq!(line(&sound, 0), Check::well(NAME, "The indexes agree with their records (10 compared)."));
        assert!(line(&sound, 1).text.contains("corrected 1 entry of indexes"));
        let wrong = line(&[("memories", of(7, 2, 1)), ("SQL databases", of(0, 1, 0))], 3);
        assert_eq!(wrong.text, "Indexes do not agree with their records: memories (2), SQL databases (1).");
        assert_eq!(wrong.outcome, Outcome::Careful);
        assert!(line(&[("memories", of(7, 0, 2))], 0).text.ends_with("Made in the background: memories (2)."));
        let short = Ok(Compared { compared: 5, cut_short: true, ..Compared::default() });
        assert!(line(&[("memories", short)], 0).text.starts_with("The first 5 entries"));
        let failed = line(&[("memories", of(1, 1, 0)), ("SQL databases", Err(tool::Error::failed("no disk")))], 0);
        assert!(
            failed.outcome == Outcome::Wrong
                && failed.text.contains("SQL databases")
                && failed.text.contains("no disk")
        );
    }
}
