//! Assembly of the application: builds every part once, lower layers first, and fills the ports. `serve` runs the result as a
//! daemon.

mod agreement;
mod awaited;
mod background;
mod care_parts;
mod compacting;
mod embedding;
pub mod factory_reset;
mod gate;
mod graph;
mod home_assistant;
mod known_hosts;
mod mail;
mod media;
mod notify;
mod programs;
pub mod restart;
pub mod serve;
mod sql;
#[cfg(test)]
mod tests_answers;
mod undo;
pub mod update;
mod voice;
mod workshop;
mod world;

use self::update::UpdateService;
use crate::config::{
    Config,
    settings::{Settings, about_home, chosen_zone},
};
use ::documents::VirtualFiles;
use ::graph::Graph;
use agent::Agent;
use agreement::{Agreement, Derived};
use anyhow::Result;
use api::{AppParts, AppState, DeviceSettings, EventStreams, Network, RequestCounts, Restart};
use background::{BackgroundTasks, publish_pin_changes, schedule_maintenance};
use board::{Board, Device};
use browser::Chromium;
use command_tools::CommandTools;
use compacting::IdleHours;
use config_center::ConfigCenter;
use custom::CustomTools;
use decoders::Decoders;
use embed::Embedder;
use http_client::Guarded;
use identity::{ClaimConfig, Identity};
use interaction::{Asks, Interactions};
use known_hosts::known_hosts;
use llm::Ledger;
use memory::Memories;
use models::{Choices, ModelDeps, Models};
use persona::Documents;
use questions::Questions;
use reflex::Reflex;
use registry::Registry;
use rules::Rules;
use sandbox::Sandbox;
use scheduler::{Scheduler, ToolFacts};
use scrub::Scrubber;
use skills::Skills;
use std::{path::Path, sync::Arc, time::Duration};
use store::Store;
use things::Things;
use tokio_util::sync::CancellationToken;
use tool::{Bus, Clock, FamilyParts, Id, Ports, SystemClock};
use tools_browser::BrowserTools;
use tools_documents::DocumentTools;
use tools_everyday::PageTitles;
use tools_files::FileTools;
use tools_home::mqtt::MqttHome;
use tools_media::MediaTools;
use tools_web::WebTools;
use tools_workshop::{CliTools, CodingAgents, Credentialed};
use uploads::Uploads;
use vectors::Vectors;
use workspace::Workspaces;

/// Idle time after which the model and the JavaScript engine are unloaded.
const IDLE: Duration = Duration::from_secs(600);
/// The folder in the data folder with the embedding models of the household.
const MODELS: &str = "models";
/// Time for runs to stop at shutdown.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// Access before anybody is known: an admin token from the environment, and how the device is claimed.
#[derive(Default)]
pub struct Entry {
    pub token: Option<String>,
    pub claiming: ClaimConfig,
    /// Learns every secret of the application.
    pub scrubber: Scrubber,
}

/// Builds the application over the data in `data`. Starts no background tasks except those the parts themselves need.
pub fn build(config: Config, data: &Path, entry: Entry) -> Result<(AppParts, Arc<Settings>, BackgroundTasks)> {
    let system_clock = Arc::new(SystemClock::new(chosen_zone(None, &config))?);
    build_with(system_clock.clone(), system_clock, config, data, entry)
}

