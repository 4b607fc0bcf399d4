//! Layer 5: the HTTP door. It turns requests into calls of lower layers and their answers into JSON; it decides
//! nothing about tools.
//!
//! The same router is served on TCP (page and programs, with a token or a session) and on the local socket
//! (command line, known by its user id).

mod access;
mod chat;
mod claim;
mod custom_tools;
mod device;
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
mod seats;
mod serve;
mod settings;
mod tls;
mod tokens;
mod tools;

pub use claim::Claiming;
pub use keys::Access;
pub use network::{Network, Tls};
pub use serve::{Listeners, serve};
pub use settings::{DeviceSettings, From, ModelChoice, ModelInUse, Neighbour};
pub use tls::Certificate;

use agent::Agent;
use axum::{
    Router,
    extract::State,
    middleware,
    routing::{delete, get, patch, post},
};
use custom::CustomTools;
use envelope::Failure;
use registry::Registry;
use serde_json::{Value, json};
use std::sync::Arc;
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
}

/// Who a request comes from, once that is known.
#[derive(Clone)]
pub(crate) struct Caller(pub Principal, pub Via);

impl House {
    pub(crate) fn cx(&self, caller: &Caller) -> Cx {
        Cx::root(self.ports.clone(), caller.0.clone(), caller.1.clone())
    }
}

/// The whole door: what is behind the lock, what is not, and what every answer carries.
pub(crate) fn router(house: House) -> Router {
    let api = Router::new()
        .route("/claim", post(entry::claim))
        .route("/session", get(entry::who_am_i).post(entry::sign_in).delete(entry::sign_out))
        .route("/sessions", get(entry::sessions))
        .route("/sessions/{id}", delete(entry::delete_session))
        .route("/people", get(people::list).post(people::add))
        .route("/people/{id}", patch(people::change).delete(people::remove))
        .route("/tokens", get(tokens::list).post(tokens::make))
        .route("/tokens/{id}", delete(tokens::delete))
        .route("/chat", post(chat::chat))
        .route("/runs", get(chat::runs))
        .route("/runs/{id}/cancel", post(chat::cancel))
        .route("/conversations", get(chat::conversations))
        .route("/conversations/{id}", get(chat::conversation).delete(chat::delete_conversation))
        .route("/tools", get(tools::list))
        .route("/tools/{name}", get(tools::one))
        .route("/tools/{name}/execute", post(tools::execute))
        .nest("/custom-tools", custom_tools::routes())
        .route("/device", get(device::about).patch(device::rename))
        .route("/model", get(device::model).put(device::choose_model))
        .route("/discover", get(device::discover))
        .route("/events", get(device::events))
        .route("/backup", post(device::backup))
        .method_not_allowed_fallback(wrong_method)
        .fallback(no_such_path);
    Router::new()
        .nest("/api/v1", api)
        .nest("/v1", openai::routes())
        // Around the fallback too: strangers do not even learn which addresses exist.
        .layer(middleware::from_fn_with_state(house.clone(), access::lock))
        .route("/healthz", get(health))
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
    Failure::new(404, "not_found", "there is nothing at this address: see the list of endpoints in the documentation")
}

async fn wrong_method() -> Failure {
    Failure::new(405, "method_not_allowed", "this address does not take that method")
}
