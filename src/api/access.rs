//! The lock: who a request comes from, and whether that key opens this door.

use crate::{
    Caller, House,
    envelope::{Failure, bounded, brief},
    limits::Who,
    seats::{Serving, Ticket},
    serve::Entrance,
};
use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, Method, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tool::{Channel, Principal, Role, Via};

/// The cookie of a session: over TLS a name that no other host or clear-text page can set.
pub(crate) const COOKIE: &str = "hob_session";
pub(crate) const SECURE_COOKIE: &str = "__Host-hob_session";
/// The header that shows that a request of a session comes from our own page, which alone can read the token.
pub(crate) const CSRF: &str = "x-csrf-token";

/// What a stranger may call: the two ways to become known.
const OPEN: &[(Method, &str)] = &[(Method::POST, "/api/v1/claim"), (Method::POST, "/api/v1/session")];
/// Where secrets are told: nobody may read along. What stands under them too.
const SECRET: &[&str] = &[
    "/api/v1/claim",
    "/api/v1/session",
    "/api/v1/people",
    "/api/v1/tokens",
    "/api/v1/backup",
    "/api/v1/restore",
    "/api/v1/model",
    "/api/v1/config-services",
    "/api/v1/tools/config_set_entry",
];
/// Where looking tells nothing that is secret: who one is, the model's name, services without their secrets.
const LOOKED_AT: &[&str] =
    &["/api/v1/session", "/api/v1/model", "/api/v1/config-services", "/api/v1/tools/config_set_entry"];

/// Lets known callers through, with who they are attached.
pub(crate) async fn lock(State(house): State<House>, request: Request, next: Next) -> Response {
    let door = house.network.tls().map(|tls| tls.port);
    let path = request.uri().path().to_owned();
    let stranger = OPEN.iter().any(|(method, open)| request.method() == method && path == *open);
    let outcome = async {
        if stranger {
            confidential(&request, &path, door)?;
            return Ok((brief(request).await?, None));
        }
        let (caller, session) = caller(&house, &request)?;
        confidential(&request, &path, door)?;
        if let Some(session) = session {
            from_our_page(&request, &session)?;
        }
        let served = request.extensions().get::<Ticket>().map(Ticket::serve);
        let mut request = bounded(request).await?;
        request.extensions_mut().insert(caller);
        Ok::<_, Failure>((request, served))
    };
    match outcome.await {
        Ok((request, served)) => {
            let response = next.run(request).await;
            match served {
                Some(_served) => response.map(|body| Body::new(Serving { body, _served })),
                None => response,
            }
        }
        Err(failure) => failure.into_response(),
    }
}

/// Whether this method at this address tells a secret, one way or the other.
fn tells_a_secret(method: &Method, path: &str) -> bool {
    let under = |s: &str| path.strip_prefix(s).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    SECRET.iter().any(|s| under(s)) && !(*method == Method::GET && LOOKED_AT.iter().any(|s| under(s)))
}

/// Whether others can read along on the way the request came.
fn is_clear(request: &Request) -> bool {
    request.extensions().get::<Entrance>().is_some_and(|entrance| !entrance.is_secure())
}

/// Whether the request came a way on which a secret may be told.
fn confidential(request: &Request, path: &str, door: Option<u16>) -> Result<(), Failure> {
    if !tells_a_secret(request.method(), path) || !is_clear(request) {
        return Ok(());
    }
    let text = match door {
        Some(port) => format!("secrets are not told where others can read along: use https on port {port}"),
        None => "secrets are not told where others can read along: do this on the device itself, or turn on TLS".into(),
    };
    Err(Failure::new(403, "tls_required", text))
}

/// The caller, and the key of their session where they have one.
fn caller(house: &House, request: &Request) -> Result<(Caller, Option<String>), Failure> {
    if let Some(Entrance::Socket { trusted }) = request.extensions().get::<Entrance>() {
        let refused = || Failure::new(403, "denied", "only the user Hob runs as may use its local socket");
        let (principal, via) = (Principal::owner(), Via::direct(Channel::Cli));
        let owner = Caller { principal, via, key: None, in_person: true };
        return trusted.then_some((owner, None)).ok_or_else(refused);
    }
    let headers = request.headers();
    let (key, session) = match (bearer(headers), session_key(request.extensions().get(), headers)) {
        (Some(token), _) => (Some(token), false),
        (None, key) => (key, true),
    };
    if let Some(known) = key.as_deref().and_then(|key| house.access.known(key, session)) {
        let canonical = |name: &str| house.registry.get(name).map(|tool| tool.name.to_string());
        known.reach.check(request.method(), request.uri().path(), canonical)?;
        let channel = if session { Channel::Page } else { Channel::Api };
        let via = Via { clear: is_clear(request), ..Via::direct(channel) };
        let (principal, in_person) = (known.principal, known.in_person);
        return Ok((Caller { principal, via, key: known.id, in_person }, key.filter(|_| session)));
    }
    if !house.access.is_claimed() {
        let text = "this Hob is not claimed yet: open the link it printed on its console";
        return Err(Failure::new(403, "unclaimed", text));
    }
    let text = "who are you? Send the header `Authorization: Bearer TOKEN`; make one with `hob token new owner`";
    Err(Failure::new(401, "unauthorized", text))
}

