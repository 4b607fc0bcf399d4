//! The lock: who a request comes from, and the requests by which one becomes known.

use crate::{
    Caller, House,
    envelope::{Answer, Data, Failure, Json, PathId, bounded, ok},
    keys::{Credential, Kind, NewCredential, SESSION},
    serve::Entrance,
};
use axum::{
    Extension,
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::PoisonError;
use store::{Entry, Listing};
use tool::{Channel, Principal, Role, Scope, UserId, Via};

const COOKIE: &str = "hob_session";

/// What a stranger may call: the two ways to become known.
const OPEN: &[(Method, &str)] = &[(Method::POST, "/claim"), (Method::POST, "/session")];

/// Lets known callers through, with who they are attached.
pub(crate) async fn lock(State(house): State<House>, mut request: Request, next: Next) -> Response {
    // Nested routers see the path without `/api/v1`.
    if OPEN.iter().any(|(method, path)| request.method() == method && request.uri().path() == *path) {
        return next.run(request).await;
    }
    match caller(&house, &request) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            match bounded(request).await {
                Ok(request) => next.run(request).await,
                Err(failure) => failure.into_response(),
            }
        }
        Err(failure) => failure.into_response(),
    }
}

fn caller(house: &House, request: &Request) -> Result<Caller, Failure> {
    if let Some(Entrance::Socket { trusted }) = request.extensions().get::<Entrance>() {
        let refused = || Failure::new(403, "denied", "only the user Hob runs as may use its local socket");
        return trusted.then(|| Caller(Principal::owner(), Via::direct(Channel::Cli))).ok_or_else(refused);
    }
    let headers = request.headers();
    let bearer = headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok()).and_then(bearer_of);
    let known = match (bearer, cookie(headers)) {
        (Some(token), _) => house.access.known(token.trim(), false).map(|(p, _)| Caller(p, Via::direct(Channel::Api))),
        (None, Some(key)) => house.access.known(key, true).map(|(p, _)| Caller(p, Via::direct(Channel::Page))),
        (None, None) => None,
    };
    if let Some(caller) = known {
        return Ok(caller);
    }
    if house.access.claim().is_some() {
        let text = "this Hob is not claimed yet: open the link it printed on its console";
        return Err(Failure::new(403, "unclaimed", text));
    }
    let text = "who are you? Send the header `Authorization: Bearer TOKEN`; make one with `hob token new owner`";
    Err(Failure::new(401, "unauthorized", text))
}

/// The token in `Bearer TOKEN`; the word may be written in any case.
fn bearer_of(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|v| v.to_str().ok());
    all.flat_map(|v| v.split(';')).find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

