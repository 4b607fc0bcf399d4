//! The task behind an announcer: finds a free name, announces it, and keeps the announcement up to date.
//!
//! `mdns-sd` probes for names and renames on its own, but record by record and interface by interface, and its answers
//! then mix old names and new. So a conflict it reports ends its thread here, and a new one begins under the next name:
//! host and instances are always called the same, on all interfaces.

use crate::{
    Result,
    announced::{Announced, SharedDaemon},
    browse::listen,
    interface, name, responder,
};
use mdns_sd::{
    DaemonEvent, HostnameResolutionEvent, IfKind, Receiver, ResolvedService, ServiceDaemon, ServiceEvent, ServiceInfo,
};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

/// The service types this Hob is announced as.
const SERVICES: [&str; 2] = ["_http._tcp.local.", "_hob._tcp.local."];
/// The service type of its voice door, where it is open.
const VOICE: &str = "_wyoming._tcp.local.";
/// How long others have to say that a name is theirs.
const ASKING: Duration = Duration::from_millis(600);
/// How many names are asked for before one is taken without asking.
const NAMES: u32 = 40;
/// When it is first asked again whether the name is ours alone, and how often later: two networks may have become one.
const FIRST_ASK: Duration = Duration::from_secs(20);
const NEXT_ASK: Duration = Duration::from_secs(600);
/// When to check whether another Hob has released our name.
const RETRY_CONTESTED: Duration = Duration::from_secs(5);
/// How long after an address came or went: others come in pairs.
const SETTLED: Duration = Duration::from_millis(1200);
/// How often the thread is looked after.
const TICK: Duration = Duration::from_secs(1);
/// The most records it may hold: it also stores unsolicited ones, and any device may send them.
const HEARD: i64 = 2000;
/// A goodbye is sent twice, this far apart.
const TWICE: Duration = Duration::from_millis(150);
/// How long to wait where multicast DNS cannot be used.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a thread's time is over.
enum End {
    /// The device has another name.
    Renamed,
    /// Another device has the name.
    Taken,
    /// Another device has used the name as long as we have.
    Yielded,
    /// The conflict was our own announcement, received through another interface.
    Echo,
    /// The thread ended, or heard too much.
    Worn,
    /// All handles are gone: the task ends.
    Dropped,
}

pub(crate) struct AnnounceTask {
    wants: watch::Receiver<Announced>,
    tell: watch::Sender<Option<String>>,
    ignored: Vec<String>,
    daemon_slot: Arc<SharedDaemon>,
    stop: CancellationToken,
    /// Which of the numbered names.
    attempt: u32,
    /// Whether the library asks for the name before it uses it.
    probing: bool,
}

impl AnnounceTask {
    pub(crate) fn new(
        wants: watch::Receiver<Announced>,
        tell: watch::Sender<Option<String>>,
        ignored: Vec<String>,
        daemon_slot: Arc<SharedDaemon>,
        stop: CancellationToken,
    ) -> Self {
        Self { wants, tell, ignored, daemon_slot, stop, attempt: 1, probing: true }
    }

    pub(crate) async fn run(mut self) {
        let stop = self.stop.clone();
        let mut told = false;
        loop {
            let listens = self.wants.borrow().listens;
            match responder::open(listens, &self.ignored) {
                Ok(daemon) => {
                    self.daemon_slot.set(Some(daemon.clone()));
                    let end = tokio::select! {
                        end = self.speak(&daemon) => end.unwrap_or_else(|error| {
                            tracing::warn!(%error, "announcing begins anew");
                            End::Worn
                        }),
                        () = stop.cancelled() => End::Dropped,
                    };
                    self.daemon_slot.set(None);
                    if matches!(end, End::Dropped) {
                        let name = self.tell.send_replace(None);
                        goodbye(&daemon, name).await;
                        return;
                    }
                    if matches!(end, End::Yielded) {
                        // A goodbye for this name would make others forget whom it belongs to now.
                        let _ = daemon.disable_interface(IfKind::All);
                    }
                    responder::close(&daemon).await;
                    self.next(&end);
                }
                Err(error) => {
                    self.tell.send_replace(None);
                    if !std::mem::replace(&mut told, true) {
                        tracing::warn!(%error, "Hob is not announced on the network");
                    }
                }
            }
            // A name that is taken needs no pause: finding the next takes longer than the rules ask for.
            let pause = if self.tell.borrow().is_none() { PATIENCE } else { Duration::ZERO };
            tokio::select! {
                () = sleep(pause) => {}
                () = stop.cancelled() => return,
            }
        }
    }

    fn next(&mut self, end: &End) {
        match end {
            End::Renamed => (self.attempt, self.probing) = (1, true),
            End::Taken | End::Yielded => (self.attempt, self.probing) = (self.attempt + 1, true),
            End::Echo => self.probing = false,
            End::Worn | End::Dropped => {}
        }
    }

