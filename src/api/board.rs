//! `/api/v1/board`: the board's driver, and its header: where each pin is, what it is for, and how it is.

use crate::{
    AppState, Caller,
    describe::{Routes, get},
    envelope::{Answer, Failure, ok},
};
use axum::{Extension, extract::State};
use identity::TokenScope;
use policy::Verdict;
use serde_json::json;
use tools_hardware::{PinMap, pin_map};

/// The tool that shows the same: callers need permission for it.
const TOOL: &str = "pin_map";

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/board", get(board, "Get the board: its driver, why that one, and the 40 pins of its header."))
        .scope(TokenScope::Tools)
}

async fn board(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<PinMap> {
    let cx = house.cx(&caller);
    let tool = house.registry.get(TOOL).filter(|tool| tool.enabled);
    let verdict = tool.map(|tool| house.registry.explain(&cx, &tool, &json!({})).0.verdict);
    if verdict != Some(Verdict::Allow) {
        return Err(Failure::from(tool::Error::denied("you may not look at the pins: ask an admin for `pin_map`")));
    }
    let mut map = pin_map(&house.pins, &cx).await?;
    for name in map.pins.iter_mut().filter_map(|pin| pin.name.as_mut()) {
        *name = house.registry.scrubber().text(name, scrub::How::All).into_owned();
    }
    Ok(ok(map))
}
