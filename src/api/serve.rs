//! The two listeners: TCP for page and programs, a local socket for the command line.

use crate::{House, router};
use axum::{
    extract::{Request, connect_info::Connected},
    middleware::{self, Next},
    response::Response,
    serve::IncomingStream,
};
use std::{path::Path, time::Duration};
use tokio::net::{TcpListener, UnixListener};

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

impl Connected<IncomingStream<'_, UnixListener>> for Entrance {
    fn connect_info(stream: IncomingStream<'_, UnixListener>) -> Self {
        // Asked of the kernel, not of the peer (SO_PEERCRED).
        let peer = stream.io().peer_cred().map(|c| c.uid());
        let own = rustix::process::getuid().as_raw();
        Entrance::Socket { trusted: peer.is_ok_and(|peer| peer == own || peer == 0) }
    }
}

impl Connected<IncomingStream<'_, TcpListener>> for Entrance {
    fn connect_info(_: IncomingStream<'_, TcpListener>) -> Self {
        Entrance::Network
    }
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
///
/// # Errors
/// When a listener fails.
pub fn serve(house: House, listeners: Listeners) -> impl Future<Output = std::io::Result<()>> {
    let closing = house.closing.clone();
    // Built here and not when first polled: who says "ready" after this call says it truly.
    let app = router(house).layer(middleware::from_fn(attach_entrance));
    async move {
        let socket = axum::serve(listeners.socket, app.clone().into_make_service_with_connect_info::<Entrance>())
            .with_graceful_shutdown(closing.clone().cancelled_owned());
        let tcp = async {
            match listeners.tcp {
                Some(tcp) => {
                    axum::serve(tcp, app.into_make_service_with_connect_info::<Entrance>())
                        .with_graceful_shutdown(closing.clone().cancelled_owned())
                        .await
                }
                None => Ok(()),
            }
        };
        let both = async { tokio::try_join!(async { socket.await }, tcp).map(drop) };
        let farewell = async {
            closing.cancelled().await;
            tokio::time::sleep(FAREWELL).await;
        };
        tokio::select! {
            served = both => served,
            () = farewell => Ok(()),
        }
    }
}

/// Puts the connection's entrance where the lock looks for it.
async fn attach_entrance(
    axum::extract::ConnectInfo(entrance): axum::extract::ConnectInfo<Entrance>,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(entrance);
    next.run(request).await
}