    /// Speaks with this thread until it must not any more.
    async fn speak(&mut self, daemon: &ServiceDaemon) -> Result<End> {
        let events = daemon.monitor()?;
        let mut told = self.wants.borrow_and_update().clone();
        let base = base(&told);
        let mut name = name::numbered(&base, self.attempt, &told.id);
        while self.attempt < NAMES && self.other_holder(daemon, &name, &told).await?.is_some() {
            self.attempt += 1;
            name = name::numbered(&base, self.attempt, &told.id);
        }
        register(daemon, &name, &told, self.probing)?;
        let host = format!("{name}.local");
        tracing::info!(host, port = told.port, "announced on the network");
        self.tell.send_replace(Some(host));

        let (mut ask, mut again, mut contested) = (Instant::now() + FIRST_ASK, None::<Instant>, false);
        let mut tick = Instant::now() + TICK;
        loop {
            tokio::select! {
                changed = self.wants.changed() => {
                    if changed.is_err() {
                        return Ok(End::Dropped);
                    }
                    let wanted = self.wants.borrow_and_update().clone();
                    if crate::announce_task::base(&wanted) != base || wanted.listens != told.listens {
                        return Ok(End::Renamed);
                    }
                    told = wanted;
                    register(daemon, &name, &told, false)?;
                }
                event = events.recv_async() => match event {
                    Err(_) => return Ok(End::Worn),
                    Ok(DaemonEvent::NameChange(change)) if is_ours(&change.original, &name) => {
                        return Ok(match self.other_holder(daemon, &name, &told).await? {
                            Some(_) => End::Taken,
                            None => End::Echo,
                        });
                    }
                    Ok(DaemonEvent::IpDel(_)) => again = Some(Instant::now() + SETTLED),
                    Ok(DaemonEvent::IpAdd(_)) => ask = ask.min(Instant::now() + SETTLED),
                    Ok(DaemonEvent::Error(error)) => tracing::warn!(%error, "multicast DNS"),
                    Ok(_) => {}
                },
                // Others keep an old address until they receive the rest again.
                () = sleep_until(again.unwrap_or(tick)), if again.is_some() => {
                    again = None;
                    register(daemon, &name, &told, false)?;
                }
                () = sleep_until(ask) => {
                    let holder = self.other_holder(daemon, &name, &told).await?;
                    // Of two Hobs that both use a name, the one with the lower id keeps it. When the other has gone, what
                    // was known of it is put right.
                    let keeps = match &holder {
                        Some(holder) => holder.id.as_ref().is_some_and(|id| told.id < *id),
                        None => true,
                    };
                    if !keeps {
                        return Ok(End::Yielded);
                    }
                    if holder.is_none() && contested {
                        register(daemon, &name, &told, false)?;
                    }
                    contested = holder.is_some();
                    ask = Instant::now() + if contested { RETRY_CONTESTED } else { NEXT_ASK };
                }
                () = sleep_until(tick) => {
                    tick = Instant::now() + TICK;
                    if received_packets(daemon.get_metrics()?).await > HEARD {
                        tracing::warn!("somebody floods the network with names: what was heard is forgotten");
                        return Ok(End::Worn);
                    }
                }
            }
        }
    }

    /// The other device that claims this name.
    async fn other_holder(&self, daemon: &ServiceDaemon, name: &str, we: &Announced) -> Result<Option<Holder>> {
        let _turn = self.daemon_slot.turn.lock().await;
        let own = interface::own();
        let host = daemon.resolve_hostname(&format!("{name}.local."), Some(ASKING.as_millis() as u64))?;
        let mut holder = None;
        listen(daemon, &SERVICES, ASKING, |event| {
            if let ServiceEvent::ServiceResolved(service) = event
                && is_ours(&service.fullname, name)
                && let Some(found) = Holder::of(&service, &we.id, |ip| own.contains(&ip))
            {
                holder = Some(found);
            }
        })
        .await?;
        while let Ok(event) = host.try_recv() {
            if let HostnameResolutionEvent::AddressesFound(_, addresses) = event
                && addresses.iter().any(|address| !own.contains(&address.to_ip_addr()))
            {
                holder = holder.or(Some(Holder { id: None }));
            }
        }
        Ok(holder)
    }
}

/// Another device that has our name.
#[derive(Debug, PartialEq)]
struct Holder {
    /// If it is a Hob.
    id: Option<String>,
}

impl Holder {
    fn of(service: &ResolvedService, we: &str, is_own: impl Fn(std::net::IpAddr) -> bool) -> Option<Self> {
        let id = service.get_property_val_str("id").map(str::to_owned);
        let other = match &id {
            Some(id) => id != we,
            None => service.addresses.iter().any(|address| !is_own(address.to_ip_addr())),
        };
        other.then_some(Self { id })
    }
}

fn base(announced: &Announced) -> String {
    name::base(&announced.name, &name::machine(), name::other_responder())
}

/// Whether a full name, of a host or an instance, is this name.
fn is_ours(full: &str, name: &str) -> bool {
    full.split('.').next().is_some_and(|label| label.eq_ignore_ascii_case(name))
}

