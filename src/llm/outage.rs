//! Models that do not answer: why, and since when. It follows the outcomes of requests; nothing is polled here.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};
use tool::prelude::{JsonSchema, schemars};

/// The reason why a server does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Problem {
    /// It is not reached, or does not answer in time.
    Network,
    /// It answers with failures of its own.
    Server,
    /// It does not accept the key, or wants one.
    Key,
    /// The account has no credit left.
    Credit,
    /// It is asked too often.
    Busy,
    /// It refuses the request: the model or the address is wrong.
    Refused,
}

impl Problem {
    /// The problem behind an error.
    pub fn of(error: &Error) -> Self {
        match error {
            Error::Network(_) | Error::Unconnected(_) | Error::Timeout(_) => Self::Network,
            Error::Server { .. } | Error::Broken(_) => Self::Server,
            Error::Key(_) => Self::Key,
            Error::Credit(_) => Self::Credit,
            Error::Busy { .. } | Error::Spent(_) => Self::Busy,
            Error::Refused(_) | Error::Filtered(_) | Error::TooLong(_) | Error::Unsupported { .. } => Self::Refused,
        }
    }

    /// Whether it lasts until somebody does something, whatever is asked.
    fn lasts(self) -> bool {
        matches!(self, Self::Network | Self::Server | Self::Key | Self::Credit)
    }

    /// Whether a list of models shows that it is over.
    pub fn ends_with_a_list(self) -> bool {
        self != Self::Credit
    }
}

/// A model that does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    /// As `provider/model`.
    pub model: String,
    /// The reason.
    pub problem: Problem,
    /// The last error.
    pub message: String,
    /// The first failure: milliseconds since 1970.
    pub since_ms: u64,
}

/// Receives the model when its outage begins or ends.
type OnChange = Box<dyn Fn(&str) + Send + Sync>;

/// The outages, by model.
#[derive(Default)]
pub(crate) struct Outages {
    all: Mutex<HashMap<String, Outage>>,
    on_change: OnceLock<OnChange>,
}

impl Outages {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Outage>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn on_change(&self, receive: OnChange) {
        let _ = self.on_change.set(receive);
    }

    fn changed(&self, model: &str) {
        if let Some(receive) = self.on_change.get() {
            receive(model);
        }
    }

    pub fn get(&self, model: &str) -> Option<Outage> {
        self.all().get(model).cloned()
    }

    pub fn failed(&self, model: &str, error: &Error) {
        let problem = Problem::of(error);
        if !problem.lasts() {
            return;
        }
        let before = self.get(model);
        let since_ms = before.as_ref().map_or_else(tool::Id::now_ms, |outage| outage.since_ms);
        let outage = Outage { model: model.to_owned(), problem, message: error.to_string(), since_ms };
        self.all().insert(model.to_owned(), outage);
        if before.is_none_or(|before| before.problem != problem) {
            self.changed(model);
        }
    }

    pub fn ended(&self, model: &str) {
        let was_out = self.all().remove(model).is_some();
        if was_out {
            self.changed(model);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn an_outage_lasts_from_the_first_failure_to_the_next_answer() {
        let outages = Outages::default();
        let changes = Arc::new(Mutex::new(0));
        let counted = changes.clone();
        outages.on_change(Box::new(move |_| *counted.lock().unwrap() += 1));
        let count = || *changes.lock().unwrap();
        outages.failed("a/b", &Error::Busy { text: "slow".into(), after: None });
        outages.failed("a/b", &Error::Refused("no such model".into()));
        assert_eq!((outages.get("a/b"), count()), (None, 0), "these say nothing about the next request");
        outages.failed("a/b", &Error::Network("away".into()));
        let first = outages.get("a/b").unwrap();
        outages.failed("a/b", &Error::Timeout("still away".into()));
        let second = outages.get("a/b").unwrap();
        assert_eq!((second.since_ms, second.message.as_str(), count()), (first.since_ms, "still away", 1));
        outages.failed("a/b", &Error::Key("wrong".into()));
        assert_eq!((outages.get("a/b").unwrap().problem, count()), (Problem::Key, 2));
        outages.ended("a/b");
        outages.ended("a/b");
        assert_eq!((outages.get("a/b"), count()), (None, 3));
    }
}
