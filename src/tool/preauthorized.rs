//! A call that is stored now and made later, when no person is there.

use serde_json::Value;

/// A call of a schedule, a trigger or a rule, as it was judged when it was stored.
#[derive(Debug, Clone, PartialEq)]
pub struct PreauthorizedCall {
    /// The tool's canonical name.
    pub tool: String,
    /// The tool's version then: a grant covers one version.
    pub version: u32,
    /// The arguments, which match the tool's schema.
    pub args: Value,
    /// The digest of tool and arguments: what an approval binds.
    pub digest: [u8; 32],
    /// Whether a person approved it beforehand, because the policy says to ask.
    pub consented: bool,
}
