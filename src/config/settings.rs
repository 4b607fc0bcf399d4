//! Runtime settings of the device: its name. They are stored, override hob.toml, and are overridden by flags. The settings of
//! models are in the crate `models`.

use super::{Config, check_name};
use api::{DeviceSettings, Neighbour, Network};
use discovery::{Announcer, DiscoveredService};
use futures::{FutureExt, future::BoxFuture};
use models::Choices;
use std::{net::IpAddr, sync::OnceLock, time::Duration};
use tool::{Error, Id, Result};

/// Duration of a search for neighbours.
const BROWSE_FOR: Duration = Duration::from_millis(1500);

/// The settings of this device.
pub struct Settings {
    config: Config,
    device: Id,
    choices: Choices,
    network: Network,
    announcer: OnceLock<Announcer>,
}

impl Settings {
    /// Settings on top of the stored choices.
    pub fn new(config: Config, device: Id, choices: Choices, network: Network) -> Self {
        let settings = Self { config, device, choices, network, announcer: OnceLock::new() };
        settings.network.answer_to(&settings.name());
        settings.network.answer_to(&format!("{}.local", settings.name()));
        settings
    }

    /// Sets the announcer, which publishes changes on the network.
    pub fn announce_with(&self, announcer: Announcer) {
        let _ = self.announcer.set(announcer);
    }

    async fn set_name(&self, name: String) -> Result<()> {
        check_name(&name).map_err(|e| Error::bad_args(format!("{e:#}")))?;
        if self.config.name_is_fixed {
            return Err(Error::denied("the name was given with --name: start Hob without it to rename it here"));
        }
        let chosen_name = name.clone();
        self.choices.update(move |chosen| chosen.name.clone_from(&chosen_name)).await?;
        self.network.answer_to(&name);
        self.network.answer_to(&format!("{name}.local"));
        if let Some(announcer) = self.announcer.get() {
            announcer.update(|announced| announced.name = name);
        }
        Ok(())
    }

    async fn browse(&self) -> Result<Vec<Neighbour>> {
        let announcer = self.announcer.get().filter(|a| a.may_browse());
        let Some(announcer) = announcer else {
            return Err(Error::unavailable(
                "discovery is turned off by --no-mdns or hob.toml: turn it on to see neighbours",
            ));
        };
        let found = announcer.browse(BROWSE_FOR).await.map_err(|e| Error::unavailable(e.to_string()))?;
        let own = self.device.to_string();
        let neighbour = |f: DiscoveredService| Neighbour {
            this: f.id.as_deref() == Some(own.as_str()),
            kind: serde_json::to_value(f.kind).ok().and_then(|k| k.as_str().map(str::to_owned)).unwrap_or_default(),
            name: f.name,
            host: f.host,
            port: f.port,
            url: Some(f.url),
            id: f.id,
            version: f.version,
            claimed: f.claimed,
        };
        Ok(found.into_iter().map(neighbour).collect())
    }
}

impl DeviceSettings for Settings {
    fn name(&self) -> String {
        let chosen = self.choices.current().name;
        if self.config.name_is_fixed || chosen.is_empty() { self.config.name.clone() } else { chosen }
    }

    fn rename(&self, name: String) -> BoxFuture<'_, Result<()>> {
        self.set_name(name).boxed()
    }

    fn may_rename(&self) -> bool {
        !self.config.name_is_fixed
    }

    fn claimed(&self) {
        if let Some(announcer) = self.announcer.get() {
            announcer.update(|announced| announced.claimed = true);
        }
    }

    fn neighbours(&self) -> BoxFuture<'_, Result<Vec<Neighbour>>> {
        self.browse().boxed()
    }

    fn addresses(&self) -> Vec<IpAddr> {
        self.network.listens().map(|at| discovery::addresses(at.ip(), &self.config.network.ignore)).unwrap_or_default()
    }
}
