//! `/api/v1/home` and `/arrival`: the home's name, time zone and units, and the set-up after the claim.

use crate::{
    AppState, Home, HomeChange,
    describe::{Routes, get},
    envelope::{Answer, Json, ok},
};
use axum::extract::State;
use identity::TokenScope;
use models::{Arrival, ArrivalStep, StepState, Units};
use serde::{Deserialize, Serialize};
use tool::{
    Error,
    prelude::{JsonSchema, schemars},
};

/// The longest name of a home, in characters.
const LONGEST: usize = 64;

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route(
            "/home",
            get(home, "Get the home's name, time zone and units.")
                .scope(TokenScope::Device)
                .patch(change_home, "Change the home's name, time zone or units.")
                .admin()
                .scope(TokenScope::Admin),
        )
        .route(
            "/arrival",
            get(arrival, "Get how far the set-up after the claim is.")
                .admin()
                .scope(TokenScope::Admin)
                .patch(change_arrival, "Store how far the set-up after the claim is.")
                .admin()
                .scope(TokenScope::Admin),
        )
}

async fn home(State(house): State<AppState>) -> Answer<Home> {
    Ok(ok(house.settings.home()))
}

/// Changes of the home; what is left out stays.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct HomePatch {
    /// 1 to 64 characters.
    name: Option<String>,
    /// An IANA name such as `Europe/Vienna`. Empty takes the choice back, for that of hob.toml or the system.
    time_zone: Option<String>,
    units: Option<Units>,
}

/// Changes the home. Schedules in the household's time are moved to the new time zone.
async fn change_home(State(house): State<AppState>, Json(body): Json<HomePatch>) -> Answer<Home> {
    let name = body.name.map(|name| name.split_whitespace().collect::<Vec<_>>().join(" "));
    if name.as_ref().is_some_and(|name| name.is_empty() || name.chars().count() > LONGEST) {
        return Err(Error::bad_args("the home's name has 1 to 64 characters").into());
    }
    if name.as_ref().is_some_and(|name| name.chars().any(char::is_control)) {
        return Err(Error::bad_args("the home's name must not have control characters: type it anew").into());
    }
    let time_zone = body.time_zone.map(|zone| zone.trim().to_owned());
    house.settings.change_home(HomeChange { name, time_zone, units: body.units }).await?;
    let home = house.settings.home();
    house.ports.bus.publish("device:changed", None, serde_json::json!({"home": home}));
    Ok(ok(home))
}

/// A step of the set-up.
#[derive(Debug, Serialize, JsonSchema)]
struct StepView {
    step: ArrivalStep,
    state: StepState,
}

/// The set-up after the claim.
#[derive(Debug, Serialize, JsonSchema)]
struct ArrivalView {
    /// Whether the page shows it to the owner.
    open: bool,
    /// Its four steps, in order.
    steps: Vec<StepView>,
}

impl From<Arrival> for ArrivalView {
    fn from(arrival: Arrival) -> Self {
        let state = |step| arrival.steps.get(&step).copied().unwrap_or_default();
        Self { open: arrival.open, steps: ArrivalStep::ALL.map(|step| StepView { step, state: state(step) }).into() }
    }
}

async fn arrival(State(house): State<AppState>) -> Answer<ArrivalView> {
    Ok(ok(house.settings.arrival().into()))
}

/// Changes of the set-up; what is left out stays.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ArrivalPatch {
    /// Whether the page shows it.
    open: Option<bool>,
    /// The step whose `state` changes.
    step: Option<ArrivalStep>,
    state: Option<StepState>,
}

async fn change_arrival(State(house): State<AppState>, Json(body): Json<ArrivalPatch>) -> Answer<ArrivalView> {
    let step = match (body.step, body.state) {
        (Some(step), Some(state)) => Some((step, state)),
        (None, None) => None,
        _ => return Err(Error::bad_args("send `step` and `state` together").into()),
    };
    let change = move |arrival: &mut Arrival| {
        arrival.open = body.open.unwrap_or(arrival.open);
        arrival.steps.extend(step);
    };
    house.settings.change_arrival(Box::new(change)).await?;
    Ok(ok(house.settings.arrival().into()))
}
