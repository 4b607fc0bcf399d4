//! Layer 5: the HTTP door. It turns requests into calls of lower layers and their answers into JSON; it decides
//! nothing about tools.
//!
//! The same router is served on TCP (page and programs, with a token or a session) and on the local socket
//! (command line, known by its user id).

mod access;
mod approvals;
mod chat;
mod claim;
mod config_services;
mod custom_tools;
mod describe;
mod device;
mod document;
mod entry;
mod envelope;
mod guard;
mod keys;
mod limits;
mod network;
mod openai;
mod page;
mod password;
mod people;
mod reach;
mod rights;
mod seats;
mod serve;
mod settings;
mod tls;
mod tokens;
mod tools;

pub use approvals::go_on_with_answered;
pub use claim::Claiming;
pub use keys::Access;
pub use network::{Network, Tls, bracketed};
pub use serve::{Listeners, serve};
pub use settings::{DeviceSettings, From, ModelChoice, ModelInUse, Neighbour};
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
pub struct House {
    /// Who may come in.
    pub access: Access,
    /// The mind.
    pub agent: Agent,
    /// The catalogue.
    pub registry: Registry,
    /// Custom tools.
    pub custom: CustomTools,
    /// The services people set up.
    pub config: ConfigCenter,
    /// For backups and the device id.
    pub store: Store,
    /// What calls carry.
    pub ports: Ports,
    /// What an admin may change while the house is open.
    pub settings: Arc<dyn DeviceSettings>,
    /// How it is reached.
    pub network: Network,
    /// When it was built.
    pub started: Id,
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

impl House {
    pub(crate) fn cx(&self, caller: &Caller) -> Cx {
        Cx::root(self.ports.clone(), caller.principal.clone(), caller.via.clone())
    }
}

/// Every address that tells of itself, with what may be answered there.
fn routes() -> Routes<House> {
    let api = Routes::new()
        .route("/claim", post(entry::claim, "Take the device with the code on its console.").open().also(limited))
        .route(
            "/session",
            get(entry::who_am_i, "Who the caller is.")
                .post(entry::sign_in, "Sign in with a password or a token.")
                .open()
                .also(limited)
                .delete(entry::sign_out, "Sign out."),
        )
        .route("/sessions", get(entry::sessions, "Where the caller is signed in."))
        .route("/sessions/{id}", delete(entry::delete_session, "Sign out elsewhere."))
        .route("/people", get(people::list, "The people of the household.").post(people::add, "Add a person."))
        .route(
            "/people/{id}",
            patch(people::change, "Change a person's name, role or password.")
                .also(limited)
                .delete(people::remove, "Take a person out of the household."),
        )
        .route(
            "/tokens",
            get(tokens::list, "The API tokens, without the tokens.").post(tokens::make, "Make an API token."),
        )
        .route("/tokens/{id}", delete(tokens::delete, "Take a token back."))
        .route("/chat", post(chat::chat, "Say something; the answer comes whole or as events.").also(asks_a_model))
        .route("/runs", get(chat::runs, "The caller's runs that are under way."))
        .route("/runs/{id}/cancel", post(chat::cancel, "Stop a run."))
        .route("/conversations", get(chat::conversations, "Find or list conversations."))
        .route(
            "/conversations/{id}",
            get(chat::conversation, "A conversation with its messages.")
                .delete(chat::delete_conversation, "Delete a conversation."),
        )
        .route("/tools", get(tools::list, "Find or list tools."))
        .route("/tools/{name}", get(tools::one, "A tool and its help."))
        .route("/tools/{name}/execute", post(tools::execute, "Run a tool.").also(limited))
        .route("/tools/{name}/explain", get(rights::explain, "Whether a call would be made, and which rule decides."))
        .route("/tool-groups", get(rights::groups, "The groups of tools, and which are on."))
        .route("/tool-groups/{id}", put(rights::switch_group, "Turn a group of tools on or off."))
        .route("/tool-stats", get(rights::stats, "How many tools there are, by category, group and owner."))
        .route("/approvals", get(approvals::list, "What Hob asks the caller."))
        .route("/approvals/{id}", get(approvals::one, "One question."))
        .route("/approvals/{id}/decide", post(approvals::decide, "Answer a question."))
        .route("/grants", get(approvals::grants, "What the caller said yes to for good."))
        .route("/grants/{id}", delete(approvals::take_back, "Take a standing yes back."))
        .route(
            "/autonomy",
            get(rights::autonomy, "How much Hob does for the caller without asking.")
                .put(rights::choose_autonomy, "Choose how much Hob does without asking."),
        )
        .route("/policy", get(rights::get, "Who may do what.").put(rights::put, "Say who may do what."))
        .route("/audit", get(rights::audit, "The calls that were made, the newest first."))
        .nest("/custom-tools", custom_tools::routes())
        .nest("/config-services", config_services::routes())
        .route(
            "/device",
            get(device::about, "The device, and how it is reached.")
                .patch(device::rename, "Give the device another name."),
        )
        .route(
            "/model",
            get(device::model, "Which model answers.").put(device::choose_model, "Choose the model that answers."),
        )
        .route("/discover", get(device::discover, "What is near on the network."))
        .route("/events", get(device::events, "Everything that happens and concerns the caller."))
        .route("/backup", post(device::backup, "A copy of all data but the secrets."))
        .route("/openapi.json", get(document::serve, "This document."))
        .all(behind_the_lock)
        .with(|router| router.method_not_allowed_fallback(wrong_method).fallback(no_such_path));
    Routes::new().nest("/api/v1", api).nest("/v1", openai::routes())
}

/// The whole door: what is behind the lock, what is not, and what every answer carries.
pub(crate) fn router(house: House) -> Router {
    // Around the fallbacks too: strangers do not even learn which addresses exist.
    let locked = routes().into_router().layer(middleware::from_fn_with_state(house.clone(), access::lock));
    locked
        .route("/healthz", axum::routing::get(health))
        .fallback(page::serve)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(house.clone(), guard::guard))
        .with_state(house)
        .layer(middleware::from_fn(envelope::finish))
        .layer(middleware::from_fn(openai::refusals))
}

async fn health(State(house): State<House>) -> axum::Json<Value> {
    axum::Json(json!({"status": "ok", "version": env!("CARGO_PKG_VERSION"), "name": house.settings.name()}))
}

async fn no_such_path() -> Failure {
    Failure::new(404, "not_found", "there is nothing at this address: GET /api/v1/openapi.json tells what there is")
}

async fn wrong_method() -> Failure {
    Failure::new(405, "method_not_allowed", "this address does not take that method")
}
