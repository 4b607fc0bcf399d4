//! The household's machines on which a model server is looked for: those that announce something, and those this device has
//! talked with lately. None, where discovery on the network is turned off.

use crate::config::Network;
use models::{KnownHost, KnownHosts};
use std::{net::IpAddr, sync::Arc, time::Duration};

/// How long to listen for announcements: a person waits.
const BROWSE: Duration = Duration::from_millis(1500);

pub fn known_hosts(network: &Network) -> KnownHosts {
    let Network { announce, ignore } = network.clone();
    Arc::new(move || {
        let ignore = ignore.clone();
        Box::pin(async move { if announce { look(&ignore).await } else { vec![] } })
    })
}

async fn look(ignore: &[String]) -> Vec<KnownHost> {
    let mut hosts: Vec<KnownHost> = vec![];
    let own = discovery::addresses(IpAddr::from([0, 0, 0, 0]), ignore);
    let mut add = |address: IpAddr, name: Option<String>| {
        let is_new = address.is_ipv4() && !own.contains(&address) && hosts.iter().all(|host| host.address != address);
        if is_new {
            hosts.push(KnownHost { address, name });
        }
    };
    for service in discovery::browse(BROWSE, ignore).await.unwrap_or_default() {
        if !service.kind.may_host_models() {
            continue;
        }
        let name = service.host.clone();
        service.addresses.into_iter().for_each(|address| add(address, Some(name.clone())));
    }
    discovery::neighbours(ignore).into_iter().for_each(|address| add(address, None));
    hosts
}