/// The token in `Bearer TOKEN`; the word may be written in any case.
fn bearer(headers: &HeaderMap) -> Option<String> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}

/// The key of the session in the cookies: each door has its own, so that what a page in clear text set counts for nothing
/// over TLS.
pub(crate) fn session_key(entrance: Option<&Entrance>, headers: &HeaderMap) -> Option<String> {
    let encrypted = entrance.is_some_and(Entrance::is_encrypted);
    cookie(headers, if encrypted { SECURE_COOKIE } else { COOKIE })
}

pub(crate) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|v| v.to_str().ok());
    let mut pairs = all.flat_map(|v| v.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
}

/// What proves that a request of a session was made by our page. Made from the session's key, so nothing is kept.
pub(crate) fn csrf_token(session: &str) -> String {
    blake3::derive_key("hob 2026 csrf token", session.as_bytes()).iter().take(16).map(|b| format!("{b:02x}")).collect()
}

fn from_our_page(request: &Request, session: &str) -> Result<(), Failure> {
    if request.method().is_safe() {
        return Ok(());
    }
    let shown = request.headers().get(CSRF).map(|v| v.as_bytes()).unwrap_or_default();
    // Hashes are compared, and blake3's comparison takes the same time wherever they differ.
    if blake3::hash(shown) == blake3::hash(csrf_token(session).as_bytes()) {
        return Ok(());
    }
    let text = "send the header `X-CSRF-Token` with the `csrfToken` that GET /api/v1/session tells";
    Err(Failure::new(403, "csrf", text))
}

/// Whose tries a request counts as.
pub(crate) fn who(entrance: &Entrance) -> Who {
    match entrance {
        Entrance::Socket { .. } => Who::Local,
        Entrance::Network { peer, .. } => (*peer).into(),
    }
}

pub(crate) fn must_be_admin(caller: &Caller) -> Result<(), Failure> {
    match caller.principal.role {
        Role::Admin => Ok(()),
        _ => Err(Failure::new(403, "denied", "only an admin may do this")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_secrets_are_told() {
        let rows = [
            ("POST", "/api/v1/session", true),
            ("GET", "/api/v1/session", false),
            ("GET", "/api/v1/people", true),
            ("GET", "/api/v1/tokens/x", true),
            ("GET", "/api/v1/model", false),
            ("PUT", "/api/v1/model", true),
            ("GET", "/api/v1/config-services", false),
            ("GET", "/api/v1/config-services/weather", false),
            ("PUT", "/api/v1/config-services/weather", true),
            ("POST", "/api/v1/config-services/weather/entries", true),
            ("PATCH", "/api/v1/config-services/weather/entries/default", true),
            ("POST", "/api/v1/tools/config_set_entry/execute", true),
            ("POST", "/api/v1/tools/config_get_service/execute", false),
            ("POST", "/api/v1/chat", false),
        ];
        for (method, path, secret) in rows {
            assert_eq!(tells_a_secret(&method.parse().unwrap(), path), secret, "{method} {path}");
        }
    }

    #[test]
    fn others_read_along_where_nothing_is_encrypted() {
        let (here, there) = ([127, 0, 0, 1].into(), [192, 168, 1, 7].into());
        for (entrance, clear) in [
            (Entrance::Network { peer: there, tls: false }, true),
            (Entrance::Network { peer: there, tls: true }, false),
            (Entrance::Network { peer: here, tls: false }, false),
            (Entrance::Socket { trusted: true }, false),
        ] {
            let mut request = Request::new(Body::empty());
            assert!(!is_clear(&request));
            request.extensions_mut().insert(entrance);
            assert_eq!(is_clear(&request), clear);
        }
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let peer = [127, 0, 0, 1].into();
        let [plain, encrypted] = [false, true].map(|tls| Entrance::Network { peer, tls });
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, "a=b; hob_session=xyz; hob_session2=no".parse().unwrap());
        assert_eq!(session_key(Some(&plain), &headers).as_deref(), Some("xyz"));
        assert_eq!(session_key(Some(&encrypted), &headers), None);
        headers.append(header::COOKIE, "__Host-hob_session=safe".parse().unwrap());
        assert_eq!(session_key(Some(&encrypted), &headers).as_deref(), Some("safe"));
        assert_eq!(session_key(Some(&plain), &headers).as_deref(), Some("xyz"));
        headers.insert(header::COOKIE, "hob_session2=no; hob_session".parse().unwrap());
        assert_eq!(session_key(Some(&plain), &headers), None);
    }

    #[test]
    fn a_session_has_one_csrf_token() {
        assert_eq!(csrf_token("a"), csrf_token("a"));
        assert_ne!(csrf_token("a"), csrf_token("b"));
        assert_eq!(csrf_token("a").len(), 32);
    }
}
