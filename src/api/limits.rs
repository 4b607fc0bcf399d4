//! Wrong tries, counted apart for each address, so that nobody's guesses keep another person out.

use crate::envelope::Failure;
use std::{
    collections::{HashMap, VecDeque},
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tool::UserId;

/// How many wrong tries are heard in a minute.
const TRIES: usize = 5;
const MINUTE: Duration = Duration::from_secs(60);
/// How many addresses are remembered; beyond that the one that was quiet longest is forgotten.
const REMEMBERED: usize = 4096;

/// Whose tries they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    /// An address: for IPv6 its network, as one machine has billions of those.
    Address(IpAddr),
    /// A browser in which a person has signed in before, by the hash of what it keeps.
    Browser([u8; 32]),
    /// A person who is known already and shows that they are who they are.
    Person(UserId),
    /// The local socket.
    Local,
}

impl From<IpAddr> for Who {
    fn from(address: IpAddr) -> Self {
        Who::Address(match address.to_canonical() {
            IpAddr::V6(six) => Ipv6Addr::from_bits(six.to_bits() >> 64 << 64).into(),
            four => four,
        })
    }
}

/// Wrong tries of the last minute.
#[derive(Default)]
pub(crate) struct Tries(Mutex<HashMap<Who, VecDeque<Instant>>>);

impl Tries {
    /// Counts a try before it is judged, so that many at once count too; [`Tries::forgive`] takes back a right one.
    ///
    /// # Errors
    /// 429 once there were too many in the last minute.
    pub fn count(&self, who: Who) -> Result<(), Failure> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED && !all.contains_key(&who) {
            all.retain(|_, tries| tries.back().is_some_and(|last| last.elapsed() < MINUTE));
            let quietest = all.iter().min_by_key(|(_, tries)| tries.back().copied()).map(|(who, _)| *who);
            if let Some(quietest) = quietest.filter(|_| all.len() >= REMEMBERED) {
                all.remove(&quietest);
            }
        }
        let tries = all.entry(who).or_default();
        while tries.front().is_some_and(|at| at.elapsed() > MINUTE) {
            tries.pop_front();
        }
        if tries.len() < TRIES {
            tries.push_back(Instant::now());
            return Ok(());
        }
        let wait = tries.front().map_or(MINUTE, |at| MINUTE.saturating_sub(at.elapsed())).as_secs() + 1;
        let text = format!("too many wrong tries: wait {wait} s and try again");
        Err(Failure::new(429, "too_many_tries", text).retry_after(wait))
    }

    /// The last try was right and does not count.
    pub fn forgive(&self, who: Who) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tries) = all.get_mut(&who) {
            tries.pop_back();
        }
    }
}

/// How many streams of events one person may have open: one for each page, and some for programs.
const STREAMS: usize = 32;

/// Streams that are open, by person.
#[derive(Default, Clone)]
pub(crate) struct Streams(Arc<Mutex<HashMap<UserId, usize>>>);

/// One open stream; closed when dropped.
pub(crate) struct Open(Streams, UserId);

impl Streams {
    /// One more.
    ///
    /// # Errors
    /// 409 when this person has too many.
    pub fn open(&self, user: UserId) -> Result<Open, Failure> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = all.entry(user).or_default();
        if *count >= STREAMS {
            let text = format!("{STREAMS} streams of your events are open: close one of them first");
            return Err(Failure::new(409, "unavailable", text));
        }
        *count += 1;
        Ok(Open(self.clone(), user))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut all = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = all.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Who {
        text.parse::<IpAddr>().unwrap().into()
    }

    #[test]
    fn each_address_has_its_own_tries() {
        let tries = Tries::default();
        for _ in 0..TRIES {
            tries.count(address("192.0.2.1")).unwrap();
        }
        assert!(tries.count(address("192.0.2.1")).is_err());
        assert!(tries.count(address("::ffff:192.0.2.1")).is_err(), "the same address in other words");
        assert!(tries.count(address("192.0.2.2")).is_ok());
        tries.forgive(address("192.0.2.1"));
        assert!(tries.count(address("192.0.2.1")).is_ok());
        assert_eq!(address("2001:db8::1"), address("2001:db8::2:3"));
        assert_ne!(address("2001:db8::1"), address("2001:db8:0:1::1"));
    }

    #[test]
    fn streams_are_counted_for_each_person() {
        let streams = Streams::default();
        let [mia, ben] = [1, 2].map(|n| UserId(tool::Id::from_bytes([n; 16])));
        let mut open: Vec<Open> = (0..STREAMS).map(|_| streams.open(mia).unwrap()).collect();
        assert!(streams.open(mia).is_err() && streams.open(ben).is_ok());
        open.pop();
        assert!(streams.open(mia).is_ok());
        drop(open);
        assert!(streams.0.lock().unwrap().is_empty());
    }

    #[test]
    fn a_world_of_addresses_takes_no_more_memory() {
        let tries = Tries::default();
        for n in 0..3 * REMEMBERED as u32 {
            tries.count(Who::from(IpAddr::from(n.to_be_bytes()))).unwrap();
        }
        assert_eq!(tries.0.lock().unwrap().len(), REMEMBERED);
    }
}
