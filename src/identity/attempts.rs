//! Limits failed attempts per client, so that one client's guesses never lock another person out.

use crate::{Error, Result};
use std::{
    collections::{HashMap, VecDeque},
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};
use tool::UserId;

/// Attempts allowed per client and minute.
const ATTEMPTS: usize = 5;
const MINUTE: Duration = Duration::from_secs(60);
/// Maximum number of clients in memory; above it the least recently active one is dropped.
const REMEMBERED: usize = 4096;

/// The client for which attempts are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Client {
    /// An IPv4 address, or the /64 network of an IPv6 one: one machine has billions of IPv6 addresses.
    Address(IpAddr),
    /// A browser in which this person has signed in before, by the hash of its cookie.
    Browser([u8; 32]),
    /// An authenticated person who proves their identity again.
    Person(UserId),
    /// The local socket.
    Local,
}

impl From<IpAddr> for Client {
    fn from(address: IpAddr) -> Self {
        Client::Address(match address.to_canonical() {
            IpAddr::V6(six) => Ipv6Addr::from_bits(six.to_bits() >> 64 << 64).into(),
            four => four,
        })
    }
}

/// The attempts of the last minute.
#[derive(Default)]
pub(crate) struct AttemptLimiter(Mutex<HashMap<Client, VecDeque<Instant>>>);

impl AttemptLimiter {
    /// Counts an attempt before it is checked, so that concurrent ones count too; [`AttemptLimiter::forgive`] removes
    /// it after a success.
    ///
    /// # Errors
    /// `TooManyAttempts` above the limit.
    pub fn count(&self, client: Client) -> Result<()> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED && !all.contains_key(&client) {
            all.retain(|_, attempts| attempts.back().is_some_and(|last| last.elapsed() < MINUTE));
            let quietest = all.iter().min_by_key(|(_, attempts)| attempts.back().copied()).map(|(client, _)| *client);
            if let Some(quietest) = quietest.filter(|_| all.len() >= REMEMBERED) {
                all.remove(&quietest);
            }
        }
        let attempts = all.entry(client).or_default();
        while attempts.front().is_some_and(|at| at.elapsed() > MINUTE) {
            attempts.pop_front();
        }
        if attempts.len() < ATTEMPTS {
            attempts.push_back(Instant::now());
            return Ok(());
        }
        let wait = attempts.front().map_or(MINUTE, |at| MINUTE.saturating_sub(at.elapsed())).as_secs() + 1;
        let message = format!("too many wrong tries: wait {wait} s and try again");
        Err(Error::TooManyAttempts { message, retry_after_seconds: wait })
    }

    /// Removes the last attempt from the count: it succeeded.
    pub fn forgive(&self, client: Client) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(attempts) = all.get_mut(&client) {
            attempts.pop_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Client {
        text.parse::<IpAddr>().unwrap().into()
    }

    #[test]
    fn each_address_has_its_own_attempts() {
        let attempts = AttemptLimiter::default();
        for _ in 0..ATTEMPTS {
            attempts.count(address("192.0.2.1")).unwrap();
        }
        assert!(attempts.count(address("192.0.2.1")).is_err());
        assert!(attempts.count(address("::ffff:192.0.2.1")).is_err(), "the same address, IPv4-mapped");
        assert!(attempts.count(address("192.0.2.2")).is_ok());
        attempts.forgive(address("192.0.2.1"));
        assert!(attempts.count(address("192.0.2.1")).is_ok());
        assert_eq!(address("2001:db8::1"), address("2001:db8::2:3"));
        assert_ne!(address("2001:db8::1"), address("2001:db8:0:1::1"));
    }

    #[test]
    fn memory_is_bounded_for_any_number_of_addresses() {
        let attempts = AttemptLimiter::default();
        for n in 0..3 * REMEMBERED as u32 {
            attempts.count(Client::from(IpAddr::from(n.to_be_bytes()))).unwrap();
        }
        assert_eq!(attempts.0.lock().unwrap().len(), REMEMBERED);
    }
}
