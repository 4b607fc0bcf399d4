//! Counts calls by tool and outcome, for the metrics.

use crate::{Registry, call::Call};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};
use tool::{Owner, Risk};

/// The key of a counter. Their number is bounded by built-in tools and outcomes, however many custom tools there are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallKey {
    /// The tool's canonical name; `custom` for all that are not built in.
    pub tool: String,
    /// Its risk.
    pub risk: Risk,
    /// As in the audit log.
    pub outcome: String,
}

/// Counts calls.
#[derive(Clone, Default)]
pub(crate) struct CallCounts(Arc<Mutex<BTreeMap<CallKey, u64>>>);

impl CallCounts {
    pub fn count(&self, call: &Call, outcome: &str) {
        let tool = match call.tool().owner {
            Owner::Core => call.tool().name.to_string(),
            _ => "custom".to_owned(),
        };
        let key = CallKey { tool, risk: call.tool().risk, outcome: outcome.to_owned() };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default() += 1;
    }
}

impl Registry {
    /// Counts of calls since the start.
    pub fn call_counts(&self) -> BTreeMap<CallKey, u64> {
        let counted = |calls: &CallCounts| calls.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.desk().map(|desk| counted(&desk.audit.counts)).unwrap_or_default()
    }
}

impl CallKey {
    /// The risk as a word.
    pub fn risk_word(&self) -> String {
        let word = self.risk.serialize(serde_json::value::Serializer).unwrap_or_default();
        word.as_str().unwrap_or_default().to_owned()
    }
}
