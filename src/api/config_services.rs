//! `/api/v1/config-services`: the services people set up. Secrets are write-only.

use crate::{
    AppState, Caller,
    describe::{DescribeInput, Routes, get, patch, post},
    envelope::{Answer, Created as New, Deleted, Failure, Json, PathText, ok},
};
use axum::{
    Extension,
    extract::{FromRequestParts, Path, State},
    http::request::Parts,
};
use config_center::{Definition, EntryPatch, NewEntry, Service};
use identity::TokenScope;
use serde::Serialize;
use tool::prelude::{JsonSchema, schemars};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route(
            "/",
            get(list, "List the services people set up or tools need; viewers get only names.")
                .scope(TokenScope::Tools),
        )
        .route(
            "/{name}",
            get(one, "Get a service with its fields and entries, without secrets.")
                .scope(TokenScope::Tools)
                .put(define, "Create or change a service.")
                .admin()
                .secret()
                .delete(remove, "Remove a service with all its entries.")
                .admin()
                .secret(),
        )
        .route("/{name}/entries", post(add, "Add an entry.").admin().secret())
        .route(
            "/{name}/entries/{label}",
            patch(change, "Change an entry; secrets that are not given again stay.")
                .admin()
                .secret()
                .delete(drop_entry, "Remove an entry.")
                .admin()
                .secret(),
        )
        .scope(TokenScope::Admin)
}

/// A service and one of its entries, in the path.
struct ServiceAndLabel(String, String);

impl DescribeInput for ServiceAndLabel {}

impl<S: Send + Sync> FromRequestParts<S> for ServiceAndLabel {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let path = Path::<(String, String)>::from_request_parts(parts, state).await;
        path.map(|Path((name, label))| Self(name, label)).map_err(|_| {
            Failure::new(400, "bad_args", "the names in the address are not readable text: write them in UTF-8")
        })
    }
}

/// The services.
#[derive(Serialize, JsonSchema)]
struct Services {
    count: usize,
    services: Vec<Service>,
}

async fn list(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<Services> {
    let services = house.config.services().into_iter().map(|s| s.seen_by(caller.principal.role));
    let services: Vec<Service> = services.collect();
    Ok(ok(Services { count: services.len(), services }))
}

async fn one(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
) -> Answer<Service> {
    let service = house.config.service(&name).ok_or_else(|| not_found(&name))?;
    Ok(ok(service.seen_by(caller.principal.role)))
}

fn not_found(name: &str) -> Failure {
    let name: String = name.chars().take(80).collect();
    Failure::new(404, "not_found", format!("there is no service `{name}`: GET /api/v1/config-services lists them"))
}

async fn define(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
    Json(body): Json<Definition>,
) -> Answer<Service> {
    Ok(ok(house.config.define(&house.cx(&caller), &name, body).await?))
}

async fn remove(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
) -> Answer<Deleted> {
    house.config.remove(&house.cx(&caller), &name).await?;
    Ok(ok(Deleted::yes()))
}

async fn add(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
    Json(body): Json<NewEntry>,
) -> Result<New<Service>, Failure> {
    Ok(New(house.config.add_entry(&house.cx(&caller), &name, body).await?))
}

async fn change(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    ServiceAndLabel(name, label): ServiceAndLabel,
    Json(body): Json<EntryPatch>,
) -> Answer<Service> {
    Ok(ok(house.config.change_entry(&house.cx(&caller), &name, &label, body).await?))
}

async fn drop_entry(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    ServiceAndLabel(name, label): ServiceAndLabel,
) -> Answer<Service> {
    Ok(ok(house.config.remove_entry(&house.cx(&caller), &name, &label).await?))
}
