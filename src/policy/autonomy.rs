//! Autonomy levels: which risks a model may take without asking.

use serde::{Deserialize, Serialize};
use tool::{Risk, prelude::schemars, prelude::schemars::JsonSchema};

/// How much a model may do without asking, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Autonomy {
    /// Nothing.
    None,
    /// Observe.
    Low,
    /// Everything but send, destroy and administer.
    #[default]
    Medium,
    /// Everything but destroy and administer.
    High,
    /// Everything.
    Full,
}

impl Autonomy {
    /// Every level, the most restrictive first.
    pub const ALL: &'static [Autonomy] =
        &[Autonomy::None, Autonomy::Low, Autonomy::Medium, Autonomy::High, Autonomy::Full];

    /// One sentence for the person who chooses a level.
    pub fn about(self) -> &'static str {
        match self {
            Autonomy::None => "Asks before every tool call, even to look something up.",
            Autonomy::Low => "Looks things up on its own, and asks before it changes anything.",
            Autonomy::Medium => {
                "Works on its own, but asks before it sends data out, deletes something or administers Hob."
            }
            Autonomy::High => "Works and sends on its own, and asks before it deletes something or administers Hob.",
            Autonomy::Full => "Never asks because of a tool's risk.",
        }
    }

    /// Whether a model must ask a person before it takes this risk.
    pub fn asks(self, risk: Risk) -> bool {
        match self {
            Autonomy::None => true,
            Autonomy::Low => risk != Risk::Observe,
            Autonomy::Medium => matches!(risk, Risk::Send | Risk::Destroy | Risk::Admin),
            Autonomy::High => matches!(risk, Risk::Destroy | Risk::Admin),
            Autonomy::Full => false,
        }
    }

    /// The name in JSON.
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
