//! `/api/v1/custom-tools`: the shapes of the reference, over the custom tools of the household.

use crate::{
    Caller, House,
    access::must_be_admin,
    envelope::{Answer, Data, Failure, Json, PathText, Query, ok},
};
use axum::{
    Extension, Router,
    extract::State,
    http::StatusCode,
    routing::{get, post},
};
use custom::{Change, Created, CustomTool, Draft, Patch, Stats, Status};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Instant;
use tool::{Error, Output, Role};

pub(crate) fn routes() -> Router<House> {
    Router::new()
        .route("/", get(list).post(create))
        .route("/stats", get(stats))
        .route("/pending", get(pending))
        .route("/active/definitions", get(definitions))
        .route("/test", post(test))
        .route("/{id}", get(one).patch(update).delete(delete))
        .route("/{id}/enable", post(enable))
        .route("/{id}/disable", post(disable))
        .route("/{id}/approve", post(approve))
        .route("/{id}/reject", post(reject))
        .route("/{id}/execute", post(execute))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Filter {
    status: Option<Status>,
    category: Option<String>,
    created_by: Option<Created>,
    limit: Option<usize>,
    #[serde(default)]
    offset: usize,
}

async fn list(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    Query(filter): Query<Filter>,
) -> Answer<Value> {
    let mut tools = house.custom.list(&house.cx(&caller))?;
    tools.retain(|t| {
        filter.status.is_none_or(|s| t.status == s)
            && filter.created_by.is_none_or(|c| t.created_by == c)
            && filter.category.as_ref().is_none_or(|c| t.category.as_ref() == Some(c))
    });
    let page: Vec<CustomTool> =
        tools.into_iter().skip(filter.offset).take(filter.limit.unwrap_or(usize::MAX)).collect();
    Ok(ok(json!({"count": page.len(), "tools": page})))
}

async fn pending(State(house): State<House>, Extension(caller): Extension<Caller>) -> Answer<Value> {
    let mut tools = house.custom.list(&house.cx(&caller))?;
    tools.retain(|t| t.status == Status::PendingApproval);
    Ok(ok(json!({"count": tools.len(), "tools": tools})))
}

async fn stats(State(house): State<House>, Extension(caller): Extension<Caller>) -> Answer<Stats> {
    Ok(ok(house.custom.stats(&house.cx(&caller))?))
}

async fn definitions(State(house): State<House>, Extension(caller): Extension<Caller>) -> Answer<Value> {
    let mut tools = house.custom.list(&house.cx(&caller))?;
    tools.retain(|t| t.status == Status::Active);
    let shown: Vec<Value> = tools
        .iter()
        .map(|t| {
            json!({"name": t.name, "description": t.description, "parameters": t.parameters,
                   "category": t.category, "requiresConfirmation": t.requires_approval})
        })
        .collect();
    Ok(ok(json!({"count": shown.len(), "tools": shown})))
}

async fn one(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<CustomTool> {
    Ok(ok(house.custom.get(&house.cx(&caller), &id)?))
}

/// A draft with who it is by, as the reference sends it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Create {
    #[serde(flatten)]
    draft: Draft,
    #[serde(default)]
    created_by: Created,
}

async fn create(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<Create>,
) -> Result<Data<CustomTool>, Failure> {
    may_write(&caller)?;
    let made = house.custom.create(&house.cx(&caller), body.draft, body.created_by).await?;
    Ok(Data(StatusCode::CREATED, made))
}

async fn update(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
    Json(patch): Json<Patch>,
) -> Answer<CustomTool> {
    may_write(&caller)?;
    Ok(ok(house.custom.update(&house.cx(&caller), &id, patch).await?))
}

async fn delete(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<Value> {
    may_write(&caller)?;
    house.custom.delete(&house.cx(&caller), &id).await?;
    Ok(ok(json!({"deleted": true})))
}

/// Code is written by whoever may run code.
fn may_write(caller: &Caller) -> Result<(), Failure> {
    match caller.0.role >= Role::Member {
        true => Ok(()),
        false => Err(Failure::new(403, "denied", "a viewer may look at tools but not change them: ask an admin")),
    }
}

async fn enable(State(h): State<House>, Extension(c): Extension<Caller>, PathText(id): PathText) -> Answer<CustomTool> {
    may_write(&c)?;
    Ok(ok(h.custom.set_status(&h.cx(&c), &id, Change::Enable).await?))
}

async fn disable(
    State(h): State<House>,
    Extension(c): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<CustomTool> {
    may_write(&c)?;
    Ok(ok(h.custom.set_status(&h.cx(&c), &id, Change::Disable).await?))
}

async fn approve(
    State(h): State<House>,
    Extension(c): Extension<Caller>,
    PathText(id): PathText,
) -> Answer<CustomTool> {
    must_be_admin(&c)?;
    Ok(ok(h.custom.set_status(&h.cx(&c), &id, Change::Approve).await?))
}

async fn reject(State(h): State<House>, Extension(c): Extension<Caller>, PathText(id): PathText) -> Answer<CustomTool> {
    must_be_admin(&c)?;
    Ok(ok(h.custom.set_status(&h.cx(&c), &id, Change::Reject).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Execute {
    #[serde(default)]
    arguments: Value,
}

async fn execute(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
    Json(body): Json<Execute>,
) -> Answer<Value> {
    let tool = house.custom.get(&house.cx(&caller), &id)?;
    if tool.status != Status::Active {
        let text = format!("`{}` is not active: enable or approve it first", tool.name);
        return Err(Failure::new(400, "not_active", text));
    }
    let began = Instant::now();
    let result = house.cx(&caller).call(&tool.name, body.arguments).await;
    told(&tool.name, result, began).map(ok)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    #[serde(flatten)]
    draft: Draft,
    #[serde(default = "no_arguments")]
    test_arguments: Value,
}

fn no_arguments() -> Value {
    json!({})
}

async fn test(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<Test>,
) -> Answer<Value> {
    may_write(&caller)?;
    let (name, began) = (body.draft.name.clone(), Instant::now());
    let result = house.custom.test(&house.cx(&caller), body.draft, body.test_arguments).await;
    let mut data = told(&name, result, began)?;
    data["testMode"] = true.into();
    Ok(ok(data))
}

/// What a call gave. Code that failed is an answer too; a call that could not be made is not.
fn told(name: &str, result: Result<Output, Error>, began: Instant) -> Result<Value, Failure> {
    let (result, is_error, mut meta) = match result {
        Ok(output) => (output.content, false, output.meta),
        Err(Error::Failed(text)) => (text.into(), true, Default::default()),
        Err(other) => return Err(other.into()),
    };
    meta.entry("dynamicTool").or_insert_with(|| name.into());
    let duration = began.elapsed().as_millis() as u64;
    Ok(json!({"tool": name, "result": result, "isError": is_error, "duration": duration, "metadata": meta}))
}
