//! Authenticates requests and enforces the facts of their routes: open or not, secret, token scope, size of the body.

use crate::{
    AppState, Caller,
    connection_limiter::{RequestTracker, Serving},
    describe::{RouteFacts, RouteTable},
    entrance::Entrance,
    envelope::{Failure, bounded, brief},
};
use axum::{
    body::Body,
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use identity::{Client, TokenScope, TokenScopes};
use std::sync::Arc;
use tool::{Channel, Principal, Role, Via};

/// The session cookie; over TLS with a name that no other host or clear-text page can set.
pub(crate) const COOKIE: &str = "hob_session";
pub(crate) const SECURE_COOKIE: &str = "__Host-hob_session";
/// The header with the CSRF token, which only our own page can read.
pub(crate) const CSRF: &str = "x-csrf-token";

/// The state of the middleware.
#[derive(Clone)]
pub(crate) struct Auth {
    pub house: AppState,
    pub routes: Arc<RouteTable>,
}

/// Lets authenticated requests through, with their [`Caller`] and [`RouteFacts`] as extensions.
pub(crate) async fn authenticate(State(auth): State<Auth>, mut request: Request, next: Next) -> Response {
    let Auth { house, routes } = auth;
    let tls_port = house.network.tls().map(|tls| tls.port);
    let facts = routes.facts(request.method(), request.extensions().get());
    request.extensions_mut().insert(facts);
    let writes = !request.method().is_safe();
    let outcome = async {
        if facts.open {
            check_confidential(&request, facts, tls_port)?;
            return Ok((brief(request).await?, None));
        }
        let (caller, session) = caller(&house, &request, facts)?;
        check_confidential(&request, facts, tls_port)?;
        if let Some(session) = session {
            check_csrf(&request, &session)?;
        }
        let served = request.extensions().get::<RequestTracker>().map(RequestTracker::serve);
        let mut request = bounded(request, facts).await?;
        if facts.admin {
            must_be_admin(&caller)?;
        }
        request.extensions_mut().insert(caller);
        Ok::<_, Failure>((request, served))
    };
    match outcome.await {
        Ok(_) if writes && house.store.is_restoring() => Failure::restoring().into_response(),
        Ok((request, served)) => {
            let mut response = next.run(request).await;
            // An answer shows only data that are on disk.
            if let Err(error) = house.store.sync().await {
                response = Failure::from(error).into_response();
            }
            // A write that was in progress when the restore began.
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

/// Whether the request came in clear text over the network.
fn is_clear(request: &Request) -> bool {
    request.extensions().get::<Entrance>().is_some_and(|entrance| !entrance.is_secure())
}

/// Refuses routes with secrets in clear text.
fn check_confidential(request: &Request, facts: RouteFacts, tls_port: Option<u16>) -> Result<(), Failure> {
    if !facts.secret || !is_clear(request) {
        return Ok(());
    }
    let text = match tls_port {
        Some(port) => format!("secrets are not sent where others can read along: use https on port {port}"),
        None => "secrets are not sent where others can read along: do this on the device itself, or turn on TLS".into(),
    };
    Err(Failure::new(403, "tls_required", text))
}

/// The caller, and the key of their session where they have one.
fn caller(house: &AppState, request: &Request, facts: RouteFacts) -> Result<(Caller, Option<String>), Failure> {
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
    let known = key.as_deref().map(|key| house.identity.authenticate(key, session)).transpose()?.flatten();
    if let Some(known) = known {
        let canonical = |name: &str| house.registry.get(name).map(|tool| tool.name.to_string());
        let template = request.extensions().get().map_or("", MatchedPath::as_str);
        check_scope(&known.scopes, facts, template, request.uri().path(), canonical)?;
        let channel = if session { Channel::Page } else { Channel::Api };
        let via = Via { clear: is_clear(request), token: known.token, ..Via::direct(channel) };
        let (principal, in_person) = (known.principal, known.in_person);
        return Ok((Caller { principal, via, key: known.id, in_person }, key.filter(|_| session)));
    }
    if !house.identity.is_claimed() {
        let text = "this Hob is not claimed yet: open the link it printed on its console";
        return Err(Failure::new(403, "unclaimed", text));
    }
    let text = "who are you? Send the header `Authorization: Bearer TOKEN`; make one with `hob token new owner`";
    Err(Failure::new(401, "unauthorized", text))
}

/// Refuses a token whose scopes do not allow the route. `canonical` resolves aliases of tools.
fn check_scope(
    scopes: &TokenScopes,
    facts: RouteFacts,
    template: &str,
    path: &str,
    canonical: impl Fn(&str) -> Option<String>,
) -> Result<(), Failure> {
    let needed = facts.scope.unwrap_or(TokenScope::Admin);
    let at_name = template.split('/').position(|piece| piece == "{name}").filter(|_| facts.one_tool);
    let tool = at_name.and_then(|at| path.split('/').nth(at));
    if scopes.allows(needed) || tool.is_some_and(|tool| scopes.allows_tool(tool, canonical)) {
        return Ok(());
    }
    let (words, needed) = (scopes.words().join(", "), needed.word());
    let text = format!("this token was made for {words}: make one with the scope `{needed}`");
    Err(Failure::new(403, "out_of_scope", text))
}

/// The token in `Bearer TOKEN`; the word may be written in any case.
fn bearer(headers: &HeaderMap) -> Option<String> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}

/// The session key in the cookies. TLS has a cookie of its own: one that a clear-text page set counts for nothing there.
pub(crate) fn session_key(entrance: Option<&Entrance>, headers: &HeaderMap) -> Option<String> {
    let encrypted = entrance.is_some_and(Entrance::is_encrypted);
    cookie(headers, if encrypted { SECURE_COOKIE } else { COOKIE })
}

pub(crate) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|v| v.to_str().ok());
    let mut pairs = all.flat_map(|v| v.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
}

/// The CSRF token of a session, derived from its key: nothing is stored.
pub(crate) fn csrf_token(session: &str) -> String {
    blake3::derive_key("hob 2026 csrf token", session.as_bytes()).iter().take(16).map(|b| format!("{b:02x}")).collect()
}

fn check_csrf(request: &Request, session: &str) -> Result<(), Failure> {
    if request.method().is_safe() {
        return Ok(());
    }
    let shown = request.headers().get(CSRF).map(|v| v.as_bytes()).unwrap_or_default();
    // Comparing blake3 hashes takes constant time.
    if blake3::hash(shown) == blake3::hash(csrf_token(session).as_bytes()) {
        return Ok(());
    }
    let text = "send the header `X-CSRF-Token` with the `csrfToken` that GET /api/v1/session tells";
    Err(Failure::new(403, "csrf", text))
}

/// The client for which attempts and connections are counted.
pub(crate) fn client(entrance: &Entrance) -> Client {
    match entrance {
        Entrance::Socket { .. } => Client::Local,
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
    fn routes_state_whether_they_are_open_and_carry_a_secret() {
        let table = crate::routes().table();
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
            ("GET", "/api/v1/update", !open, !secret),
            ("POST", "/api/v1/update/uploads", !open, secret),
            ("GET", "/api/v1/update/uploads/{id}", !open, secret),
            ("PUT", "/api/v1/update/uploads/{id}", !open, secret),
            ("DELETE", "/api/v1/update/uploads/{id}", !open, secret),
            ("POST", "/api/v1/update/install", !open, secret),
            ("POST", "/api/v1/update/confirm", !open, secret),
            ("POST", "/api/v1/update/rollback", !open, secret),
            ("POST", "/api/v1/update/check", !open, secret),
            ("POST", "/api/v1/factory-reset", !open, secret),
            ("POST", "/api/v1/chat", !open, !secret),
            ("POST", "/v1/chat/completions", !open, !secret),
        ];
        for (method, path, open, secret) in rows {
            let facts = table.get(&method.parse().unwrap(), path).unwrap();
            assert_eq!((facts.open, facts.secret), (open, secret), "{method} {path}");
        }
    }

    #[test]
    fn a_scope_opens_its_routes() {
        let (table, canonical) =
            (crate::routes().table(), |name: &str| (name == "memory_store").then(|| "remember".to_owned()));
        let tool = "/api/v1/tools/{name}";
        let (execute, explain) = ("/api/v1/tools/{name}/execute", "/api/v1/tools/{name}/explain");
        let rows = [
            ("", "POST", "/api/v1/backup", "", true),
            ("chat", "POST", "/api/v1/chat", "", true),
            ("chat", "GET", "/v1/models", "", true),
            ("chat", "POST", "/api/chat", "", true),
            ("chat", "GET", "/api/tags", "", true),
            ("tools", "POST", "/api/generate", "", false),
            ("chat", "GET", "/api/v1/conversations/{id}", "", true),
            ("chat", "GET", "/api/v1/session", "", true),
            ("chat", "POST", "/api/v1/providers/estimate", "", true),
            ("chat", "PUT", "/api/v1/providers/{id}", "", false),
            ("chat", "POST", execute, "gpio_write", false),
            ("chat", "GET", "/api/v1/device", "", false),
            ("chat", "GET", "/api/v1/documents/{name}", "", true),
            ("chat", "PUT", "/api/v1/documents/{name}", "", false),
            ("tools", "POST", execute, "gpio_write", true),
            ("tools", "PATCH", "/api/v1/custom-tools/{id}", "", true),
            ("tools", "GET", "/api/v1/config-services/{name}", "", true),
            ("tools", "PUT", "/api/v1/config-services/{name}", "", false),
            ("tools", "GET", "/api/v1/events", "", false),
            ("tool:gpio_write", "POST", execute, "gpio_write", true),
            ("tool:gpio_write", "GET", tool, "gpio_write", true),
            ("tool:gpio_write", "GET", explain, "gpio_write", false),
            ("tool:gpio_write", "POST", execute, "use_tool", false),
            ("tool:gpio_write", "GET", "/api/v1/tools", "", false),
            ("tool:remember", "POST", execute, "memory_store", true),
            ("tool:memory_store", "POST", execute, "remember", true),
            ("chat tools", "POST", "/api/v1/approvals/{id}/decide", "", false),
            ("approvals", "POST", "/api/v1/approvals/{id}/decide", "", true),
            ("tools", "PUT", "/api/v1/tool-groups/{id}", "", false),
            ("tools", "GET", explain, "gpio_write", true),
            ("device events", "GET", "/api/v1/device", "", true),
            ("device events", "GET", "/api/v1/update", "", true),
            ("device events", "POST", "/api/v1/update/install", "", false),
            ("chat tools", "POST", "/api/v1/update/uploads", "", false),
            ("admin", "POST", "/api/v1/update/install", "", true),
            ("device", "GET", "/metrics", "", true),
            ("chat", "GET", "/metrics", "", false),
            ("device events", "PATCH", "/api/v1/device", "", false),
            ("device events", "GET", "/api/v1/events", "", true),
            ("device events", "GET", "/api/v1/tokens", "", false),
            ("admin", "GET", "/api/v1/tokens", "", true),
            ("admin", "PUT", "/api/v1/model", "", true),
            // The scope that allows everything an admin may do.
            ("admin", "POST", "/api/chat", "", true),
            ("admin", "GET", "/metrics", "", true),
            ("admin", "GET", "/api/v1/device", "", true),
            ("admin", "GET", "/v1/models", "", true),
        ];
        for (words, method, template, name, allowed) in rows {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            let scopes = TokenScopes::parse(&words).unwrap();
            let facts = table.get(&method.parse().unwrap(), template).unwrap();
            let path = template.replace("{name}", name);
            let checked = check_scope(&scopes, facts, template, &path, canonical);
            assert_eq!(checked.is_ok(), allowed, "{words:?} {method} {path}");
        }
        assert!(
            check_scope(&TokenScopes::parse(&["chat".into()]).unwrap(), RouteFacts::NO_ROUTE, "", "/v1/x", canonical)
                .is_ok()
        );
    }

    #[tokio::test]
    async fn the_route_that_serves_a_request_gives_its_facts() {
        async fn nothing() -> axum::Json<()> {
            axum::Json(())
        }
        let inner = Routes::new()
            .route("/", post(nothing, "x").secret())
            .route("/{name}", put(nothing, "x").secret().get(nothing, "x"));
        let routes = Routes::<()>::new().route("/open", post(nothing, "x").open()).nest("/inner", inner);
        let routes = Routes::<()>::new().nest("/api", routes);
        let (table, seen) = (Arc::new(routes.table()), Arc::new(Mutex::new((false, false))));
        let note = {
            let seen = seen.clone();
            move |request: Request, next: Next| {
                let facts = table.facts(request.method(), request.extensions().get());
                *seen.lock().unwrap() = (facts.open, facts.secret);
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
            assert_eq!(*seen.lock().unwrap(), (open, secret), "{method} {path}");
        }
    }

    #[test]
    fn clear_text_over_the_network_is_not_confidential() {
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
    fn the_session_cookie_is_found_among_others() {
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
    fn the_csrf_token_is_derived_from_the_session() {
        assert_eq!(csrf_token("a"), csrf_token("a"));
        assert_ne!(csrf_token("a"), csrf_token("b"));
        assert_eq!(csrf_token("a").len(), 32);
    }
}
