//! The settings of the device, implemented by the root.

use futures::future::BoxFuture;
use serde::Serialize;
use std::net::IpAddr;
use tool::{
    Result,
    prelude::{JsonSchema, schemars},
};

/// Something near on the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Neighbour {
    /// Its name.
    pub name: String,
    /// `hob`, `home-assistant` or `wyoming`.
    pub kind: String,
    /// Its name on the network.
    pub host: String,
    pub port: u16,
    /// The address of its page.
    pub url: Option<String>,
    /// A Hob's id.
    pub id: Option<String>,
    pub version: Option<String>,
    /// Whether somebody has taken it, where it says.
    pub claimed: Option<bool>,
    /// Whether it is this one.
    #[serde(rename = "self")]
    pub this: bool,
}

/// The name of the device, and its network.
pub trait DeviceSettings: Send + Sync + 'static {
    /// The device's name.
    fn name(&self) -> String;
    /// Renames it, here and on the network. `BadArgs` when the name is malformed.
    fn rename(&self, name: String) -> BoxFuture<'_, Result<()>>;
    /// Whether it can be renamed: not when its name was given at the start.
    fn may_rename(&self) -> bool;
    /// The device was claimed: its announcement changes.
    fn claimed(&self);
    /// The Hobs and Home Assistants on the network. `Unavailable` when discovery is off.
    fn neighbours(&self) -> BoxFuture<'_, Result<Vec<Neighbour>>>;
    /// The addresses of this machine that others may reach.
    fn addresses(&self) -> Vec<IpAddr>;
}
