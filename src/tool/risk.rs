//! The risk of a tool, the word that policy is written in, and the level and area that follow from it.

use crate::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The worst a tool can do. Level, area, role and autonomy depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Observes and changes nothing.
    Observe,
    /// Changes records of the household.
    Write,
    /// Moves something in the world: pins, homes, devices.
    Actuate,
    /// Lets data leave the device.
    Send,
    /// Runs code.
    Execute,
    /// Destroys things that cannot be restored.
    Destroy,
    /// Changes the device or its access rights.
    Admin,
}

/// The level a tool of some risk needs. Ordered: a higher level includes the lower ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing.
    #[default]
    None,
    /// Observe.
    Read,
    /// Change records, and let data leave the device.
    Write,
    /// Move things and run code.
    Execute,
    /// Everything.
    Admin,
}

/// The part of the world a tool touches. Permissions name areas besides a level; the seeds call them categories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    /// Read files and folders.
    FileRead,
    /// Make or change files.
    FileWrite,
    /// Delete files, and other things that cannot be restored.
    FileDelete,
    /// Run code in the sandbox.
    CodeExecute,
    /// Fetch from the network.
    NetworkRead,
    /// Send to the network.
    NetworkWrite,
    /// The device and its commands.
    System,
    /// Records of the household: memories, tasks, notes.
    Memory,
    /// Tools of people, models, plugins and MCP servers.
    Custom,
    /// Pins and the devices on them.
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
    /// Whether a call is recorded before it runs, and never made from a guess.
    pub fn changes_something(self) -> bool {
        self != Risk::Observe
    }
}
