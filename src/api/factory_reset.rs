//! `POST /api/v1/factory-reset`: removes everything that is stored, and starts again as an unclaimed device.

use crate::{
    AppState, Caller,
    describe::{Routes, post},
    envelope::{Accepted, Failure, Json},
    restart::Leave,
};
use axum::{Extension, extract::State};
use identity::TokenScope;
use serde::{Deserialize, Serialize};
use std::{io::Write, os::unix::fs::OpenOptionsExt, path::Path};
use tool::prelude::{JsonSchema, schemars};

/// The file in the data folder that asks the next start for a factory reset.
pub const FACTORY_RESET: &str = "factory-reset";

pub(crate) fn routes() -> Routes<AppState> {
    let about = "Remove everything that is stored, people and keys included, and start as an unclaimed device.";
    Routes::new().route("/factory-reset", post(factory_reset, about).admin().secret()).scope(TokenScope::Admin)
}

/// Asks the next start for a factory reset, durably.
///
/// # Errors
/// When the file cannot be written.
pub fn ask_for_factory_reset(data: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(data.join(FACTORY_RESET))?;
    file.write_all(b"Everything here is removed at the next start.\n")?;
    file.sync_all()?;
    std::fs::File::open(data)?.sync_all()
}

/// The confirmation.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Confirmation {
    /// The device's name, as a person typed it.
    #[schemars(length(max = 100))]
    name: String,
}

/// That everything is removed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Resetting {
    /// True: Hob stops, removes everything and starts again. Its console prints a link to claim it.
    resetting: bool,
}

pub(crate) async fn factory_reset(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<Confirmation>,
) -> Result<Accepted<Resetting>, Failure> {
    let Some(folder) = house.store.folder().filter(|_| house.lasting) else {
        return Err(Failure::new(409, "unavailable", "no daemon runs over this data: use `hob factory-reset`"));
    };
    let name = house.settings.name();
    if !body.name.trim().eq_ignore_ascii_case(&name) {
        let text = format!("`name` is not the name of this device: to confirm the factory reset, send \"{name}\"");
        return Err(Failure::new(400, "bad_args", text));
    }
    let Some(_busy) = house.restart.reserve() else {
        return Err(Failure::new(409, "unavailable", "Hob is about to restart, or receives a backup: try again then"));
    };
    if house.updates.is_trying() {
        let text = "an update is being tried: confirm it or roll it back, then reset";
        return Err(Failure::new(409, "unavailable", text));
    }
    let failed = |e| Failure::new(422, "failed", format!("the factory reset could not be noted on the disk: {e}"));
    ask_for_factory_reset(folder).map_err(failed)?;
    tracing::warn!(by = %caller.principal.user, "a factory reset was asked for");
    house.restart.soon(Leave::Anew);
    Ok(Accepted(Resetting { resetting: true }))
}
