//! Checks each request before authentication: it must name this host, and no other site may have sent it.

use crate::{AppState, entrance::Entrance, envelope::Failure};
use axum::{
    extract::{Request, State},
    http::{HeaderMap, Uri, Version, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use std::net::IpAddr;

/// Refuses requests for another host (a name bound to our address) or from another site.
pub(crate) async fn check(State(house): State<AppState>, request: Request, next: Next) -> Response {
    let Some(Entrance::Network { tls, .. }) = request.extensions().get::<Entrance>().copied() else {
        return next.run(request).await;
    };
    let checked = host_of(request.version(), request.uri(), request.headers()).and_then(|host| {
        let name = host.as_deref().map(name_of);
        if let Some(name) = name.filter(|name| !house.network.answers_to(name)) {
            return Err(wrong_host(name));
        }
        check_site(request.headers(), host.as_deref(), tls)
    });
    match checked {
        Ok(()) => next.run(request).await,
        Err(failure) => failure.into_response(),
    }
}

/// The https address of the same path, for a request in clear text from another machine; `None` otherwise.
pub(crate) fn encrypted_url(house: &AppState, request: &Request) -> Option<String> {
    let path = request.uri().path();
    let secure = request.extensions().get::<Entrance>().is_none_or(Entrance::is_secure);
    let tls = house.network.tls()?;
    let host = host_of(request.version(), request.uri(), request.headers()).ok()??;
    (!secure && path.starts_with('/')).then(|| format!("https://{}:{}{path}", name_of(&host), tls.port))
}

/// The host of a request: the authority in its first line, else the header. HTTP/1.0 may have none.
fn host_of(version: Version, uri: &Uri, headers: &HeaderMap) -> Result<Option<String>, Failure> {
    let unclear = || Failure::new(400, "bad_args", "say which host is meant, with one `Host` header");
    let mut hosts = headers.get_all(header::HOST).iter();
    let header = hosts.next().map(|v| v.to_str().map(str::to_ascii_lowercase).map_err(|_| unclear())).transpose()?;
    if hosts.next().is_some() {
        return Err(unclear());
    }
    match uri.authority().map(|a| a.as_str().to_ascii_lowercase()).or(header) {
        None if version > Version::HTTP_10 => Err(unclear()),
        host => Ok(host),
    }
}

/// The name or address without the port.
fn name_of(host: &str) -> &str {
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some(_) => &host[..=host.find(']').unwrap_or(host.len() - 1)],
        None => host.split_once(':').map_or(host, |(name, _)| name),
    }
}

fn wrong_host(name: &str) -> Failure {
    let name: String = name.chars().take(80).collect();
    let text = format!(
        "this Hob is not called `{name}`: use its address, its name with .local, or add the name to `hosts` under [doors] in \
         hob.toml"
    );
    Failure::new(421, "wrong_host", text)
}

/// Refuses requests of another site. Browsers name the site; programs send no such header, and pass.
fn check_site(headers: &HeaderMap, host: Option<&str>, tls: bool) -> Result<(), Failure> {
    let refused = || Failure::new(403, "cross_site", "this came from another site: only Hob's own page may do that");
    let header_text = |name: &str| headers.get(name).map(|v| v.to_str().unwrap_or("?"));
    if let Some(origin) = header_text("origin") {
        let own = format!("{}://{}", if tls { "https" } else { "http" }, host.unwrap_or_default());
        if !origin.eq_ignore_ascii_case(&own) {
            return Err(refused());
        }
    }
    // To a browser another port of the same host is the same site, and shares our cookies.
    let elsewhere = header_text("sec-fetch-site").is_some_and(|site| matches!(site, "cross-site" | "same-site"));
    let opened =
        header_text("sec-fetch-mode").is_some_and(|mode| mode == "navigate") && header_text("origin").is_none();
    if elsewhere && !opened { Err(refused()) } else { Ok(()) }
}

/// Whether a host is an address or a name of localhost. Anybody can bind another name to our address.
pub(crate) fn is_address_or_localhost(name: &str) -> bool {
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>().is_ok() || name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_hosts() {
        let rows = [
            ("hob.local", "hob.local"),
            ("hob.local:4620", "hob.local"),
            ("192.0.2.1:80", "192.0.2.1"),
            ("[::1]:4620", "[::1]"),
            ("[::1]", "[::1]"),
            ("evil@127.0.0.1", "127.0.0.1"),
            ("127.0.0.1@evil", "evil"),
            ("", ""),
            ("[", "["),
            ("]", "]"),
        ];
        for (host, name) in rows {
            assert_eq!(name_of(host), name, "{host}");
        }
        for (name, plain) in [("[::1]", true), ("10.0.0.1", true), ("localhost", true), ("a.localhost", true)]
            .into_iter()
            .chain([("localhost.evil", false), ("1.2.3", false), ("evil", false), ("", false)])
        {
            assert_eq!(is_address_or_localhost(name), plain, "{name}");
        }
    }

    #[test]
    fn requests_of_other_sites_are_refused() {
        type Row<'a> = (&'a [(&'a str, &'a str)], bool, bool);
        let rows: &[Row] = &[
            (&[], false, true),
            (&[("origin", "http://hob.local:4620")], false, true),
            (&[("origin", "HTTP://HOB.local:4620")], false, true),
            (&[("origin", "http://hob.local:4620")], true, false),
            (&[("origin", "https://hob.local:4620")], true, true),
            (&[("origin", "http://hob.local")], false, false),
            (&[("origin", "http://evil")], false, false),
            (&[("origin", "null")], false, false),
            (&[("sec-fetch-site", "same-origin")], false, true),
            (&[("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")], false, true),
            (&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")], false, true),
            (&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "cors")], false, false),
            (&[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "no-cors")], false, false),
        ];
        for (given, tls, passes) in rows {
            let mut headers = HeaderMap::new();
            for (name, value) in *given {
                headers.insert(*name, value.parse().unwrap());
            }
            assert_eq!(check_site(&headers, Some("hob.local:4620"), *tls).is_ok(), *passes, "{given:?}");
        }
    }
}
