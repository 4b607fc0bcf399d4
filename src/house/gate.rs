//! How programs in the sandbox reach the network: through the guard of tools.

use futures::future::BoxFuture;
use http_client::Guarded;
use process_sandbox::{Connection, Gate};
use std::io;

/// The guard as a gate of the sandbox.
pub struct WebGate(pub Guarded);

impl Gate for WebGate {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn Connection>>> {
        Box::pin(async move {
            let stream = self.0.connect(host, port).await.map_err(|error| io::Error::other(error.to_string()))?;
            Ok(Box::new(stream) as Box<dyn Connection>)
        })
    }
}
