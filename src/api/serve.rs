//! The listeners: TCP in clear text and with TLS for page and programs, a local socket for the command line.

use crate::{
    AppState,
    auth_middleware::client,
    connection_limiter::{ConnectionLimiter, ConnectionPermit},
    entrance::Entrance,
    router,
    tls::Certificate,
};
use axum::{Router, serve::Listener};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use std::{
    net::{IpAddr, SocketAddr},
    path::Path,
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// The most connections from the network, and of the command line.
const MAX_CONNECTIONS: usize = 256;
const MAX_LOCAL_CONNECTIONS: usize = 64;
/// The connections that one address keeps when all slots are taken.
const FAIR: usize = 16;
/// The buffer of a connection, in bytes.
const BUFFER: usize = 32 * 1024;
/// The timeout for the head of the next request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(20);
/// The timeout of a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long sent bytes may stay unacknowledged before the connection counts as broken, in milliseconds.
const UNREAD_MS: u32 = 60_000;
/// How long open requests may still take at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// The open listeners.
pub struct Listeners {
    /// For page and programs; `None` when only the command line is served.
    pub tcp: Option<TcpListener>,
    /// The same, encrypted with the device's certificate.
    pub tls: Option<(TcpListener, Certificate)>,
    /// For the command line.
    pub socket: UnixListener,
}

impl Listeners {
    /// Opens the local socket at `path` (mode 0600), replacing one that a dead process left behind. The caller holds the store's
    /// lock, so no other process uses it.
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

/// Serves until `closing` is cancelled, then lets open requests end within a few seconds.
///
/// # Errors
/// `Failed` when the certificate cannot be used.
pub fn serve(house: AppState, listeners: Listeners) -> tool::Result<impl Future<Output = ()>> {
    let closing = house.closing.clone();
    // Built now and not when first polled, so that "ready" is true after this call.
    let app = router(house);
    let acceptor = listeners.tls.as_ref().map(|(_, certificate)| certificate.acceptor()).transpose()?;
    Ok(async move {
        let limiter = ConnectionLimiter::new(MAX_CONNECTIONS, FAIR);
        let plain = Service { app: app.clone(), closing: closing.clone(), limiter: limiter.clone(), tls: None };
        let local = Service {
            app: app.clone(),
            closing: closing.clone(),
            limiter: ConnectionLimiter::new(MAX_LOCAL_CONNECTIONS, MAX_LOCAL_CONNECTIONS),
            tls: None,
        };
        let encrypted = Service { app, closing, limiter, tls: acceptor };
        tokio::join!(
            accept(listeners.socket, local),
            async move {
                if let Some(tcp) = listeners.tcp {
                    accept(tcp, plain).await;
                }
            },
            async move {
                if let Some((tcp, _)) = listeners.tls {
                    accept(tcp, encrypted).await;
                }
            },
        );
    })
}

/// The application behind one listener, and its limits.
struct Service {
    app: Router,
    closing: CancellationToken,
    limiter: ConnectionLimiter,
    tls: Option<TlsAcceptor>,
}

/// A connection of either kind.
trait Peer: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    fn entrance(&self, tls: bool) -> Entrance;
}

impl Peer for UnixStream {
    /// Reads the peer from the kernel (SO_PEERCRED). A program of the sandbox may have the same user, and is trusted with nothing.
    fn entrance(&self, _: bool) -> Entrance {
        let own = rustix::process::getuid().as_raw();
        let trusted = self.peer_cred().is_ok_and(|peer| {
            (peer.uid() == own || peer.uid() == 0) && !peer.pid().is_none_or(process_sandbox::is_inside_sandbox)
        });
        Entrance::Socket { trusted }
    }
}

impl Peer for TcpStream {
    fn entrance(&self, tls: bool) -> Entrance {
        let _ = self.set_nodelay(true);
        // Drops a peer that vanished or stopped reading.
        let _ = rustix::net::sockopt::set_tcp_user_timeout(self, UNREAD_MS);
        // An unknown peer counts as a remote stranger.
        let peer = self.peer_addr().map_or(IpAddr::from([0, 0, 0, 0]), |a: SocketAddr| a.ip());
        Entrance::Network { peer, tls }
    }
}

/// Accepts the connections of one listener. The network and the command line have separate limits, so a crowd at one never
/// locks the other out.
async fn accept<L: Listener>(mut listener: L, door: Service)
where
    L::Io: Peer,
{
    let open = GracefulShutdown::new();
    loop {
        let (stream, _) = tokio::select! {
            () = door.closing.cancelled() => break,
            came = listener.accept() => came,
        };
        let entrance = stream.entrance(door.tls.is_some());
        // Without a free slot the connection is closed at once.
        let Some(permit) = door.limiter.take(client(&entrance)) else { continue };
        let (app, watcher) = (door.app.clone(), open.watcher());
        match door.tls.clone() {
            None => drop(tokio::spawn(serve_connection(stream, app, entrance, permit, watcher))),
            Some(acceptor) => {
                tokio::spawn(async move {
                    let leave = permit.leave();
                    let handshake = tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream));
                    if let Some(Ok(Ok(stream))) = leave.run_until_cancelled(handshake).await {
                        serve_connection(stream, app, entrance, permit, watcher).await;
                    }
                });
            }
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, open.shutdown()).await;
}

/// Serves one connection to its end, or until its slot is needed for another.
async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    app: Router,
    entrance: Entrance,
    permit: ConnectionPermit,
    watcher: hyper_util::server::graceful::Watcher,
) {
    let tracker = permit.tracker();
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(entrance);
        request.extensions_mut().insert(tracker.clone());
        app.clone().oneshot(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    // Ignore a connection that breaks.
    let _ = permit.leave().run_until_cancelled(watcher.watch(connection)).await;
}
