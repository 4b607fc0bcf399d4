//! The lock: who a request comes from, and whether that key opens this door.

use crate::{
    AppState, Caller,
    connection_limiter::{RequestTracker, Serving},
    describe::{Access, RouteTable},
    envelope::{Failure, bounded, brief},
    limits::Who,
    serve::Entrance,
};
use axum::{
    body::Body,
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use std::sync::Arc;
use tool::{Channel, Principal, Role, Via};

/// The cookie of a session: over TLS a name that no other host or clear-text page can set.
pub(crate) const COOKIE: &str = "hob_session";
pub(crate) const SECURE_COOKIE: &str = "__Host-hob_session";
/// The header that shows that a request of a session comes from our own page, which alone can read the token.
pub(crate) const CSRF: &str = "x-csrf-token";

/// What the lock needs: the house, and what each route says of itself.
#[derive(Clone)]
pub(crate) struct Lock {
    pub house: AppState,
    pub routes: Arc<RouteTable>,
}

/// What the route of a request says of itself. An address that does not exist is closed and carries nothing.
fn access(routes: &RouteTable, method: &Method, path: Option<&MatchedPath>) -> Access {
    // A GET handler answers HEAD too.
    let method = if *method == Method::HEAD { Method::GET } else { method.clone() };
    path.and_then(|path| routes.get(&(method, path.as_str().to_owned()))).copied().unwrap_or_default()
}

/// Lets known callers through, with who they are attached.
pub(crate) async fn lock(State(lock): State<Lock>, request: Request, next: Next) -> Response {
    let Lock { house, routes } = lock;
    let door = house.network.tls().map(|tls| tls.port);
    let access = access(&routes, request.method(), request.extensions().get());
    let writes = !request.method().is_safe();
    let outcome = async {
        if access.open {
            confidential(&request, access, door)?;
            return Ok((brief(request).await?, None));
        }
        let (caller, session) = caller(&house, &request)?;
        confidential(&request, access, door)?;
        if let Some(session) = session {
            from_our_page(&request, &session)?;
        }
        let served = request.extensions().get::<RequestTracker>().map(RequestTracker::serve);
        let mut request = bounded(request).await?;
        request.extensions_mut().insert(caller);
        Ok::<_, Failure>((request, served))
    };
    match outcome.await {
        Ok(_) if writes && house.store.is_restoring() => Failure::restoring().into_response(),
        Ok((request, served)) => {
            let mut response = next.run(request).await;
            // What was under way when the restore began.
            if writes && response.status() == StatusCode::CONFLICT && house.store.is_restoring() {
                response = Failure::restoring().into_response();
            }
            match served {
                Some(_served) => response.map(|body| Body::new(Serving { body, _served })),
                None => response,
            }
        }
        Err(failure) => failure.into_response(),
    }
}

/// Whether others can read along on the way the request came.
fn is_clear(request: &Request) -> bool {
    request.extensions().get::<Entrance>().is_some_and(|entrance| !entrance.is_secure())
}

/// Whether the request came a way on which a secret may be told.
fn confidential(request: &Request, access: Access, door: Option<u16>) -> Result<(), Failure> {
    if !access.secret || !is_clear(request) {
        return Ok(());
    }
    let text = match door {
        Some(port) => format!("secrets are not told where others can read along: use https on port {port}"),
        None => "secrets are not told where others can read along: do this on the device itself, or turn on TLS".into(),
    };
    Err(Failure::new(403, "tls_required", text))
}

/// The caller, and the key of their session where they have one.
fn caller(house: &AppState, request: &Request) -> Result<(Caller, Option<String>), Failure> {
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
    if let Some(known) = key.as_deref().and_then(|key| house.access.authenticate(key, session)) {
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
    use crate::describe::{Routes, post, put};
    use std::sync::Mutex;

    #[test]
    fn each_route_says_who_may_ask_and_whether_it_carries_a_secret() {
        let table = crate::routes().access();
        let (open, secret) = (true, true);
        let rows = [
            ("POST", "/api/v1/claim", open, secret),
            ("POST", "/api/v1/session", open, secret),
            ("GET", "/api/v1/session", !open, !secret),
            ("GET", "/api/v1/people", !open, secret),
            ("PATCH", "/api/v1/people/{id}", !open, secret),
            ("DELETE", "/api/v1/tokens/{id}", !open, secret),
            ("GET", "/api/v1/model", !open, !secret),
            ("PUT", "/api/v1/model", !open, secret),
            ("GET", "/api/v1/providers", !open, !secret),
            ("PUT", "/api/v1/providers/{id}", !open, secret),
            ("GET", "/api/v1/config-services", !open, !secret),
            ("PUT", "/api/v1/config-services/{name}", !open, secret),
            ("POST", "/api/v1/config-services/{name}/entries", !open, secret),
            ("PATCH", "/api/v1/config-services/{name}/entries/{label}", !open, secret),
            ("POST", "/api/v1/backup", !open, secret),
            ("POST", "/api/v1/chat", !open, !secret),
            ("POST", "/v1/chat/completions", !open, !secret),
        ];
        for (method, path, open, secret) in rows {
            let found = table.get(&(method.parse().unwrap(), path.to_owned())).copied();
            assert_eq!(found, Some(Access { open, secret }), "{method} {path}");
        }
    }

    #[tokio::test]
    async fn a_request_is_judged_by_the_route_that_serves_it() {
        async fn nothing() -> axum::Json<()> {
            axum::Json(())
        }
        let inner = Routes::new()
            .route("/", post(nothing, "x").secret())
            .route("/{name}", put(nothing, "x").secret().get(nothing, "x"));
        let routes = Routes::<()>::new().route("/open", post(nothing, "x").open()).nest("/inner", inner);
        let routes = Routes::<()>::new().nest("/api", routes);
        let (table, seen) = (Arc::new(routes.access()), Arc::new(Mutex::new(Access::default())));
        let note = {
            let seen = seen.clone();
            move |request: Request, next: Next| {
                *seen.lock().unwrap() = access(&table, request.method(), request.extensions().get());
                next.run(request)
            }
        };
        let router = routes.into_router().layer(axum::middleware::from_fn(note));
        for (method, path, open, secret) in [
            ("PUT", "/api/inner/x", false, true),
            ("PUT", "/api/inner/%78", false, true),
            ("GET", "/api/inner/x", false, false),
            ("HEAD", "/api/inner/x", false, false),
            ("POST", "/api/open", true, false),
            ("GET", "/api/open", false, false),
            ("POST", "/api/inner", false, true),
            ("PUT", "/api/inner", false, false),
            ("PUT", "/api/inner/x/y", false, false),
        ] {
            let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
            tower::ServiceExt::oneshot(router.clone(), request).await.unwrap();
            assert_eq!(*seen.lock().unwrap(), Access { open, secret }, "{method} {path}");
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
