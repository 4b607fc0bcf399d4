//! Looking around: who else is on the network.

use crate::{
    Result,
    found::{DiscoveredService, Kind},
    responder,
};
use futures::stream::{StreamExt, select_all};
use mdns_sd::{ServiceDaemon, ServiceEvent};
use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv6Addr},
    time::Duration,
};
use tokio::time::{Instant, timeout_at};

/// The most services that one look shows.
const MOST: usize = 200;
/// How many rounds a search has. A responder repeats nothing within a second, so one that has just answered is silent at first.
const LOOKS: u32 = 2;

/// Looks around for so long, with a thread of its own. Nothing found is an empty list, also without a network.
///
/// # Errors
/// `Unusable` when the system has no place for multicast DNS.
pub async fn browse(how_long: Duration, ignored: &[String]) -> Result<Vec<DiscoveredService>> {
    let daemon = responder::open(IpAddr::V6(Ipv6Addr::UNSPECIFIED), ignored)?;
    let found = look(&daemon, how_long).await;
    responder::close(&daemon).await;
    found
}

/// Searches with the running thread, and once more if nothing was received or a service is incomplete. One at a time: a second
/// search would take the answers of the first.
pub(crate) async fn look(daemon: &ServiceDaemon, how_long: Duration) -> Result<Vec<DiscoveredService>> {
    let mut heard: BTreeMap<(String, String), Option<DiscoveredService>> = BTreeMap::new();
    for _ in 0..LOOKS {
        listen(daemon, &Kind::ALL.map(Kind::service), how_long, |event| {
            let (service, name, this) = match event {
                ServiceEvent::ServiceFound(service, name) => (service, name, None),
                ServiceEvent::ServiceResolved(told) => {
                    (told.ty_domain.clone(), told.fullname.clone(), DiscoveredService::new(&told))
                }
                ServiceEvent::ServiceRemoved(service, name) => {
                    return drop(heard.remove(&(service, name.to_lowercase())));
                }
                _ => return,
            };
            let key = (service, name.to_lowercase());
            if heard.len() < MOST || heard.contains_key(&key) {
                let known = heard.entry(key).or_default();
                *known = match (this, known.take()) {
                    (Some(new), Some(old)) if old.is_whole() && !new.is_whole() => Some(old),
                    (new, old) => new.or(old),
                };
            }
        })
        .await?;
        if !heard.is_empty() && heard.values().all(|found| found.as_ref().is_some_and(DiscoveredService::is_whole)) {
            break;
        }
    }
    let mut found: Vec<DiscoveredService> = heard.into_values().flatten().collect();
    // The voice door of a Hob is that Hob, and not another device.
    let hobs: Vec<(String, String)> =
        found.iter().filter(|one| one.kind == Kind::Hob).map(|one| (one.name.clone(), one.host.clone())).collect();
    found.retain(|one| {
        one.kind != Kind::Wyoming || !hobs.iter().any(|(name, host)| *name == one.name && *host == one.host)
    });
    found.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
    Ok(found)
}

/// Queries services and hands over the answers for a time.
pub(crate) async fn listen(
    daemon: &ServiceDaemon,
    services: &[&str],
    how_long: Duration,
    mut hear: impl FnMut(ServiceEvent),
) -> Result<()> {
    let until = Instant::now() + how_long;
    let answers: Result<Vec<_>> = services.iter().map(|s| Ok(daemon.browse(s)?.into_stream())).collect();
    let mut answers = select_all(answers?);
    while let Ok(Some(event)) = timeout_at(until, answers.next()).await {
        hear(event);
    }
    for service in services {
        // Its cache is dropped with it.
        let _ = daemon.stop_browse(service);
    }
    Ok(())
}
