//! The people of the household: who they are, what they may do, and their passwords.

use crate::{
    AppState, Caller,
    auth_middleware::must_be_admin,
    envelope::{Answer, Created, Failure, Json, PathId, ok},
    keys::{Credential, OWNER, Person, stamp},
    limits::Who,
    password::CheckSource,
};
use axum::{Extension, extract::State};
use serde::{Deserialize, Serialize};
use store::Entry;
use tool::{
    Channel, Id, Label, Role, Scope, UserId,
    prelude::{JsonSchema, schemars},
};
use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization;

/// A person as they are told.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Told {
    id: Id,
    name: String,
    /// The most they may do.
    role: Role,
    /// Whether they claimed the device; always an admin, and always there.
    owner: bool,
    has_password: bool,
    /// Milliseconds since 1970; 0 for the owner.
    created_at: u64,
}

impl From<&Entry<Person>> for Told {
    fn from(person: &Entry<Person>) -> Self {
        let owner = UserId(person.id) == UserId::OWNER;
        Self {
            id: person.id,
            name: person.value.name.clone(),
            role: if owner { Role::Admin } else { person.value.standing.role() },
            owner,
            has_password: !person.value.password.is_empty(),
            created_at: if owner { 0 } else { person.id.millis() },
        }
    }
}

/// That something is gone.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Deleted {
    /// True.
    deleted: bool,
}

impl Deleted {
    pub fn yes() -> Self {
        Self { deleted: true }
    }
}

/// Everybody who is known here.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct People {
    count: usize,
    people: Vec<Told>,
}

/// The people, the owner first.
pub(crate) async fn list(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<People> {
    must_be_admin(&caller)?;
    let mut people: Vec<Told> = house.access.people()?.iter().map(Told::from).collect();
    if !people.iter().any(|p| p.owner) {
        // Devices that were set up with a token, or claimed by an older Hob, have no record of their owner.
        let id = UserId::OWNER.0;
        people.push(Told {
            id,
            name: OWNER.into(),
            role: Role::Admin,
            owner: true,
            has_password: false,
            created_at: 0,
        });
    }
    people.sort_by_key(|p| (!p.owner, p.created_at));
    Ok(ok(People { count: people.len(), people }))
}

/// A name as a person may have: 1 to 64 characters that are seen, in the one form that each text has.
pub(crate) fn name_of_person(name: &str) -> Result<String, Failure> {
    let name: String = name.trim().nfc().collect();
    if name.is_empty() || name.chars().count() > 64 {
        return Err(Failure::new(400, "bad_args", "a name must have 1 to 64 characters"));
    }
    if name.chars().any(|c| c.is_control() || get_general_category(c) == GeneralCategory::Format) {
        return Err(Failure::new(
            400,
            "bad_args",
            "a name must not have characters in it that nobody sees: type it anew",
        ));
    }
    Ok(name)
}

/// `owner` is nobody else's name.
fn free_name(name: &str, id: Option<Id>) -> Result<String, Failure> {
    let name = name_of_person(name)?;
    if name.eq_ignore_ascii_case(OWNER) && id != Some(UserId::OWNER.0) {
        return Err(Failure::new(400, "bad_args", "`owner` is the person who claimed this Hob: choose another name"));
    }
    Ok(name)
}

/// Somebody new.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPerson {
    /// 1 to 64 characters; Anna and anna are one person.
    name: String,
    role: Role,
    /// 10 characters or more; without one they come in with tokens.
    password: Option<String>,
}

/// Adds a person.
pub(crate) async fn add(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<NewPerson>,
) -> Result<Created<Told>, Failure> {
    must_be_admin(&caller)?;
    let name = free_name(&body.name, None)?;
    let password = match body.password.as_deref().filter(|p| !p.is_empty()) {
        Some(password) => house.access.0.passwords.hash(CheckSource::Known, password).await?,
        None => String::new(),
    };
    let person = Person { name, standing: body.role.into(), password };
    let (inner, id) = (house.access.0.clone(), Id::new());
    let add = move |tx: &store::Tx| inner.people.put(tx, id, &stamp(), &person);
    Ok(Created(Told::from(&house.access.0.people.store().write(add).await?)))
}

