//! How a request was routed: which models were tried, in which order, and why one of them answered.

use crate::{Error, Strategy};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tool::prelude::{JsonSchema, schemars};

/// The most attempts that are recorded; the oldest are dropped.
const MOST: usize = 50;
/// The longest reason, in characters.
const REASON: usize = 300;

/// How a request came to the model that answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Routing {
    /// How the order of the models was chosen; null where there was only one.
    pub strategy: Option<Strategy>,
    /// The model that answered; null where none did.
    pub model: Option<String>,
    /// Why it was that model, in a sentence.
    pub reason: String,
    /// The models that were tried, in order: every failure of the run, and the last answer.
    pub attempts: Vec<Attempt>,
}

/// One model that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// As `provider/model`, or `reflex`.
    pub model: String,
    /// What came of it.
    pub outcome: Outcome,
    /// The kind of failure: `network`, `unconnected`, `timeout`, `busy`, `server`, `refused`, `content_filter`, `broken` or
    /// `spent`; null for an answer.
    pub code: Option<String>,
    /// Why it failed, in a sentence; null for an answer.
    pub error: Option<String>,
    /// How long it took to begin its answer or to fail, in milliseconds.
    pub duration_ms: u64,
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It answered.
    Answered,
    /// It did not, and the next was tried.
    Failed,
}

impl Routing {
    /// The routing where there is one model and nothing to choose.
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

    /// The routing of a run so far, with that of its next turn: failures are kept, of answers only the last.
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
