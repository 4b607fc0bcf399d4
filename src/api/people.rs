//! `/api/v1/people`: the people of the household.

use crate::{
    AppState, Caller,
    auth_middleware::must_be_admin,
    describe::{Routes, get, patch},
    document::limited,
    envelope::{Answer, Created, Deleted, Failure, Json, PathId, ok},
};
use axum::{Extension, extract::State};
use identity::{Editor, NewPerson, PersonPatch, PersonView, TokenScope};
use serde::Serialize;
use tool::{
    Channel, UserId,
    prelude::{JsonSchema, schemars},
};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/people", get(list, "The people of the household.").secret().post(add, "Add a person.").secret())
        .route(
            "/people/{id}",
            patch(change, "Change a person's name, role or password.")
                .secret()
                .also(limited)
                .delete(remove, "Take a person out of the household.")
                .secret(),
        )
        .scope(TokenScope::Admin)
}

/// Everybody who is known here.
#[derive(Debug, Serialize, JsonSchema)]
struct People {
    count: usize,
    people: Vec<PersonView>,
}

async fn list(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<People> {
    must_be_admin(&caller)?;
    let people = house.identity.people()?;
    Ok(ok(People { count: people.len(), people }))
}

async fn add(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<NewPerson>,
) -> Result<Created<PersonView>, Failure> {
    must_be_admin(&caller)?;
    Ok(Created(house.identity.add_person(body).await?))
}

async fn change(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
    Json(body): Json<PersonPatch>,
) -> Answer<PersonView> {
    let editor = Editor {
        user: caller.principal.user,
        role: caller.principal.role,
        credential: caller.key,
        at_page: caller.in_person && caller.via.channel == Channel::Page,
    };
    Ok(ok(house.identity.change_person(editor, id, body).await?))
}

/// Removes a person and stops their runs.
async fn remove(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Deleted> {
    must_be_admin(&caller)?;
    house.identity.remove_person(id).await?;
    house.agent.cancel_all_of(UserId(id));
    Ok(ok(Deleted::yes()))
}