/// Builds the application with a clock of its own; the system's follows the home's time zone.
fn build_with(
    clock: Arc<dyn Clock>,
    system_clock: Arc<SystemClock>,
    config: Config,
    data: &Path,
    entry: Entry,
) -> Result<(AppParts, Arc<Settings>, BackgroundTasks)> {
    // Parts.
    factory_reset::finish(data)?;
    let failed_restore = restart::finish_restore(data);
    let store = Store::open(data)?;
    let choices = Choices::open(&store)?;
    if let Some(zone) = choices.current().home().time_zone
        && let Err(error) = system_clock.set_zone(Some(&zone))
    {
        tracing::warn!(%error, "the chosen time zone cannot be used");
    }
    // Everything that is stored is embedded by the household's choice. Reflex learnt from the vectors of the built-in model, and
    // programs ask for it by its name: both use it always.
    let embedder = Embedder::new(IDLE);
    let meaning = Embedder::chosen(IDLE, &data.join(MODELS), &config.memory.model);
    let meaning = if meaning.is_built_in() { embedder.clone() } else { meaning };
    let board = Board::with_config(config.board, config.pins.clone(), &config.sim);
    board.allow_serial(config.serial.clone());

    // Services.
    let memories = Memories::new(&store, meaning.clone());
    let questions = Questions::new(&store, config.approvals);
    let registry = Registry::with_questions(&store, questions.clone(), config.limits, entry.scrubber.clone())?
        .with_meaning(meaning.clone(), &store);
    let bus = Bus::default();
    let services = ConfigCenter::open(&store, config.services.0.clone(), bus.clone())?;
    let interactions = Interactions::open(&questions, entry.scrubber.clone())?;
    let identity = Identity::open(&store, entry.token.as_deref(), entry.claiming.clone())?;
    let ports = Ports {
        dispatch: Arc::new(registry.clone()),
        ask: Arc::new(Asks::new(registry.clone(), interactions.clone())),
        settings: Arc::new(services.clone()),
        people: Arc::new(identity.clone()),
        bus,
        clock: clock.clone(),
    };

    voice::register(&services)?;
    tools_world::register(&services)?;
    media::register(&services)?;
    sync_secrets(&entry, &services);

    // Families.
    let tools = registry.clone();
    let scheduler = Scheduler::new(
        &store,
        ports.clone(),
        Arc::new(move |name| ToolFacts {
            idempotent: tools.is_idempotent(name),
            detached: tools.get(name).is_some_and(|tool| tool.detached),
        }),
    );
    let device = Device::new(data);
    let pins = tools_hardware::Pins::open(board.clone(), &store)?;
    // Every source of things is added here: `things.add(…)`.
    let things = Things::new(&store);
    things.add(tools_hardware::pin_source(&pins));
    let (named, place) = (pins.clone(), config.place());
    let home = rules::Home {
        board: board.clone(),
        things: things.clone(),
        pins: Arc::new(move || named.devices().into_iter().map(|(pin, name, _)| (pin, name)).collect()),
        place: Arc::new(move || place),
    };
    let file_rules = config.rules.clone();
    let rules = Rules::new(&store, registry.clone(), scheduler.clone(), home.clone(), ports.clone());
    let undo = undo::undo(&store, &memories, &scheduler, &rules, &pins, &board);
    let vectors = Vectors::new(&store, meaning.clone());
    let graph = Graph::new(&store, meaning.clone());
    let (stored, restored) = tools_knowledge::undo_vectors(&vectors);
    undo.register(stored, restored);
    tools_knowledge::undo_graph(&graph).into_iter().for_each(|(table, undoer)| undo.register(table, undoer));
    let (told, undoes) = tools_home::undo_things(&things);
    undo.register(told, undoes);
    let web = Guarded::new(config.http.allow.clone());
    let titles = if config.bookmarks.page_titles { PageTitles::new(web.clone()) } else { PageTitles::off() };
    let mut families = everyday(&store, &scheduler, titles);
    let databases = sql::databases(&store);
    families.push(tools_knowledge::sql(&databases).into_parts());
    families.push(tools_everyday::undo(undo.clone()).into_parts());
    families.push(rules::schedules(scheduler.clone(), registry.clone()).into_parts());
    families.push(rules::triggers(rules.clone()).into_parts());
    families.push(rules::rules(rules.clone()).into_parts());
    // Everyday tools are offered to models in this order.
    families.push(tools_everyday::memory(memories.clone()).into_parts());
    families.extend(utilities(device.clone()));
    families.push(tools_knowledge::vectors(&vectors).into_parts());
    families.push(tools_knowledge::graph(&graph).into_parts());
    families.push(tools_everyday::config(services.clone()).into_parts());
    families.push(tools_hardware::gpio(pins.clone()).into_parts());
    families.push(tools_home::things(things.clone()).into_parts());
    let home_assistant = home_assistant::home_assistant(&services, &things, ports.bus.clone())?;
    let finder = home_assistant::finder(&config.network);
    families.push(tools_home::home_assistant(&home_assistant, finder).into_parts());
    let mqtt = MqttHome::new(&store, ports.clone());
    services.register("mqtt", "MQTT", tool::Label::Own, tools_home::mqtt::mqtt_service()?)?;
    things.add(Arc::new(mqtt.clone()));
    families.push(tools_home::mqtt::family(mqtt.clone()).into_parts());
    services.register("web", "Web search", tool::Label::Own, tools_web::services()?)?;
    families.push(tools_web::family(WebTools::new(web.clone())).into_parts());
    families.push(tools_world::weather(world::home(&config, &choices, &home_assistant), web.clone()).into_parts());
    families.push(tools_world::languages(web.clone()).into_parts());
    families.push(tools_world::extraction(Arc::new(registry::schema_faults)).into_parts());
    families.push(tools_world::compat(web.clone()).into_parts());
    let sandbox = Sandbox::new(IDLE, sandbox::memory_budget(board::total_memory().unwrap_or_default()));
    let workspaces = Workspaces::open(&store, data, config.workspace.clone().with_environment())?;
    undo.register(workspace::UNDO_TABLE, undo::files(&workspaces));
    let programs = programs::sandbox(&config.workshop, data, &workspaces);
    let workshop =
        workshop::workshop(&config.workshop, programs.clone(), &store, &workspaces, &web, &entry.scrubber, &sandbox);
    families.push(tools_workshop::code(workshop.clone()).into_parts());
    families.push(tools_workshop::commands(workshop.clone()).into_parts());
    let installed = data.join(programs::TOOLS);
    let credentialed = Credentialed::open(&store, workshop.clone(), &data.join(programs::GIVEN))?;
    let cli_tools = CliTools::new(&store, workshop.clone(), &installed);
    let coding_agents = CodingAgents::new(&store, workshop.clone(), cli_tools.clone());
    families.push(tools_workshop::credentialed(&credentialed).into_parts());
    families.push(tools_workshop::cli_tools(&cli_tools).into_parts());
    families.push(tools_workshop::coding_agents(&coding_agents).into_parts());
    families.push(tools_workshop::git(workshop.clone()).into_parts());
    let chromium = Chromium::new(programs.clone(), config.browser.clone(), data.join(programs::BROWSER));
    let browsers = BrowserTools::new(chromium.clone(), workspaces.clone(), web.clone());
    families.push(tools_browser::family(browsers.clone()).into_parts());
    let command_tools = CommandTools::new(&store, registry.clone(), workshop.clone());
    families.push(command_tools::family(command_tools.clone()).into_parts());
    let custom = CustomTools::new(&store, registry.clone(), sandbox, web.clone(), services.clone());
    families.push(custom::family(custom.clone()).into_parts());
    let agent_type = config.agent.kind;
    let documents = Documents::new(&store)
        .with_base(&config.agent.prompt)
        .with_home(about_home(choices.clone(), &config))
        .with_types(move |_| agent_type);
    let files = VirtualFiles::new(&store, meaning.clone(), Arc::new(documents.clone()));
    undo.register(documents::COLLECTION, undo::documents(&files));
    families.push(tools_knowledge::memory_documents(files.clone()).into_parts());
    let skills = Skills::open(&store, meaning, data);
    let file_tools = FileTools::new(workspaces.clone(), files.clone(), skills.clone(), web.clone());
    families.push(tools_files::family(file_tools).into_parts());
    let mail = mail::mail(&store, &services, &workspaces, &ports, &undo, &mut families)?;
    families.push(persona::family(documents.clone()).into_parts());
    families.push(interaction::family(interactions.clone()).into_parts());

    // Mind.
    let closing = CancellationToken::new();
    let network = Network::new(&config.doors.hosts);
    let ledger = Arc::new(Ledger::open(&store, clock.clone())?);
    let told = ports.bus.clone();
    ledger.when_spent(move |spent, budget| {
        told.publish("budget:spent", None, serde_json::json!({"spent": spent, "budget": budget}));
    });
    let model_keys = media::ModelKeys::default();
    let media = media::media(model_keys.clone(), ledger.clone(), voice::servers(&config.network));
    let deps = ModelDeps {
        store: store.clone(),
        scrubber: entry.scrubber.clone(),
        ledger,
        web: web.clone(),
        environment: models::environment(),
        hosts: known_hosts(&config.network),
        reflex: lazy_reflex(
            pins.clone(),
            things.clone(),
            registry.clone(),
            embedder.clone(),
            clock,
            config.place().is_some(),
        ),
    };
    let (limits, hours) = (config.agent.clone(), config.storage.hours()?);
    let restart = Restart::default();
    let updates = UpdateService::open(config.update.clone(), data, ports.bus.clone(), restart.clone());
    let (models, provider) = Models::new(config.model.clone(), deps, choices.clone())?;
    let care_config = care_parts::CareConfig::of(&config);
    let settings =
        Arc::new(Settings::new(config, store.device_id(), choices, network.clone(), system_clock, scheduler.clone()));
    let named = settings.clone();
    let name = Arc::new(move || named.name());
    let mqtt = home::mqtt::Door {
        home: mqtt,
        things: things.clone(),
        device: device.clone(),
        name,
        version: env!("CARGO_PKG_VERSION"),
        updates: Arc::new({
            let updates = updates.clone();
            move || updates.for_home_assistant()
        }),
    };
    let uploads = Uploads::new(&store, data.join(store::FILES));
    uploads.tidy();
    let document_tools = DocumentTools::new(Decoders::new(programs.clone()), workspaces.clone(), uploads.clone());
    families.push(tools_documents::documents(document_tools.clone()).into_parts());
    families.push(tools_documents::pdf(document_tools).into_parts());
    families.push(tools_knowledge::skills(skills.clone(), uploads.clone()).into_parts());
    let care = care_parts::care((care_config, failed_restore, data), &store, &uploads, &board, &ports, &entry.scrubber);
    let media_tools = MediaTools::new(media.clone(), workspaces.clone(), uploads.clone(), web.clone());
    families.push(tools_media::image(media_tools.clone()).into_parts());
    families.push(tools_media::audio(media_tools.clone()).into_parts());
    families.push(tools_media::video(media_tools).into_parts());
    let parts = agent::Parts {
        registry: registry.clone(),
        memories: memories.clone(),
        documents: documents.clone(),
        files: files.clone(),
        skills: skills.clone(),
        interactions: interactions.clone(),
        questions,
        uploads: uploads.clone(),
        workspaces: workspaces.clone(),
    };
    let (tips, forgetting) = (credentialed.clone(), browsers.clone());
    let agent = Agent::new(limits, &store, parts, provider)
        .with_program_tips(Arc::new(move |cx| tips.tips(cx)))
        .when_forgotten(Arc::new(move |user, conversation| forgetting.forget(user, conversation)));
    let chosen = agent.clone();
    model_keys.set(models.clone());
    media::set_model(&media, agent.clone());
    let sync_groups = media::sync_groups(&registry, &services, &models);
    models.on_change(move |provider| {
        chosen.set_provider(provider);
        sync_groups();
    });
    let bus = ports.bus.clone();
    models.on_trouble(move |model| bus.publish("model:trouble", None, serde_json::json!({"model": model})));
    families.push(agent::family(agent.clone()).into_parts());
    registry.add_families(families)?;
    custom.load()?;
    command_tools.load()?;

    publish_pin_changes(&board, ports.bus.clone());
    tools_home::publish_changes(&things, ports.bus.clone(), closing.clone());
    graph::follow_memories(
        graph.clone(),
        memories.clone(),
        (agent.clone(), models.clone(), ports.clone()),
        closing.clone(),
    );
    let agreement = Agreement::new(Derived {
        memories: memories.clone(),
        documents: files.memory().clone(),
        graph: graph.clone(),
        vectors: vectors.clone(),
        databases: databases.clone(),
        skills: skills.clone(),
    });
    embedding::add_check(&care.checks, memories.clone());
    embedding::schedule(memories, ports.clone(), closing.clone());
    background::schedule_indexing(files.memory().clone(), closing.clone());
    background::schedule_skills(skills.clone(), closing.clone());
    background::maintain_workspace(workspaces.clone(), closing.clone());
    background::close_browsers(browsers, closing.clone());
    background::maintain_vectors(vectors, closing.clone());
    schedule_maintenance(agent.clone(), ports.clone(), closing.clone());
    undo::schedule_pruning(store.clone(), closing.clone());
    sql::schedule_tidying(databases.clone());
    sql::add_check(&care.checks, &databases);
    care.checks.add(move || Some(programs::check(&programs)));
    care.checks.add(move || Some(programs::check_browser(&chromium)));
    agreement.add_check(&care.checks);
    agreement.schedule(closing.clone());
    let (requests, used_agent) = (RequestCounts::default(), agent.clone());
    let (started, desk) = (Id::new(), settings.clone());
    let (kept, checking) = (store.clone(), ports.clone());
    let compacting = IdleHours { hours, clock: ports.clock.clone(), requests: requests.clone(), agent: used_agent };
    let house = AppParts {
        identity,
        agent,
        registry,
        scheduler: scheduler.clone(),
        rule_home: home,
        custom,
        command_tools,
        graph,
        documents,
        files: files.clone(),
        skills,
        workspaces,
        interactions,
        databases,
        uploads,
        workshop,
        credentialed,
        cli_tools,
        coding_agents,
        media,
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
        pins: pins.clone(),
        restart,
        updates: Arc::new(updates.clone()),
        requests: requests.clone(),
        event_streams: EventStreams::default(),
        closing,
        lasting: false,
        care: care.clone(),
    };
    Ok((
        house,
        settings,
        BackgroundTasks {
            scheduler,
            rules,
            file_rules,
            board,
            pins,
            home_assistant,
            store: kept,
            ports: checking,
            compacting,
            mail,
            mqtt,
            care,
            updates,
        },
    ))
}

