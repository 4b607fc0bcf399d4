//! What a tool can do to the world: the one word policy is written in.

use crate::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The worst a tool can do. Levels, areas, roles and autonomy hang on this one word.
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

/// How much power a tool of some risk needs. Ordered: what may more may also less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing.
    #[default]
    None,
    /// Look.
    Read,
    /// Change records, and let data leave.
    Write,
    /// Move things and run code.
    Execute,
    /// Everything.
    Admin,
}

/// The part of the world a tool touches: what permissions are given for, besides a level. The reference calls them
/// categories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    /// Read files and folders.
    FileRead,
    /// Make or change files.
    FileWrite,
    /// Delete files, and whatever else cannot be made again.
    FileDelete,
    /// Run code in the sandbox.
    CodeExecute,
    /// Fetch from the network.
    NetworkRead,
    /// Send to the network.
    NetworkWrite,
    /// The device and its commands.
    System,
    /// What the household keeps: memories, tasks, notes.
    Memory,
    /// Tools of people, models, plugins and MCP servers.
    Custom,
    /// Pins and what hangs on them.
    Actuate,
    /// The home: lights, heating, locks.
    Home,
}

impl Area {
    /// Every area.
    pub const ALL: &'static [Area] = &[
        Area::FileRead,
        Area::FileWrite,
        Area::FileDelete,
        Area::CodeExecute,
        Area::NetworkRead,
        Area::NetworkWrite,
        Area::System,
        Area::Memory,
        Area::Custom,
        Area::Actuate,
        Area::Home,
    ];
}

impl Risk {
    /// Every risk.
    pub const ALL: &'static [Risk] =
        &[Risk::Observe, Risk::Write, Risk::Actuate, Risk::Send, Risk::Execute, Risk::Destroy, Risk::Admin];

    /// The level it needs.
    pub fn level(self) -> Level {
        match self {
            Risk::Observe => Level::Read,
            Risk::Write | Risk::Send | Risk::Destroy => Level::Write,
            Risk::Actuate | Risk::Execute => Level::Execute,
            Risk::Admin => Level::Admin,
        }
    }
    /// The area it is in, unless the tool names another.
    pub fn area(self) -> Area {
        match self {
            Risk::Observe | Risk::Write => Area::Memory,
            Risk::Actuate => Area::Actuate,
            Risk::Send => Area::NetworkWrite,
            Risk::Execute => Area::CodeExecute,
            Risk::Destroy => Area::FileDelete,
            Risk::Admin => Area::System,
        }
    }
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
