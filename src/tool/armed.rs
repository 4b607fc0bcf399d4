//! A call that is written down now, to be made later when no person is there.

use serde_json::Value;

/// A call as it was judged when it was written down: by a schedule, a trigger, a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct PreauthorizedCall {
    /// The tool's canonical name.
    pub tool: String,
    /// Its version then: a yes is for one.
    pub version: u32,
    /// The arguments, which fit the tool's schema.
    pub args: Value,
    /// The digest of tool and arguments: what a yes binds.
    pub digest: [u8; 32],
    /// Whether a person said yes to it beforehand, because it would have been asked about.
    pub consented: bool,
}
