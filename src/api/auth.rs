//! Coming in and going out: the claim, signing in by password or token, and the sessions one has open.

use crate::{
    AppState, Caller,
    auth_middleware::{COOKIE, SECURE_COOKIE, cookie, csrf_token, session_key, who},
    claim::Misfit,
    connection_limiter::RequestTracker,
    describe::{DescribeOutput, Operation, Schemas},
    document::{good, refused},
    envelope::{Answer, Failure, Json, PathId, ok},
    keys::{AuthenticatedKey, Credential, Kind, NewCredential, OWNER, Opened, Person, SESSION, random},
    limits::Who,
    password::CheckSource,
    people::{Deleted, name_of_person},
    serve::Entrance,
    token_scope::Reach,
};
use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use store::Entry;
use tool::{
    AgentId, Channel, Id, Principal, Role, Scope, UserId,
    prelude::{JsonSchema, schemars},
};

/// A browser that has signed somebody in before keeps this; its tries are counted apart from a stranger's.
const BROWSER: &str = "hob_browser";
const BROWSER_SECONDS: u64 = 400 * 24 * 3600;
/// The sealed secret that such cookies are made with.
const BROWSER_SECRET: &str = "browser-key";

/// Who one is to this Hob.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Session {
    user: UserId,
    /// What the person is called.
    person: String,
    role: Role,
    /// The device's name.
    name: String,
    version: &'static str,
    /// The model that answers, as `provider/model` or `reflex`.
    model: String,
    /// Whether the person can sign in with a password.
    has_password: bool,
    /// To be sent as the header `X-CSRF-Token` with every request of this session that changes something; empty for
    /// callers without a session.
    csrf_token: String,
}

impl Session {
    fn of(house: &AppState, principal: &Principal, key: Option<&str>) -> Result<Self, Failure> {
        let person = house.access.person(principal.user)?;
        Ok(Self {
            user: principal.user,
            has_password: person.as_ref().is_some_and(|p| !p.value.password.is_empty()),
            person: person.map_or_else(|| OWNER.to_owned(), |p| p.value.name),
            role: principal.role,
            name: house.settings.name(),
            version: env!("CARGO_PKG_VERSION"),
            model: house.agent.model(),
            csrf_token: key.map(csrf_token).unwrap_or_default(),
        })
    }
}

/// Takes the device for a first person.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimBody {
    /// The code from Hob's console; dashes, blanks and case do not matter.
    code: String,
    /// What the person is to be called; `owner` when left out.
    person: Option<String>,
    /// A password to sign in with later, 10 characters or more.
    password: Option<String>,
}

/// The first person takes the device.
pub(crate) async fn claim(
    State(house): State<AppState>,
    Extension(entrance): Extension<Entrance>,
    Extension(ticket): Extension<RequestTracker>,
    headers: HeaderMap,
    Json(body): Json<ClaimBody>,
) -> Result<SignedIn, Failure> {
    let access = &house.access;
    let misfit = access.claim().as_ref().map(|code| code.fits(&body.code)).ok_or_else(taken)?;
    access.0.codes.count(who(&entrance))?;
    misfit.map_err(|why| match why {
        Misfit::Wrong => Failure::new(401, "wrong_code", "that is not the code: it is in the link on Hob's console"),
        Misfit::Expired => Failure::new(
            401,
            "code_expired",
            "that code has expired: a fresh one is on Hob's console, and in its data folder",
        ),
    })?;
    access.0.codes.forgive(who(&entrance));
    // Whoever has the code is not a stranger any more: their place is not for another.
    let _served = ticket.serve();
    let person = name_of_person(body.person.as_deref().unwrap_or(OWNER))?;
    let password = match body.password.as_deref().filter(|p| !p.is_empty()) {
        Some(password) => access.0.passwords.hash(CheckSource::Known, password).await?,
        None => String::new(),
    };
    let first = NewCredential {
        kind: Kind::Claim { person, password },
        name: "claim".into(),
        role: Role::Admin,
        user: Some(UserId::OWNER),
        opened_with: Opened::Person,
        scope: vec![],
        lasts: None,
        ends_ms: 0,
        about: about(&headers),
    };
    // Goes on to its end also when whoever asked is gone: half a claim would leave a device nobody can take.
    let (house_too, key) = (house.clone(), tokio::spawn(take(house, first)));
    let broken = |_| Failure::new(422, "failed", "the claim broke off: look whether it is done, or restart Hob");
    signed_in(&house_too, &entrance, &Principal::owner(), &key.await.map_err(broken)??).await
}

/// Gives the device to its first person, and answers the key of their session. Of two who come at once only one gets in:
/// the code is taken before the session is made.
async fn take(house: AppState, first: NewCredential) -> Result<String, Failure> {
    let code = house.access.claim().take().ok_or_else(taken)?;
    match house.access.give(first).await {
        Ok(given) => {
            code.forget();
            house.settings.claimed();
            Ok(given.key)
        }
        Err(failure) => {
            *house.access.claim() = Some(code);
            Err(failure)
        }
    }
}