/// Reflex over the phrases of all families, built on first use.
fn lazy_reflex(
    pins: tools_hardware::Pins,
    things: Things,
    registry: Registry,
    embedder: Embedder,
    clock: Arc<dyn Clock>,
    is_placed: bool,
) -> Arc<dyn llm::Provider> {
    reflex::lazy(move || {
        let tools = registry.clone();
        let risk = move |name: &str| tools.get(name).filter(|t| t.enabled).map(|t| t.risk);
        let reflex = Reflex::new(&registry.phrases(), risk, embedder.clone(), clock.clone())?;
        let pins = pins.clone();
        let device = |(pin, name, sensor)| reflex::Device { pin, name, sensor };
        let things = things.clone();
        let reflex = reflex.at_home(move || things.home());
        let reflex = if is_placed { reflex } else { reflex.nowhere() };
        Ok(reflex.knowing(move || pins.devices().into_iter().map(device).collect()))
    })
}

/// The families of people's records, each over the store alone.
fn everyday(store: &Store, scheduler: &Scheduler, titles: PageTitles) -> Vec<FamilyParts> {
    vec![
        tools_everyday::tasks(store).into_parts(),
        tools_everyday::lists(store).into_parts(),
        tools_everyday::notes(store).into_parts(),
        tools_everyday::bookmarks(store, titles).into_parts(),
        tools_everyday::contacts(store).into_parts(),
        tools_everyday::calendar(store, scheduler.clone()).into_parts(),
        tools_everyday::notices(store).into_parts(),
        tools_everyday::timers(scheduler.timers()).into_parts(),
        tools_data::finance(store).into_parts(),
        tools_data::goals(store).into_parts(),
        tools_data::tables(store).into_parts(),
        tools_data::state(store).into_parts(),
    ]
}

