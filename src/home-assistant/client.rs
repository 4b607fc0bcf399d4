//! The client: keeps the connection, and answers from memory.

use crate::{
    Area, Change, Connection, Details, Entity, Facts, ServiceFields, Settings, Timing,
    model::Model,
    opening::{self, Opening},
    rest,
    session::{self, End},
    shared::Shared,
};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;
use tool::{Bus, Error, Result};

/// A connection that held this long was a good one: the next attempt comes soon.
const STEADY: Duration = Duration::from_secs(60);

/// The client; cheap to clone.
#[derive(Clone)]
pub struct HomeAssistant(Arc<Shared>);

impl HomeAssistant {
    /// A client that publishes on `bus`. It connects once [`HomeAssistant::configure`] has set it up and
    /// [`HomeAssistant::run`] runs.
    pub fn new(bus: Bus) -> Self {
        Self::with_timing(bus, Timing::default())
    }

    /// The same with other waiting times.
    pub fn with_timing(bus: Bus, timing: Timing) -> Self {
        Self(Arc::new(Shared::new(bus, timing)))
    }

    /// Replaces the settings; `None` switches it off. The same settings change nothing.
    pub fn configure(&self, settings: Option<Result<Settings>>) {
        let (settings, state) = match settings {
            Some(Ok(settings)) => (Some(Arc::new(settings)), Connection::Connecting),
            Some(Err(why)) => (None, Connection::Misconfigured { why: why.to_string() }),
            None => (None, Connection::Off),
        };
        let mut changed = false;
        self.0.settings.send_if_modified(|old| {
            changed = *old != settings;
            // Another home, or another token: what was known is not this home's.
            if old.as_ref().map(|s| &s.url) != settings.as_ref().map(|s| &s.url) {
                self.0.model().clear();
            }
            old.clone_from(&settings);
            changed
        });
        if changed || settings.is_none() {
            self.0.set_connection(state);
        }
    }

    /// Connects and connects again, until `closing`.
    pub async fn run(self, closing: CancellationToken) {
        let mut settings = self.0.settings.subscribe();
        let work = async {
            loop {
                let current = settings.borrow_and_update().clone();
                let changed = async {
                    // The sender is in `self`.
                    let _ = settings.changed().await;
                };
                match current {
                    None => {
                        // The connection that ended may have had a last word.
                        if matches!(
                            self.connection(),
                            Connection::Connected | Connection::Lost { .. } | Connection::CertificateRefused { .. }
                        ) {
                            self.0.set_connection(Connection::Off);
                        }
                        self.0.model().clear();
                        changed.await;
                    }
                    Some(current) => {
                        self.0.set_connection(Connection::Connecting);
                        tokio::select! {
                            () = changed => {}
                            () = self.connect_again_and_again(&current) => {}
                        }
                    }
                }
            }
        };
        closing.run_until_cancelled(work).await;
    }

    async fn connect_again_and_again(&self, settings: &Settings) {
        let timing = self.0.timing;
        let mut retry = timing.first_retry;
        loop {
            let begun = Instant::now();
            let (state, wait) = match session::run(&self.0, settings).await {
                End::Refused(why) => (Connection::TokenRefused { why }, timing.refused),
                End::Untrusted { why, fingerprint } => {
                    (Connection::CertificateRefused { why, fingerprint }, timing.last_retry)
                }
                End::Lost { why, was_ready } => {
                    if was_ready && begun.elapsed() >= STEADY.min(timing.last_retry) {
                        retry = timing.first_retry;
                    }
                    let wait = retry;
                    retry = (retry * 2).min(timing.last_retry);
                    (Connection::Lost { why }, wait)
                }
            };
            self.0.set_connection(state);
            tokio::time::sleep(wait + jitter(wait)).await;
        }
    }

    /// The state of the connection.
    pub fn connection(&self) -> Connection {
        self.0.connection()
    }
    /// The state of the connection as it changes.
    pub fn watch_connection(&self) -> watch::Receiver<Connection> {
        self.0.watch_connection()
    }
    /// The settings, where it is set up.
    pub fn settings(&self) -> Option<Arc<Settings>> {
        self.0.settings.borrow().clone()
    }
    /// The settings, where it is set up and entities are known.
    ///
    /// # Errors
    /// `Unavailable` with the state of the connection.
    pub fn ready(&self) -> Result<Arc<Settings>> {
        match (self.settings(), self.connection()) {
            (Some(settings), Connection::Connected) => Ok(settings),
            (_, state) => Err(Error::unavailable(state.sentence())),
        }
    }

