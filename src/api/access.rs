//! Who may come in: the first claim, API tokens, sessions of the page, and peers of the local socket.

use crate::{
    Caller, House,
    envelope::{Answer, Data, Failure, Json, PathId, bounded, ok},
    serve::Entrance,
};
use axum::{
    Extension,
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use store::{Collection, Entry, Key, Level, Listing, Record, Stamp, Store};
use tool::{AgentId, Channel, Id, Principal, Role, Scope, UserId, Via};

const COOKIE: &str = "hob_session";
/// How long a session of the page lasts.
const SESSION: Duration = Duration::from_secs(90 * 24 * 3600);
/// How many wrong codes or tokens are heard in a minute.
const TRIES: usize = 5;
const MINUTE: Duration = Duration::from_secs(60);
/// Letters and digits that are not mistaken for one another; 32 of them, so five bits each.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// A key to the door, as it is stored: only the hash of it. New fields go last.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Credential {
    hash: [u8; 32],
    name: String,
    #[serde(with = "store::coded")]
    role: Role,
    user: UserId,
    /// False for an API token.
    session: bool,
    /// Milliseconds since 1970; 0 is never.
    expires_ms: u64,
    /// The token a session was opened with, which ends with it.
    opened_with: Option<Id>,
}

impl Record for Credential {
    const NAME: &'static str = "credentials";
    const WORD: &'static str = "credential";
    const LEVEL: Level = Level::Household;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(1, self.hash), Key::many(2, [u8::from(self.session)])]
    }
}

/// A person with tokens of their own. They stay the same person when a token is taken back and another one made.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Person {
    name: String,
}

impl Record for Person {
    const NAME: &'static str = "people";
    const WORD: &'static str = "person";
    const LEVEL: Level = Level::Household;
    fn keys(&self) -> Vec<Key> {
        // Anna and anna are one person.
        vec![Key::unique(1, self.name.to_lowercase())]
    }
}

/// That somebody has claimed the device; it stays so when every session has expired.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Claimed {
    user: UserId,
}

impl Record for Claimed {
    const NAME: &'static str = "claimed";
    const WORD: &'static str = "claim";
    const LEVEL: Level = Level::Household;
}

/// The code a first person claims the device with; shown on the console, good for one use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim(String);

impl Claim {
    /// A fresh code of 60 random bits, in three groups of four characters.
    ///
    /// # Errors
    /// `Unavailable` when the system has no randomness to give.
    pub fn new() -> tool::Result<Self> {
        let mut bytes = [0u8; 12];
        random(&mut bytes)?;
        let letter = |b: &u8| ALPHABET[usize::from(b % 32)] as char;
        let groups: Vec<String> = bytes.chunks(4).map(|g| g.iter().map(letter).collect()).collect();
        Ok(Self(groups.join("-")))
    }

    /// The code, to be shown.
    pub fn code(&self) -> &str {
        &self.0
    }

    /// Dashes, blanks and case do not matter.
    fn fits(&self, typed: &str) -> bool {
        let plain = |text: &str| -> String {
            text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).collect()
        };
        // Hashes are compared, and blake3's comparison takes the same time wherever they differ.
        blake3::hash(plain(typed).as_bytes()) == blake3::hash(plain(&self.0).as_bytes())
    }
}

impl Tries {
    /// An error once there were too many in the last minute.
    fn slow_down(&self) -> Result<(), Failure> {
        let mut wrong = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while wrong.front().is_some_and(|at| at.elapsed() > MINUTE) {
            wrong.pop_front();
        }
        if wrong.len() >= TRIES {
            return Err(Failure::new(429, "too_many_tries", "too many wrong tries: wait a minute and try again"));
        }
        Ok(())
    }

    fn count_wrong(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(Instant::now());
    }
}

/// What a new credential is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The first session, which claims the device.
    Claim,
    /// A session of the page.
    Session,
    /// An API token.
    Token,
}

struct NewCredential {
    kind: Kind,
    name: String,
    role: Role,
    /// `None`: the person of that name, who is made if need be.
    user: Option<UserId>,
    opened_with: Option<Id>,
}

impl Inner {
    fn sessions(&self, tx: &store::Tx) -> store::Result<Vec<Entry<Credential>>> {
        self.credentials.find(tx, Scope::Household, 2, &[1])
    }

    /// Sessions nobody can use any more go when a new one comes.
    fn forget_expired(&self, tx: &store::Tx, now: u64) -> store::Result<()> {
        for old in self.sessions(tx)?.into_iter().filter(|c| c.value.expires_ms < now) {
            self.credentials.remove(tx, Scope::Household, old.id)?;
        }
        Ok(())
    }

    /// The person of a name, made in the same write when there is none.
    fn person(&self, tx: &store::Tx, name: &str) -> store::Result<UserId> {
        if let Some(person) = self.people.find(tx, Scope::Household, 1, name.to_lowercase().as_bytes())?.pop() {
            return Ok(UserId(person.id));
        }
        let id = Id::new();
        self.people.put(tx, id, &Stamp::household("access"), &Person { name: name.into() })?;
        Ok(UserId(id))
    }
}

fn random(bytes: &mut [u8]) -> tool::Result<()> {
    getrandom::fill(bytes).map_err(|e| tool::Error::unavailable(format!("the system has no randomness to give: {e}")))
}

