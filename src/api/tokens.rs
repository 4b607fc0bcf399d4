//! `/api/v1/tokens`: API tokens for programs.

use crate::{
    AppState, Caller,
    auth_middleware::must_be_admin,
    describe::{Routes, delete, get},
    envelope::{Answer, Created, Deleted, Failure, Json, PathId, ok},
};
use axum::{Extension, extract::State};
use identity::{IssuedToken, NewToken, TokenScope, TokenView};
use serde::Serialize;
use tool::prelude::{JsonSchema, schemars};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route(
            "/tokens",
            get(list, "The API tokens, without the tokens.").secret().post(issue, "Make an API token.").secret(),
        )
        .route("/tokens/{id}", delete(revoke, "Take a token back.").secret())
        .scope(TokenScope::Admin)
}

/// The API tokens.
#[derive(Debug, Serialize, JsonSchema)]
struct Tokens {
    count: usize,
    tokens: Vec<TokenView>,
}

async fn list(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<Tokens> {
    must_be_admin(&caller)?;
    let tokens = house.identity.tokens()?;
    Ok(ok(Tokens { count: tokens.len(), tokens }))
}

async fn issue(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<NewToken>,
) -> Result<Created<IssuedToken>, Failure> {
    must_be_admin(&caller)?;
    Ok(Created(house.identity.issue_token(body).await?))
}

async fn revoke(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Deleted> {
    must_be_admin(&caller)?;
    house.identity.revoke_token(id).await?;
    Ok(ok(Deleted::yes()))
}
