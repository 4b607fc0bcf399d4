//! Fetching on behalf of tools: through the guard, within time and size.

use crate::{
    Error, Lazy, Result, Streaming,
    guard::{Allow, Lookup, Resolver, System, Way, check},
    stream::Clock,
};
use reqwest::{
    Client, Method,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use url::Url;

/// How long a fetch may take, redirects and body included.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// How large an answer may be after decompression, in bytes.
pub const LIMIT: usize = 5 * 1024 * 1024;
/// How many redirects are followed.
pub const MAX_REDIRECTS: usize = 5;

/// Headers the client writes itself; in a tool's hands they could smuggle a second request or misname the host.
const OURS: [&str; 11] = [
    "host",
    "content-length",
    "connection",
    "keep-alive",
    "transfer-encoding",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "forwarded",
    "via",
];

/// Headers that follow a redirect to another origin. Keys travel under many names, so all others stay behind.
const FOLLOWING: [&str; 4] = ["accept", "accept-encoding", "accept-language", "range"];

/// A tool's request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fetch {
    /// An http or https URL.
    pub url: String,
    /// The method in any case; empty is GET.
    pub method: String,
    /// Headers in order.
    pub headers: Vec<(String, String)>,
    /// The body, where there is one.
    pub body: Option<String>,
}

impl Fetch {
    /// A plain GET of `url`.
    pub fn get(url: impl Into<String>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }
}

/// The outcome of one request, with redirects left to the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The server answered.
    Done(Fetched),
    /// The server redirects; [`Fetch::redirected`] makes the next request.
    Redirect {
        /// 301, 302, 303, 307 or 308.
        status: u16,
        /// The `Location` header as the server sent it.
        location: String,
    },
}

/// The same as [`Step`], with a body that is still to be received.
pub enum Streamed {
    /// The server answered.
    Done(Streaming),
    /// The server redirects; [`Fetch::redirected`] makes the next request.
    Redirect {
        /// 301, 302, 303, 307 or 308.
        status: u16,
        /// The `Location` header as the server sent it.
        location: String,
    },
}

/// The request that a redirect leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirected {
    /// The next request.
    pub fetch: Fetch,
    /// Whether its scheme, host or port differs. Headers that may hold a key were left out then.
    pub crosses_origin: bool,
}

/// A response of any status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The HTTP status.
    pub status: u16,
    /// The words that usually go with it; empty for an unusual status.
    pub status_text: &'static str,
    /// Headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, decompressed.
    pub body: Vec<u8>,
    /// The URL that answered, after redirects.
    pub url: String,
}

impl Fetched {
    /// The first header of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The body as text; bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }
}

impl Error {
    /// A request that was redirected too often; `last` is where it would have gone.
    pub fn too_many_redirects(last: &Fetch) -> Self {
        let host =
            url::Url::parse(&last.url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
        let most = MAX_REDIRECTS;
        Self::Redirected(format!(
            "the server redirected more than {most} times, last to `{host}`: it may go round in a circle"
        ))
    }
}

/// The client tools fetch with. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Guarded {
    clients: Arc<Clients>,
    allow: Allow,
}

/// Two clients, so that an allowed name and a name that must be outside never share a connection or a resolver.
struct Clients {
    outside: Lazy,
    house: Lazy,
    lookup: Arc<dyn Lookup>,
}

impl Default for Guarded {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Guarded {
    /// A client that reaches the internet, and in the house only `allow`: names or addresses, `host` or `host:port`.
    pub fn new(allow: Vec<String>) -> Self {
        Self::with_lookup(allow, Arc::new(System))
    }

    pub(crate) fn with_lookup(allow: Vec<String>, lookup: Arc<dyn Lookup>) -> Self {
        let client = |way| {
            let resolver = Resolver { way, lookup: lookup.clone() };
            Lazy::new(move |builder| builder.dns_resolver(resolver.clone()))
        };
        let (outside, house) = (client(Way::Outside), client(Way::House));
        let clients = Clients { outside, house, lookup };
        Self { clients: Arc::new(clients), allow: Allow::new(allow) }
    }

    /// The same client with other allowed hosts: each tool may have its own.
    pub fn allowing<H: AsRef<str>>(&self, hosts: impl IntoIterator<Item = H>) -> Self {
        Self { clients: self.clients.clone(), allow: Allow::new(hosts) }
    }

