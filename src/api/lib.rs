//! Layer 5: the HTTP door. It turns requests into calls of lower layers and their answers into JSON; it decides
//! nothing about tools.
//!
//! The same router is served on TCP (page and programs, with a token or a session) and on the local socket
//! (command line, known by its user id).

mod approvals;
mod auth;
mod auth_middleware;
mod chat;
mod check;
mod claim;
mod config_services;
mod connection_limiter;
mod conversations;
mod custom_tools;
mod describe;
mod device;
mod document;
mod documents;
mod envelope;
mod estimate;
mod files;
mod host_check;
mod interactions;
mod keys;
mod limits;
mod metrics;
mod models;
mod network;
mod ollama;
mod openai;
mod page;
mod password;
mod people;
mod policy_routes;
mod restore;
mod runs;
mod serve;
mod settings;
mod tls;
mod token_scope;
mod tokens;
mod tools;

pub use claim::Claiming;
pub use keys::Access;
pub use metrics::RequestCounts;
pub use models::{
    Fresh, From, Known, ModelChoice, ModelInUse, ModelTerms, Models, Provider, ProviderChange, Spent, Today, Tried,
};
pub use network::{Network, Tls, bracketed};
pub use restore::{PENDING, Restart, UPLOAD};
pub use serve::{Listeners, serve};
pub use settings::{DeviceSettings, Neighbour};
pub use tls::Certificate;

use agent::Agent;
use axum::{Router, extract::State, middleware};
use config_center::ConfigCenter;
use custom::CustomTools;
use describe::{Routes, delete, get, patch, post, put};
use document::{asks_a_model, behind_the_lock, limited};
use envelope::Failure;
use registry::Registry;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use store::Store;
use tokio_util::sync::CancellationToken;
use tool::{Cx, Id, Ports, Principal, Via};

/// Everything the doors need.
#[derive(Clone)]
pub struct AppState {
    /// Who may come in.
    pub access: Access,
    /// The mind.
    pub agent: Agent,
    /// The catalogue.
    pub registry: Registry,
    /// Custom tools.
    pub custom: CustomTools,
    /// Who the agent is.
    pub documents: persona::Documents,
    /// What waits for people.
    pub interactions: interaction::Interactions,
    /// What people sent.
    pub uploads: uploads::Uploads,
    /// The services people set up.
    pub config: ConfigCenter,
    /// For backups and the device id.
    pub store: Store,
    /// What calls carry.
    pub ports: Ports,
    /// What an admin may change while the house is open.
    pub settings: Arc<dyn DeviceSettings>,
    /// Which models answer.
    pub models: Arc<dyn Models>,
    /// The web, for pictures that programs name by their address.
    pub web: http_client::Guarded,
    /// Texts to vectors.
    pub embedder: embed::Embedder,
    /// How it is reached.
    pub network: Network,
    /// When it was built.
    pub started: Id,
    /// The machine's load and temperature.
    pub device: board::Device,
    /// Closing and starting again.
    pub restart: Restart,
    /// Requests since the start.
    pub requests: RequestCounts,
    /// Cancelled when the house closes: long answers end.
    pub closing: CancellationToken,
    /// Whether it stays open, and runs that rested can go on here; a house for one command leaves them to the next that does.
    pub lasting: bool,
}

/// How often a quiet stream shows that it is alive.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Who a request comes from, once that is known.
#[derive(Clone)]
pub(crate) struct Caller {
    pub principal: Principal,
    pub via: Via,
    /// The credential it came with, where that is a stored one.
    pub key: Option<Id>,
    /// Whether it is the person themselves: by claim, password or the local socket, and not what holds a token of theirs.
    pub in_person: bool,
}

impl AppState {
    pub(crate) fn cx(&self, caller: &Caller) -> Cx {
        Cx::root(self.ports.clone(), caller.principal.clone(), caller.via.clone())
    }
}

