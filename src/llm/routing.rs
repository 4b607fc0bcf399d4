//! Routing reports: which models were tried, in which order, and why one of them answered.

use crate::{Error, Strategy};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tool::prelude::{JsonSchema, schemars};

/// Maximum number of recorded attempts; the oldest are dropped.
const MOST: usize = 50;
/// Maximum length of a reason, in characters.
const REASON: usize = 300;

/// How a request was routed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Routing {
    /// The strategy that ordered the models; null if there was only one.
    pub strategy: Option<Strategy>,
    /// The model that answered; null if none did.
    pub model: Option<String>,
    /// Why this model, in a sentence.
    pub reason: String,
    /// The attempts in order: every failure of the run, and the last answer.
    pub attempts: Vec<Attempt>,
}

/// One model that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// As `provider/model`, or `reflex`.
    pub model: String,
    /// Its outcome.
    pub outcome: Outcome,
    /// The error code: `network`, `unconnected`, `timeout`, `busy`, `server`, `refused`, `content_filter`, `broken`
    /// or `spent`; null for an answer.
    pub code: Option<String>,
    /// The error in a sentence; null for an answer.
    pub error: Option<String>,
    /// Time to the first delta or the failure, in milliseconds.
    pub duration_ms: u64,
}

/// The outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It answered.
    Answered,
    /// It failed, and the next was tried.
    Failed,
}

impl Routing {
    /// The routing of a single model.
    pub fn direct(model: &str) -> Self {
        let mut routing = Self::default();
        routing.answered(model, "it is the only one", Duration::ZERO);
        routing
    }

    /// Records that a model answered.
    pub(crate) fn answered(&mut self, model: &str, reason: &str, after: Duration) {
        (self.model, self.reason) = (Some(model.to_owned()), reason.to_owned());
        let (outcome, duration_ms) = (Outcome::Answered, after.as_millis() as u64);
        self.attempts.push(Attempt { model: model.to_owned(), outcome, code: None, error: None, duration_ms });
    }

    /// Records that a model failed.
    pub(crate) fn failed(&mut self, model: &str, error: &Error, after: Duration) {
        self.attempts.push(Attempt {
            model: model.to_owned(),
            outcome: Outcome::Failed,
            code: Some(error.code().to_owned()),
            error: Some(error.to_string().chars().take(REASON).collect()),
            duration_ms: after.as_millis() as u64,
        });
    }

    /// Appends the routing of the run's next turn. All failures are retained, but only the last answer.
    pub fn then(self, next: Routing) -> Routing {
        let failures = self.attempts.into_iter().filter(|attempt| attempt.outcome == Outcome::Failed);
        let mut attempts: Vec<Attempt> = failures.chain(next.attempts).collect();
        attempts.drain(..attempts.len().saturating_sub(MOST));
        Routing { attempts, ..next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_keeps_every_failure_and_the_last_answer() {
        let turn = |failed: usize| {
            let mut routing = Routing::default();
            (0..failed).for_each(|_| routing.failed("a/b", &Error::Timeout("slow".into()), Duration::from_millis(7)));
            routing.answered("c/d", "it is the only one", Duration::ZERO);
            routing
        };
        let run = turn(1).then(turn(0)).then(turn(2));
        let outcomes: Vec<_> = run.attempts.iter().map(|a| (a.model.as_str(), a.outcome)).collect();
        let failed = ("a/b", Outcome::Failed);
        assert_eq!(outcomes, [failed, failed, failed, ("c/d", Outcome::Answered)]);
        assert_eq!((run.attempts[0].code.as_deref(), run.attempts[0].duration_ms), (Some("timeout"), 7));
        assert_eq!(run.then(turn(90)).attempts.len(), MOST);
    }
}
