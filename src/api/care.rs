//! `/api/v1/doctor` and `/support`: how the device is in plain words, and a text for those who help.

use crate::{
    AppState,
    describe::{Routes, get, post},
    document::{Download, Text},
    envelope::{Answer, Failure, ok},
};
use ::care::{Check, Clockwork, Facts, ModelFacts, NetworkFacts, Outcome, WriteReport, support};
use ::models::ModelTrouble;
use axum::{extract::State, http::header};
use identity::TokenScope;
use llm::Problem;
use serde::Serialize;
use tool::{
    Id,
    prelude::{JsonSchema, schemars},
};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/doctor", get(doctor, "Check the device, in plain words.").admin())
        .route(
            "/support",
            post(support, "Download a text about the device for those who help, without secrets and names.")
                .admin()
                .secret(),
        )
        .scope(TokenScope::Admin)
}

/// How the device is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Doctor {
    /// Whether nothing is wrong.
    well: bool,
    checks: Vec<Check>,
    /// Bytes written to the disk.
    writes: WriteReport,
}

pub(crate) async fn doctor(State(house): State<AppState>) -> Answer<Doctor> {
    let (checks, writes) = checked(&house).await;
    Ok(ok(Doctor { well: checks.iter().all(|check| check.outcome != Outcome::Wrong), checks, writes }))
}

async fn checked(house: &AppState) -> (Vec<Check>, WriteReport) {
    let network = NetworkFacts {
        is_open: house.network.listens().is_some_and(|at| !at.ip().is_loopback()),
        addresses: house.settings.addresses().iter().map(ToString::to_string).collect(),
        hostname: house.network.hostname(),
        fingerprint: house.network.tls().map(|tls| tls.fingerprint),
        claimed: house.identity.is_claimed(),
        serves: house.lasting,
    };
    let writes = house.care.written();
    let model = house.models.in_use();
    let facts = Facts {
        clock: Clockwork::new(house.ports.clock.local(), Id::new().millis()),
        state: house.device.state().await.ok(),
        under_voltage: house.care.power.under_voltage(),
        writes: writes.clone(),
        backup: house.care.backups.view().ok(),
        network,
        model: model.model,
        troubles: model.trouble.iter().map(trouble).collect(),
        crashes: house.care.folder().map_or(0, |data| support::recent_crashes(data, Id::now_ms())),
    };
    // A check of another part may read for a while.
    let checks = house.care.checks.clone();
    let lines = tokio::task::spawn_blocking(move || checks.all(&facts)).await;
    (lines.unwrap_or_default(), writes)
}

fn trouble(trouble: &ModelTrouble) -> ModelFacts {
    let ModelTrouble { model, provider, url, local, problem, message, .. } = trouble;
    let todo = match (problem, local) {
        (Problem::Network, true) => format!("start {provider} at {url}, or choose another model"),
        (Problem::Network, false) => "check that this device is connected to the internet".to_owned(),
        (Problem::Key, _) => format!("set a key that {provider} accepts"),
        (Problem::Credit, _) => format!("add credit at {provider}, or choose another model"),
        _ => "try again later, or choose another model".to_owned(),
    };
    ModelFacts { model: model.clone(), problem: message.clone(), todo }
}

/// A text about the device, for those who help.
pub(crate) async fn support(State(house): State<AppState>) -> Result<Download<Text>, Failure> {
    let (checks, _) = checked(&house).await;
    let input = support::Input {
        now: house.ports.clock.local(),
        version: env!("CARGO_PKG_VERSION"),
        started_ms: house.started.millis(),
        board: house.rule_home.board.describe(),
        state: house.device.state().await.ok(),
        config: house.care.config.to_string(),
        checks,
        stats: house.store.stats().ok(),
        logs: ::care::log(),
        data: house.care.folder().map(std::path::Path::to_path_buf),
        names: names(&house)?,
        scrubber: house.care.scrubber.clone(),
    };
    let broken = |e| Failure::new(422, "failed", format!("the text could not be made: {e}"));
    let text = tokio::task::spawn_blocking(move || support::bundle(input)).await.map_err(broken)?;
    let headers = [(header::CONTENT_DISPOSITION, "attachment; filename=\"hob-support.txt\"")];
    Ok(Download::new((headers, text)))
}

/// The names that must not be in a support bundle: of people, the home, its things and pins.
fn names(house: &AppState) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = house.ports.people.everybody()?.into_iter().map(|(_, name)| name).collect();
    names.extend(tools_everyday::contact_names(&house.store)?);
    let home = house.rule_home.things.home();
    names.extend((0..home.len()).map(|at| home.thing(at).name));
    names.extend((house.rule_home.pins)().into_iter().map(|(_, name)| name));
    names.extend([house.settings.name(), house.settings.home().name]);
    names.extend(house.network.hostname());
    // The doctor's texts name the folder of the plan and the server of the model, which a person chose.
    names.extend(house.care.backups.view().ok().map(|backup| backup.plan.folder));
    for trouble in house.models.in_use().trouble {
        let own = trouble.model.strip_prefix("custom/");
        names.extend(own.map(str::to_owned));
        if trouble.local || own.is_some() {
            let host = trouble.url.split("://").nth(1).unwrap_or_default();
            names.push(host.split(['/', ':']).next().unwrap_or_default().to_owned());
        }
    }
    Ok(names)
}
