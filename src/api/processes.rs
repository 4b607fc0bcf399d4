//! `/api/v1/processes`: the caller's programs that run apart from a call, their output, input and end.

use crate::{
    AppState, Caller,
    describe::{Routes, get, post},
    envelope::{Answer, Failure, Json, PathId, ok},
    query::Query,
};
use axum::{Extension, extract::State};
use identity::TokenScope;
use policy::Verdict;
use serde::{Deserialize, Serialize};
use tool::{
    Cx,
    prelude::{JsonSchema, json, schemars},
};
use tools_workshop::Session;

/// The most bytes of output in one answer, and by default.
const PART: u32 = 256 * 1024;

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/processes", get(list, "List programs that run or have ended."))
        .route("/processes/{id}", get(one, "Get a program and a part of its output."))
        .route("/processes/{id}/input", post(input, "Give a program input, as if typed."))
        .route("/processes/{id}/stop", post(stop, "Stop a program."))
        .route("/processes/{id}/resize", post(resize, "Set the size of a program's terminal."))
        .scope(TokenScope::Tools)
}

/// Which programs.
#[derive(Deserialize, JsonSchema)]
struct Which {
    /// Only those of a kind: `command` or `coding`.
    kind: Option<String>,
}

/// Programs, newest first.
#[derive(Serialize, JsonSchema)]
struct Processes {
    processes: Vec<Session>,
}

async fn list(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(which): Query<Which>,
) -> Answer<Processes> {
    let processes = house.workshop.sessions.list(&house.cx(&caller), which.kind.as_deref())?;
    Ok(ok(Processes { processes }))
}

/// Which part of an output.
#[derive(Deserialize, JsonSchema)]
struct OutputPart {
    /// The offset to begin at: `next` of an earlier answer. Default: the start of what is there.
    from: Option<u64>,
    /// The most bytes. Default and most: 262144.
    limit: Option<u32>,
}

/// A program and a part of its output.
#[derive(Serialize, JsonSchema)]
struct ProcessView {
    #[serde(flatten)]
    process: Session,
    /// The output from `from` on; of a program with a terminal, with sequences that colour and move text.
    output: String,
    /// The offset of its first byte: later than asked for where that is no longer there.
    from: u64,
    /// The offset after its last byte.
    next: u64,
}

async fn one(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
    Query(part): Query<OutputPart>,
) -> Answer<ProcessView> {
    let most = part.limit.unwrap_or(PART).clamp(1, PART) as usize;
    let (process, part) = house.workshop.sessions.read(&house.cx(&caller), id, Some(part.from.unwrap_or(0)), most)?;
    Ok(ok(ProcessView { process, output: part.text, from: part.from, next: part.next }))
}

/// Text to type.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Typed {
    /// The text, with a line break where one would press Enter.
    #[serde(default)]
    text: String,
    /// End the program's standard input afterwards.
    #[serde(default)]
    close: bool,
}

/// Refuses input for a person whose rules forbid it.
fn check(house: &AppState, cx: &Cx) -> Result<(), Failure> {
    let Some(tool) = house.registry.get("write_process") else { return Ok(()) };
    let decision = house.registry.explain(cx, &tool, &json!({})).0;
    if decision.verdict == Verdict::Deny {
        return Err(tool::Error::denied(decision.reason).into());
    }
    Ok(())
}

async fn input(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
    Json(typed): Json<Typed>,
) -> Answer<Session> {
    let cx = house.cx(&caller);
    check(&house, &cx)?;
    let sessions = &house.workshop.sessions;
    sessions.get(&cx, id)?;
    if !typed.text.is_empty() {
        sessions.write(&cx, id, Some(typed.text)).await?;
    }
    if typed.close {
        sessions.write(&cx, id, None).await?;
    }
    Ok(ok(sessions.get(&cx, id)?))
}

async fn stop(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Session> {
    Ok(ok(house.workshop.sessions.stop(&house.cx(&caller), id).await?))
}

/// The size of a terminal.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TerminalSize {
    columns: u16,
    rows: u16,
}

async fn resize(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
    Json(size): Json<TerminalSize>,
) -> Answer<Session> {
    let cx = house.cx(&caller);
    check(&house, &cx)?;
    house.workshop.sessions.resize(&cx, id, size.columns, size.rows).await?;
    Ok(ok(house.workshop.sessions.get(&cx, id)?))
}
