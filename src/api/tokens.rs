//! `/api/v1/tokens`: API tokens for programs.

use crate::{
    AppState,
    describe::{Routes, delete, get},
    envelope::{Answer, Created, Deleted, Failure, Json, PathId, ok},
};
use axum::extract::State;
use identity::{IssuedToken, NewToken, TokenScope, TokenView};
use serde::Serialize;
use tool::prelude::{JsonSchema, schemars};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route(
            "/tokens",
            get(list, "List the API tokens, without the tokens themselves.")
                .admin()
                .secret()
                .post(issue, "Create an API token.")
                .admin()
                .secret(),
        )
        .route("/tokens/{id}", delete(revoke, "Revoke an API token.").admin().secret())
        .scope(TokenScope::Admin)
}

/// The API tokens.
#[derive(Debug, Serialize, JsonSchema)]
struct Tokens {
    count: usize,
    tokens: Vec<TokenView>,
}

async fn list(State(house): State<AppState>) -> Answer<Tokens> {
    let tokens = house.identity.tokens()?;
    Ok(ok(Tokens { count: tokens.len(), tokens }))
}

async fn issue(State(house): State<AppState>, Json(body): Json<NewToken>) -> Result<Created<IssuedToken>, Failure> {
    Ok(Created(house.identity.issue_token(body).await?))
}

async fn revoke(State(house): State<AppState>, PathId(id): PathId) -> Answer<Deleted> {
    house.identity.revoke_token(id).await?;
    Ok(ok(Deleted::yes()))
}