fn taken() -> Failure {
    Failure::new(409, "already_claimed", "this Hob is claimed already: sign in with a password or a token")
}

/// Signs in with a password, or with a token.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignIn {
    /// An API token.
    token: Option<String>,
    /// What the person is called.
    person: Option<String>,
    /// Their password.
    password: Option<String>,
}

/// A password or a token becomes a session of the page.
pub(crate) async fn sign_in(
    State(house): State<AppState>,
    Extension(entrance): Extension<Entrance>,
    Extension(ticket): Extension<RequestTracker>,
    headers: HeaderMap,
    Json(body): Json<SignIn>,
) -> Result<SignedIn, Failure> {
    let (known, opened_with) = match (body.token, body.person, body.password) {
        (Some(token), None, None) => by_token(&house, &entrance, token.trim())?,
        (None, Some(person), Some(password)) => {
            let named = house.access.named(&person)?;
            // Where this person has signed in before, the browser's tries count apart from a stranger's.
            let browser = named.as_ref().and_then(|person| known_browser(&house, &headers, person));
            let who = browser.unwrap_or_else(|| who(&entrance));
            // Counted before it is checked: each check is slow on purpose. Whoever waits for it keeps their place.
            house.access.0.signs.count(who)?;
            let _served = ticket.serve();
            by_password(&house, who, named, &password).await?
        }
        _ => return Err(Failure::new(400, "bad_args", "send `person` and `password`, or a `token`")),
    };
    let session = NewCredential {
        kind: Kind::Session,
        name: "page".into(),
        role: known.principal.role,
        user: Some(known.principal.user),
        opened_with,
        scope: known.reach.into_words(),
        lasts: None,
        ends_ms: known.expires_ms,
        about: about(&headers),
    };
    let given = house.access.give(session).await?;
    signed_in(&house, &entrance, &known.principal, &given.key).await
}

fn by_token(house: &AppState, entrance: &Entrance, token: &str) -> Result<(AuthenticatedKey, Opened), Failure> {
    // A right token is 256 bits and no guess, so wrong tries of others never keep its owner out.
    let Some(known) = house.access.authenticate(token, false) else {
        house.access.0.tokens.count(who(entrance))?;
        return Err(Failure::new(401, "unauthorized", "that token is not known: make one with `hob token new owner`"));
    };
    let opened = known.id.map_or(Opened::Fixed, Opened::Token);
    Ok((known, opened))
}

async fn by_password(
    house: &AppState,
    who: Who,
    named: Option<Entry<Person>>,
    password: &str,
) -> Result<(AuthenticatedKey, Opened), Failure> {
    let access = &house.access;
    let kept = named.as_ref().map(|p| p.value.password.clone()).unwrap_or_default();
    let by = if matches!(who, Who::Browser(_)) { CheckSource::Known } else { CheckSource::Stranger };
    let fits = access.0.passwords.fits(by, password, &kept).await?;
    match named.filter(|_| fits) {
        Some(person) => {
            access.0.signs.forgive(who);
            let user = UserId(person.id);
            let role = if user == UserId::OWNER { Role::Admin } else { person.value.standing.role() };
            let principal = Principal { user, role, agent: AgentId::GENERAL };
            let reach = Reach::default();
            Ok((
                AuthenticatedKey { principal, id: None, reach, expires_ms: 0, in_person: true },
                Opened::Password(kept),
            ))
        }
        None => Err(Failure::new(401, "wrong_password", "that name and password do not fit together")),
    }
}

/// What a browser keeps after a person signed in: for whom, and proof that it is from here. Another password makes it
/// worthless.
fn browser_cookie(key: &[u8], user: UserId, kept: &str, salt: &str) -> String {
    let proof = blake3::Hasher::new_derive_key("hob 2026 browser cookie")
        .update(key)
        .update(format!("{user}/{kept}/{salt}").as_bytes())
        .finalize();
    format!("{user}.{salt}.{}", proof.to_hex())
}

fn known_browser(house: &AppState, headers: &HeaderMap, person: &Entry<Person>) -> Option<Who> {
    let shown = cookie(headers, BROWSER)?;
    let salt = shown.split('.').nth(1)?;
    let key = house.store.unseal_if_ours(BROWSER_SECRET).ok()??;
    let hash = blake3::hash(shown.as_bytes());
    let right = browser_cookie(&key, UserId(person.id), &person.value.password, salt);
    (hash == blake3::hash(right.as_bytes())).then(|| Who::Browser(*hash.as_bytes()))
}

async fn new_browser(house: &AppState, user: UserId) -> Result<String, Failure> {
    let key = match house.store.unseal_if_ours(BROWSER_SECRET)? {
        Some(key) => key,
        None => {
            let mut key = [0u8; 32];
            random(&mut key)?;
            house.store.seal(BROWSER_SECRET, &key).await?;
            key.to_vec()
        }
    };
    let kept = house.access.person(user)?.map(|person| person.value.password).unwrap_or_default();
    Ok(browser_cookie(&key, user, &kept, &Id::new().to_string()))
}

