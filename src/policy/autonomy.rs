//! Autonomy: what a model may do without asking.

use serde::{Deserialize, Serialize};
use tool::{Risk, prelude::schemars, prelude::schemars::JsonSchema};

/// How much a model may do unasked. Ordered: the least comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Autonomy {
    /// Nothing.
    None,
    /// Look.
    Low,
    /// All but send, destroy and administer.
    #[default]
    Medium,
    /// All but destroy and administer.
    High,
    /// Everything.
    Full,
}

impl Autonomy {
    /// Every level, the most careful first.
    pub const ALL: &'static [Autonomy] =
        &[Autonomy::None, Autonomy::Low, Autonomy::Medium, Autonomy::High, Autonomy::Full];

    /// One sentence for the person who chooses.
    pub fn about(self) -> &'static str {
        match self {
            Autonomy::None => "Asks before every call of a tool, even to look something up.",
            Autonomy::Low => "Looks things up unasked, and asks before it changes anything.",
            Autonomy::Medium => {
                "Works unasked, but asks before it sends data out, destroys something or administers Hob."
            }
            Autonomy::High => "Works and sends unasked, and asks before it destroys something or administers Hob.",
            Autonomy::Full => "Never asks on account of what a tool can do.",
        }
    }

    /// Whether a person is asked before a model does something of this risk.
    pub fn asks(self, risk: Risk) -> bool {
        match self {
            Autonomy::None => true,
            Autonomy::Low => risk != Risk::Observe,
            Autonomy::Medium => matches!(risk, Risk::Send | Risk::Destroy | Risk::Admin),
            Autonomy::High => matches!(risk, Risk::Destroy | Risk::Admin),
            Autonomy::Full => false,
        }
    }

    /// The word it is written with.
    pub fn name(self) -> &'static str {
        match self {
            Autonomy::None => "none",
            Autonomy::Low => "low",
            Autonomy::Medium => "medium",
            Autonomy::High => "high",
            Autonomy::Full => "full",
        }
    }
}
