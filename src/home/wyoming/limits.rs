//! Limits on strangers: how many connections there are, and how much one address may ask in a minute.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// The most connections, those of one address, and those of all addresses that nobody approved: strangers leave places free.
const CONNECTIONS: usize = 32;
const OF_ADDRESS: usize = 8;
const OF_STRANGERS: usize = 20;
/// The most events of one address in a minute.
const EVENTS: u32 = 120;
const MINUTE: Duration = Duration::from_secs(60);
/// The most addresses that are counted; beyond that the oldest minute is forgotten.
const ADDRESSES: usize = 256;

/// The counts; cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Limits(Arc<Mutex<Counts>>);

#[derive(Default)]
struct Counts {
    open: HashMap<IpAddr, usize>,
    strangers: usize,
    minutes: HashMap<IpAddr, (Instant, u32)>,
}

/// A place for one connection, free again when dropped.
pub(crate) struct Place {
    limits: Limits,
    address: IpAddr,
    stranger: bool,
}

/// A machine has as many IPv6 addresses as it likes: its network counts as one.
fn counted(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(ip) => Ipv6Addr::from(u128::from(ip) & !u128::from(u64::MAX)).into(),
        v4 => v4,
    }
}

impl Limits {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection from this address, unless there are too many.
    pub fn enter(&self, address: IpAddr, stranger: bool) -> Option<Place> {
        // An approved address is one, also in a network of strangers.
        let address = if stranger { counted(address) } else { address };
        let mut counts = self.lock();
        let of_address = counts.open.get(&address).copied().unwrap_or_default();
        let all = counts.open.values().sum::<usize>();
        if of_address >= OF_ADDRESS || all >= CONNECTIONS || stranger && counts.strangers >= OF_STRANGERS {
            return None;
        }
        counts.open.insert(address, of_address + 1);
        counts.strangers += usize::from(stranger);
        Some(Place { limits: self.clone(), address, stranger })
    }

    /// Counts one event of this address; `false` when it sent too many within a minute.
    pub fn take(&self, address: IpAddr) -> bool {
        self.take_at(address, Instant::now())
    }

    fn take_at(&self, address: IpAddr, now: Instant) -> bool {
        let mut counts = self.lock();
        if counts.minutes.len() >= ADDRESSES && !counts.minutes.contains_key(&address) {
            let oldest = counts.minutes.iter().min_by_key(|(_, (began, _))| *began).map(|(address, _)| *address);
            oldest.map(|oldest| counts.minutes.remove(&oldest));
        }
        let (began, count) = counts.minutes.entry(address).or_insert((now, 0));
        if now.duration_since(*began) >= MINUTE {
            (*began, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        *count <= EVENTS
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.limits.lock();
        counts.strangers -= usize::from(self.stranger);
        if let Some(open) = counts.open.get_mut(&self.address) {
            *open -= 1;
            if *open == 0 {
                counts.open.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(n: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, n])
    }

    #[test]
    fn connections_are_limited_for_an_address_and_in_all() {
        let limits = Limits::default();
        let mut places: Vec<Place> = (0..OF_ADDRESS).filter_map(|_| limits.enter(ip(1), false)).collect();
        assert!(places.len() == OF_ADDRESS && limits.enter(ip(1), false).is_none());
        places.extend(
            (2..5).flat_map(|n| (0..OF_ADDRESS).filter_map(|_| limits.enter(ip(n), false)).collect::<Vec<_>>()),
        );
        assert!(places.len() == CONNECTIONS && limits.enter(ip(9), false).is_none());
        drop(places);
        assert!(limits.enter(ip(9), false).is_some());
        assert!(limits.lock().open.is_empty());
    }

    #[test]
    fn strangers_leave_places_to_those_whom_somebody_approved() {
        let limits = Limits::default();
        let of = |text: String| text.parse::<IpAddr>().unwrap();
        // A crowd of IPv6 addresses of one network is one machine.
        let crowd: Vec<Place> = (0..99).filter_map(|n| limits.enter(of(format!("fd00::{n:x}")), true)).collect();
        assert_eq!(crowd.len(), OF_ADDRESS);
        let others: Vec<Place> = (0..99).filter_map(|n| limits.enter(of(format!("10.0.1.{n}")), true)).collect();
        assert_eq!(crowd.len() + others.len(), OF_STRANGERS);
        let approved: Vec<Place> = (0..99).filter_map(|_| limits.enter(of("fd00::1".into()), false)).collect();
        assert_eq!(approved.len(), OF_ADDRESS);
        drop((crowd, others, approved));
        assert!(limits.lock().open.is_empty() && limits.lock().strangers == 0);
    }

    #[test]
    fn events_are_limited_by_the_minute() {
        let (limits, now) = (Limits::default(), Instant::now());
        assert!((0..EVENTS).all(|_| limits.take_at(ip(1), now)));
        assert!(!limits.take_at(ip(1), now) && limits.take_at(ip(2), now));
        assert!(limits.take_at(ip(1), now + MINUTE));
        (0..=255).for_each(|n| _ = limits.take_at(IpAddr::from([10, 0, 1, n]), now + MINUTE));
        assert_eq!(limits.lock().minutes.len(), ADDRESSES);
    }
}