    /// Calls `f` at each change of an entity that Hob may read. It must not block.
    pub fn on_change(&self, f: impl Fn(&Change) + Send + Sync + 'static) {
        self.0.on_change(Arc::new(f));
    }
    /// The types of events that `who` waits for, replacing earlier ones: they are published as `ha:event`. At most 50 types
    /// are subscribed to.
    pub fn want_events(&self, who: &str, types: impl IntoIterator<Item = String>) {
        self.0.want(who, types);
    }

    /// A number that grows with each change of entities and registries.
    pub fn version(&self) -> u64 {
        self.0.model().version
    }
    /// All entities that Hob may read, by id, with what the registries say.
    pub fn entities(&self) -> Vec<(Arc<Entity>, Details)> {
        let Some(settings) = self.settings() else { return vec![] };
        let model = self.0.model();
        let readable = model.entities.values().filter(|entity| settings.access.read.fit(&entity.id));
        readable.map(|entity| (entity.clone(), model.details_of(&entity.id))).collect()
    }
    /// One entity that Hob may read.
    pub fn entity(&self, id: &str) -> Option<(Arc<Entity>, Details)> {
        let settings = self.settings().filter(|settings| settings.access.read.fit(id))?;
        let model = self.0.model();
        let entity = model.entities.get(id).filter(|_| settings.access.read.fit(id))?;
        Some((entity.clone(), model.details_of(id)))
    }
    /// The rooms, by name.
    pub fn areas(&self) -> Vec<Arc<Area>> {
        self.0.model().areas.clone()
    }
    /// Facts of the installation.
    pub fn facts(&self) -> Facts {
        self.0.model().facts.clone()
    }
    /// One service; the error lists what there is instead.
    ///
    /// # Errors
    /// `NotFound` with the services of the domain, or the domains.
    pub fn service(&self, domain: &str, service: &str) -> Result<ServiceFields> {
        let model = self.0.model();
        let names = |names: Vec<&str>| names.into_iter().take(40).collect::<Vec<_>>().join(", ");
        let Some(services) = model.services.get(domain) else {
            let domain = text_kit::truncate(domain, 60);
            let known = names(model.services.keys().map(String::as_str).collect());
            return Err(Error::not_found(format!("Home Assistant has no domain `{domain}`; it has {known}")));
        };
        services.get(service).cloned().ok_or_else(|| {
            let service = text_kit::truncate(service, 60);
            let known = names(services.keys().map(String::as_str).collect());
            Error::not_found(format!("`{domain}` has no service `{service}`; it has {known}"))
        })
    }

    /// Whether calling a service for these entities opens, unlocks or disarms something. An entity that is not known counts
    /// as a door.
    pub fn call_opens(&self, domain: &str, service: &str, entities: &[&str]) -> bool {
        let model = self.0.model();
        let starts = |id: &str| matches!(crate::domain_of(id), "script" | "scene") && model.start_opens(id);
        if domain == "script" && !matches!(service, "turn_on" | "turn_off" | "toggle" | "reload") {
            return model.start_opens(&format!("script.{service}"));
        }
        if entities.iter().any(|id| starts(id)) && !(domain == "script" && service == "turn_off") {
            return true;
        }
        match opening::of_service(domain, service) {
            Opening::No => false,
            Opening::Yes => true,
            Opening::IfGuarded => entities.is_empty() || entities.iter().any(|id| model.guards(id)),
        }
    }
    /// Whether an admin wants to be asked about one of these each time.
    pub fn is_asked_about(&self, entities: &[&str]) -> bool {
        self.settings().is_some_and(|settings| entities.iter().any(|id| settings.access.ask.fit(id)))
    }
    /// Whether opening it would let somebody in, or let water or gas out: a lock, a garage door, an alarm.
    pub fn is_guarded(&self, entity: &Entity) -> bool {
        opening::is_guarded(entity) || opening::is_group(entity) && self.0.model().guards(&entity.id)
    }

    /// Calls the REST API: `path` is what follows `/api/`.
    ///
    /// # Errors
    /// `Unavailable` when it is not set up, cannot be reached, or refuses the token; else those of the call.
    pub async fn rest(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let settings = self.settings().ok_or_else(|| Error::unavailable(self.connection().sentence()))?;
        rest::request(&self.0.http(&settings), &settings, method, path, body).await
    }

    /// The types of events that are waited for.
    pub fn wanted_events(&self) -> BTreeSet<String> {
        self.0.wanted.borrow().clone()
    }
}

impl Model {
    fn details_of(&self, id: &str) -> Details {
        self.details.get(id).cloned().unwrap_or_default()
    }
}

/// Up to a quarter more, so that the devices of a home do not all come back at once.
fn jitter(wait: Duration) -> Duration {
    let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    wait.mul_f64(f64::from(nanos % 1000) / 4000.0)
}
