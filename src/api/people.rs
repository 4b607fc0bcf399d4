//! `/api/v1/people`: the people of the household.

use crate::{
    AppState, Caller,
    describe::{Routes, get, patch, post},
    document::limited,
    envelope::{Answer, Created, Deleted, Failure, Json, PathId, ok},
};
use axum::{Extension, extract::State};
use identity::{Editor, IssuedInvitation, NewPerson, PersonPatch, PersonView, TokenScope};
use serde::Serialize;
use tool::{
    Channel, UserId,
    prelude::{JsonSchema, schemars},
};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route(
            "/people",
            get(list, "List the people of the household.").admin().secret().post(add, "Add a person.").admin().secret(),
        )
        .route(
            "/people/{id}",
            patch(change, "Change a person's name, role or password.")
                .secret()
                .also(limited)
                .delete(remove, "Remove a person from the household.")
                .admin()
                .secret(),
        )
        .route(
            "/people/{id}/invitation",
            post(invite, "Invite a person to choose a password.")
                .admin()
                .secret()
                .delete(uninvite, "Take a person's invitation back.")
                .admin()
                .secret(),
        )
        .scope(TokenScope::Admin)
}

/// The people of the household.
#[derive(Debug, Serialize, JsonSchema)]
struct People {
    count: usize,
    people: Vec<PersonView>,
}

async fn list(State(house): State<AppState>) -> Answer<People> {
    let people = house.identity.people()?;
    Ok(ok(People { count: people.len(), people }))
}

async fn add(State(house): State<AppState>, Json(body): Json<NewPerson>) -> Result<Created<PersonView>, Failure> {
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

/// Makes the code of a link with which the person chooses a password and is signed in. It is valid for a week, works once, and
/// replaces an earlier one.
async fn invite(State(house): State<AppState>, PathId(id): PathId) -> Result<Created<IssuedInvitation>, Failure> {
    Ok(Created(house.identity.invite(id).await?))
}

async fn uninvite(State(house): State<AppState>, PathId(id): PathId) -> Answer<Deleted> {
    house.identity.uninvite(id).await?;
    Ok(ok(Deleted::yes()))
}

/// Removes a person and stops their runs.
async fn remove(State(house): State<AppState>, PathId(id): PathId) -> Answer<Deleted> {
    house.identity.remove_person(id).await?;
    house.agent.cancel_all_of(UserId(id));
    Ok(ok(Deleted::yes()))
}
