//! The assembly: every part is built once, from the ground up, and given what it needs.

use crate::{
    config::Config,
    models::{self, ModelDeps, Models},
    restart,
    runtime_settings::Choices,
    settings::Settings,
};
use agent::Agent;
use anyhow::Result;
use api::{Access, AppState, Claiming, Network, RequestCounts, Restart};
use board::{Board, Device};
use config_center::ConfigCenter;
use custom::CustomTools;
use embed::Embedder;
use http_client::Guarded;
use interaction::{Asks, Interactions, Wake};
use llm::Ledger;
use memory::Memories;
use persona::Documents;
use registry::{Registry, Terms};
use rules::Triggers;
use sandbox::Sandbox;
use scheduler::{Scheduler, ToolFacts};
use scrub::Scrubber;
use std::{path::Path, sync::Arc, time::Duration};
use store::Store;
use tokio::{sync::broadcast::error::RecvError, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tool::{Bus, Channel, Clock, Cx, Id, Ports, Principal, SystemClock, Via};
use uploads::Uploads;

/// How long the model and the JavaScript engine stay in memory after their last use.
const IDLE: Duration = Duration::from_secs(600);
/// How long after a start memories without a meaning are looked for: a start has better things to do.
const MEND_AFTER: Duration = Duration::from_secs(60);
/// How long after a notice of damage the next one may come.
const NOTIFY_AGAIN: Duration = Duration::from_secs(24 * 3600);
/// The notice of damage.
const DAMAGED: &str = "Some stored records are damaged and cannot be shown. `hob doctor --backup FILE` names them, and the \
                       backup that has them; `hob restore FILE` brings that back.";
/// How often old questions are put away.
const TIDY: Duration = Duration::from_secs(600);
/// When the slow check of what is stored begins after a start, and how often it reads a little.
const CHECK_AFTER: Duration = Duration::from_secs(300);
const CHECK_EVERY: Duration = Duration::from_secs(60);
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
pub struct BackgroundTasks {
    scheduler: Scheduler,
    triggers: Triggers,
    store: Store,
    ports: Ports,
}

impl BackgroundTasks {
    /// Makes calls at their times and waits for what triggers wait for, until the house closes; what it answers ends once
    /// what came of the last calls is kept.
    pub fn start(self, closing: &CancellationToken) -> Result<JoinHandle<()>> {
        self.triggers.watch(closing)?;
        tokio::spawn(closing.clone().run_until_cancelled_owned(check_slowly(self.store, self.ports)));
        Ok(self.scheduler.start(closing.clone()))
    }
}

/// Builds the house over the data in `data`. Nothing runs yet but what the parts themselves need.
pub fn build(config: Config, data: &Path, entry: Entry) -> Result<(AppState, Arc<Settings>, BackgroundTasks)> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new(Some(config.time_zone.as_str()).filter(|z| !z.is_empty()))?);

    // Parts.
    restart::finish_restore(data);
    let store = Store::open(data)?;
    let embedder = Embedder::new(IDLE);
    let board = Board::with_rate(config.board, config.pins);

    // Services.
    let memories = Memories::new(&store, embedder.clone());
    let terms = Terms { per_minute: config.limits, waits: config.approvals };
    let registry = Registry::open(&store, terms, entry.scrubber.clone())?.with_meaning(embedder.clone(), &store);
    let bus = Bus::default();
    let services = ConfigCenter::open(&store, config.services.0.clone(), bus.clone())?;
    let waits = interaction::Waits {
        in_call_seconds: config.approvals.in_call_seconds,
        parked_hours: config.approvals.parked_hours,
    };
    let interactions = Interactions::with_waits(&store, waits, entry.scrubber.clone());
    let ports = Ports {
        dispatch: Arc::new(registry.clone()),
        ask: Arc::new(Asks::new(registry.clone(), interactions.clone())),
        settings: Arc::new(services.clone()),
        bus,
        clock: clock.clone(),
    };

    sync_secrets(&entry, &registry, &services);

    // Families.
    let access = Access::new(&store, entry.token.as_deref(), entry.claiming)?;
    let (people, tools) = (access.clone(), registry.clone());
    let scheduler = Scheduler::new(
        &store,
        ports.clone(),
        Arc::new(move |user| people.role_of(user).ok().flatten()),
        Arc::new(move |name| ToolFacts {
            idempotent: tools.is_idempotent(name),
            detached: tools.get(name).is_some_and(|tool| tool.detached),
        }),
    );
    let triggers = Triggers::new(&store, registry.clone(), scheduler.clone(), ports.clone());
    add_everyday(&registry, &store, &scheduler)?;
    registry.add(rules::schedules(scheduler.clone(), registry.clone()))?;
    registry.add(rules::triggers(triggers.clone()))?;
    let device = Device::new(data);
    // Everyday tools are offered to models in this order.
    registry.add(tools_everyday::memory(memories.clone()))?;
    add_utilities(&registry, device.clone())?;
    registry.add(tools_everyday::config(services.clone()))?;
    registry.add(tools_hardware::gpio(board.clone()))?;
    let web = Guarded::new(config.http.allow.clone());
    let sandbox = Sandbox::new(IDLE, sandbox::memory_budget(board::total_memory().unwrap_or_default()));
    let custom = CustomTools::new(&store, registry.clone(), sandbox, web.clone(), services.clone());
    registry.add(custom::family(custom.clone()))?;
    custom.load()?;
    let documents = Documents::new(&store).with_base(&config.agent.prompt);
    registry.add(persona::family(documents.clone()))?;
    registry.add(interaction::family(interactions.clone()))?;

    // Mind.
    let closing = CancellationToken::new();
    let network = Network::new(&config.doors.hosts);
    let ledger = Arc::new(Ledger::open(&store, clock.clone())?);
    let told = ports.bus.clone();
    ledger.when_spent(move |spent, budget| {
        told.publish("budget:spent", None, serde_json::json!({"spent": spent, "budget": budget}));
    });
    let minds = ModelDeps {
        registry: registry.clone(),
        embedder: embedder.clone(),
        clock,
        store: store.clone(),
        scrubber: entry.scrubber.clone(),
        ledger: ledger.clone(),
        web: web.clone(),
        environment: models::environment(),
    };
    let limits = config.agent.clone();
    let choices = Choices::open(&store)?;
    let (models, provider) = Models::new(config.clone(), minds, choices.clone())?;
    let settings = Arc::new(Settings::new(config, store.device_id(), choices, network.clone()));
    let uploads = Uploads::new(&store, data.join(store::FILES));
    uploads.tidy();
    let parts = agent::Parts {
        registry: registry.clone(),
        memories: memories.clone(),
        documents: documents.clone(),
        interactions: interactions.clone(),
        uploads: uploads.clone(),
    };
    let agent = Agent::new(limits, &store, parts, provider);
    models.tell(agent.clone());
    registry.add(agent::family(agent.clone()))?;

    publish_pin_changes(&board, ports.bus.clone());
    schedule_backfill(memories, closing.clone());
    schedule_maintenance(registry.clone(), interactions.clone(), agent.clone(), ports.clone(), closing.clone());
    let (started, desk) = (Id::new(), settings.clone());
    let (kept, checking) = (store.clone(), ports.clone());
    let house = AppState {
        access,
        agent,
        registry,
        custom,
        documents,
        interactions,
        uploads,
        config: services,
        store,
        ports,
        settings: desk,
        models,
        web,
        embedder,
        network,
        started,
        device,
        restart: Restart::default(),
        requests: RequestCounts::default(),
        closing,
        lasting: false,
    };
    Ok((house, settings, BackgroundTasks { scheduler, triggers, store: kept, ports: checking }))
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
pub async fn close(house: AppState) {
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
fn sync_secrets(entry: &Entry, registry: &Registry, services: &ConfigCenter) {
    let keys = llm::PRESETS.iter().filter_map(|preset| std::env::var(preset.key_env).ok());
    entry.scrubber.set("environment", keys.chain(entry.token.clone()));
    let (scrubber, registry, known) = (entry.scrubber.clone(), registry.clone(), services.clone());
    let learn = move || {
        scrubber.set("config-center", known.secrets());
        registry.set_services(known.services().into_iter().filter(|s| !s.entries.is_empty()).map(|s| s.name).collect());
    };
    learn();
    services.on_change(learn);
}

/// Questions nobody answered end, and the oldest are forgotten; a run that rested on one goes on without an answer.
fn schedule_maintenance(
    registry: Registry,
    interactions: Interactions,
    agent: Agent,
    ports: Ports,
    closing: CancellationToken,
) {
    let tidy = async move {
        loop {
            tokio::time::sleep(TIDY).await;
            if let Err(error) = registry.tidy() {
                tracing::warn!(%error, "old questions could not be put away");
            }
            match interactions.tidy() {
                Ok(late) => late.iter().for_each(|Wake { user, run, .. }| agent.wake(&ports, *user, *run)),
                Err(error) => tracing::warn!(%error, "what nobody answered could not be put away"),
            }
            if let Err(error) = agent.tidy(&ports) {
                tracing::warn!(%error, "old runs could not be put away");
            }
        }
    };
    tokio::spawn(closing.run_until_cancelled_owned(tidy));
}

/// Pins that change are told on the bus.
fn publish_pin_changes(board: &Board, bus: Bus) {
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

/// Checks what is stored, some records a minute. Publishes a count of damaged ones, and notifies the owner once a day. The
/// bus is everybody's: only the log and `hob doctor` name the records.
async fn check_slowly(store: Store, ports: Ports) {
    tokio::time::sleep(CHECK_AFTER).await;
    let mut notified: Option<tokio::time::Instant> = None;
    loop {
        match store.patrol().await {
            Ok(found) if !found.damaged.is_empty() => {
                ports.bus.publish("data:damaged", None, serde_json::json!({"records": found.damaged.len()}));
                if notified.is_none_or(|at| at.elapsed() >= NOTIFY_AGAIN) {
                    notified = Some(tokio::time::Instant::now());
                    notify_owner(&ports, DAMAGED).await;
                }
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "stored records could not be checked"),
        }
        tokio::time::sleep(CHECK_EVERY).await;
    }
}

async fn notify_owner(ports: &Ports, text: &str) {
    let cx = Cx::root(ports.clone(), Principal::owner(), Via::direct(Channel::Machine));
    if let Err(error) = cx.call("notify", serde_json::json!({"title": "Damaged data", "text": text})).await {
        tracing::warn!(%error, "the owner could not be notified of damage");
    }
}

/// Memories that were stored while the model could not be had get their meaning later.
fn schedule_backfill(memories: Memories, closing: CancellationToken) {
    let mend = async move {
        tokio::time::sleep(MEND_AFTER).await;
        match memories.backfill_embeddings().await {
            Ok(0) => {}
            Ok(mended) => tracing::info!(mended, "memories can now be found by meaning"),
            Err(error) => tracing::warn!(%error, "memories without a meaning could not be mended"),
        }
    };
    tokio::spawn(closing.run_until_cancelled_owned(mend));
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::BoxFuture;
    use serde_json::Value;
    use std::sync::Mutex;
    use tool::{BusEvent, Dispatch, Output, ToolInfo, Topics};

    /// Records the calls that are made.
    #[derive(Default)]
    struct Calls(Mutex<Vec<(String, Value)>>);

    impl Dispatch for Calls {
        fn call(&self, _: Cx, name: &str, args: Value) -> BoxFuture<'static, tool::Result<Output>> {
            self.0.lock().unwrap().push((name.to_owned(), args));
            Box::pin(async { Ok(Output::text("done")) })
        }
        fn list(&self, _: &Cx) -> Vec<ToolInfo> {
            vec![]
        }
    }

    /// A record that cannot be read as a document: its text has no end.
    #[derive(Clone, serde::Serialize, serde::Deserialize)]
    struct Bent(u64);

    impl store::Record for Bent {
        const NAME: &'static str = "documents";
        const WORD: &'static str = "document";
        const LEVEL: store::Level = store::Level::Household;
    }

    #[tokio::test(start_paused = true)]
    async fn damage_is_published_and_the_owner_notified_some_minutes_after_a_start() {
        let (calls, store) = (Arc::new(Calls::default()), Store::in_memory().unwrap());
        let _documents = Documents::new(&store);
        let clock = Arc::new(SystemClock::new(Some("UTC")).unwrap());
        let ports = Ports { dispatch: calls.clone(), ..Ports::unconnected(clock) };
        let cx = Cx::root(ports.clone(), Principal::owner(), Via::direct(Channel::Api));
        store.collection::<Bent>().insert(&cx, "t", Bent(u64::MAX)).await.unwrap();
        let mut heard = ports.bus.listen_to(None, Topics::parse("data:*").unwrap());
        let begun = tokio::time::Instant::now();
        let checking = tokio::spawn(check_slowly(store, ports));
        let Some(BusEvent::Event(event)) = heard.next().await else { panic!("nothing was told") };
        assert_eq!((&event.topic[..], &event.data), ("data:damaged", &serde_json::json!({"records": 1})));
        assert!((CHECK_AFTER..CHECK_AFTER + CHECK_EVERY).contains(&begun.elapsed()));
        tokio::time::sleep(CHECK_EVERY).await;
        checking.abort();
        let calls = calls.0.lock().unwrap();
        assert!(matches!(&calls[..], [(name, _)] if name == "notify"), "{calls:?}");
    }
}
