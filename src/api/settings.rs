//! The settings of the device, implemented by the root.

use futures::future::BoxFuture;
use models::{Arrival, Units};
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
    /// `hob`, `home-assistant`, `wyoming`, `mqtt`, `esphome` or `printer`.
    pub kind: String,
    /// Its name on the network.
    pub host: String,
    pub port: u16,
    /// The address of its page, or of its service: `mqtt://…`, `tcp://…` (Wyoming).
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

/// The home, as its people set it up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Home {
    /// Its name; empty when it has none.
    pub name: String,
    /// The IANA name of the household's time zone, such as `Europe/Vienna`; every time is given in it. Empty where the
    /// system has a zone without a name.
    pub time_zone: String,
    pub units: Units,
}

/// Changes of the home; what is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HomeChange {
    /// Already validated; empty removes it.
    pub name: Option<String>,
    /// An IANA name; empty takes back the choice.
    pub time_zone: Option<String>,
    pub units: Option<Units>,
}

/// The name of the device, the home, and its network.
pub trait DeviceSettings: Send + Sync + 'static {
    /// The device's name.
    fn name(&self) -> String;
    /// Renames it, here and on the network. `BadArgs` when the name is malformed.
    fn rename(&self, name: String) -> BoxFuture<'_, Result<()>>;
    /// Whether it can be renamed: not when its name was given at the start.
    fn may_rename(&self) -> bool;
    /// The device was claimed: its announcement changes, and the set-up begins unless it has before.
    fn claimed(&self) -> BoxFuture<'_, Result<()>>;
    /// The home.
    fn home(&self) -> Home;
    /// Changes the home. `BadArgs` when the time zone is unknown.
    fn change_home(&self, change: HomeChange) -> BoxFuture<'_, Result<()>>;
    /// The set-up after the claim.
    fn arrival(&self) -> Arrival;
    /// Stores how far the set-up is.
    fn change_arrival(&self, change: Box<dyn Fn(&mut Arrival) + Send>) -> BoxFuture<'_, Result<()>>;
    /// The Hobs and Home Assistants on the network. `Unavailable` when discovery is off.
    fn neighbours(&self) -> BoxFuture<'_, Result<Vec<Neighbour>>>;
    /// The addresses of this machine that others may reach.
    fn addresses(&self) -> Vec<IpAddr>;
}
