//! What an admin may change while the house is open, as the assembly offers it.

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::{net::IpAddr, sync::Arc};
use tool::{
    Result,
    prelude::{JsonSchema, schemars},
};

/// Where the choice of the model was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum From {
    /// The environment: only a restart changes it.
    Environment,
    /// The page or the API.
    Page,
    /// hob.toml.
    File,
    /// Nobody chose: reflex.
    BuiltIn,
}

/// Which model answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelInUse {
    /// As `provider/model`, or `reflex`.
    pub model: String,
    /// The server's address; empty for reflex.
    pub url: String,
    /// Whether a key is kept for it.
    pub has_key: bool,
    /// Where that was decided.
    pub from: From,
    /// Whether it can be chosen here.
    pub changeable: bool,
}

/// Which model is to answer.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelChoice {
    /// `reflex`, `openai/MODEL`, or `custom/MODEL` with a `url`; empty for what hob.toml says.
    pub model: String,
    /// The server's address, such as `http://192.168.1.5:8080/v1`. Left out it stays as it is, as long as the provider does.
    pub url: Option<String>,
    /// The server's key. Left out it stays as it is, as long as the server stays the same; empty it is removed.
    pub key: Option<String>,
}

/// Something near on the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Neighbour {
    /// What it calls itself.
    pub name: String,
    /// `hob`, `home-assistant` or `wyoming`.
    pub kind: String,
    /// Its name on the network.
    pub host: String,
    pub port: u16,
    /// Where its page is.
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

/// What an admin may change while the house is open.
pub trait DeviceSettings: Send + Sync + 'static {
    /// The device's name.
    fn name(&self) -> String;
    /// Gives it another name, here and on the network. `BadArgs` when the name is malformed.
    fn rename(&self, name: String) -> BoxFuture<'_, Result<()>>;
    /// Whether it can be renamed: not when its name was given at the start.
    fn may_rename(&self) -> bool;
    /// Somebody took the device: what is announced changes.
    fn claimed(&self);
    /// Which model answers.
    fn model(&self) -> ModelInUse;
    /// Chooses the model. `BadArgs` when the choice makes no sense, `Denied` when the environment has decided.
    fn choose_model(self: Arc<Self>, choice: ModelChoice) -> BoxFuture<'static, Result<ModelInUse>>;
    /// What is near. `Unavailable` when nothing can be looked for.
    fn neighbours(&self) -> BoxFuture<'_, Result<Vec<Neighbour>>>;
    /// The addresses of this machine that others may reach.
    fn addresses(&self) -> Vec<IpAddr>;
}
