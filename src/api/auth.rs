//! `/api/v1/claim`, `/session` and `/sessions`: claiming the device, signing in and out, and one's open sessions.

use crate::{
    AppState, Caller, Home,
    auth_middleware::{COOKIE, SECURE_COOKIE, client, cookie, csrf_token, session_key},
    connection_limiter::RequestTracker,
    describe::{DescribeOutput, Operation, Routes, Schemas, delete, get, post},
    document::{good, limited, refused},
    entrance::Entrance,
    envelope::{Answer, Deleted, Failure, Json, PathId, ok},
};
use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Response},
};
use identity::{NewSession, OWNER, SESSION_LIFETIME, SessionView, TokenScope};
use serde::{Deserialize, Serialize};
use tool::{
    Channel, Principal, Role, UserId,
    prelude::{JsonSchema, schemars},
};

/// The cookie of a browser in which somebody has signed in before.
const BROWSER: &str = "hob_browser";
const BROWSER_SECONDS: u64 = 400 * 24 * 3600;

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/claim", post(claim, "Claim the device with the code on its console.").open().secret().also(limited))
        .route("/join", post(join, "Use an invitation: choose a password and sign in.").open().secret().also(limited))
        .route("/join/check", post(check_invitation, "Get whom an invitation is for.").open().secret().also(limited))
        .route(
            "/session",
            get(who_am_i, "Get the caller and their role.")
                .scope(TokenScope::Any)
                .post(sign_in, "Sign in with a password or a token.")
                .open()
                .secret()
                .also(limited)
                .delete(sign_out, "Sign out.")
                .secret()
                .scope(TokenScope::Any),
        )
        .route("/sessions", get(sessions, "List the caller's sessions.").scope(TokenScope::Admin))
        .route("/sessions/{id}", delete(delete_session, "End another session of the caller.").scope(TokenScope::Admin))
}

/// The caller.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Session {
    user: UserId,
    /// The person's name.
    person: String,
    role: Role,
    /// The device's name.
    name: String,
    version: &'static str,
    /// The model that answers, as `provider/model` or `reflex`.
    model: String,
    home: Home,
    /// Whether they claimed the device.
    owner: bool,
    /// Whether the set-up after the claim is open, which only its owner sees.
    arriving: bool,
    /// Whether the person can sign in with a password.
    has_password: bool,
    /// To be sent as the header `X-CSRF-Token` with every request of this session that changes something; empty for
    /// callers without a session.
    csrf_token: String,
}

impl Session {
    fn of(house: &AppState, principal: &Principal, key: Option<&str>) -> Result<Self, Failure> {
        let person = house.identity.person(principal.user)?;
        Ok(Self {
            user: principal.user,
            has_password: person.as_ref().is_some_and(|p| p.has_password),
            person: person.map_or_else(|| OWNER.to_owned(), |p| p.name),
            role: principal.role,
            name: house.settings.name(),
            version: env!("CARGO_PKG_VERSION"),
            model: house.agent.model(),
            home: house.settings.home(),
            owner: principal.user == UserId::OWNER,
            arriving: principal.user == UserId::OWNER && house.settings.arrival().open,
            csrf_token: key.map(csrf_token).unwrap_or_default(),
        })
    }
}

/// Claims the device for its owner.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ClaimBody {
    /// The code from Hob's console; dashes, blanks and case do not matter.
    code: String,
    /// The person's name; `owner` if omitted.
    person: Option<String>,
    /// A password to sign in with later, 10 characters or more.
    password: Option<String>,
}

async fn claim(
    State(house): State<AppState>,
    Extension(entrance): Extension<Entrance>,
    Extension(tracker): Extension<RequestTracker>,
    headers: HeaderMap,
    Json(body): Json<ClaimBody>,
) -> Result<SignedIn, Failure> {
    // The slow hash of a password must not cost the connection its slot; a wrong code is refused at once.
    let _serving = tracker.serve();
    let (claiming, client) = (house.clone(), client(&entrance));
    // Runs to completion even if the client disconnects.
    let claimed = tokio::spawn(async move {
        let (name, password) = (body.person.as_deref(), body.password.as_deref());
        let claimed = claiming.identity.claim(&body.code, name, password, client, user_agent(&headers)).await;
        if claimed.is_ok()
            && let Err(error) = claiming.settings.claimed().await
        {
            tracing::warn!(%error, "the page will not offer the set-up: open it under Device");
        }
        claimed
    });
    let broken = |_| Failure::new(422, "failed", "the claim broke off: look whether it is done, or restart Hob");
    SignedIn::new(&house, &entrance, claimed.await.map_err(broken)??)
}

/// An invitation.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Invited {
    /// The code of the link; dashes, blanks and case do not matter.
    code: String,
}

/// The person an invitation is for.
#[derive(Debug, Serialize, JsonSchema)]
struct InvitationView {
    /// The person's name.
    person: String,
    /// The home's name, else the device's.
    home: String,
}

/// Says whom an invitation is for, without using it.
async fn check_invitation(
    State(house): State<AppState>,
    Extension(entrance): Extension<Entrance>,
    Json(body): Json<Invited>,
) -> Answer<InvitationView> {
    let joining = house.identity.invitation(&body.code, client(&entrance))?;
    let home = Some(house.settings.home().name).filter(|name| !name.is_empty());
    Ok(ok(InvitationView { person: joining.person, home: home.unwrap_or_else(|| house.settings.name()) }))
}

