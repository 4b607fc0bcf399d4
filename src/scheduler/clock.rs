//! Decides whether the wall clock can be trusted, and by how much it was adjusted.
//!
//! A device without a battery boots in 1970 or at the time it was switched off; the network sets its clock later.
//! Until then cron and one-time schedules wait, and intervals follow elapsed time.

use std::time::{Duration, Instant};

/// A clock before 2025 (milliseconds since 1970) has not been set.
pub(crate) const EARLIEST: i64 = 1_735_689_600_000;
/// Drift between two readings, in milliseconds, that does not count as an adjustment.
const SLACK: i64 = 2000;
/// How far, in milliseconds, a trusted clock may be behind the newest time seen: it was set back a little meanwhile.
const MAX_BEHIND: i64 = 60_000;
/// A clock that was not set for this long after the device booted is trusted as it is: one behind the newest time seen may
/// also have been ahead before, and corrected.
const TRUST_AFTER: Duration = Duration::from_secs(3600);

/// How long ago the device booted.
pub(crate) fn uptime() -> Duration {
    let up = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::from_secs(u64::try_from(up.tv_sec).unwrap_or_default())
}

/// Compares the wall clock with a monotonic clock.
#[derive(Debug)]
pub(crate) struct WallClock {
    shown: i64,
    looked: Instant,
    /// When it was read first, and how long the device had been up then.
    began: Instant,
    up: Duration,
    /// The newest time ever seen, in milliseconds since 1970.
    newest: i64,
    trusted: bool,
}

/// The outcome of reading the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ClockReading {
    /// Milliseconds by which times that follow elapsed time have to shift.
    pub shift: Option<i64>,
    /// Whether times that follow the wall clock have to be planned again.
    pub anew: bool,
}

impl WallClock {
    /// The first reading. `newest` is the newest time seen before, and `up` how long ago the device booted.
    pub fn new(shown: i64, newest: i64, at: Instant, up: Duration) -> Self {
        let trusted = shown >= EARLIEST && (shown + MAX_BEHIND >= newest || up >= TRUST_AFTER);
        Self { shown, looked: at, began: at, up, newest, trusted }
    }

    /// Whether the wall clock is trusted.
    pub fn is_trusted(&self) -> bool {
        self.trusted
    }

    /// A further reading.
    pub fn read(&mut self, shown: i64, at: Instant) -> ClockReading {
        let passed = at.saturating_duration_since(self.looked).as_millis() as i64;
        let set_by = shown.saturating_sub(self.shown).saturating_sub(passed);
        let (was, set) = (self.trusted, set_by.saturating_abs() > SLACK);
        (self.shown, self.looked) = (shown, at);
        self.trusted = match was {
            _ if shown < EARLIEST => false,
            // A clock that was just set is trusted.
            true => true,
            false => {
                set || shown + MAX_BEHIND >= self.newest
                    || self.up + at.saturating_duration_since(self.began) >= TRUST_AFTER
            }
        };
        ClockReading {
            // A trusted clock set forward skips time in which nothing ran; an untrusted one was only corrected.
            shift: (set && (set_by < 0 || !was)).then_some(set_by),
            anew: self.trusted && ((set && set_by < 0) || !was),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_795_000_000_000;

    /// Reads a clock once a second and returns (`shift`, `anew`, trusted) for each reading.
    fn looks(first: i64, newest: i64, shown: &[i64]) -> Vec<(Option<i64>, bool, bool)> {
        let at = Instant::now();
        let mut wall = WallClock::new(first, newest, at, Duration::ZERO);
        let read = |(n, shown): (usize, &i64)| {
            let look = wall.read(*shown, at + Duration::from_secs(n as u64 + 1));
            (look.shift, look.anew, wall.is_trusted())
        };
        shown.iter().enumerate().map(read).collect()
    }

    #[test]
    fn a_clock_that_goes_is_believed_and_left_alone() {
        assert_eq!(looks(NOW, NOW - 5000, &[NOW + 1000, NOW + 2010, NOW + 2900]), [(None, false, true); 3]);
        assert_eq!(looks(NOW, NOW + 30_000, &[NOW + 1000]), [(None, false, true)], "put back a little while off");
    }

    #[test]
    fn a_clock_that_is_set_is_noticed() {
        let hour = 3_600_000;
        let forward = looks(NOW, NOW, &[NOW + 1000 + hour]);
        assert_eq!(forward, [(None, false, true)], "missed time, for the schedules to see");
        let back = looks(NOW, NOW, &[NOW + 1000 - hour, NOW + 2000 - hour]);
        assert_eq!(back, [(Some(-hour), true, true), (None, false, true)]);
    }

    #[test]
    fn a_clock_that_was_never_set_is_not_believed_until_it_is() {
        let woke = 40_000;
        let set = looks(woke, NOW, &[woke + 1000, NOW + 5000, NOW + 6000]);
        assert_eq!(set, [(None, false, false), (Some(NOW + 5000 - woke - 2000), true, true), (None, false, true)]);
        // Switched off long before the newest time seen, and catching up.
        let asleep = looks(NOW - 62_000, NOW, &[NOW - 61_000, NOW - 60_000]);
        assert_eq!(asleep, [(None, false, false), (None, true, true)]);
        // Reset to 1970, and set again.
        let lost = looks(NOW, NOW, &[5000, NOW + 2000]);
        assert_eq!(lost.iter().map(|l| (l.1, l.2)).collect::<Vec<_>>(), [(false, false), (true, true)]);
    }

    #[test]
    fn a_clock_that_nobody_sets_is_believed_in_the_end() {
        let at = Instant::now();
        let mut wall = WallClock::new(NOW - 86_400_000, NOW, at, Duration::ZERO);
        assert!(!wall.is_trusted());
        let later = wall.read(NOW - 86_400_000 + 3_600_000, at + TRUST_AFTER);
        assert_eq!((later, wall.is_trusted()), (ClockReading { shift: None, anew: true }, true));
        let mut unset = WallClock::new(1000, NOW, at, TRUST_AFTER);
        unset.read(3_601_000, at + TRUST_AFTER);
        assert!(!unset.is_trusted(), "1970 is never trusted");
    }

    #[test]
    fn a_clock_that_was_corrected_while_hob_was_off_is_believed_at_once() {
        let at = Instant::now();
        assert!(WallClock::new(NOW - 86_400_000, NOW, at, TRUST_AFTER).is_trusted());
        let mut booted = WallClock::new(NOW - 86_400_000, NOW, at, TRUST_AFTER - Duration::from_secs(1));
        assert!(!booted.is_trusted(), "the network may still set it");
        let look = booted.read(NOW - 86_399_000, at + Duration::from_secs(1));
        assert_eq!((look, booted.is_trusted()), (ClockReading { shift: None, anew: true }, true));
    }
}
