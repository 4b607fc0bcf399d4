//! The home as its people set it up: its name, time zone and units, and how far the set-up after the claim has come.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tool::prelude::{JsonSchema, schemars};

/// The units people here use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Units {
    #[default]
    Metric,
    Imperial,
}

/// A step of the set-up after the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ArrivalStep {
    /// The owner's name and password.
    You,
    /// The home's name, time zone and units.
    Home,
    /// The people who live here.
    People,
    /// The model that answers.
    Model,
}

impl ArrivalStep {
    /// In their order.
    pub const ALL: [Self; 4] = [Self::You, Self::Home, Self::People, Self::Model];
}

/// How far a step is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// Not reached, or opened again.
    #[default]
    Open,
    Done,
    /// Left for later.
    Passed,
}

/// The set-up after the claim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Arrival {
    /// Whether the page shows it.
    pub open: bool,
    pub steps: BTreeMap<ArrivalStep, StepState>,
}

/// The chosen settings of the home; `None` means not chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HomeSettings {
    pub name: Option<String>,
    /// An IANA name, such as `Europe/Vienna`.
    pub time_zone: Option<String>,
    pub units: Option<Units>,
    /// `None` until the device is claimed.
    pub arrival: Option<Arrival>,
}
