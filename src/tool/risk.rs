//! What a tool can do to the world: the one word policy is written in.

use crate::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The worst a tool can do. Later issues hang levels, categories and autonomy on this one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Looks, and changes nothing.
    Observe,
    /// Changes records of the household.
    Write,
    /// Moves something in the world: pins, homes, devices.
    Actuate,
    /// Lets data leave the device.
    Send,
    /// Runs code.
    Execute,
    /// Destroys what cannot be made again.
    Destroy,
    /// Changes the device or who may use it.
    Admin,
}

impl Risk {
    /// The least role that may do it at all.
    pub fn least_role(self) -> Role {
        match self {
            Risk::Observe => Role::Viewer,
            Risk::Write | Risk::Actuate | Risk::Send | Risk::Execute | Risk::Destroy => Role::Member,
            Risk::Admin => Role::Admin,
        }
    }
    /// Whether a lost call is recorded before it runs, and never made from a guess.
    pub fn changes_something(self) -> bool {
        self != Risk::Observe
    }
}
