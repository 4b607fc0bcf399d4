//! Coming in and going out: the claim, signing in by password or token, and the sessions one has open.

use crate::{
    Caller, House,
    access::{COOKIE, SECURE_COOKIE, cookie, csrf_token, session_key, who},
    claim::Misfit,
    describe::{Given, Operation, Schemas},
    document::{good, refused},
    envelope::{Answer, Failure, Json, PathId, ok},
    keys::{Kind, NewCredential, OWNER, Opened, SESSION, random},
    limits::Who,
    people::{Deleted, name_of_person},
    serve::Entrance,
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
    Channel, Id, Principal, Role, Scope, UserId,
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
    fn of(house: &House, principal: &Principal, key: Option<&str>) -> Result<Self, Failure> {
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
    State(house): State<House>,
    Extension(entrance): Extension<Entrance>,
    headers: HeaderMap,
    Json(body): Json<ClaimBody>,
) -> Result<SignedIn, Failure> {
    let access = &house.access;
    let taken =
        || Failure::new(409, "already_claimed", "this Hob is claimed already: sign in with a password or a token");
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
    let person = name_of_person(body.person.as_deref().unwrap_or(OWNER))?;
    let password = match body.password.as_deref().filter(|p| !p.is_empty()) {
        Some(password) => access.0.passwords.hash(password).await?,
        None => String::new(),
    };
    // Taken before the session is made, so that of two who come at once only one gets in.
    let code = access.claim().take().ok_or_else(taken)?;
    let first = NewCredential {
        kind: Kind::Claim { person, password },
        name: "claim".into(),
        role: Role::Admin,
        user: Some(UserId::OWNER),
        opened_with: Opened::Person,
        scope: vec![],
        lasts: None,
        about: about(&headers),
    };
    match access.give(first).await {
        Ok(given) => {
            code.forget();
            house.settings.claimed();
            signed_in(&house, &entrance, &Principal::owner(), &given.key).await
        }
        Err(failure) => {
            *access.claim() = Some(code);
            Err(failure)
        }
    }
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
    State(house): State<House>,
    Extension(entrance): Extension<Entrance>,
    headers: HeaderMap,
    Json(body): Json<SignIn>,
) -> Result<SignedIn, Failure> {
    let (principal, opened_with, scope) = match (body.token, body.person, body.password) {
        (Some(token), None, None) => by_token(&house, &entrance, token.trim())?,
        (None, Some(person), Some(password)) => {
            (by_password(&house, &entrance, &headers, &person, &password).await?, Opened::Person, vec![])
        }
        _ => return Err(Failure::new(400, "bad_args", "send `person` and `password`, or a `token`")),
    };
    let session = NewCredential {
        kind: Kind::Session,
        name: "page".into(),
        role: principal.role,
        user: Some(principal.user),
        opened_with,
        scope,
        lasts: None,
        about: about(&headers),
    };
    let given = house.access.give(session).await?;
    signed_in(&house, &entrance, &principal, &given.key).await
}

fn by_token(house: &House, entrance: &Entrance, token: &str) -> Result<(Principal, Opened, Vec<String>), Failure> {
    // A right token is 256 bits and no guess, so wrong tries of others never keep its owner out.
    let Some(known) = house.access.known(token, false) else {
        house.access.0.tokens.count(who(entrance))?;
        return Err(Failure::new(401, "unauthorized", "that token is not known: make one with `hob token new owner`"));
    };
    let opened = known.id.map_or(Opened::Fixed, Opened::Token);
    Ok((known.principal, opened, known.reach.into_words()))
}

async fn by_password(
    house: &House,
    entrance: &Entrance,
    headers: &HeaderMap,
    name: &str,
    password: &str,
) -> Result<Principal, Failure> {
    let access = &house.access;
    let named = access.named(name)?;
    let who = match &named {
        Some(person) => known_browser(house, headers, UserId(person.id)).unwrap_or_else(|| who(entrance)),
        None => who(entrance),
    };
    // Counted before it is checked: each check is slow on purpose.
    access.0.signs.count(who)?;
    let kept = named.as_ref().map(|p| p.value.password.as_str()).unwrap_or_default();
    let fits = access.0.passwords.fits(password, kept).await?;
    match named.filter(|_| fits) {
        Some(person) => {
            access.0.signs.forgive(who);
            Ok(access.principal(UserId(person.id)))
        }
        None => Err(Failure::new(401, "wrong_password", "that name and password do not fit together")),
    }
}

/// What a browser keeps after a person signed in: for whom, and proof that it is from here.
fn browser_cookie(key: &[u8], user: UserId, salt: &str) -> String {
    let proof = blake3::Hasher::new_derive_key("hob 2026 browser cookie")
        .update(key)
        .update(format!("{user}/{salt}").as_bytes())
        .finalize();
    format!("{user}.{salt}.{}", proof.to_hex())
}

fn known_browser(house: &House, headers: &HeaderMap, user: UserId) -> Option<Who> {
    let shown = cookie(headers, BROWSER)?;
    let salt = shown.split('.').nth(1)?;
    let key = house.store.unseal(BROWSER_SECRET).ok()??;
    let hash = blake3::hash(shown.as_bytes());
    (hash == blake3::hash(browser_cookie(&key, user, salt).as_bytes())).then(|| Who::Browser(*hash.as_bytes()))
}

async fn new_browser(house: &House, user: UserId) -> Result<String, Failure> {
    let key = match house.store.unseal(BROWSER_SECRET)? {
        Some(key) => key,
        None => {
            let mut key = [0u8; 32];
            random(&mut key)?;
            house.store.seal(BROWSER_SECRET, &key).await?;
            key.to_vec()
        }
    };
    Ok(browser_cookie(&key, user, &Id::new().to_string()))
}

/// What a browser says about itself, for the list of sessions.
fn about(headers: &HeaderMap) -> String {
    headers.get(header::USER_AGENT).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned()
}

/// A session, with the cookies that hold it.
pub(crate) struct SignedIn(Session, Vec<String>);

impl Given for SignedIn {
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

async fn signed_in(house: &House, entrance: &Entrance, principal: &Principal, key: &str) -> Result<SignedIn, Failure> {
    let encrypted = matches!(entrance, Entrance::Network { tls: true, .. });
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
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Answer<Session> {
    let key = session_key(&headers).filter(|_| caller.1.channel == Channel::Page);
    Ok(ok(Session::of(&house, &caller.0, key.as_deref())?))
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

impl Given for Leaving {
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
    State(house): State<House>,
    Extension(entrance): Extension<Entrance>,
    headers: HeaderMap,
) -> Result<Leaving, Failure> {
    let session = session_key(&headers).and_then(|key| house.access.find(blake3::hash(key.as_bytes())));
    if let Some(session) = session {
        house.access.0.credentials.delete_in(Scope::Household, session.id).await?;
    }
    Ok(Leaving(matches!(entrance, Entrance::Network { tls: true, .. })))
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

fn own(house: &House, caller: &Caller) -> Result<Vec<Entry<crate::keys::Credential>>, Failure> {
    let now = Id::new().millis();
    let mut all = house.access.all(true)?;
    all.retain(|s| s.value.user == caller.0.user && s.value.expires_ms > now);
    Ok(all)
}

/// Where one is signed in.
pub(crate) async fn sessions(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Answer<Sessions> {
    let this = session_key(&headers).and_then(|key| house.access.find(blake3::hash(key.as_bytes()))).map(|s| s.id);
    let open = |s: Entry<crate::keys::Credential>| Open {
        id: s.id,
        device: s.value.about,
        created_at: s.id.millis(),
        expires_at: s.value.expires_ms,
        current: Some(s.id) == this,
    };
    let sessions: Vec<Open> = own(&house, &caller)?.into_iter().map(open).collect();
    Ok(ok(Sessions { count: sessions.len(), sessions }))
}

/// Signs out elsewhere.
pub(crate) async fn delete_session(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Deleted> {
    if !own(&house, &caller)?.iter().any(|s| s.id == id) {
        return Err(Failure::new(404, "not_found", format!("there is no session {id} of yours")));
    }
    house.access.0.credentials.delete_in(Scope::Household, id).await?;
    Ok(ok(Deleted::yes()))
}
