//! Client of the local socket.
//!
//! Without a daemon, the client builds the application for the duration of the command and serves it on the same socket, so
//! that every command takes the same path.

use crate::{
    config::Config,
    house::{self, serve},
};
use anyhow::{Context, Result, anyhow, bail};
use api::{AppState, Listeners};
use http_client::{Local, Streaming};
use scrub::Scrubber;
use serde_json::Value;
use std::path::{Path, PathBuf};
use text_kit::percent_encode;
use tokio::task::JoinHandle;

/// The largest response that is not a stream, in bytes.
const MAX_RESPONSE: usize = 64 << 20;

/// A connection to the application.
pub struct Client {
    local: Local,
    data: PathBuf,
    /// The application and its server task, when this command built it.
    own: Option<(AppState, JoinHandle<()>)>,
}

impl Client {
    /// Connects to the daemon of this data folder, or opens the data itself.
    pub async fn connect(data: &Path, config: impl FnOnce() -> Result<Config>, scrubber: Scrubber) -> Result<Self> {
        let socket = data.join(serve::SOCKET);
        let local = Local::new(&socket);
        if socket.exists() && local.request("GET", "/healthz", None).await.is_ok() {
            return Ok(Self { local, data: data.to_owned(), own: None });
        }
        let (parts, ..) = house::build(config()?, data, house::Entry { scrubber, ..house::Entry::default() })?;
        let house = api::AppState::from(parts);
        let listeners = Listeners { tcp: None, tls: None, socket: serve::open_socket(data)? };
        let serving = tokio::spawn(api::serve(house.clone(), listeners)?);
        Ok(Self { local, data: data.to_owned(), own: Some((house, serving)) })
    }

    /// Shuts down the application if this command built it.
    pub async fn close(self) {
        if let Some((house, serving)) = self.own {
            house.closing.cancel();
            let _ = serving.await;
            house::close(house).await;
        }
    }

    /// Whether a daemon answers, rather than an application built for this command.
    pub fn is_daemon(&self) -> bool {
        self.own.is_none()
    }

    /// The data folder.
    pub fn folder(&self) -> &Path {
        &self.data
    }

    async fn request(&self, method: &str, path: &str, body: Option<Value>) -> Result<Streaming> {
        self.local.request(method, path, body).await.map_err(|error| match error {
            // It answered when this command began.
            http_client::Error::Unreachable { .. } => {
                anyhow!("Hob is not running any more: start it again, for example with `hob serve`")
            }
            error => error.into(),
        })
    }

    /// Sends a request and returns `data` of its JSON response.
    pub async fn data(&self, method: &str, path: &str, body: Option<Value>) -> Result<Value> {
        let response = self.request(method, path, body).await?;
        let (status, bytes) = (response.status, response.bytes(MAX_RESPONSE).await?);
        unwrap_envelope(status, &bytes)
    }

    /// Sends a request with a body of any bytes, and returns `data` of its JSON response.
    pub async fn send(&self, method: &str, path: &str, bytes: Vec<u8>) -> Result<Value> {
        let response = self.local.send(method, path, bytes).await?;
        let (status, bytes) = (response.status, response.bytes(MAX_RESPONSE).await?);
        unwrap_envelope(status, &bytes)
    }

    /// Sends a request and returns its response as a stream.
    pub async fn stream(&self, method: &str, path: &str, body: Option<Value>) -> Result<Streaming> {
        let response = self.request(method, path, body).await?;
        if (200..300).contains(&response.status) {
            return Ok(response);
        }
        let (status, bytes) = (response.status, response.bytes(MAX_RESPONSE).await?);
        unwrap_envelope(status, &bytes)?;
        bail!("the daemon sent an unknown response ({status}): use the `hob` of the same version")
    }

    /// Cancels a run. One that has ended meanwhile is as good as cancelled.
    pub async fn cancel_run(&self, run: &str) -> Result<()> {
        let path = format!("/api/v1/runs/{}/cancel", percent_encode(run));
        let response = self.request("POST", &path, None).await?;
        let (status, bytes) = (response.status, response.bytes(MAX_RESPONSE).await?);
        if status != 404 {
            unwrap_envelope(status, &bytes)?;
        }
        Ok(())
    }

    /// A connection of its own to the same socket, for a task that outlives a borrow.
    pub fn socket(&self) -> Local {
        self.local.clone()
    }
}

fn unwrap_envelope(status: u16, bytes: &[u8]) -> Result<Value> {
    let mut response: Value = serde_json::from_slice(bytes).with_context(|| {
        format!("the daemon sent an unknown response ({status}): use the `hob` of the same version")
    })?;
    match response["success"].as_bool() {
        Some(true) => Ok(response["data"].take()),
        _ => bail!("{}", response["error"]["message"].as_str().unwrap_or("the daemon refused without a reason")),
    }
}
