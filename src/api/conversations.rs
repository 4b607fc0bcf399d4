//! `/api/v1/conversations`: find, read, change, copy, export, import and delete conversations.

use crate::{
    AppState, Caller,
    describe::{DescribeInput, Operation, Routes, Schemas, get, post},
    envelope::{Answer, Deleted, Failure, Json, PathId, Raw, ok},
    query::{Limit, Query},
};
use agent::{Conversation, ConversationPatch, ConversationSummary, Cursor, Exported, MessagePage};
use axum::{
    Extension,
    extract::{FromRequest, Request, State},
    http::header,
};
use identity::TokenScope;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use tool::{
    Id,
    prelude::{JsonSchema, schemars},
};

/// The largest imported conversation, as JSON in bytes.
const MAX_IMPORT: usize = 8 << 20;

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/conversations", get(list, "Find or list conversations."))
        .route("/conversations/import", post(import, "Import a conversation.").max_body(MAX_IMPORT))
        .route(
            "/conversations/{id}",
            get(one, "Get a conversation with its newest messages: all of them up to 200.")
                .patch(change, "Change a conversation's title, instructions or metadata.")
                .delete(delete, "Delete a conversation."),
        )
        .route("/conversations/{id}/messages", get(messages, "List the messages of a conversation, page by page."))
        .route("/conversations/{id}/fork", post(fork, "Copy a conversation up to a message."))
        .route("/conversations/{id}/reset", post(reset, "Delete the messages of a conversation."))
        .route("/conversations/{id}/export", get(export, "Export a conversation."))
        .scope(TokenScope::Chat)
}

/// Which conversations.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Page {
    /// Words, and phrases in quotes, that all have to occur in the title and messages.
    #[serde(default)]
    query: String,
    /// How many at most, up to 200.
    #[serde(default)]
    limit: Limit<20>,
    /// Only those after this position: `next` of the page before. Unlike `offset` it repeats and misses none when others
    /// change meanwhile; one that changes moves to the first page.
    #[serde(default)]
    before: String,
    /// How many of the latest to pass over.
    #[serde(default)]
    offset: usize,
}

/// Conversations, the latest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Conversations {
    /// How many there are in all. With a query that very many messages fit: how many were counted, and at least one more
    /// than are shown, if there are more.
    count: usize,
    conversations: Vec<ConversationSummary>,
    /// The start of the next page, for `before`. Null at the end.
    next: Option<String>,
}

pub(crate) async fn list(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(page): Query<Page>,
) -> Answer<Conversations> {
    let before = Some(page.before.as_str()).filter(|before| !before.is_empty());
    let before: Option<Cursor> = before.map(str::parse).transpose()?;
    let (cx, limit) = (house.cx(&caller), page.limit.get());
    let found = house.agent.conversations(&cx, &page.query, before, page.offset, limit).await?;
    let next = found.next.map(|next| next.to_string());
    Ok(ok(Conversations { count: found.count, conversations: found.conversations, next }))
}

/// How much of a conversation.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Part {
    /// How many of the newest messages at most, up to 200.
    #[serde(default)]
    limit: Limit<200>,
}

pub(crate) async fn one(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
    Query(part): Query<Part>,
) -> Answer<Conversation> {
    Ok(ok(house.agent.conversation_end(&house.cx(&caller), id, part.limit.get())?))
}

/// Which messages.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct MessagesQuery {
    /// Only those before this message: `next` of the page before.
    before: Option<Id>,
    /// How many at most, up to 200.
    #[serde(default)]
    limit: Limit<50>,
}

pub(crate) async fn messages(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
    Query(which): Query<MessagesQuery>,
) -> Answer<MessagePage> {
    Ok(ok(house.agent.messages(&house.cx(&caller), id, which.before, which.limit.get())?))
}

/// Changes of a conversation; what is left out stays.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ChangeConversation {
    /// Another title, of 200 characters at most.
    title: Option<String>,
    /// Instructions for this conversation, of 8,000 characters at most; null or empty for none.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Option<String>")]
    system_prompt: Option<Option<String>>,
    /// An object for programs, of 4 KB at most. What it has is set, and removed where it is null; null removes all.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Option<Map<String, Value>>")]
    metadata: Option<Option<Map<String, Value>>>,
}

/// Distinguishes null from absent.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Changes title, instructions and metadata.
pub(crate) async fn change(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
    Json(change): Json<ChangeConversation>,
) -> Answer<ConversationSummary> {
    let patch = ConversationPatch {
        title: change.title,
        system_prompt: change.system_prompt.map(Option::unwrap_or_default),
        metadata: change.metadata,
    };
    Ok(ok(house.agent.change_conversation(&house.cx(&caller), id, patch).await?))
}

pub(crate) async fn delete(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Deleted> {
    house.agent.delete_conversation(&house.cx(&caller), id).await?;
    Ok(ok(Deleted::yes()))
}

/// The range of a copy.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Fork {
    /// The last message of the copy; all of them where it is left out.
    message_id: Option<Id>,
}

/// Copies a conversation.
pub(crate) async fn fork(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
    Json(fork): Json<Fork>,
) -> Answer<ConversationSummary> {
    Ok(ok(house.agent.fork(&house.cx(&caller), id, fork.message_id).await?))
}

/// Deletes the messages of a conversation.
pub(crate) async fn reset(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<ConversationSummary> {
    Ok(ok(house.agent.reset(&house.cx(&caller), id).await?))
}

/// Exports a conversation.
pub(crate) async fn export(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Exported> {
    Ok(ok(house.agent.export(&house.cx(&caller), id)?))
}

/// An exported conversation as the body.
pub(crate) struct Document(Exported);

impl<S: Send + Sync> FromRequest<S> for Document {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        // Also protects against other sites: no browser sends this type across sites without a preflight.
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
        if !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
            let text = "send the header `Content-Type: application/json`, and the exported conversation as the body";
            return Err(Failure::new(415, "not_json", text));
        }
        let too_large = |failure: Failure| match failure.status.as_u16() {
            413 => {
                let text =
                    format!("the conversation is larger than {} MB: leave the oldest messages out", MAX_IMPORT >> 20);
                Failure::new(413, "too_large", text)
            }
            _ => failure,
        };
        let Raw(bytes) = Raw::from_request(request, state).await.map_err(too_large)?;
        let read = |e: serde_json::Error| {
            let text = format!(
                "this is no conversation that was exported from Hob (line {}, column {})",
                e.line(),
                e.column()
            );
            Failure::new(400, "bad_args", format!("{text}: send it as GET /api/v1/conversations/ID/export gave it"))
        };
        serde_json::from_slice(&bytes).map(Self).map_err(read)
    }
}

impl DescribeInput for Document {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        <Json<Exported> as DescribeInput>::describe(schemas, operation);
    }
}

/// Imports a conversation.
pub(crate) async fn import(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Document(document): Document,
) -> Answer<ConversationSummary> {
    Ok(ok(house.agent.import(&house.cx(&caller), document).await?))
}