/// Uses an invitation.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Join {
    /// The code of the link; dashes, blanks and case do not matter.
    code: String,
    /// The password to sign in with from now on, 10 characters or more.
    password: String,
}

/// Sets the password of an invited person and signs them in. The invitation is used up, and their other sessions end.
async fn join(
    State(house): State<AppState>,
    Extension(entrance): Extension<Entrance>,
    Extension(tracker): Extension<RequestTracker>,
    headers: HeaderMap,
    Json(body): Json<Join>,
) -> Result<SignedIn, Failure> {
    // Waiting for the slow hash must not cost the connection its slot.
    let _serving = tracker.serve();
    let session = house.identity.join(&body.code, &body.password, client(&entrance), user_agent(&headers)).await?;
    SignedIn::new(&house, &entrance, session)
}

/// Signs in with a password, or with a token.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SignIn {
    /// An API token.
    token: Option<String>,
    /// The person's name.
    person: Option<String>,
    /// Their password.
    password: Option<String>,
}

/// Exchanges a password or a token for a session of the page.
async fn sign_in(
    State(house): State<AppState>,
    Extension(entrance): Extension<Entrance>,
    Extension(tracker): Extension<RequestTracker>,
    headers: HeaderMap,
    Json(body): Json<SignIn>,
) -> Result<SignedIn, Failure> {
    let (identity, client, user_agent) = (&house.identity, client(&entrance), user_agent(&headers));
    let session = match (body.token, body.person, body.password) {
        (Some(token), None, None) => identity.sign_in_with_token(token.trim(), client, user_agent).await?,
        (None, Some(person), Some(password)) => {
            // Waiting for the check must not cost the connection its slot; too many attempts are refused at once.
            let _serving = tracker.serve();
            let browser = cookie(&headers, BROWSER);
            identity.sign_in_with_password(&person, &password, client, browser.as_deref(), user_agent).await?
        }
        _ => return Err(Failure::new(400, "bad_args", "send `person` and `password`, or a `token`")),
    };
    SignedIn::new(&house, &entrance, session)
}

/// The browser's user agent, for the list of sessions.
fn user_agent(headers: &HeaderMap) -> String {
    headers.get(header::USER_AGENT).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned()
}

/// A session with its cookies.
struct SignedIn(Session, Vec<String>);

impl SignedIn {
    fn new(house: &AppState, entrance: &Entrance, new: NewSession) -> Result<Self, Failure> {
        let encrypted = entrance.is_encrypted();
        let (browser, secure) = (new.browser, if encrypted { "; Secure" } else { "" });
        let cookies = vec![
            session_cookie(encrypted, &new.key, SESSION_LIFETIME.as_secs()),
            format!(
                "{BROWSER}={browser}; HttpOnly; SameSite=Strict; Path=/api/v1/session; Max-Age={BROWSER_SECONDS}{secure}"
            ),
        ];
        Ok(Self(Session::of(house, &new.principal, Some(&new.key))?, cookies))
    }
}

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

fn session_cookie(encrypted: bool, key: &str, seconds: u64) -> String {
    let (name, secure) = if encrypted { (SECURE_COOKIE, "; Secure") } else { (COOKIE, "") };
    format!("{name}={key}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}")
}

async fn who_am_i(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Extension(entrance): Extension<Entrance>,
    headers: HeaderMap,
) -> Answer<Session> {
    let key = session_key(Some(&entrance), &headers).filter(|_| caller.via.channel == Channel::Page);
    Ok(ok(Session::of(&house, &caller.principal, key.as_deref())?))
}

/// The session was ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SignedOut {
    /// True.
    signed_out: bool,
}

/// The end of a session, with the cookie that clears it in the browser.
struct EndedSession {
    encrypted: bool,
}

impl DescribeOutput for EndedSession {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        good::<SignedOut>(schemas, operation, 200);
    }
}

impl IntoResponse for EndedSession {
    fn into_response(self) -> Response {
        let cleared = session_cookie(self.encrypted, "", 0);
        ([(header::SET_COOKIE, cleared)], ok(SignedOut { signed_out: true })).into_response()
    }
}

/// Ends the session of the request.
async fn sign_out(
    State(house): State<AppState>,
    Extension(entrance): Extension<Entrance>,
    Extension(caller): Extension<Caller>,
) -> Result<EndedSession, Failure> {
    if let Some(session) = caller.key.filter(|_| caller.via.channel == Channel::Page) {
        house.identity.end_session(session).await?;
    }
    Ok(EndedSession { encrypted: entrance.is_encrypted() })
}

/// The caller's open sessions.
#[derive(Debug, Serialize, JsonSchema)]
struct Sessions {
    count: usize,
    sessions: Vec<SessionView>,
}

/// A token manages no sessions of its person, unless they are an admin.
fn may_manage_sessions(caller: &Caller) -> Result<(), Failure> {
    if caller.in_person || caller.principal.role == Role::Admin {
        return Ok(());
    }
    Err(Failure::new(403, "denied", "a token does not manage sessions: sign in at the page for that"))
}

async fn sessions(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<Sessions> {
    may_manage_sessions(&caller)?;
    let sessions = house.identity.sessions_of(caller.principal.user, caller.key)?;
    Ok(ok(Sessions { count: sessions.len(), sessions }))
}

async fn delete_session(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathId(id): PathId,
) -> Answer<Deleted> {
    may_manage_sessions(&caller)?;
    house.identity.end_session_of(caller.principal.user, id).await?;
    Ok(ok(Deleted::yes()))
}
