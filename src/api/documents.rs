//! `/api/v1/documents`: the documents that define the agent, with their versions; and `/api/v1/prompt`: the system prompt.

use crate::{
    AppState, Caller,
    describe::{DescribeInput, Routes, get, post},
    document::asks_a_model,
    envelope::{Answer, Failure, Json, PathId, PathText, ok},
    query::{Limit, Query},
};
use axum::{
    Extension,
    extract::{FromRequestParts, Path, State},
    http::request::Parts,
};
use identity::TokenScope;
use persona::{Document, Name, Past, PastHead};
use serde::{Deserialize, Serialize};
use tool::{
    Role,
    prelude::{JsonSchema, schemars},
};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/", get(list, "List the documents that define the agent."))
        .route(
            "/{name}",
            get(one, "Get a document.").put(write, "Replace the text of a document.").scope(TokenScope::Admin),
        )
        .route("/{name}/history", get(history, "List the versions of a document, newest first."))
        .route("/{name}/history/{version}", get(version, "Get a version of a document."))
        .route("/{name}/rollback", post(rollback, "Restore an earlier version as a new one.").scope(TokenScope::Admin))
        .scope(TokenScope::Chat)
}

/// The prompt and the summary of a conversation.
pub(crate) fn agent_routes() -> Routes<AppState> {
    Routes::new()
        .route("/prompt", get(prompt, "Get the current system prompt."))
        .route(
            "/conversations/{id}/compact",
            post(compact, "Summarize the older part of a conversation.").also(asks_a_model),
        )
        .scope(TokenScope::Chat)
}

/// A document and one of its versions, in the path.
struct NameAndVersion(String, u32);

impl DescribeInput for NameAndVersion {}

impl<S: Send + Sync> FromRequestParts<S> for NameAndVersion {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let path = Path::<(String, String)>::from_request_parts(parts, state).await;
        let read = path.ok().and_then(|Path((name, version))| Some(Self(name, version.parse().ok()?)));
        let text = "the address ends with the number of a version: the history tells which there are";
        read.ok_or_else(|| Failure::new(400, "bad_args", text))
    }
}

/// The documents.
#[derive(Serialize, JsonSchema)]
struct Listed {
    documents: Vec<Head>,
}

/// Metadata of a document.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Head {
    /// Its name in addresses.
    name: &'static str,
    /// Display name.
    title: &'static str,
    /// Its purpose.
    about: &'static str,
    /// Counts up from 1; 0 while nobody has written it.
    version: u32,
    /// How long it is, in characters.
    length: usize,
    /// When it was written: milliseconds since 1970.
    updated_at: Option<u64>,
}

/// A document with its text.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DocumentView {
    /// Its name in addresses.
    name: &'static str,
    /// Empty while nobody has written it.
    text: String,
    /// Counts up from 1; 0 while nobody has written it.
    version: u32,
    /// When it was written: milliseconds since 1970.
    updated_at: Option<u64>,
    /// The default that applies while it is empty.
    built_in: Option<String>,
}

fn document_view(house: &AppState, document: Document) -> DocumentView {
    let Document { name, text, version, updated_ms, .. } = document;
    let built_in = house.documents.built_in(name).map(str::to_owned);
    DocumentView { name: name.word(), text, version, updated_at: updated_ms, built_in }
}

async fn list(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<Listed> {
    let cx = house.cx(&caller);
    let head = |name: Name| {
        let Document { text, version, updated_ms, .. } = house.documents.peek(&cx, name)?;
        let (length, updated_at) = (text.chars().count(), updated_ms);
        Ok(Head { name: name.word(), title: name.title(), about: name.about(), version, length, updated_at })
    };
    let documents = Name::ALL.into_iter().map(head).collect::<Result<Vec<Head>, Failure>>()?;
    Ok(ok(Listed { documents }))
}

async fn one(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
) -> Answer<DocumentView> {
    let document = house.documents.read(&house.cx(&caller), Name::of(&name)?)?;
    Ok(ok(document_view(&house, document)))
}

/// Another text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewText {
    /// The text, 64 KB at most; empty takes the document away.
    text: String,
    /// The version it was made from: refused where another is there meanwhile.
    version: Option<u32>,
}

async fn write(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
    Json(body): Json<NewText>,
) -> Answer<DocumentView> {
    may_write(&caller)?;
    let written = house.documents.write(&house.cx(&caller), Name::of(&name)?, &body.text, body.version).await?;
    Ok(ok(document_view(&house, written)))
}