fn register(daemon: &ServiceDaemon, name: &str, told: &Announced, probing: bool) -> Result<()> {
    let register = |service: &str, port: u16, txt: &[(&str, String)]| {
        let mut info = ServiceInfo::new(service, name, &format!("{name}.local."), (), port, txt)?.enable_addr_auto();
        info.set_requires_probe(probing);
        daemon.register(info)
    };
    let txt = txt(told);
    SERVICES.iter().try_for_each(|service| register(service, told.port, &txt))?;
    if let Some(port) = told.voice {
        // By the id, Hob recognises its own announcement.
        register(VOICE, port, &[("id", told.id.clone()), ("ver", told.version.clone())])?;
    }
    Ok(())
}

/// The TXT record of this Hob.
fn txt(told: &Announced) -> Vec<(&'static str, String)> {
    let mut txt = vec![
        ("txtvers", "1".to_owned()),
        ("id", told.id.clone()),
        ("ver", told.version.clone()),
        ("api", "v1".to_owned()),
        ("claimed", u8::from(told.claimed).to_string()),
        ("path", "/".to_owned()),
    ];
    if let Some(tls) = &told.tls {
        txt.push(("tls", tls.port.to_string()));
        txt.push(("fp", tls.fingerprint.replace(':', "").to_lowercase()));
    }
    txt
}

async fn received_packets(metrics: Receiver<mdns_sd::Metrics>) -> i64 {
    let metrics = timeout(TICK, metrics.recv_async()).await;
    metrics
        .ok()
        .and_then(Result::ok)
        .map_or(0, |m| m.iter().filter(|(k, _)| k.starts_with("cached-")).map(|(_, v)| v).sum())
}

/// Sends goodbye and ends the thread.
async fn goodbye(daemon: &ServiceDaemon, host: Option<String>) {
    if let Some(name) = host.as_deref().and_then(|host| host.strip_suffix(".local")) {
        for service in SERVICES.into_iter().chain([VOICE]) {
            let _ = daemon.unregister(&format!("{name}.{service}"));
        }
        sleep(TWICE).await;
    }
    responder::close(daemon).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tls;

    fn sample() -> Announced {
        Announced {
            name: "Kitchen".into(),
            id: "01A".into(),
            version: "0.1.0".into(),
            port: 4620,
            tls: None,
            voice: None,
            claimed: false,
            listens: "0.0.0.0".parse().unwrap(),
        }
    }

    fn text(told: &Announced) -> String {
        txt(told).iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_text_begins_with_its_version() {
        let mut told = sample();
        assert_eq!(text(&told), "txtvers=1 id=01A ver=0.1.0 api=v1 claimed=0 path=/");
        told.claimed = true;
        told.tls = Some(Tls { port: 4621, fingerprint: "AB:CD".into() });
        assert_eq!(text(&told), "txtvers=1 id=01A ver=0.1.0 api=v1 claimed=1 path=/ tls=4621 fp=abcd");
    }

    #[test]
    fn a_holder_is_known_by_its_id_or_its_addresses() {
        let service = |ip: &str, txt: &[(&str, &str)]| {
            ServiceInfo::new(SERVICES[1], "kitchen", "kitchen.local.", ip, 80, txt).unwrap().as_resolved_service()
        };
        let own: std::net::IpAddr = "192.168.1.5".parse().unwrap();
        for (ip, txt, expected) in [
            ("192.168.1.5", &[("id", "01A")][..], None),
            ("192.168.1.9", &[("id", "01A")], None),
            ("192.168.1.5", &[("id", "01B")], Some(Holder { id: Some("01B".into()) })),
            ("192.168.1.5", &[], None),
            ("192.168.1.9", &[], Some(Holder { id: None })),
        ] {
            assert_eq!(Holder::of(&service(ip, txt), "01A", |ip| ip == own), expected, "{ip} {txt:?}");
        }
    }

    #[test]
    fn full_names_are_compared_by_their_first_label() {
        for (full, expected) in [
            ("kitchen.local.", true),
            ("Kitchen._http._tcp.local.", true),
            ("kitchen (2)._http._tcp.local.", false),
            ("kitchen-2.local.", false),
            ("", false),
        ] {
            assert_eq!(is_ours(full, "kitchen"), expected, "{full}");
        }
    }

    #[tokio::test]
    async fn who_listens_alone_is_not_announced() {
        let alone = crate::Announcer::start(Announced { listens: "127.0.0.1".parse().unwrap(), ..sample() }, vec![]);
        assert!(alone.why().unwrap().contains("0.0.0.0:4620"));
        assert!(alone.name().is_none() && alone.may_browse());
        alone.update(|a| a.claimed = true);
        alone.stop().await;
        let off = crate::Announcer::off("`--no-mdns`");
        assert_eq!((off.why(), off.may_browse()), (Some("`--no-mdns`"), false));
        assert_eq!(off.browse(Duration::from_secs(60)).await, Ok(vec![]));
    }
}
