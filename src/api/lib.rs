//! Layer 5: the HTTP door. It turns requests into calls of lower layers and their answers into JSON; it decides
//! nothing about tools.
//!
//! The same router is served on TCP (page and programs, with a token or a session) and on the local socket
//! (command line, known by its user id).

mod access;
mod chat;
mod custom_tools;
mod device;
mod envelope;
mod keys;
mod page;
mod serve;
mod tools;

pub use keys::{Access, Claim};
pub use serve::{Listeners, serve};

use agent::Agent;
use axum::{
    Router,
    extract::State,
    middleware,
    routing::{delete, get, post},
};
use custom::CustomTools;
use envelope::Failure;
use registry::Registry;
use serde_json::{Value, json};
use store::Store;
use tokio_util::sync::CancellationToken;
use tool::{Cx, Ports, Principal, Via};

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
    /// The device's name.
    pub name: String,
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
        .route("/claim", post(access::claim))
        .route("/session", get(access::who).post(access::sign_in).delete(access::sign_out))
        .route("/tokens", get(access::list_tokens).post(access::new_token))
        .route("/tokens/{id}", delete(access::delete_token))
        .route("/chat", post(chat::chat))
        .route("/runs/{id}/cancel", post(chat::cancel))
        .route("/conversations", get(chat::conversations))
        .route("/conversations/{id}", get(chat::conversation).delete(chat::delete_conversation))
        .route("/tools", get(tools::list))
        .route("/tools/{name}", get(tools::one))
        .route("/tools/{name}/execute", post(tools::execute))
        .nest("/custom-tools", custom_tools::routes())
        .route("/events", get(device::events))
        .route("/backup", post(device::backup))
        .fallback(no_such_path)
        // Around the fallback too: strangers do not even learn which addresses exist.
        .layer(middleware::from_fn_with_state(house.clone(), access::lock));
    Router::new()
        .route("/healthz", get(health))
        .nest("/api/v1", api)
        .fallback(page::serve)
        .method_not_allowed_fallback(wrong_method)
        .with_state(house)
        .layer(middleware::from_fn(envelope::finish))
}

async fn health(State(house): State<House>) -> axum::Json<Value> {
    axum::Json(json!({"status": "ok", "version": env!("CARGO_PKG_VERSION"), "name": house.name}))
}

async fn no_such_path() -> Failure {
    Failure::new(404, "not_found", "there is nothing at this address: see the list of endpoints in the documentation")
}

async fn wrong_method() -> Failure {
    Failure::new(405, "method_not_allowed", "this address does not take that method")
}
