//! How fast a pin may be switched: a token bucket for each pin, in front of every driver.

use crate::{Error, Pin, Result};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// Limits how often a pin may be switched: relays and their loads wear out, and a runaway program is fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PinRate {
    /// Switches of one pin in a second, in the long run; 0 is any number.
    pub switches_per_second: u32,
    /// Switches of one pin that may follow each other at once.
    pub burst: u32,
}

impl Default for PinRate {
    fn default() -> Self {
        Self { switches_per_second: 4, burst: 12 }
    }
}

/// The remaining budget of one pin.
struct Bucket {
    tokens: f64,
    at: Instant,
}

/// The buckets of all pins that were switched.
pub(crate) struct Rates {
    most: PinRate,
    buckets: BTreeMap<Pin, Bucket>,
}

impl Rates {
    pub fn new(most: PinRate) -> Self {
        Self { most, buckets: BTreeMap::new() }
    }

    /// Counts a switch of `pin`, which is on before it or not. Switching off is counted and never refused: nothing stays on
    /// because it was switched too often.
    ///
    /// # Errors
    /// `TooFast`, with the seconds until it may be switched.
    pub fn take(&mut self, pin: Pin, is_on: bool, now: Instant) -> Result<()> {
        let PinRate { switches_per_second, burst } = self.most;
        if switches_per_second == 0 {
            return Ok(());
        }
        let (rate, full) = (f64::from(switches_per_second), f64::from(burst.max(1)));
        let bucket = self.buckets.entry(pin).or_insert(Bucket { tokens: full, at: now });
        let passed: Duration = now.saturating_duration_since(bucket.at);
        bucket.tokens = (bucket.tokens + passed.as_secs_f64() * rate).min(full);
        bucket.at = now;
        if !is_on && bucket.tokens < 1.0 {
            let seconds = ((1.0 - bucket.tokens) / rate).ceil().max(1.0) as u64;
            return Err(Error::TooFast { pin, most: switches_per_second, seconds });
        }
        // A pin that cannot be read may be switched off any number of times in a row.
        bucket.tokens = (bucket.tokens - 1.0).max(-1.0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_so_many_a_second() {
        let (pin, other) = (Pin::try_from(4).unwrap(), Pin::try_from(5).unwrap());
        let mut rates = Rates::new(PinRate { switches_per_second: 2, burst: 6 });
        let began = Instant::now();
        let at = |ms: u64| began + Duration::from_millis(ms);
        let mut level = false;
        for n in 0..6 {
            rates.take(pin, level, at(n)).unwrap();
            level = !level;
        }
        let refused = rates.take(pin, level, at(10)).unwrap_err();
        assert_eq!(refused, Error::TooFast { pin, most: 2, seconds: 1 });
        assert!(refused.to_string().ends_with("in 1 s"), "{refused}");
        rates.take(other, false, at(10)).unwrap();
        // On again after the announced second, and off at once, although no tokens are left.
        rates.take(pin, false, at(1010)).unwrap();
        rates.take(pin, true, at(1011)).unwrap();
        rates.take(pin, false, at(1200)).unwrap_err();
        let passed = (0..10_000).step_by(20).fold((0, false), |(passed, level), ms| {
            match rates.take(pin, level, at(10_000 + ms)) {
                Ok(()) => (passed + 1, !level),
                Err(_) => (passed, level),
            }
        });
        assert!((20..=28).contains(&passed.0), "{} switches in ten seconds", passed.0);
        let mut free = Rates::new(PinRate { switches_per_second: 0, burst: 0 });
        (0..1000).for_each(|n| free.take(pin, n % 2 == 0, began).unwrap());
    }

    #[test]
    fn off_is_never_refused_whatever_came_first() {
        let pin = Pin::try_from(4).unwrap();
        for was_on in [false, true] {
            let mut rates = Rates::new(PinRate { switches_per_second: 1, burst: 1 });
            let now = Instant::now();
            rates.take(pin, was_on, now).unwrap();
            (0..50).for_each(|_| rates.take(pin, true, now).unwrap());
            let refused = rates.take(pin, false, now).unwrap_err();
            assert_eq!(refused, Error::TooFast { pin, most: 1, seconds: 2 });
            rates.take(pin, true, now).unwrap();
        }
    }
}