/// What a browser says about itself, for the list of sessions.
fn about(headers: &HeaderMap) -> String {
    headers.get(header::USER_AGENT).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned()
}

/// A session, with the cookies that hold it.
pub(crate) struct SignedIn(Session, Vec<String>);

impl DescribeOutput for SignedIn {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        good::<Session>(schemas, operation, 200);
        refused(schemas, operation, &[(401, "The code, token or password is not right.")]);
    }
}

impl IntoResponse for SignedIn {
    fn into_response(self) -> Response {
        let mut response = ok(self.0).into_response();
        for cookie in self.1 {
            if let Ok(cookie) = HeaderValue::try_from(cookie) {
                response.headers_mut().append(header::SET_COOKIE, cookie);
            }
        }
        response
    }
}

async fn signed_in(
    house: &AppState,
    entrance: &Entrance,
    principal: &Principal,
    key: &str,
) -> Result<SignedIn, Failure> {
    let encrypted = entrance.is_encrypted();
    let browser = new_browser(house, principal.user).await?;
    let secure = if encrypted { "; Secure" } else { "" };
    let cookies = vec![
        set_cookie(encrypted, key, SESSION.as_secs()),
        format!(
            "{BROWSER}={browser}; HttpOnly; SameSite=Strict; Path=/api/v1/session; Max-Age={BROWSER_SECONDS}{secure}"
        ),
    ];
    Ok(SignedIn(Session::of(house, principal, Some(key))?, cookies))
}

fn set_cookie(encrypted: bool, key: &str, seconds: u64) -> String {
    let (name, secure) = if encrypted { (SECURE_COOKIE, "; Secure") } else { (COOKIE, "") };
    format!("{name}={key}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}")
}

/// Who the caller is.
pub(crate) async fn who_am_i(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Extension(entrance): Extension<Entrance>,
    headers: HeaderMap,
) -> Answer<Session> {
    let key = session_key(Some(&entrance), &headers).filter(|_| caller.via.channel == Channel::Page);
    Ok(ok(Session::of(&house, &caller.principal, key.as_deref())?))
}

/// That one is out.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SignedOut {
    /// True.
    signed_out: bool,
}

/// The end of a session, which the browser forgets.
pub(crate) struct Leaving(bool);

impl DescribeOutput for Leaving {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        good::<SignedOut>(schemas, operation, 200);
    }
}

impl IntoResponse for Leaving {
    fn into_response(self) -> Response {
        ([(header::SET_COOKIE, set_cookie(self.0, "", 0))], ok(SignedOut { signed_out: true })).into_response()
    }
}

/// Ends the session it is asked with.
pub(crate) async fn sign_out(
    State(house): State<AppState>,
    Extension(entrance): Extension<Entrance>,
    Extension(caller): Extension<Caller>,
) -> Result<Leaving, Failure> {
    if let Some(session) = caller.key.filter(|_| caller.via.channel == Channel::Page) {
        house.access.0.credentials.delete_in(Scope::Household, session).await?;
    }
    Ok(Leaving(entrance.is_encrypted()))
}

/// A place where one is signed in.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Open {
    id: Id,
    /// What the browser says about itself.
    device: String,
    /// Milliseconds since 1970.
    created_at: u64,
    /// Milliseconds since 1970.
    expires_at: u64,
    /// Whether it is the one that asks.
    current: bool,
}

/// The caller's open sessions.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Sessions {
    count: usize,
    sessions: Vec<Open>,
}

fn own(house: &AppState, caller: &Caller) -> Result<Vec<Entry<Credential>>, Failure> {
    // A program has a key of its own, and no say over where its person is signed in.
    if !caller.in_person && caller.principal.role != Role::Admin {
        return Err(Failure::new(403, "denied", "a token does not manage sessions: sign in at the page for that"));
    }
    let now = Id::new().millis();
    let mut all = house.access.all(true)?;
    all.retain(|s| s.value.user == caller.principal.user && s.value.expires_ms > now);
    Ok(all)
}

/// Where one is signed in.
pub(crate) async fn sessions(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<Sessions> {
    let open = |s: Entry<Credential>| Open {
        id: s.id,
        device: s.value.about,
        created_at: s.id.millis(),
        expires_at: s.value.expires_ms,
        current: Some(s.id) == caller.key,
    };
    let sessions: Vec<Open> = own(&house, &caller)?.into_iter().map(open).collect();
    Ok(ok(Sessions { count: sessions.len(), sessions }))
}

/// Signs out elsewhere.
pub(crate) async fn delete_session(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Deleted> {
    if !own(&house, &caller)?.iter().any(|s| s.id == id) {
        return Err(Failure::new(404, "not_found", format!("there is no session {id} of yours")));
    }
    house.access.0.credentials.delete_in(Scope::Household, id).await?;
    Ok(ok(Deleted::yes()))
}
