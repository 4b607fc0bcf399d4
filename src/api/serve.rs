//! The doors: TCP in clear text and encrypted for page and programs, a local socket for the command line.

use crate::{
    AppState,
    auth_middleware::client,
    connection_limiter::{ConnectionLimiter, ConnectionPermit},
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

/// How many connections the network's doors take in together, and how many the command line's.
const PLACES: usize = 256;
const LOCAL_PLACES: usize = 64;
/// How many of them one address keeps when all are taken.
const FAIR: usize = 16;
/// How much of a request's head, and of an answer that nobody reads yet, is in memory at once.
const BUFFER: usize = 32 * 1024;
/// How long a connection may be silent between requests, and take to say what it wants.
const SILENCE: Duration = Duration::from_secs(20);
/// How long the two sides may take to agree on a key.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long sent bytes may stay unread before the connection counts as broken, in milliseconds.
const UNREAD_MS: u32 = 60_000;
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
    Network {
        /// Who is at the other end.
        peer: IpAddr,
        /// Whether nobody in between can read along.
        tls: bool,
    },
}

impl Entrance {
    /// Whether it came through the encrypted door.
    pub fn is_encrypted(&self) -> bool {
        matches!(self, Entrance::Network { tls: true, .. })
    }

    /// Whether nobody on the network can read along.
    pub fn is_secure(&self) -> bool {
        match self {
            Entrance::Socket { .. } => true,
            Entrance::Network { peer, tls } => *tls || peer.to_canonical().is_loopback(),
        }
    }
}

/// Where the house listens.
pub struct Listeners {
    /// For page and programs; `None` when only the command line is served.
    pub tcp: Option<TcpListener>,
    /// The same, encrypted with the device's certificate.
    pub tls: Option<(TcpListener, Certificate)>,
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
///
/// # Errors
/// `Failed` when the certificate cannot be used.
pub fn serve(house: AppState, listeners: Listeners) -> tool::Result<impl Future<Output = ()>> {
    let closing = house.closing.clone();
    // Built here and not when first polled: who says "ready" after this call says it truly.
    let app = router(house);
    let acceptor = listeners.tls.as_ref().map(|(_, certificate)| certificate.acceptor()).transpose()?;
    Ok(async move {
        let seats = ConnectionLimiter::new(PLACES, FAIR);
        let plain = Door { app: app.clone(), closing: closing.clone(), seats: seats.clone(), tls: None };
        let local = Door {
            app: app.clone(),
            closing: closing.clone(),
            seats: ConnectionLimiter::new(LOCAL_PLACES, LOCAL_PLACES),
            tls: None,
        };
        let encrypted = Door { app, closing, seats, tls: acceptor };
        tokio::join!(
            attend(listeners.socket, local),
            async move {
                if let Some(tcp) = listeners.tcp {
                    attend(tcp, plain).await;
                }
            },
            async move {
                if let Some((tcp, _)) = listeners.tls {
                    attend(tcp, encrypted).await;
                }
            },
        );
    })
}

/// What one listener needs to serve whoever comes.
struct Door {
    app: Router,
    closing: CancellationToken,
    seats: ConnectionLimiter,
    tls: Option<TlsAcceptor>,
}

/// A connection of either kind.
trait Peer: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    fn entrance(&self, tls: bool) -> Entrance;
}

impl Peer for UnixStream {
    /// Asked of the kernel, not of the peer (SO_PEERCRED).
    fn entrance(&self, _: bool) -> Entrance {
        let peer = self.peer_cred().map(|c| c.uid());
        let own = rustix::process::getuid().as_raw();
        Entrance::Socket { trusted: peer.is_ok_and(|peer| peer == own || peer == 0) }
    }
}

impl Peer for TcpStream {
    fn entrance(&self, tls: bool) -> Entrance {
        let _ = self.set_nodelay(true);
        // A peer that left without a word, or stopped reading, is not waited for.
        let _ = rustix::net::sockopt::set_tcp_user_timeout(self, UNREAD_MS);
        // Where the peer cannot be told it is a stranger from far away.
        let peer = self.peer_addr().map_or(IpAddr::from([0, 0, 0, 0]), |a: SocketAddr| a.ip());
        Entrance::Network { peer, tls }
    }
}

/// Takes in whoever comes through one door, as long as there is room. The network and the command line have places of
/// their own, so a crowd at one never keeps the other out; who says nothing gives the place back.
async fn attend<L: Listener>(mut listener: L, door: Door)
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
        // No room: closing at once tells more than waiting would.
        let Some(seat) = door.seats.take(client(&entrance)) else { continue };
        let (app, watcher) = (door.app.clone(), open.watcher());
        match door.tls.clone() {
            None => drop(tokio::spawn(converse(stream, app, entrance, seat, watcher))),
            Some(acceptor) => {
                tokio::spawn(async move {
                    let leave = seat.leave();
                    let handshake = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream));
                    // A peer that does not take our certificate, or speaks something else: its affair.
                    if let Some(Ok(Ok(stream))) = leave.run_until_cancelled(handshake).await {
                        converse(stream, app, entrance, seat, watcher).await;
                    }
                });
            }
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(FAREWELL, open.shutdown()).await;
}

/// Serves one connection to its end, or until its place is needed for another.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    app: Router,
    entrance: Entrance,
    seat: ConnectionPermit,
    watcher: hyper_util::server::graceful::Watcher,
) {
    let ticket = seat.ticket();
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(entrance);
        request.extensions_mut().insert(ticket.clone());
        app.clone().oneshot(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(SILENCE)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    // A connection that breaks is its peer's affair.
    let _ = seat.leave().run_until_cancelled(watcher.watch(connection)).await;
}
