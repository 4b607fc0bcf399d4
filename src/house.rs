//! The assembly: every part is built once, from the ground up, and given what it needs.

use crate::{
    config::Config,
    settings::{Minds, Settings},
};
use agent::Agent;
use anyhow::Result;
use api::{Access, Claiming, House, Network};
use board::{Board, Device};
use config_center::ConfigCenter;
use custom::CustomTools;
use embed::Embedder;
use http_client::Guarded;
use memory::Memories;
use registry::{Registry, Terms};
use rules::Triggers;
use sandbox::Sandbox;
use scheduler::Scheduler;
use scrub::Scrubber;
use std::{path::Path, sync::Arc, time::Duration};
use store::Store;
use tokio::{sync::broadcast::error::RecvError, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tool::{Bus, Clock, Id, Ports, SystemClock};

/// How long the model and the JavaScript engine stay in memory after their last use.
const IDLE: Duration = Duration::from_secs(600);
/// How long after a start memories without a meaning are looked for: a start has better things to do.
const MEND_AFTER: Duration = Duration::from_secs(60);
/// How often old questions are put away.
const TIDY: Duration = Duration::from_secs(600);
/// How long runs may take to stop when the house closes.
const PATIENCE: Duration = Duration::from_secs(3);

/// Who may come in before anybody is known: an admin token from the environment, and how the device is claimed.
#[derive(Default)]
pub struct Entry {
    pub token: Option<String>,
    pub claiming: Claiming,
    /// Learns every secret the house knows.
    pub scrubber: Scrubber,
}

/// What happens by itself, once it is started: only in a house that stays.
pub struct Clockwork {
    scheduler: Scheduler,
    triggers: Triggers,
}

impl Clockwork {
    /// Makes calls at their times and waits for what triggers wait for, until the house closes; what it answers ends once
    /// what came of the last calls is kept.
    pub fn start(self, closing: &CancellationToken) -> Result<JoinHandle<()>> {
        self.triggers.watch(closing)?;
        Ok(self.scheduler.start(closing.clone()))
    }
}

/// Builds the house over the data in `data`. Nothing runs yet but what the parts themselves need.
pub fn build(config: Config, data: &Path, entry: Entry) -> Result<(House, Arc<Settings>, Clockwork)> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new(Some(config.time_zone.as_str()).filter(|z| !z.is_empty()))?);

    // Parts.
    let store = Store::open(data)?;
    let embedder = Embedder::new(IDLE);
    let board = Board::open(config.board);

    // Services.
    let memories = Memories::new(&store, embedder.clone());
    let terms = Terms { per_minute: config.limits, waits: config.approvals };
    let registry = Registry::open(&store, terms, entry.scrubber.clone())?.with_meaning(embedder.clone(), &store);
    let bus = Bus::default();
    let services = ConfigCenter::open(&store, config.services.0.clone(), bus.clone())?;
    let ports = Ports {
        dispatch: Arc::new(registry.clone()),
        ask: Arc::new(registry.clone()),
        settings: Arc::new(services.clone()),
        bus,
        clock: clock.clone(),
    };

    keep_up(&entry, &registry, &services);

    // Families.
    let access = Access::new(&store, entry.token.as_deref(), entry.claiming)?;
    let (people, tools) = (access.clone(), registry.clone());
    let scheduler = Scheduler::new(
        &store,
        ports.clone(),
        Arc::new(move |user| people.role_of(user)),
        Arc::new(move |name| tools.get(name).map(|tool| tool.risk)),
    );
    let triggers = Triggers::new(&store, registry.clone(), scheduler.clone(), ports.clone());
    add_everyday(&registry, &store, &scheduler)?;
    registry.add(rules::schedules(scheduler.clone(), registry.clone()))?;
    registry.add(rules::triggers(triggers.clone()))?;
    add_utilities(&registry, Device::new(data))?;
    registry.add(tools_everyday::memory(memories.clone()))?;
    registry.add(tools_everyday::config(services.clone()))?;
    registry.add(tools_hardware::gpio(board.clone()))?;
    let web = Guarded::new(config.http.allow.clone());
    let custom = CustomTools::new(&store, registry.clone(), Sandbox::new(IDLE), web, services.clone());
    registry.add(custom::family(custom.clone()))?;
    custom.load()?;

    // Mind.
    let closing = CancellationToken::new();
    let network = Network::new(&config.doors.hosts);
    let minds =
        Minds { registry: registry.clone(), embedder, clock, store: store.clone(), scrubber: entry.scrubber.clone() };
    let limits = config.agent.clone();
    let (settings, provider) = Settings::new(config, minds, network.clone())?;
    let settings = Arc::new(settings);
    let agent = Agent::new(limits, &store, registry.clone(), memories.clone(), provider);
    settings.tell(agent.clone());
    registry.add(agent::family(agent.clone()))?;

    tell_pins(&board, ports.bus.clone());
    mend_later(memories, closing.clone());
    tidy_often(registry.clone(), closing.clone());
    let (started, desk) = (Id::new(), settings.clone());
    let house = House {
        access,
        agent,
        registry,
        custom,
        config: services,
        store,
        ports,
        settings: desk,
        network,
        started,
        closing,
        lasting: false,
    };
    Ok((house, settings, Clockwork { scheduler, triggers }))
}

