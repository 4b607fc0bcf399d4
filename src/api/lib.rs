//! Layer 5: the HTTP API. It turns requests into calls of lower layers and their results into JSON; it decides nothing about
//! tools.
//!
//! The same router is served on TCP (page and programs, with a token or a session) and on the local socket
//! (command line, known by its user id).

mod approvals;
mod auth;
mod auth_middleware;
mod authored_tools;
mod automation;
mod backup;
mod board;
mod care;
mod changes;
mod chat;
mod check;
mod cli_tools;
mod coding_agents;
mod command_tools;
mod config_services;
mod connection_limiter;
mod conversations;
mod credentialed_binaries;
mod custom_tools;
mod database;
mod describe;
mod device;
mod document;
mod documents;
mod entrance;
mod envelope;
mod estimate;
mod event_streams;
mod factory_reset;
mod files;
mod graph;
mod home;
mod host_check;
mod interactions;
mod memory_documents;
mod metrics;
mod models;
mod network;
mod ollama;
mod openai;
mod page;
mod people;
mod policy_routes;
mod processes;
mod profile;
mod query;
mod response_headers;
mod restart;
mod restore;
mod rules;
mod runs;
mod search;
mod serve;
mod settings;
mod skills;
mod storage;
mod tls;
mod today;
mod tokens;
mod tools;
mod update;
mod voice;
mod workspace;
mod workspace_files;

pub use event_streams::EventStreams;
pub use factory_reset::{FACTORY_RESET, ask_for_factory_reset};
pub use metrics::RequestCounts;
pub use network::{Network, Tls, bracketed};
pub use restart::{Leave, Restart};
pub use restore::{PENDING, UPLOAD};
pub use serve::{Listeners, serve};
pub use settings::{DeviceSettings, Home, HomeChange, Neighbour};
pub use tls::Certificate;
pub use update::{
    BundleUpload, ByteRange, InstallSource, MAX_HEAD, MAX_PIECE, OpenUpload, PieceTaken, Switching, UpdateAvailable,
    UpdateChannel, UpdateFound, UpdateOutcome, UpdateProgress, UpdateSlot, UpdateView, Updates,
};

use ::command_tools::CommandTools;
use ::models::Models;
use agent::Agent;
use axum::{Router, extract::State, middleware};
use config_center::ConfigCenter;
use custom::CustomTools;
use describe::{Routes, delete, get, post};
use document::middleware_failures;
use envelope::Failure;
use identity::{Identity, TokenScope};
use registry::Registry;
use scheduler::Scheduler;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use store::Store;
use tokio_util::sync::CancellationToken;
use tool::{Cx, Id, Ports, Principal, Via};
use tools_workshop::{CliTools, CodingAgents, Credentialed};

/// Everything the handlers need, behind one pointer: the router copies it for every route and layer.
#[derive(Clone)]
pub struct AppState(Arc<AppParts>);

impl std::ops::Deref for AppState {
    type Target = AppParts;

    fn deref(&self) -> &AppParts {
        &self.0
    }
}

impl From<AppParts> for AppState {
    fn from(parts: AppParts) -> Self {
        Self(Arc::new(parts))
    }
}

/// The parts of the application.
pub struct AppParts {
    /// People and their credentials.
    pub identity: Identity,
    /// Answers messages.
    pub agent: Agent,
    /// The tools.
    pub registry: Registry,
    /// People's schedules.
    pub scheduler: Scheduler,
    /// The home as rules see it: what one chooses from to make one.
    pub rule_home: ::rules::Home,
    /// Custom tools.
    pub custom: CustomTools,
    /// Command tools.
    pub command_tools: CommandTools,
    /// People's knowledge graphs.
    pub graph: ::graph::Graph,
    /// The documents that define the agent.
    pub documents: persona::Documents,
    /// Memory documents, and the context files by path.
    pub files: ::documents::VirtualFiles,
    /// Skills.
    pub skills: ::skills::Skills,
    /// Files of the household, its people and agents.
    pub workspaces: ::workspace::Workspaces,
    /// Questions that wait for people.
    pub interactions: interaction::Interactions,
    /// SQL databases of agents.
    pub databases: sql::Databases,
    /// Programs and what runs them.
    pub workshop: tools_workshop::Workshop,
    /// Uploaded files.
    pub uploads: uploads::Uploads,
    /// Servers that hear and speak.
    pub media: media::Media,
    /// The services people set up.
    pub config: ConfigCenter,
    /// Backups and the device id.
    pub store: Store,
    /// The ports of every call.
    pub ports: Ports,
    /// Settings an admin changes at runtime.
    pub settings: Arc<dyn DeviceSettings>,
    /// The models that answer.
    pub models: Models,
    /// Fetches pictures that programs name by URL.
    pub web: http_client::Guarded,
    /// Turns texts into vectors.
    pub embedder: embed::Embedder,
    /// The device's names, addresses and certificate.
    pub network: Network,
    /// The time of the start.
    pub started: Id,
    /// The machine's load and temperature.
    pub device: ::board::Device,
    /// The header pins.
    pub pins: tools_hardware::Pins,
    /// Shuts down and starts again.
    pub restart: Restart,
    /// Installs other versions.
    pub updates: Arc<dyn Updates>,
    /// Programs that work with a credential.
    pub credentialed: Credentialed,
    /// Command-line tools.
    pub cli_tools: CliTools,
    /// Coding agents of other makers.
    pub coding_agents: CodingAgents,
    /// Requests since the start.
    pub requests: RequestCounts,
    /// The open event streams of each person.
    pub event_streams: EventStreams,
    /// Cancelled at shutdown: streams end.
    pub closing: CancellationToken,
    /// Backups, checks, power, and what is written to the disk.
    pub care: ::care::Care,
    /// Whether this is the daemon, which resumes suspended runs; a process for one command leaves them to the daemon.
    pub lasting: bool,
}

