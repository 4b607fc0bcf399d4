//! How a request reached this host: over the local socket or the network, encrypted or not.

use std::net::IpAddr;

/// How a request came in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Entrance {
    /// Over the local socket.
    Socket {
        /// Whether the peer is this process's user or root.
        trusted: bool,
    },
    /// Over TCP; the request needs a credential.
    Network {
        /// The address of the peer.
        peer: IpAddr,
        /// Whether the connection is encrypted.
        tls: bool,
    },
}

impl Entrance {
    /// Whether the request came over TLS.
    pub fn is_encrypted(&self) -> bool {
        matches!(self, Entrance::Network { tls: true, .. })
    }

    /// Whether nobody on the network can read the request.
    pub fn is_secure(&self) -> bool {
        match self {
            Entrance::Socket { .. } => true,
            Entrance::Network { peer, tls } => *tls || peer.to_canonical().is_loopback(),
        }
    }
}