fn set_cookie(key: &str, seconds: u64) -> String {
    format!("{COOKIE}={key}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}")
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimBody {
    code: String,
}

/// The first person takes the device.
pub(crate) async fn claim(State(house): State<House>, Json(body): Json<ClaimBody>) -> Result<Response, Failure> {
    let access = &house.access;
    let taken = || Failure::new(409, "already_claimed", "this Hob is claimed already: sign in with a token");
    let expected = access.claim().ok_or_else(taken)?;
    access.0.codes.slow_down()?;
    if !expected.fits(&body.code) {
        access.0.codes.count_wrong();
        return Err(Failure::new(401, "wrong_code", "that is not the code: it is in the link on Hob's console"));
    }
    // Taken before the session is made, so that of two who come at once only one gets in.
    if access.0.claim.lock().unwrap_or_else(PoisonError::into_inner).take().is_none() {
        return Err(taken());
    }
    let first = NewCredential {
        kind: Kind::Claim,
        name: "claim".into(),
        role: Role::Admin,
        user: Some(UserId::OWNER),
        opened_with: None,
    };
    match access.give(first).await {
        Ok((_, _, key)) => Ok(signed_in(&key, &Principal::owner())),
        Err(failure) => {
            *access.0.claim.lock().unwrap_or_else(PoisonError::into_inner) = Some(expected);
            Err(failure)
        }
    }
}

fn signed_in(key: &str, principal: &Principal) -> Response {
    let data = ok(json!({"user": principal.user, "role": principal.role}));
    ([(header::SET_COOKIE, set_cookie(key, SESSION.as_secs()))], data).into_response()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignIn {
    token: String,
}

/// A token becomes a session of the page.
pub(crate) async fn sign_in(State(house): State<House>, Json(body): Json<SignIn>) -> Result<Response, Failure> {
    // A right token is 256 bits and no guess, so wrong tries of others never keep its owner out.
    let Some((principal, opened_with)) = house.access.known(body.token.trim(), false) else {
        house.access.0.tokens.slow_down()?;
        house.access.0.tokens.count_wrong();
        return Err(Failure::new(401, "unauthorized", "that token is not known: make one with `hob token new owner`"));
    };
    let (name, role, user) = ("page".to_owned(), principal.role, Some(principal.user));
    let (_, _, key) = house.access.give(NewCredential { kind: Kind::Session, name, role, user, opened_with }).await?;
    Ok(signed_in(&key, &principal))
}

/// Who the caller is, for the page.
pub(crate) async fn who(State(house): State<House>, Extension(caller): Extension<Caller>) -> Answer<Value> {
    let (user, role) = (caller.0.user, caller.0.role);
    let model = house.agent.model();
    let version = env!("CARGO_PKG_VERSION");
    let person = house.access.name_of(user)?;
    Ok(ok(json!({
        "user": user,
        "person": person,
        "role": role,
        "name": house.name,
        "version": version,
        "model": model,
    })))
}

/// Ends the session it is asked with.
pub(crate) async fn sign_out(State(house): State<House>, headers: HeaderMap) -> Result<Response, Failure> {
    let session = cookie(&headers).and_then(|key| house.access.find(blake3::hash(key.as_bytes())));
    if let Some(session) = session {
        house.access.0.credentials.delete_in(Scope::Household, session.id).await?;
    }
    Ok(([(header::SET_COOKIE, set_cookie("", 0))], ok(json!({"signedOut": true}))).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewToken {
    name: String,
    #[serde(default = "admin")]
    role: Role,
}

fn admin() -> Role {
    Role::Admin
}

/// A new API token. `owner` speaks for the claiming person; every other name is a person of its own.
pub(crate) async fn new_token(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    Json(body): Json<NewToken>,
) -> Answer<Value> {
    must_be_admin(&caller)?;
    let name = body.name.trim();
    if name.is_empty() || name.chars().count() > 64 || name.chars().any(char::is_control) {
        return Err(Failure::new(400, "bad_args", "`name` must have 1 to 64 characters"));
    }
    if name.eq_ignore_ascii_case("owner") && body.role != Role::Admin {
        let text = "`owner` is the person who claimed this Hob and always an admin: choose another name";
        return Err(Failure::new(400, "bad_args", text));
    }
    let new = NewCredential {
        kind: Kind::Token,
        name: name.to_owned(),
        role: body.role,
        user: name.eq_ignore_ascii_case("owner").then_some(UserId::OWNER),
        opened_with: None,
    };
    let (id, user, token) = house.access.give(new).await?;
    Ok(Data(StatusCode::CREATED, json!({"id": id, "name": name, "role": body.role, "user": user, "token": token})))
}

fn tokens(house: &House) -> Result<Vec<Entry<Credential>>, Failure> {
    let listing = Listing { by: Some((2, vec![0])), ..Listing::default() };
    Ok(house.access.0.credentials.list_in(Scope::Household, &listing)?)
}

/// The API tokens, without the tokens.
pub(crate) async fn list_tokens(State(house): State<House>, Extension(caller): Extension<Caller>) -> Answer<Value> {
    must_be_admin(&caller)?;
    let shown = |t: Entry<Credential>| json!({"id": t.id, "name": t.value.name, "role": t.value.role, "createdAt": t.id.millis()});
    let all: Vec<Value> = tokens(&house)?.into_iter().map(shown).collect();
    Ok(ok(json!({"count": all.len(), "tokens": all})))
}

/// Takes a token back, and the sessions that were opened with it.
pub(crate) async fn delete_token(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Value> {
    must_be_admin(&caller)?;
    if !tokens(&house)?.iter().any(|t| t.id == id) {
        return Err(Failure::new(404, "not_found", format!("there is no token {id}")));
    }
    let inner = house.access.0.clone();
    let take_back = move |tx: &store::Tx| {
        for session in inner.sessions(tx)?.into_iter().filter(|s| s.value.opened_with == Some(id)) {
            inner.credentials.remove(tx, Scope::Household, session.id)?;
        }
        inner.credentials.remove(tx, Scope::Household, id)
    };
    house.access.0.credentials.store().write(take_back).await?;
    Ok(ok(json!({"deleted": true})))
}

pub(crate) fn must_be_admin(caller: &Caller) -> Result<(), Failure> {
    match caller.0.role {
        Role::Admin => Ok(()),
        _ => Err(Failure::new(403, "denied", "only an admin may do this")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, "a=b; hob_session=xyz; hob_session2=no".parse().unwrap());
        assert_eq!(cookie(&headers), Some("xyz"));
        headers.insert(header::COOKIE, "hob_session2=no".parse().unwrap());
        assert_eq!(cookie(&headers), None);
    }
}