/// The lock and its keys; cheap to clone.
#[derive(Clone)]
pub struct Access(Arc<Inner>);

struct Inner {
    credentials: Collection<Credential>,
    people: Collection<Person>,
    claimed: Collection<Claimed>,
    /// The hash of `HOB_TOKEN`.
    fixed: Option<blake3::Hash>,
    claim: Mutex<Option<Claim>>,
    codes: Tries,
    tokens: Tries,
}

/// Wrong tries of the last minute.
#[derive(Default)]
struct Tries(Mutex<VecDeque<Instant>>);

impl Access {
    /// The lock over `store`; `fixed` is an admin token from the environment. Where the device is neither claimed
    /// nor has one, a claim code is made.
    ///
    /// # Errors
    /// `BadArgs` when `fixed` is shorter than 32 characters; `Failed` when the data cannot be read.
    pub fn new(store: &Store, fixed: Option<&str>) -> tool::Result<Self> {
        if fixed.is_some_and(|token| token.len() < 32) {
            return Err(tool::Error::bad_args(
                "HOB_TOKEN is too short: use at least 32 characters, such as `openssl rand -hex 32` gives",
            ));
        }
        let credentials: Collection<Credential> = store.collection();
        let claimed: Collection<Claimed> = store.collection();
        let taken = fixed.is_some() || !claimed.is_empty_in(Scope::Household)?;
        let claim = if taken { None } else { Some(Claim::new()?) };
        Ok(Self(Arc::new(Inner {
            credentials,
            people: store.collection(),
            claimed,
            fixed: fixed.map(|token| blake3::hash(token.as_bytes())),
            claim: Mutex::new(claim),
            codes: Tries::default(),
            tokens: Tries::default(),
        })))
    }

    /// The code to claim with; `None` once the device is claimed.
    pub fn claim(&self) -> Option<Claim> {
        self.0.claim.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The person behind a token or session key, and the credential's id where it is a stored one.
    fn known(&self, key: &str, session: bool) -> Option<(Principal, Option<Id>)> {
        let hash = blake3::hash(key.as_bytes());
        if !session && self.0.fixed == Some(hash) {
            return Some((Principal::owner(), None));
        }
        let entry = self.find(hash)?;
        let found = entry.value;
        let alive = found.expires_ms == 0 || found.expires_ms > Id::new().millis();
        let principal = Principal { user: found.user, role: found.role, agent: AgentId::GENERAL };
        (alive && found.session == session).then_some((principal, Some(entry.id)))
    }

    /// What a person is called.
    fn name_of(&self, user: UserId) -> Result<String, Failure> {
        let person = self.0.people.get_in(Scope::Household, user.0)?;
        Ok(person.map_or_else(|| "owner".to_owned(), |p| p.value.name))
    }

    fn find(&self, hash: blake3::Hash) -> Option<Entry<Credential>> {
        let listing = Listing { by: Some((1, hash.as_bytes().to_vec())), limit: 1, before: None };
        self.0.credentials.list_in(Scope::Household, &listing).ok()?.pop()
    }

    /// Keeps a new credential and answers the key itself, which is not kept.
    async fn give(&self, new: NewCredential) -> Result<(Id, UserId, String), Failure> {
        let mut bytes = [0u8; 32];
        random(&mut bytes)?;
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        let session = new.kind != Kind::Token;
        let key = if session { hex } else { format!("hob_{hex}") };
        let hash = *blake3::hash(key.as_bytes()).as_bytes();
        let (inner, id, now) = (self.0.clone(), Id::new(), Id::new().millis());
        let expires_ms = if session { now + SESSION.as_millis() as u64 } else { 0 };
        let stamp = Stamp::household("access");
        let give = move |tx: &store::Tx| {
            inner.forget_expired(tx, now)?;
            if new.kind == Kind::Claim {
                inner.claimed.put(tx, Id::new(), &stamp, &Claimed { user: UserId::OWNER })?;
            }
            let user = match new.user {
                Some(user) => user,
                None => inner.person(tx, &new.name)?,
            };
            let (name, role, opened_with) = (new.name.clone(), new.role, new.opened_with);
            let credential = Credential { hash, name, role, user, session, expires_ms, opened_with };
            inner.credentials.put(tx, id, &stamp, &credential).map(|_| user)
        };
        let user = self.0.credentials.store().write(give).await?;
        Ok((id, user, key))
    }
}

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
    fn claim_codes_are_long_readable_and_forgiving() {
        let claim = Claim::new().unwrap();
        assert_eq!(claim.code().len(), 14);
        assert!(claim.fits(claim.code()) && claim.fits(&claim.code().to_lowercase().replace('-', " ")));
        for wrong in ["", "0000-0000-0000", &claim.code()[..13]] {
            assert!(!claim.fits(wrong), "{wrong}");
        }
        assert_ne!(claim, Claim::new().unwrap());
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, "a=b; hob_session=xyz; hob_session2=no".parse().unwrap());
        assert_eq!(cookie(&headers), Some("xyz"));
        headers.insert(header::COOKIE, "hob_session2=no".parse().unwrap());
        assert_eq!(cookie(&headers), None);
    }
}
