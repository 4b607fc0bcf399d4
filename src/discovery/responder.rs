//! One thread of `mdns-sd`, set to the household's interfaces.

use crate::{
    Error, Result,
    interface::{Interface, fit},
};
use mdns_sd::{IfKind, IfPredicate, MDNS_PORT, ServiceDaemon};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddrV4},
    time::Duration,
};

/// How long the thread may take to end.
const ENDING: Duration = Duration::from_millis(300);

/// Starts the thread. It speaks only where [`fit`] allows, also on interfaces and addresses that come later.
pub(crate) fn open(listens: IpAddr, ignored: &[String]) -> Result<ServiceDaemon> {
    usable().map_err(|e| {
        Error::Unusable(format!(
            "UDP port {MDNS_PORT} could not be opened ({e}); another program may keep it to itself: `ss -ulpn sport = {MDNS_PORT}` tells which"
        ))
    })?;
    let daemon = ServiceDaemon::new().map_err(|e| Error::Unusable(e.to_string()))?;
    let ignored = ignored.to_vec();
    let others = IfPredicate::new(move |i| {
        !fit(Interface { name: &i.name, address: i.ip(), point_to_point: i.is_p2p() }, listens, &ignored)
    });
    daemon.disable_interface(IfKind::Predicate(others))?;
    Ok(daemon)
}

/// Sends goodbye for everything still announced, and ends the thread.
pub(crate) async fn close(daemon: &ServiceDaemon) {
    if let Ok(ended) = daemon.shutdown() {
        let _ = tokio::time::timeout(ENDING, ended.recv_async()).await;
    }
}

/// The thread would not say that it has no socket.
fn usable() -> rustix::io::Result<()> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, MDNS_PORT))
}