/// The interval of keep-alives on a quiet stream.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The sender of a request.
#[derive(Clone)]
pub(crate) struct Caller {
    pub principal: Principal,
    pub via: Via,
    /// The stored credential it came with.
    pub key: Option<Id>,
    /// Whether the person signed in themselves, by claim, password or the local socket, and not with a token of
    /// theirs.
    pub in_person: bool,
}

impl AppState {
    pub(crate) fn cx(&self, caller: &Caller) -> Cx {
        Cx::root(self.ports.clone(), caller.principal.clone(), caller.via.clone())
    }
}

/// Every described route.
fn routes() -> Routes<AppState> {
    let answers = Routes::new()
        .route("/approvals", get(approvals::list, "What Hob asks the caller."))
        .route("/approvals/{id}", get(approvals::one, "One question."))
        .route("/approvals/{id}/decide", post(approvals::decide, "Answer a question."))
        .route("/interactions", get(interactions::list, "What waits for the caller's answer."))
        .route("/interactions/{id}", get(interactions::one, "A question, or what is shown."))
        .route("/interactions/{id}/respond", post(interactions::respond, "Answer it."))
        .route("/interactions/{id}/dismiss", post(interactions::dismiss, "Put it aside."))
        .route("/grants", get(approvals::grants, "What the caller said yes to for good."))
        .route("/grants/{id}", delete(approvals::take_back, "Take a standing yes back."))
        .scope(TokenScope::Approvals);
    let api = Routes::new()
        .merge(auth::routes())
        .merge(people::routes())
        .merge(home::routes())
        .merge(tokens::routes())
        .merge(chat::routes())
        .merge(runs::routes())
        .merge(conversations::routes())
        .merge(tools::routes())
        .merge(changes::routes())
        .merge(today::routes())
        .merge(search::routes())
        .merge(board::routes())
        .merge(automation::routes())
        .merge(graph::routes())
        .merge(rules::routes())
        .merge(answers)
        .merge(policy_routes::routes())
        .merge(documents::agent_routes())
        .merge(profile::routes())
        .merge(device::routes())
        .merge(models::routes())
        .merge(estimate::routes())
        .merge(files::routes())
        .merge(processes::routes())
        .merge(check::routes())
        .merge(storage::routes())
        .merge(voice::routes())
        .merge(backup::routes())
        .merge(database::routes())
        .merge(care::routes())
        .merge(restore::routes())
        .merge(update::routes())
        .merge(factory_reset::routes())
        .merge(document::routes())
        .nest("/command-tools", command_tools::routes())
        .nest("/custom-tools", custom_tools::routes())
        .nest("/config-services", config_services::routes())
        .nest("/credentialed-binaries", credentialed_binaries::routes())
        .nest("/cli-tools", cli_tools::routes())
        .nest("/coding-agents", coding_agents::routes())
        .nest("/documents", documents::routes())
        .nest("/memory-documents", memory_documents::routes())
        .nest("/skills", skills::routes())
        .nest("/workspace", workspace::routes().merge(workspace_files::routes()))
        // `csrfToken` is worthless without the session's cookie; the others describe keys and contain none.
        .harmless(&["csrfToken", "keyFrom", "keyHint", "secretsSet", "requiredApiKeys", "keyPrefixes"])
        .all(middleware_failures)
        .otherwise(wrong_method, no_such_path);
    Routes::new().nest("/api/v1", api).nest("/v1", openai::routes()).merge(ollama::routes()).merge(metrics::routes())
}

/// All routes with their middleware: those that need a credential, and the page.
pub(crate) fn router(house: AppState) -> Router {
    // The middleware also covers the fallbacks: without a credential nobody learns which addresses exist.
    let routes = routes();
    let auth = auth_middleware::Auth { house: house.clone(), routes: Arc::new(routes.table()) };
    let authenticated = routes.into_router().layer(middleware::from_fn_with_state(auth, auth_middleware::authenticate));
    authenticated
        .route("/healthz", axum::routing::get(health))
        .fallback(page::serve)
        .method_not_allowed_fallback(wrong_method)
        .with_state(house.clone())
        // One layer of five, because each layer is a copy of every route. The first is the outermost.
        .layer((
            middleware::from_fn_with_state(house.requests.clone(), metrics::count),
            middleware::from_fn(ollama::refusals),
            middleware::from_fn(openai::refusals),
            middleware::from_fn(response_headers::finish),
            middleware::from_fn_with_state(house, host_check::check),
        ))
}

async fn health(State(house): State<AppState>) -> axum::Json<Value> {
    axum::Json(json!({"status": "ok", "version": env!("CARGO_PKG_VERSION"), "name": house.settings.name()}))
}

async fn no_such_path() -> Failure {
    Failure::new(404, "not_found", "there is nothing at this address: GET /api/v1/openapi.json tells what there is")
}

async fn wrong_method() -> Failure {
    Failure::new(405, "method_not_allowed", "this address does not take that method")
}