/// Families without state.
fn utilities(device: Device) -> [FamilyParts; 6] {
    [
        tools_utilities::utilities(device).into_parts(),
        tools_utilities::dates().into_parts(),
        tools_utilities::mathematics().into_parts(),
        tools_utilities::chance().into_parts(),
        tools_utilities::text().into_parts(),
        tools_utilities::data().into_parts(),
    ]
}

/// Stops runs, writes pending records, and drops the parts.
pub async fn close(house: AppState) {
    house.closing.cancel();
    house.agent.stop_all(STOP_TIMEOUT).await;
    house.workshop.sessions.stop_all(STOP_TIMEOUT).await;
    // The registry holds tools, which hold parts, which hold the registry.
    house.registry.close();
    // Batched writes hold the store too.
    if let Err(error) = house.store.close().await {
        tracing::warn!(%error, "the data file could not be closed in order; the next start takes the last writes from the log");
    }
}

/// Passes the secrets of services, models and the token to the scrubber, now and at each change.
fn sync_secrets(entry: &Entry, services: &ConfigCenter) {
    let keys = llm::PRESETS.iter().filter_map(|preset| std::env::var(preset.key_env).ok());
    entry.scrubber.set("environment", keys.chain(entry.token.clone()));
    let (scrubber, known) = (entry.scrubber.clone(), services.clone());
    let learn = move || scrubber.set("config-center", known.secrets());
    learn();
    services.on_change(learn);
}
