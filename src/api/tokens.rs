//! API tokens: keys for programs, with a role, a scope and an end.

use crate::{
    AppState, Caller,
    auth_middleware::must_be_admin,
    envelope::{Answer, Created, Failure, Json, PathId, ok},
    keys::{Credential, Kind, NewCredential, OWNER, Opened},
    people::{Deleted, name_of_person},
    token_scope::Reach,
};
use axum::{Extension, extract::State};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use store::Entry;
use tool::{
    Id, Role, Scope, UserId,
    prelude::{JsonSchema, schemars},
};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// A token as it is told: without the token.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Token {
    id: Id,
    /// Whom it is for.
    name: String,
    role: Role,
    /// What it may be used for; empty is all that its role may.
    scope: Vec<String>,
    /// Milliseconds since 1970.
    created_at: u64,
    /// Milliseconds since 1970; null is never.
    expires_at: Option<u64>,
}

impl From<Entry<Credential>> for Token {
    fn from(token: Entry<Credential>) -> Self {
        Self {
            id: token.id,
            created_at: token.id.millis(),
            name: token.value.name,
            role: token.value.role,
            scope: token.value.scope,
            expires_at: Some(token.value.expires_ms).filter(|ms| *ms > 0),
        }
    }
}

/// The API tokens.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Tokens {
    count: usize,
    tokens: Vec<Token>,
}

/// The API tokens, without the tokens.
pub(crate) async fn list(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<Tokens> {
    must_be_admin(&caller)?;
    let tokens: Vec<Token> = house.access.all(false)?.into_iter().map(Token::from).collect();
    Ok(ok(Tokens { count: tokens.len(), tokens }))
}

/// A token to be made.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct NewToken {
    /// Whom it is for, 1 to 64 characters. `owner` speaks for the person who claimed the device; any other name is a
    /// person of their own, who is made if need be.
    name: String,
    /// What it may do at most.
    #[serde(default = "admin")]
    role: Role,
    /// What it may be used for: `chat`, `tools`, `tool:NAME`, `events`, `device`, `admin`. Empty: all that its role may.
    #[serde(default)]
    scope: Vec<String>,
    /// After how many days it ends; left out: never.
    #[schemars(range(min = 1, max = 3650))]
    expires_in_days: Option<u32>,
}

fn admin() -> Role {
    Role::Admin
}

/// A new token, told this once.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Made {
    id: Id,
    name: String,
    role: Role,
    /// The person it speaks for.
    user: UserId,
    scope: Vec<String>,
    /// Milliseconds since 1970; null is never.
    expires_at: Option<u64>,
    /// The token itself.
    token: String,
}

/// Makes an API token.
pub(crate) async fn make(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<NewToken>,
) -> Result<Created<Made>, Failure> {
    must_be_admin(&caller)?;
    let (name, scope) = (name_of_person(&body.name)?, Reach::parse(&body.scope)?);
    if name.eq_ignore_ascii_case(OWNER) && body.role != Role::Admin && body.scope.is_empty() {
        let text =
            "`owner` is the person who claimed this Hob and always an admin: choose another name, or give a scope";
        return Err(Failure::new(400, "bad_args", text));
    }
    if body.expires_in_days.is_some_and(|days| !(1..=3650).contains(&days)) {
        return Err(Failure::new(
            400,
            "bad_args",
            "`expiresInDays` is 1 to 3650; leave it out for a token that does not end",
        ));
    }
    let new = NewCredential {
        kind: Kind::Token,
        role: body.role,
        user: name.eq_ignore_ascii_case(OWNER).then_some(UserId::OWNER),
        name: name.clone(),
        opened_with: Opened::Person,
        scope: scope.clone(),
        lasts: body.expires_in_days.map(|days| DAY * days),
        ends_ms: 0,
        about: String::new(),
    };
    let given = house.access.give(new).await?;
    let expires_at = Some(given.expires_ms).filter(|ms| *ms > 0);
    Ok(Created(Made { id: given.id, name, role: body.role, user: given.user, scope, expires_at, token: given.key }))
}

/// Takes a token back, and the sessions that were opened with it.
pub(crate) async fn delete(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Deleted> {
    must_be_admin(&caller)?;
    if !house.access.all(false)?.iter().any(|t| t.id == id) {
        return Err(Failure::new(404, "not_found", format!("there is no token {id}")));
    }
    let inner = house.access.0.clone();
    let take_back = move |tx: &store::Tx| {
        inner.take_back(tx, |key| key.value.opened_with == Some(id))?;
        inner.credentials.remove(tx, Scope::Household, id)
    };
    house.access.0.credentials.store().write(take_back).await?;
    Ok(ok(Deleted::yes()))
}