    /// Whether the guard allows `url` before its name is resolved: decided without the network. Returns
    /// its host.
    ///
    /// # Errors
    /// `BadRequest` or `Blocked`, as [`Guarded::fetch`] would answer.
    pub fn check(&self, url: &str) -> Result<String> {
        let url = parse(url)?;
        check(&url, &self.allow)?;
        Ok(url.host_str().unwrap_or_default().to_owned())
    }

    /// Which way a host and port are reached, and who looks up the name.
    pub(crate) fn way(&self, url: &Url) -> Result<(Way, Arc<dyn Lookup>)> {
        Ok((check(url, &self.allow)?, self.clients.lookup.clone()))
    }

    /// The client that may reach a URL.
    pub(crate) fn client(&self, url: &Url) -> Result<&Client> {
        match check(url, &self.allow)? {
            Way::Outside => self.clients.outside.get(),
            Way::House => self.clients.house.get(),
        }
    }

    /// Fetches through the guard; at most [`MAX_REDIRECTS`], [`TIMEOUT`] and [`LIMIT`].
    ///
    /// # Errors
    /// `BadRequest` for an unusable URL, method or header; `Blocked` by the guard, at any hop; `Redirected` too
    /// often; `TooLarge`, `TimedOut`, `Unreachable`, `Broken`.
    pub async fn fetch(&self, fetch: Fetch) -> Result<Fetched> {
        self.fetch_within(fetch, TIMEOUT).await
    }

    async fn fetch_within(&self, mut fetch: Fetch, within: Duration) -> Result<Fetched> {
        let begun = Instant::now();
        for _ in 0..=MAX_REDIRECTS {
            match self.fetch_once(fetch.clone(), within.saturating_sub(begun.elapsed())).await? {
                Step::Done(fetched) => return Ok(fetched),
                Step::Redirect { status, location } => fetch = fetch.redirected(status, &location)?.fetch,
            }
        }
        Err(Error::too_many_redirects(&fetch))
    }

    /// Sends one request through the guard and follows no redirect, for callers that judge each of them.
    ///
    /// # Errors
    /// As [`Guarded::fetch`].
    pub async fn fetch_once(&self, fetch: Fetch, within: Duration) -> Result<Step> {
        let url = parse(&fetch.url)?;
        match self.stream_once(fetch, within).await? {
            Streamed::Redirect { status, location } => Ok(Step::Redirect { status, location }),
            Streamed::Done(answer) => Ok(Step::Done(finish(url, answer).await?)),
        }
    }

    /// The same for a body of any size, which the caller receives piece by piece `within` that time.
    ///
    /// # Errors
    /// As [`Guarded::fetch`].
    pub async fn stream_once(&self, fetch: Fetch, within: Duration) -> Result<Streamed> {
        let request = Outgoing::new(fetch)?;
        let answer = request.send(self, Clock::within(within)).await?;
        match (answer.status, answer.header("location")) {
            (status @ (301 | 302 | 303 | 307 | 308), Some(to)) => {
                Ok(Streamed::Redirect { status, location: to.to_owned() })
            }
            _ => Ok(Streamed::Done(answer)),
        }
    }
}

impl Fetch {
    /// The next request after a redirect, as browsers make it (Fetch standard, "HTTP-redirect fetch"). To another origin go
    /// only headers that hold no key, and no body.
    ///
    /// # Errors
    /// `BadRequest` for an unusable URL; `Redirected` when the target is no URL or the body would go to another origin.
    pub fn redirected(self, status: u16, location: &str) -> Result<Redirected> {
        let from = parse(&self.url)?;
        let host = |url: &Url| url.host_str().unwrap_or_default().to_owned();
        let mut url = from.join(location).map_err(|_| {
            let from = host(&from);
            Error::Redirected(format!("`{from}` redirects to something that is not a URL: fetch another page"))
        })?;
        if url.fragment().is_none() {
            url.set_fragment(from.fragment());
        }
        let crosses_origin = url.origin() != from.origin();
        let (mut method, mut headers, mut body) = (method(&self.method)?, self.headers, self.body);
        let becomes_get = match status {
            301 | 302 => method == Method::POST,
            303 => method != Method::HEAD && method != Method::GET,
            _ => false,
        };
        let drop_unless = |headers: &mut Vec<(String, String)>, keep: &dyn Fn(&str) -> bool| {
            headers.retain(|(name, _)| keep(&name.trim().to_ascii_lowercase()));
        };
        if becomes_get {
            (method, body) = (Method::GET, None);
            drop_unless(&mut headers, &|name| name != "content-type");
        }
        if crosses_origin {
            if body.is_some() {
                // A body may hold a key that was meant for the first host only.
                return Err(Error::Redirected(format!(
                    "`{}` sends the request on to `{}`, and its body is not sent along: ask that host directly",
                    host(&from),
                    host(&url)
                )));
            }
            drop_unless(&mut headers, &|name| FOLLOWING.contains(&name));
        }
        let fetch = Fetch { url: url.into(), method: method.to_string(), headers, body };
        Ok(Redirected { fetch, crosses_origin })
    }
}

/// One request, checked.
struct Outgoing {
    url: Url,
    method: Method,
    headers: HeaderMap,
    body: Option<String>,
}

impl Outgoing {
    fn new(fetch: Fetch) -> Result<Self> {
        Ok(Self {
            url: parse(&fetch.url)?,
            method: method(&fetch.method)?,
            headers: headers(fetch.headers)?,
            body: fetch.body,
        })
    }

    fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    async fn send(&self, through: &Guarded, clock: Clock) -> Result<Streaming> {
        let request = through.client(&self.url)?.request(self.method.clone(), self.url.clone());
        let mut request = request.headers(self.headers.clone());
        if let Some(body) = &self.body {
            request = request.body(body.clone());
        }
        Streaming::begin(request, self.host(), None, clock).await
    }
}

async fn finish(url: Url, answer: Streaming) -> Result<Fetched> {
    Ok(Fetched {
        status: answer.status,
        status_text: answer.status_text(),
        headers: answer.headers(),
        body: answer.bytes(LIMIT).await?,
        url: url.into(),
    })
}

pub(crate) fn parse(url: &str) -> Result<Url> {
    Url::parse(url.trim()).map_err(|why| {
        Error::BadRequest(format!("this is not a URL that can be fetched ({why}): write it as https://host/path"))
    })
}

fn method(text: &str) -> Result<Method> {
    match text.trim().to_ascii_uppercase().as_str() {
        "" | "GET" => Ok(Method::GET),
        "HEAD" => Ok(Method::HEAD),
        "POST" => Ok(Method::POST),
        "PUT" => Ok(Method::PUT),
        "PATCH" => Ok(Method::PATCH),
        "DELETE" => Ok(Method::DELETE),
        "OPTIONS" => Ok(Method::OPTIONS),
        _ => Err(Error::BadRequest(format!(
            "the method `{text}` cannot be used: use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS"
        ))),
    }
}

pub(crate) fn headers(pairs: Vec<(String, String)>) -> Result<HeaderMap> {
    let mut all = HeaderMap::with_capacity(pairs.len());
    for (name, value) in pairs {
        let lower = name.trim().to_ascii_lowercase();
        if OURS.contains(&lower.as_str()) || lower.starts_with("proxy-") || lower.starts_with("x-forwarded-") {
            return Err(Error::BadRequest(format!("the header `{name}` is not for tools to set: leave it out")));
        }
        let name = HeaderName::from_bytes(lower.as_bytes())
            .map_err(|_| Error::BadRequest(format!("`{name}` is not a header name: leave it out")))?;
        let value = HeaderValue::from_str(&value).map_err(|_| {
            Error::BadRequest(format!("the value of the header `{name}` has line breaks or other control characters"))
        })?;
        all.append(name, value);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Server, answer};
    use futures::future::BoxFuture;
    use std::{
        io,
        net::IpAddr,
        sync::atomic::{AtomicUsize, Ordering},
    };

    fn path(request: &str) -> String {
        request.split(' ').nth(1).unwrap().to_owned()
    }

    fn allowing(servers: &[&Server]) -> Guarded {
        Guarded::new(servers.iter().map(|s| format!("127.0.0.1:{}", s.port)).collect())
    }

    #[tokio::test]
    async fn an_answer_comes_whole() {
        let server = Server::start(|request| {
            assert!(request.starts_with("PUT /x?y=1 HTTP/1.1\r\n"), "{request}");
            assert!(request.contains("x-mine: a\r\n") && request.ends_with("\r\n\r\nbody"), "{request}");
            answer("404 Not Found", "X-Theirs: b\r\n", "nothing\u{fc}")
        })
        .await;
        let fetch = Fetch {
            url: server.url("/x?y=1"),
            method: "put".into(),
            headers: vec![("X-Mine".into(), "a".into())],
            body: Some("body".into()),
        };
        let fetched = allowing(&[&server]).fetch(fetch).await.unwrap();
        assert_eq!((fetched.status, fetched.status_text, fetched.header("X-THEIRS")), (404, "Not Found", Some("b")));
        assert_eq!((&*fetched.text(), &fetched.url), ("nothing\u{fc}", &server.url("/x?y=1")));
    }

    #[tokio::test]
    async fn without_permission_nothing_is_sent() {
        let server = Server::start(|_| answer("200 OK", "", "secret")).await;
        for url in [server.url("/"), server.url("/").replace("127.0.0.1", "localhost")] {
            let error = Guarded::default().fetch(Fetch::get(url)).await.unwrap_err();
            assert!(matches!(error, Error::Blocked { .. }), "{error}");
            assert!(error.to_string().contains("a person can allow it"), "{error}");
        }
        assert_eq!(server.hits(), 0);
        let other_tool = allowing(&[&server]).allowing(["nas.local"]);
        assert!(matches!(other_tool.fetch(Fetch::get(server.url("/"))).await, Err(Error::Blocked { .. })));
    }

    #[tokio::test]
    async fn each_redirect_is_checked_anew() {
        let inside = Server::start(|_| answer("200 OK", "", "secret")).await;
        let target = inside.url("/");
        let server = Server::start(move |request| {
            let to = |status: &str, to: &str| answer(status, &format!("location: {to}\r\n"), "");
            match path(&request).as_str() {
                "/inside" => to("302 Found", &target),
                "/file" => to("302 Found", "file:///etc/passwd"),
                "/user" => to("302 Found", "http://a:b@example.com/"),
                "/metadata" => to("307 Temporary Redirect", "http://169.254.169.254/latest/"),
                "/loop" => to("302 Found", "/loop"),
                "/see" => to("303 See Other", "/end"),
                "/keep" => to("308 Permanent Redirect", "end"),
                _ => answer("200 OK", "", &request.replace("\r\n", "\n")),
            }
        })
        .await;
        let guarded = allowing(&[&server]);
        for (from, expected) in [
            ("/inside", "is this device itself"),
            ("/file", "not http or https"),
            ("/user", "must not hold a user name"),
            ("/metadata", "169.254.169.254"),
            ("/loop", "more than 5 times"),
        ] {
            let error = guarded.fetch(Fetch::get(server.url(from))).await.unwrap_err().to_string();
            assert!(error.contains(expected), "{from}: {error}");
        }
        assert_eq!(inside.hits(), 0);
        for (from, first) in [("/see", "GET /end HTTP/1.1"), ("/keep", "POST /end HTTP/1.1")] {
            let post =
                Fetch { url: server.url(from), method: "POST".into(), body: Some("b".into()), ..Fetch::default() };
            let fetched = guarded.fetch(post).await.unwrap();
            assert_eq!((fetched.text().lines().next().unwrap(), &fetched.url), (first, &server.url("/end")));
        }
    }

    #[tokio::test]
    async fn what_is_for_one_host_is_not_shown_to_another() {
        let other = Server::start(|request| answer("200 OK", "", &request)).await;
        let to = format!("location: {}\r\n", other.url("/"));
        let server = Server::start(move |_| answer("302 Found", &to, "")).await;
        let headers = [("Authorization", "Bearer k"), ("Cookie", "c=1"), ("X-Token", "k"), ("Accept", "text/x")];
        let headers = headers.map(|(n, v)| (n.to_owned(), v.to_owned())).to_vec();
        let fetch = Fetch { url: server.url("/"), headers, ..Fetch::default() };
        let seen = allowing(&[&server, &other]).fetch(fetch).await.unwrap().text().to_lowercase();
        assert!(seen.contains("accept: text/x"), "{seen}");
        for name in ["authorization:", "cookie:", "x-token:"] {
            assert!(!seen.contains(name), "{name} in {seen}");
        }
    }

    #[tokio::test]
    async fn what_is_too_large_is_not_read() {
        let zipped = gzip_of_zeros(LIMIT + 1);
        assert!(zipped.len() < LIMIT / 50);
        let server = Server::start(move |request| match path(&request).as_str() {
            "/declared" => vec![format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", LIMIT + 1).into_bytes()],
            "/endless" => {
                let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
                let chunk = [b"100000\r\n".to_vec(), vec![b'x'; 0x10_0000], b"\r\n".to_vec()].concat();
                std::iter::once(head).chain(std::iter::repeat_n(chunk, 8)).collect()
            }
            "/bomb" => {
                let head =
                    format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", zipped.len());
                vec![head.into_bytes(), zipped.clone()]
            }
            _ => answer("200 OK", "", &"x".repeat(LIMIT)),
        })
        .await;
        let guarded = allowing(&[&server]);
        for path in ["/declared", "/endless", "/bomb"] {
            let error = guarded.fetch(Fetch::get(server.url(path))).await.unwrap_err();
            assert!(matches!(error, Error::TooLarge { limit: LIMIT, .. }), "{path}: {error}");
        }
        assert_eq!(guarded.fetch(Fetch::get(server.url("/just"))).await.unwrap().body.len(), LIMIT);
    }

    /// A gzip file of `n` zero bytes, made of copies of length 258 in one fixed-Huffman block (RFC 1951, 3.2.6).
    fn gzip_of_zeros(n: usize) -> Vec<u8> {
        let mut bits: Vec<bool> = vec![true, true, false];
        bits.extend([false, false, true, true, false, false, false, false]);
        for _ in 0..n.div_ceil(258) {
            bits.extend([true, true, false, false, false, true, false, true]);
            bits.extend([false; 5]);
        }
        bits.extend([false; 7]);
        let deflated =
            bits.chunks(8).map(|b| b.iter().enumerate().fold(0u8, |all, (i, bit)| all | u8::from(*bit) << i));
        let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
        head.into_iter().chain(deflated).chain([0; 8]).collect()
    }

    #[tokio::test]
    async fn a_slow_answer_ends() {
        let server = Server::start(|_| vec![]).await;
        let fetch = Fetch::get(server.url("/"));
        let error = allowing(&[&server]).fetch_within(fetch, Duration::from_millis(200)).await.unwrap_err();
        assert!(matches!(error, Error::TimedOut { .. }), "{error}");
    }

    /// Answers with a harmless address to the first question and with this device to all others.
    struct Rebinding {
        asked: Arc<AtomicUsize>,
        first: IpAddr,
    }
    impl Lookup for Rebinding {
        fn lookup(&self, _: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            let n = self.asked.fetch_add(1, Ordering::SeqCst);
            let ip = if n == 0 { self.first } else { "127.0.0.1".parse().unwrap() };
            Box::pin(async move { Ok(vec![ip]) })
        }
    }

    #[tokio::test]
    async fn a_name_cannot_change_its_mind_between_check_and_connect() {
        let server = Server::start(|_| answer("200 OK", "", "secret")).await;
        let url = format!("http://rebind.example.com:{}/", server.port);
        for (first, lookups) in [("127.0.0.1", 1), ("10.1.2.3", 1)] {
            let asked = Arc::new(AtomicUsize::new(0));
            let lookup = Rebinding { asked: asked.clone(), first: first.parse().unwrap() };
            let guarded = Guarded::with_lookup(vec![], Arc::new(lookup));
            for _ in 0..2 {
                let error = guarded.fetch(Fetch::get(&url)).await.unwrap_err();
                assert!(matches!(&error, Error::Blocked { host, .. } if host == "rebind.example.com"), "{error}");
            }
            assert_eq!(asked.load(Ordering::SeqCst), lookups * 2, "one look-up for each connection");
        }
        assert_eq!(server.hits(), 0);
    }

    #[tokio::test]
    async fn headers_and_methods_that_are_not_for_tools() {
        let guarded = Guarded::new(vec!["127.0.0.1".into()]);
        for name in
            ["Host", "content-length", "Connection", "transfer-encoding", "Proxy-Authorization", "X-Forwarded-For"]
        {
            let headers = vec![(name.to_owned(), "x".to_owned())];
            let fetch = Fetch { url: "http://127.0.0.1:1/".into(), headers, ..Fetch::default() };
            let error = guarded.fetch(fetch).await.unwrap_err();
            assert!(matches!(&error, Error::BadRequest(text) if text.contains("leave it out")), "{name}: {error}");
        }
        for (name, value) in [("a b", "x"), ("a", "x\r\nhost: y"), ("a\r\nb", "x"), ("", "x")] {
            let headers = vec![(name.to_owned(), value.to_owned())];
            let fetch = Fetch { url: "http://127.0.0.1:1/".into(), headers, ..Fetch::default() };
            assert!(matches!(guarded.fetch(fetch).await, Err(Error::BadRequest(_))), "{name:?}: {value:?}");
        }
        for method in ["CONNECT", "TRACE", "GET /\r\n", "X"] {
            let fetch = Fetch { url: "http://127.0.0.1:1/".into(), method: method.into(), ..Fetch::default() };
            assert!(matches!(guarded.fetch(fetch).await, Err(Error::BadRequest(_))), "{method:?}");
        }
    }
}