/// What is to be different; what is left out stays.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ChangedPerson {
    name: Option<String>,
    role: Option<Role>,
    /// A new password; their other sessions end. An admin may take it away with an empty one.
    password: Option<String>,
    /// The password so far: who changes their own shows that they know it.
    current_password: Option<String>,
}

/// Changes a person: admins everybody, everybody their own name and password.
pub(crate) async fn change(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
    Json(body): Json<ChangedPerson>,
) -> Answer<Told> {
    let (access, own) = (&house.access, caller.principal.user == UserId(id));
    let is_self = own && caller.in_person && caller.via.channel == Channel::Page;
    if !is_self || body.role.is_some() {
        must_be_admin(&caller)?;
    }
    let owner = UserId(id) == UserId::OWNER;
    if owner && body.role.is_some_and(|role| role != Role::Admin) {
        return Err(Failure::new(400, "bad_args", "the owner is always an admin"));
    }
    let found = access.person(UserId(id))?;
    if found.is_none() && !owner {
        return Err(Failure::new(404, "not_found", format!("there is no person {id}")));
    }
    let name = body.name.as_deref().map(|name| free_name(name, Some(id))).transpose()?;
    let kept = found.as_ref().map(|p| p.value.password.clone()).unwrap_or_default();
    let who = Who::Person(caller.principal.user);
    if body.password.is_some() {
        // Each takes a while to check, so only so many are.
        access.0.signs.count(who)?;
    }
    if is_self && body.password.is_some() {
        if kept.is_empty() && caller.principal.role != Role::Admin {
            return Err(Failure::new(403, "denied", "an admin gives you your first password: ask one"));
        }
        let current = body.current_password.as_deref().unwrap_or_default();
        if !kept.is_empty() && !access.0.passwords.fits(CheckSource::Known, current, &kept).await? {
            return Err(Failure::new(401, "wrong_password", "`currentPassword` is not your password so far"));
        }
    }
    let password = match body.password.as_deref() {
        Some("") if caller.principal.role != Role::Admin => {
            return Err(Failure::new(
                403,
                "denied",
                "only an admin may take a password away: choose another one instead",
            ));
        }
        Some("") => Some(String::new()),
        Some(password) => Some(access.0.passwords.hash(CheckSource::Known, password).await?),
        None => None,
    };
    if password.is_some() {
        access.0.signs.forgive(who);
    }
    let (inner, role, this) = (access.0.clone(), body.role, caller.key);
    let change = move |tx: &store::Tx| {
        if password.is_some() {
            // Whoever had the old password is out.
            let theirs = |c: &Entry<Credential>| c.value.user == UserId(id) && c.value.is_session();
            inner.take_back(tx, |c| theirs(c) && Some(c.id) != this)?;
        }
        if owner && inner.people.read(tx, Scope::Household, id)?.is_none() {
            let person = Person { name: OWNER.into(), standing: Role::Admin.into(), password: String::new() };
            inner.people.put(tx, id, &stamp(), &person)?;
        }
        inner.people.change(tx, Scope::Household, Label::Own, id, &mut |person| {
            if let Some(name) = &name {
                person.name.clone_from(name);
            }
            if let Some(password) = &password {
                person.password.clone_from(password);
            }
            if let Some(role) = role {
                person.standing = role.into();
            } else if password.is_some() {
                // Whoever signs in is what their record says, and no more than that.
                person.standing = person.standing.role().into();
            }
            Ok(())
        })
    };
    Ok(ok(Told::from(&access.0.people.store().write(change).await?)))
}

/// Takes a person out of the household, with their tokens and sessions, and stops what is under way for them. What they
/// remembered stays.
pub(crate) async fn remove(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Deleted> {
    must_be_admin(&caller)?;
    if UserId(id) == UserId::OWNER {
        return Err(Failure::new(400, "bad_args", "the owner cannot be removed: they claimed this Hob"));
    }
    let inner = house.access.0.clone();
    let remove = move |tx: &store::Tx| {
        inner.take_back(tx, |c| c.value.user == UserId(id))?;
        inner.people.remove(tx, Scope::Household, id)
    };
    match house.access.0.people.store().write(remove).await? {
        true => {
            house.agent.cancel_all_of(UserId(id));
            Ok(ok(Deleted::yes()))
        }
        false => Err(Failure::new(404, "not_found", format!("there is no person {id}"))),
    }
}