/// What people keep, each family over the store alone.
fn add_everyday(registry: &Registry, store: &Store, scheduler: &Scheduler) -> tool::Result<()> {
    registry.add(tools_everyday::tasks(store))?;
    registry.add(tools_everyday::notes(store))?;
    registry.add(tools_everyday::bookmarks(store))?;
    registry.add(tools_everyday::contacts(store))?;
    registry.add(tools_everyday::calendar(store, scheduler.clone()))?;
    registry.add(tools_everyday::notices(store))?;
    registry.add(tools_data::finance(store))?;
    registry.add(tools_data::goals(store))?;
    registry.add(tools_data::tables(store))?;
    registry.add(tools_data::state(store))
}

/// What needs nothing at all.
fn add_utilities(registry: &Registry, device: Device) -> tool::Result<()> {
    registry.add(tools_utilities::utilities(device))?;
    registry.add(tools_utilities::dates())?;
    registry.add(tools_utilities::mathematics())?;
    registry.add(tools_utilities::chance())?;
    registry.add(tools_utilities::text())?;
    registry.add(tools_utilities::data())
}

/// Stops what runs, keeps what waits to be written, and lets go of everything.
pub async fn close(house: House) {
    house.closing.cancel();
    house.agent.stop_all(PATIENCE).await;
    // The catalogue holds tools, which hold parts, which hold the catalogue.
    house.registry.close();
    // Jobs that wait for company hold the store too.
    if let Err(error) = house.store.flush().await {
        tracing::warn!(%error, "the last counts were not kept");
    }
}

/// What is secret is taken out of every answer and every line of the log: keys of services and models, and the token.
/// And groups of tools that need a service are on once it is set up.
fn keep_up(entry: &Entry, registry: &Registry, services: &ConfigCenter) {
    const KEYS: &[&str] = &["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "HOB_LLM_KEY"];
    let keys = KEYS.iter().filter_map(|name| std::env::var(name).ok());
    entry.scrubber.set("environment", keys.chain(entry.token.clone()));
    let (scrubber, registry, known) = (entry.scrubber.clone(), registry.clone(), services.clone());
    let learn = move || {
        scrubber.set("config-center", known.secrets());
        registry.set_services(known.services().into_iter().filter(|s| !s.entries.is_empty()).map(|s| s.name).collect());
    };
    learn();
    services.on_change(learn);
}

/// Questions nobody answered end, and the oldest are forgotten.
fn tidy_often(registry: Registry, closing: CancellationToken) {
    let tidy = async move {
        loop {
            tokio::time::sleep(TIDY).await;
            if let Err(error) = registry.tidy() {
                tracing::warn!(%error, "old questions could not be put away");
            }
        }
    };
    tokio::spawn(closing.run_until_cancelled_owned(tidy));
}

/// Pins that change are told on the bus.
fn tell_pins(board: &Board, bus: Bus) {
    let mut changes = board.changes();
    tokio::spawn(async move {
        loop {
            match changes.recv().await {
                Ok((pin, high)) => bus.publish("pin:changed", None, serde_json::json!({"pin": pin, "high": high})),
                // Some were missed; the next ones are not.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    });
}

/// Memories that were stored while the model could not be had get their meaning later.
fn mend_later(memories: Memories, closing: CancellationToken) {
    let mend = async move {
        tokio::time::sleep(MEND_AFTER).await;
        match memories.mend().await {
            Ok(0) => {}
            Ok(mended) => tracing::info!(mended, "memories can now be found by meaning"),
            Err(error) => tracing::warn!(%error, "memories without a meaning could not be mended"),
        }
    };
    tokio::spawn(closing.run_until_cancelled_owned(mend));
}
