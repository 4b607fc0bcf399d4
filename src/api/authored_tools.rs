//! The routes that custom tools and command tools have in common: each tool by its id, its status, and running it.

use crate::{
    AppState, Caller,
    envelope::{Answer, Created as New, Deleted, Failure, Json, PathText, ok},
    tools::{Execute, Ran},
};
use axum::{
    Extension,
    extract::{FromRef, State},
};
use registry::{
    Verdict,
    authored::{Author, Authored, Change, Created, Status},
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::{Map, Value, json};
use std::time::Instant;
use tool::{
    Error, Output, Result as ToolResult,
    prelude::{JsonSchema, schemars},
};

/// The name and description of a draft that is tried without them.
const UNNAMED: [(&str, &str); 2] = [("name", "draft"), ("description", "A draft.")];

/// A family of written tools, as its routes use it.
pub(crate) trait Family: Author + FromRef<AppState> {
    /// The tools that decide who may write one, switch one and delete one.
    const DECIDED_BY: [&'static str; 3];
}

/// A draft with who it is by, as the reference sends it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Create<D> {
    #[serde(flatten)]
    draft: D,
    #[serde(default)]
    created_by: Created,
}

pub(crate) async fn one<F: Family>(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<F::View> {
    Ok(ok(F::from_ref(&house).get(&house.cx(&caller), &id)?))
}

pub(crate) async fn create<F: Family>(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<Create<F::Draft>>,
) -> Result<New<F::View>, Failure> {
    authorize(&house, &caller, F::DECIDED_BY[0])?;
    Ok(New(F::from_ref(&house).create(&house.cx(&caller), body.draft, body.created_by).await?))
}

pub(crate) async fn update<F: Family>(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
    Json(patch): Json<F::Patch>,
) -> Answer<F::View> {
    authorize(&house, &caller, F::DECIDED_BY[0])?;
    Ok(ok(F::from_ref(&house).update(&house.cx(&caller), &id, patch).await?))
}

pub(crate) async fn delete<F: Family>(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<Deleted> {
    authorize(&house, &caller, F::DECIDED_BY[2])?;
    F::from_ref(&house).delete(&house.cx(&caller), &id).await?;
    Ok(ok(Deleted::yes()))
}

pub(crate) async fn enable<F: Family>(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<F::View> {
    authorize(&house, &caller, F::DECIDED_BY[1])?;
    Ok(ok(F::from_ref(&house).set_status(&house.cx(&caller), &id, Change::Enable).await?))
}

pub(crate) async fn disable<F: Family>(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<F::View> {
    authorize(&house, &caller, F::DECIDED_BY[1])?;
    Ok(ok(F::from_ref(&house).set_status(&house.cx(&caller), &id, Change::Disable).await?))
}

pub(crate) async fn approve<F: Family>(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<F::View> {
    Ok(ok(F::from_ref(&house).set_status(&house.cx(&caller), &id, Change::Approve).await?))
}

pub(crate) async fn reject<F: Family>(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<F::View> {
    Ok(ok(F::from_ref(&house).set_status(&house.cx(&caller), &id, Change::Reject).await?))
}

pub(crate) async fn execute<F: Family>(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
    Json(body): Json<Execute>,
) -> Answer<Ran> {
    let tool = F::from_ref(&house).tools().seen(&house.cx(&caller), &id)?;
    let name = &tool.value.head().name;
    if tool.value.life().status != Status::Active {
        let text = format!("`{name}` is not active: enable or approve it first");
        return Err(Failure::new(400, "not_active", text));
    }
    let began = Instant::now();
    let result = house.cx(&caller).call(name, body.arguments).await;
    call_response(name, result, began).map(ok)
}

/// Decides a request like a call of the tool that does the same. Approval is not needed: the person acts themselves.
pub(crate) fn authorize(house: &AppState, caller: &Caller, tool: &str) -> Result<(), Failure> {
    let gone = || Error::unavailable(format!("`{tool}` is not there: this Hob is shutting down"));
    let tool = house.registry.get(tool).ok_or_else(gone)?;
    let (decision, _) = house.registry.explain(&house.cx(caller), &tool, &json!({}));
    match (decision.verdict, decision.rule) {
        (Verdict::Deny, "group-off") => Err(Error::unavailable(decision.reason).into()),
        (Verdict::Deny, _) => Err(Error::denied(decision.reason).into()),
        _ => Ok(()),
    }
}

/// A draft that is only tried, and needs neither name nor description.
pub(crate) fn unnamed<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<T, D::Error> {
    let mut fields = Map::deserialize(from)?;
    for (field, instead) in UNNAMED {
        fields.entry(field).or_insert_with(|| instead.into());
    }
    serde_json::from_value(Value::Object(fields)).map_err(D::Error::custom)
}

/// Says the same in the description of a request.
pub(crate) fn describe_unnamed(schema: &mut schemars::Schema) {
    for (field, instead) in UNNAMED {
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| name != field);
        }
        if let Some(field) = schema.pointer_mut(&format!("/properties/{field}")) {
            field["default"] = instead.into();
        }
    }
}

/// The result of trying a draft.
pub(crate) fn tried(name: &str, result: ToolResult<Output>, began: Instant) -> Answer<Ran> {
    let mut ran = call_response(name, result, began)?;
    ran.test_mode = Some(true);
    Ok(ok(ran))
}

/// The result of a call; a failure inside of it is a result too.
fn call_response(name: &str, result: ToolResult<Output>, began: Instant) -> Result<Ran, Failure> {
    let (output, is_error) = match result {
        Ok(output) => (output, false),
        Err(Error::Failed(text)) => (Output::text(text), true),
        Err(other) => return Err(other.into()),
    };
    let mut ran = Ran::new(name, output, began);
    ran.is_error = is_error;
    ran.metadata.entry("dynamicTool").or_insert_with(|| name.into());
    Ok(ran)
}

/// The arguments of a trial without any.
pub(crate) fn no_arguments() -> Value {
    json!({})
}