/// Which versions.
#[derive(Deserialize, JsonSchema)]
struct VersionsQuery {
    /// How many at most, up to 200.
    #[serde(default)]
    limit: Limit<50>,
    /// How many to leave out before the first.
    #[serde(default)]
    offset: usize,
}

/// Metadata of a version, with the person's name.
#[derive(Serialize, JsonSchema)]
struct Named {
    #[serde(flatten)]
    head: PastHead,
    /// Name of the person who wrote it, or in whose name Hob did; omitted if the person was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    person: Option<String>,
}

/// Versions, and how many there are.
#[derive(Serialize, JsonSchema)]
struct History {
    count: usize,
    versions: Vec<Named>,
}

async fn history(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
    Query(which): Query<VersionsQuery>,
) -> Answer<History> {
    let (cx, limit) = (house.cx(&caller), which.limit.get());
    let (count, versions) = house.documents.history(&cx, Name::of(&name)?, limit, which.offset)?;
    let named = |head: PastHead| {
        let person = house.identity.person(head.user)?.map(|person| person.name);
        Ok(Named { person, head })
    };
    let versions = versions.into_iter().map(named).collect::<Result<Vec<_>, Failure>>()?;
    Ok(ok(History { count, versions }))
}

async fn version(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    NameAndVersion(name, version): NameAndVersion,
) -> Answer<Past> {
    Ok(ok(house.documents.version(&house.cx(&caller), Name::of(&name)?, version)?))
}

/// The version to restore.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Rollback {
    /// The version; 0 is what was there before anybody wrote one.
    version: u32,
    /// The version there is now: refused where another is there meanwhile.
    current: Option<u32>,
}

async fn rollback(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
    Json(back): Json<Rollback>,
) -> Answer<DocumentView> {
    may_write(&caller)?;
    let written = house.documents.rollback(&house.cx(&caller), Name::of(&name)?, back.version, back.current).await?;
    Ok(ok(document_view(&house, written)))
}

pub(crate) fn may_write(caller: &Caller) -> Result<(), Failure> {
    match caller.principal.role {
        Role::Viewer => Err(Failure::new(403, "denied", "a viewer may read this, and not change it: ask an admin")),
        Role::Member | Role::Admin => Ok(()),
    }
}

/// The message that is to be answered.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct PromptQuery {
    /// Related memories and goals are included.
    #[serde(default)]
    message: String,
}

/// The current system prompt.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Prompt {
    /// The text.
    prompt: String,
    /// The sections in order; empty ones are omitted.
    sections: Vec<Section>,
    /// How long it is, in characters.
    length: usize,
    /// About how many tokens that are.
    tokens: usize,
    /// How many tools go with it in a request.
    tool_count: usize,
    /// How many instructions people wrote are in it.
    instruction_count: usize,
    /// Whether date and time are in it.
    has_time_context: bool,
}

/// A part of the prompt.
#[derive(Serialize, JsonSchema)]
struct Section {
    /// Its name.
    name: &'static str,
    /// How long it is, in characters.
    length: usize,
    /// Whether there is room for it.
    shown: bool,
}

pub(crate) async fn prompt(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(said): Query<PromptQuery>,
) -> Answer<Prompt> {
    let preview = house.agent.prompt(&house.cx(&caller), &said.message).await?;
    let agent::PromptPreview { prompt, tool_count, instruction_count, has_time_context } = preview;
    let section = |s: persona::prompt::Section| Section { name: s.name, length: s.length, shown: s.shown };
    let length = prompt.text.chars().count();
    let sections = prompt.sections.into_iter().map(section).collect();
    let tokens = length.div_ceil(4);
    let prompt = prompt.text;
    Ok(ok(Prompt { prompt, sections, length, tokens, tool_count, instruction_count, has_time_context }))
}

/// Summarizes all but the last exchange of a conversation.
pub(crate) async fn compact(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<agent::Compacted> {
    let cx = house.cx(&caller);
    // Runs to completion even if the client disconnects.
    let agent = house.agent.clone();
    let made = tokio::spawn(async move { agent.compact(&cx, id).await }).await;
    let broken = |_| Failure::new(422, "failed", "the summary broke off: try again");
    Ok(ok(made.map_err(broken)??))
}
