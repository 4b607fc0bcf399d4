//! The two listeners: TCP for page and programs, a local socket for the command line.

use crate::{House, router};
use axum::{Router, serve::Listener};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use std::{path::Path, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, UnixListener, UnixStream},
    sync::Semaphore,
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// How many connections one door takes in.
const PLACES: usize = 256;
/// How long a connection may be silent between requests, and take to say what it wants.
const SILENCE: Duration = Duration::from_secs(20);
/// How long open requests may still take when the house closes.
const FAREWELL: Duration = Duration::from_secs(3);

/// How a request came in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Entrance {
    /// Over the local socket; trusted when the peer is this process's user or root.
    Socket {
        /// Whether it is.
        trusted: bool,
    },
    /// Over TCP: it has to show a key.
    Network,
}

/// Asked of the kernel, not of the peer (SO_PEERCRED).
fn over_socket(stream: &UnixStream) -> Entrance {
    let peer = stream.peer_cred().map(|c| c.uid());
    let own = rustix::process::getuid().as_raw();
    Entrance::Socket { trusted: peer.is_ok_and(|peer| peer == own || peer == 0) }
}

/// Where the house listens.
pub struct Listeners {
    /// For page and programs; `None` when only the command line is served.
    pub tcp: Option<TcpListener>,
    /// For the command line.
    pub socket: UnixListener,
}

impl Listeners {
    /// Opens the local socket at `path` (mode 0600), taking the place of one that a dead process left behind. The
    /// caller holds the store's lock, so no living process can be behind it.
    ///
    /// # Errors
    /// When the folder cannot be written or the path is too long for a socket.
    pub fn socket(path: &Path) -> std::io::Result<UnixListener> {
        let _ = std::fs::remove_file(path);
        let socket = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        Ok(socket)
    }
}

/// Serves until the house's `closing` is cancelled, then lets open requests end within a few seconds.
pub fn serve(house: House, listeners: Listeners) -> impl Future<Output = ()> {
    let closing = house.closing.clone();
    // Built here and not when first polled: who says "ready" after this call says it truly.
    let app = router(house);
    async move {
        let socket = attend(listeners.socket, over_socket, app.clone(), closing.clone());
        match listeners.tcp {
            Some(tcp) => drop(tokio::join!(socket, attend(tcp, |_| Entrance::Network, app, closing))),
            None => socket.await,
        }
    }
}

/// Takes in whoever comes through one door, as long as there is room. Each door has places of its own, so a crowd at
/// the network never keeps the command line out; who says nothing gives the place back.
async fn attend<L: Listener>(mut door: L, entrance: fn(&L::Io) -> Entrance, app: Router, closing: CancellationToken) {
    let (places, open) = (Arc::new(Semaphore::new(PLACES)), GracefulShutdown::new());
    loop {
        let (stream, _) = tokio::select! {
            () = closing.cancelled() => break,
            came = door.accept() => came,
        };
        // No room: closing at once tells more than waiting would.
        let Ok(place) = places.clone().try_acquire_owned() else { continue };
        let (came_by, app) = (entrance(&stream), app.clone());
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(came_by);
            app.clone().oneshot(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(SILENCE)
            .serve_connection(TokioIo::new(stream), service);
        let connection = open.watch(connection);
        tokio::spawn(async move {
            // A connection that breaks is its peer's affair.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(door);
    let _ = tokio::time::timeout(FAREWELL, open.shutdown()).await;
}
