//! HTTP to the outside: a guarded fetch for tools, a streaming client for model servers, a client of our own socket.
//!
//! Five clients for five degrees of trust. [`Guarded`] carries the requests of tools and never reaches into the
//! house unless a person allowed it. [`ModelHttp`] talks to the address a person configured, wherever that is; [`ServiceHttp`] does so
//! for services in the home, with WebSocket.
//! [`DownloadHttp`] fetches files whose content is verified. [`Local`] reaches the running daemon over its unix socket. None of them reads proxy settings from the
//! environment: where a request goes is decided here alone. [`start_tls`] encrypts connections that speak another protocol;
//! [`WebSocket`] carries messages of a bounded size, for [`Guarded`] and [`ServiceHttp`].

mod address;
mod download;
mod error;
mod guard;
mod guarded;
mod local;
mod model;
mod pinned;
mod service;
mod stream;
#[cfg(test)]
mod testing;
mod tls;
mod tunnel;
mod web_socket;

pub use bytes::Bytes;
pub use download::DownloadHttp;
pub use error::{Error, Result};
pub use guarded::{Fetch, Fetched, Guarded, LIMIT, MAX_REDIRECTS, Redirected, Step, Streamed, TIMEOUT};
pub use local::Local;
pub use model::ModelHttp;
pub use pinned::{Fingerprint, InvalidFingerprint};
pub use service::ServiceHttp;
pub use stream::{Patience, Streaming};
pub use tls::{TlsStream, Trust, start_tls};
pub use tokio_tungstenite::tungstenite::Utf8Bytes;
pub use web_socket::{Message, SocketLimits, WebSocket};

use reqwest::{Client, ClientBuilder, redirect};
use std::{
    sync::{Once, OnceLock},
    time::Duration,
};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

/// A client that is built when first needed: reading the system's certificates takes time and memory that a
/// quiet device need not spend.
struct Lazy {
    client: OnceLock<Client>,
    build: Box<dyn Fn(ClientBuilder) -> ClientBuilder + Send + Sync>,
}

impl Lazy {
    fn new(build: impl Fn(ClientBuilder) -> ClientBuilder + Send + Sync + 'static) -> Self {
        Self { client: OnceLock::new(), build: Box::new(build) }
    }

    fn get(&self) -> Result<&Client> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let builder = || (self.build)(base());
        // A small image may have no certificates: plain HTTP in the house must work all the same.
        let client = builder().build().or_else(|why| {
            tracing::warn!(why = %error::root_cause(&why), "no system certificates: https will not work");
            builder().tls_certs_only([]).build()
        });
        let client = client.map_err(|why| Error::Setup(error::root_cause(&why)))?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// The settings of all clients.
fn base() -> ClientBuilder {
    static PROVIDER: Once = Once::new();
    // An error only means that a provider is installed already, which serves as well.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    Client::builder()
        .user_agent(concat!("hob/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .redirect(redirect::Policy::none())
        .referer(false)
        .no_proxy()
}
