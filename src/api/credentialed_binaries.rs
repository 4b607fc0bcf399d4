//! `/api/v1/credentialed-binaries`: programs that work with a credential, set up by admins. Secrets are write-only.

use crate::{
    AppState, Caller,
    describe::{Routes, get},
    envelope::{Answer, Deleted, Json, PathText, ok},
};
use axum::{Extension, extract::State};
use identity::TokenScope;
use serde::Serialize;
use tool::prelude::{JsonSchema, schemars};
use tools_workshop::{BinarySettings, BinaryView, Preset};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/", get(list, "List programs that work with a credential, and the presets; without secrets.").admin())
        .route(
            "/{name}",
            get(one, "Get a program that works with a credential, without its secrets.")
                .admin()
                .put(
                    set,
                    "Set up a program with a credential, or replace its settings; secrets that are left out stay.",
                )
                .admin()
                .secret()
                .delete(remove, "Remove a program with its secrets.")
                .admin()
                .secret(),
        )
        .scope(TokenScope::Admin)
        // Names of variables, and none of their values.
        .harmless(&["secretsSet", "secrets"])
}

/// The programs, and what can be set up.
#[derive(Serialize, JsonSchema)]
struct Binaries {
    binaries: Vec<BinaryView>,
    /// Presets: everything about a program but its secrets.
    presets: &'static [Preset],
}

async fn list(State(house): State<AppState>) -> Answer<Binaries> {
    Ok(ok(Binaries { binaries: house.credentialed.list()?, presets: house.credentialed.presets() }))
}

async fn one(State(house): State<AppState>, PathText(name): PathText) -> Answer<BinaryView> {
    Ok(ok(house.credentialed.get(&name)?))
}

async fn set(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
    Json(settings): Json<BinarySettings>,
) -> Answer<BinaryView> {
    Ok(ok(house.credentialed.set(&house.cx(&caller), &name, settings).await?))
}

async fn remove(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
) -> Answer<Deleted> {
    house.credentialed.remove(&house.cx(&caller), &name).await?;
    Ok(ok(Deleted::yes()))
}