/// Every address that tells of itself, with what may be answered there.
fn routes() -> Routes<AppState> {
    let api = Routes::new()
        .route(
            "/claim",
            post(auth::claim, "Take the device with the code on its console.").open().secret().also(limited),
        )
        .route(
            "/session",
            get(auth::who_am_i, "Who the caller is.")
                .post(auth::sign_in, "Sign in with a password or a token.")
                .open()
                .secret()
                .also(limited)
                .delete(auth::sign_out, "Sign out.")
                .secret(),
        )
        .route("/sessions", get(auth::sessions, "Where the caller is signed in."))
        .route("/sessions/{id}", delete(auth::delete_session, "Sign out elsewhere."))
        .route(
            "/people",
            get(people::list, "The people of the household.").secret().post(people::add, "Add a person.").secret(),
        )
        .route(
            "/people/{id}",
            patch(people::change, "Change a person's name, role or password.")
                .secret()
                .also(limited)
                .delete(people::remove, "Take a person out of the household.")
                .secret(),
        )
        .route(
            "/tokens",
            get(tokens::list, "The API tokens, without the tokens.")
                .secret()
                .post(tokens::make, "Make an API token.")
                .secret(),
        )
        .route("/tokens/{id}", delete(tokens::delete, "Take a token back.").secret())
        .route("/chat", post(chat::chat, "Say something; the answer comes whole or as events.").also(asks_a_model))
        .route("/runs", get(runs::list, "The caller's runs, under way and over."))
        .route("/runs/{id}", get(runs::one, "A run with its steps."))
        .route("/runs/{id}/cancel", post(runs::cancel, "Stop a run."))
        .route("/runs/{id}/resume", post(runs::resume, "Have a run go on that failed or was stopped."))
        .route("/conversations", get(conversations::list, "Find or list conversations."))
        .route("/conversations/import", post(conversations::import, "Bring a conversation in."))
        .route(
            "/conversations/{id}",
            get(conversations::one, "A conversation with its messages.")
                .patch(conversations::change, "Change a conversation's title, instructions or metadata.")
                .delete(conversations::delete, "Delete a conversation."),
        )
        .route("/conversations/{id}/fork", post(conversations::fork, "Copy a conversation, up to a message of it."))
        .route("/conversations/{id}/reset", post(conversations::reset, "Delete what was said in a conversation."))
        .route("/conversations/{id}/export", get(conversations::export, "A conversation to be taken along."))
        .route("/tools", get(tools::list, "Find or list tools."))
        .route("/tools/{name}", get(tools::one, "A tool and its help."))
        .route("/tools/{name}/execute", post(tools::execute, "Run a tool.").also(limited))
        .route(
            "/tools/{name}/explain",
            get(policy_routes::explain, "Whether a call would be made, and which rule decides."),
        )
        .route("/tool-groups", get(policy_routes::groups, "The groups of tools, and which are on."))
        .route("/tool-groups/{id}", put(policy_routes::switch_group, "Turn a group of tools on or off."))
        .route("/tool-stats", get(policy_routes::stats, "How many tools there are, by category, group and owner."))
        .route("/approvals", get(approvals::list, "What Hob asks the caller."))
        .route("/approvals/{id}", get(approvals::one, "One question."))
        .route("/approvals/{id}/decide", post(approvals::decide, "Answer a question."))
        .route("/interactions", get(interactions::list, "What waits for the caller's answer."))
        .route("/interactions/{id}", get(interactions::one, "A question, or what is shown."))
        .route("/interactions/{id}/respond", post(interactions::respond, "Answer it."))
        .route("/interactions/{id}/dismiss", post(interactions::dismiss, "Put it aside."))
        .route("/grants", get(approvals::grants, "What the caller said yes to for good."))
        .route("/grants/{id}", delete(approvals::take_back, "Take a standing yes back."))
        .route(
            "/autonomy",
            get(policy_routes::autonomy, "How much Hob does for the caller without asking.")
                .put(policy_routes::choose_autonomy, "Choose how much Hob does without asking."),
        )
        .route("/policy", get(policy_routes::get, "Who may do what.").put(policy_routes::put, "Say who may do what."))
        .route("/audit", get(policy_routes::audit, "The calls that were made, the newest first."))
        .nest("/custom-tools", custom_tools::routes())
        .nest("/config-services", config_services::routes())
        .nest("/documents", documents::routes())
        .route("/prompt", get(documents::prompt, "What the model would be told now, before the conversation."))
        .route(
            "/conversations/{id}/compact",
            post(documents::compact, "Put the older part of a conversation into a summary.").also(asks_a_model),
        )
        .route(
            "/device",
            get(device::about, "The device, and how it is reached.")
                .patch(device::rename, "Give the device another name."),
        )
        .route(
            "/model",
            get(models::in_use, "Which model answers.")
                .put(models::choose, "Choose the model that answers.")
                .secret()
                .patch(models::adjust, "Choose what stands in for it, and what may be spent.")
                .secret(),
        )
        .route("/models", get(models::known, "What is known of models."))
        .route("/models/refresh", post(models::refresh, "Learn of new models and prices."))
        .route("/providers", get(models::providers, "Who offers models."))
        .route("/providers/estimate", post(estimate::estimate, "Estimate what a request to a model would cost."))
        .route("/providers/{id}", put(models::change, "Say where a provider is, or give its key.").secret())
        .route("/providers/{id}/try", post(models::attempt, "Ask a provider for its models.").secret())
        .route("/usage", get(models::spent, "What was spent on models, by day."))
        .route("/files", post(files::add, "Send a file."))
        .route("/files/{id}", get(files::get, "A file as it was sent.").delete(files::delete, "Delete a file."))
        .route("/discover", get(device::discover, "What is near on the network."))
        .route("/events", get(device::events, "Everything that happens and concerns the caller."))
        // A damaged row is named by its key, which can hold what a record is found by.
        .route("/check", post(check::check, "Check all stored records for damage.").secret())
        .route("/backup", post(device::backup, "A copy of all data but the secrets.").secret())
        .route("/restore", post(restore::restore, "Put a backup in the place of all data, and start again.").secret())
        .route("/openapi.json", get(document::serve, "This document."))
        // `csrfToken` is worthless without the session's cookie; the others tell about keys and hold none.
        .harmless(&["csrfToken", "keyFrom", "keyHint", "secretsSet", "requiredApiKeys"])
        .all(behind_the_lock)
        .with(|router| router.method_not_allowed_fallback(wrong_method).fallback(no_such_path));
    Routes::new().nest("/api/v1", api).nest("/v1", openai::routes()).merge(ollama::routes()).merge(metrics::routes())
}

/// The whole door: what is behind the lock, what is not, and what every answer carries.
pub(crate) fn router(house: AppState) -> Router {
    // Around the fallbacks too: strangers do not even learn which addresses exist.
    let routes = routes();
    let lock = auth_middleware::Lock { house: house.clone(), routes: Arc::new(routes.access()) };
    let locked = routes.into_router().layer(middleware::from_fn_with_state(lock, auth_middleware::lock));
    locked
        .route("/healthz", axum::routing::get(health))
        .fallback(page::serve)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(house.clone(), host_check::guard))
        .with_state(house.clone())
        .layer(middleware::from_fn(envelope::finish))
        .layer(middleware::from_fn(openai::refusals))
        .layer(middleware::from_fn(ollama::refusals))
        .layer(middleware::from_fn_with_state(house.requests, metrics::count))
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
