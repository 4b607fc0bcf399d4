//! Runtime settings of the device: its name, and the home. They are stored, override hob.toml, and are overridden by flags. The settings of
//! models are in the crate `models`.

use super::{Config, check_name};
use api::{DeviceSettings, Home, HomeChange, Neighbour, Network};
use discovery::{Announcer, DiscoveredService};
use futures::{FutureExt, future::BoxFuture};
use models::{Arrival, Choices, HomeSettings, Units};
use scheduler::Scheduler;
use std::{
    net::IpAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};
use tool::{Clock, Error, Id, Result, SystemClock};

/// Duration of a search for neighbours.
const BROWSE_FOR: Duration = Duration::from_millis(1500);

/// The settings of this device.
pub struct Settings {
    config: Config,
    device: Id,
    choices: Choices,
    network: Network,
    announcer: OnceLock<Announcer>,
    clock: Arc<SystemClock>,
    scheduler: Scheduler,
}

impl Settings {
    /// Settings on top of the stored choices.
    pub fn new(
        config: Config,
        device: Id,
        choices: Choices,
        network: Network,
        clock: Arc<SystemClock>,
        scheduler: Scheduler,
    ) -> Self {
        let settings = Self { config, device, choices, network, announcer: OnceLock::new(), clock, scheduler };
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

    async fn update_home(&self, change: impl Fn(&mut HomeSettings) + Send + 'static) -> Result<()> {
        self.choices
            .update(move |chosen| {
                let mut home = chosen.home();
                change(&mut home);
                chosen.set_home(&home);
            })
            .await
    }

    async fn set_home(&self, change: HomeChange) -> Result<()> {
        let before = self.clock.zone();
        if let Some(zone) = &change.time_zone {
            // Refuses an unknown zone before anything is stored.
            self.clock.set_zone(chosen_zone(Some(zone), &self.config))?;
        }
        let update = move |home: &mut HomeSettings| {
            if let Some(name) = &change.name {
                home.name = Some(name.clone());
            }
            if let Some(zone) = &change.time_zone {
                home.time_zone = Some(zone.clone()).filter(|zone| !zone.is_empty());
            }
            home.units = change.units.or(home.units);
        };
        if let Err(error) = self.update_home(update).await {
            self.clock.set_zone(before.iana_name())?;
            return Err(error);
        }
        if self.clock.zone() != before {
            self.scheduler.zone_changed().await?;
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

    fn claimed(&self) -> BoxFuture<'_, Result<()>> {
        if let Some(announcer) = self.announcer.get() {
            announcer.update(|announced| announced.claimed = true);
        }
        let begin = |home: &mut HomeSettings| {
            home.arrival.get_or_insert_with(|| Arrival { open: true, ..Arrival::default() });
        };
        self.update_home(begin).boxed()
    }

    fn home(&self) -> Home {
        let chosen = self.choices.current().home();
        Home {
            name: chosen.name.unwrap_or_else(|| self.config.home.clone()),
            time_zone: self.clock.zone().iana_name().unwrap_or_default().to_owned(),
            units: chosen.units.unwrap_or(self.config.units),
        }
    }

    fn change_home(&self, change: HomeChange) -> BoxFuture<'_, Result<()>> {
        self.set_home(change).boxed()
    }

    fn arrival(&self) -> Arrival {
        self.choices.current().home().arrival.unwrap_or_default()
    }

    fn change_arrival(&self, change: Box<dyn Fn(&mut Arrival) + Send>) -> BoxFuture<'_, Result<()>> {
        self.update_home(move |home| change(home.arrival.get_or_insert_default())).boxed()
    }

    fn neighbours(&self) -> BoxFuture<'_, Result<Vec<Neighbour>>> {
        self.browse().boxed()
    }

    fn addresses(&self) -> Vec<IpAddr> {
        self.network.listens().map(|at| discovery::addresses(at.ip(), &self.config.network.ignore)).unwrap_or_default()
    }
}

/// The zone of the clock: the chosen one, else that of hob.toml, else (`None`) the system's.
pub fn chosen_zone<'a>(chosen: Option<&'a str>, config: &'a Config) -> Option<&'a str> {
    chosen.into_iter().chain([config.time_zone.as_str()]).find(|zone| !zone.is_empty())
}

/// Sentences about the home for models.
pub fn about_home(choices: Choices, config: &Config) -> impl Fn() -> String + Send + Sync + 'static {
    let (name, units) = (config.home.clone(), config.units);
    move || {
        let chosen = choices.current().home();
        let name = chosen.name.unwrap_or_else(|| name.clone());
        let named = if name.is_empty() { String::new() } else { format!("This home is called \"{name}\".") };
        let units = match chosen.units.unwrap_or(units) {
            Units::Metric => "",
            Units::Imperial => "People here use imperial units: °F, miles, pounds.",
        };
        [named.as_str(), units].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
    }
}
