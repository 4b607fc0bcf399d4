//! Whether the clock on the wall can be believed, and by how much it was set.
//!
//! A device without a battery wakes up in 1970, or where it fell asleep; the network sets its clock later. Until then times
//! on the wall mean nothing, and what comes at intervals goes by the time that passes.

use std::time::{Duration, Instant};

/// No clock that is set shows less: the beginning of 2025, in milliseconds since 1970.
pub(crate) const EARLIEST: i64 = 1_735_689_600_000;
/// How much a clock may go wrong between two looks without having been set.
const SLACK: i64 = 2000;
/// How far behind the newest time seen a clock may be and still be right: it was put back a little meanwhile.
const BEHIND: i64 = 60_000;
/// A clock that nobody has set for so long will not be set: it is believed as it is.
const PATIENCE: Duration = Duration::from_secs(3600);

/// The clock on the wall beside one that only goes forward.
#[derive(Debug)]
pub(crate) struct Wall {
    shown: i64,
    looked: Instant,
    began: Instant,
    /// The newest time anybody has seen, in milliseconds since 1970.
    newest: i64,
    believed: bool,
}

/// What follows from a look at the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Look {
    /// By how many milliseconds what goes by time that passes has to be moved.
    pub shift: Option<i64>,
    /// Whether what goes by the wall has to be looked at anew.
    pub anew: bool,
}

impl Wall {
    /// The first look. `newest` is the newest time that was seen before.
    pub fn new(shown: i64, newest: i64, at: Instant) -> Self {
        let believed = shown >= EARLIEST && shown + BEHIND >= newest;
        Self { shown, looked: at, began: at, newest, believed }
    }

    /// Whether times on the wall count.
    pub fn is_believed(&self) -> bool {
        self.believed
    }

    /// Another look.
    pub fn look(&mut self, shown: i64, at: Instant) -> Look {
        let passed = at.saturating_duration_since(self.looked).as_millis() as i64;
        let set_by = shown.saturating_sub(self.shown).saturating_sub(passed);
        let (was, set) = (self.believed, set_by.saturating_abs() > SLACK);
        (self.shown, self.looked) = (shown, at);
        self.believed = match was {
            _ if shown < EARLIEST => false,
            // Whoever sets a clock knows why.
            true => true,
            false => set || shown + BEHIND >= self.newest || at.saturating_duration_since(self.began) >= PATIENCE,
        };
        Look {
            // Forward, a clock that was right passes time over in which nothing ran; else it was just put right.
            shift: (set && (set_by < 0 || !was)).then_some(set_by),
            anew: self.believed && ((set && set_by < 0) || !was),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_795_000_000_000;

    /// Looks at a clock a second apart each, and what follows from each: (shift, anew, believed).
    fn looks(first: i64, newest: i64, shown: &[i64]) -> Vec<(Option<i64>, bool, bool)> {
        let at = Instant::now();
        let mut wall = Wall::new(first, newest, at);
        let told = |(n, shown): (usize, &i64)| {
            let look = wall.look(*shown, at + Duration::from_secs(n as u64 + 1));
            (look.shift, look.anew, wall.is_believed())
        };
        shown.iter().enumerate().map(told).collect()
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
        // It fell asleep long before the newest time anybody saw, and catches up.
        let asleep = looks(NOW - 62_000, NOW, &[NOW - 61_000, NOW - 60_000]);
        assert_eq!(asleep, [(None, false, false), (None, true, true)]);
        // Back to the beginning, and set again.
        let lost = looks(NOW, NOW, &[5000, NOW + 2000]);
        assert_eq!(lost.iter().map(|l| (l.1, l.2)).collect::<Vec<_>>(), [(false, false), (true, true)]);
    }

    #[test]
    fn a_clock_that_nobody_sets_is_believed_in_the_end() {
        let at = Instant::now();
        let mut wall = Wall::new(NOW - 86_400_000, NOW, at);
        assert!(!wall.is_believed());
        let later = wall.look(NOW - 86_400_000 + 3_600_000, at + PATIENCE);
        assert_eq!((later, wall.is_believed()), (Look { shift: None, anew: true }, true));
        let mut unset = Wall::new(1000, NOW, at);
        unset.look(3_601_000, at + PATIENCE);
        assert!(!unset.is_believed(), "1970 is never believed");
    }
}
