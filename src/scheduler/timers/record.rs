//! The stored timer and its states.

use serde::{Deserialize, Serialize};
use store::{Coded, Key, Level, Record};
use text_kit::capitalized;

/// Index of all timers.
pub(super) const ALL: u8 = 1;
/// How long a timer rings before it stops by itself, in milliseconds.
const RINGS_MS: i64 = 600_000;
/// How late a timer may ring and still count as on time, in milliseconds.
const ON_TIME_MS: i64 = 5000;

/// The state of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimerState {
    /// It counts down.
    #[default]
    Running,
    /// It waits with the time that was left.
    Paused,
    /// It is done, and rings until somebody stops or snoozes it.
    Ringing,
}

impl TimerState {
    /// Its name on the wire.
    pub fn word(self) -> &'static str {
        match self {
            TimerState::Running => "running",
            TimerState::Paused => "paused",
            TimerState::Ringing => "ringing",
        }
    }
}

impl Coded for TimerState {
    const ALL: &'static [Self] = &[TimerState::Running, TimerState::Paused, TimerState::Ringing];
    const UNKNOWN: Self = TimerState::Paused;
}

/// A countdown. Its owner is the person who set it; everybody in the household sees and changes it. Times are milliseconds
/// since 1970. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timer {
    /// Name; may be empty.
    pub name: String,
    /// The length it was set to; adding time does not change it, since people find a timer by it.
    pub duration_ms: i64,
    /// Its state.
    #[serde(with = "store::coded")]
    pub state: TimerState,
    /// Running: when it is due. Ringing: when it was due.
    pub ends_ms: i64,
    /// Paused: the time that is left.
    pub paused_ms: i64,
    /// Ringing: since when.
    pub rang_ms: i64,
}

impl Record for Timer {
    const NAME: &'static str = "timers";
    const WORD: &'static str = "timer";
    const LEVEL: Level = Level::Household;
    const BY_MEMBERS: bool = true;
    const UNDO: bool = true;
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(ALL, [])]
    }
    fn title(&self) -> String {
        Timer::title(self)
    }
}

impl Timer {
    pub(super) fn new(name: String, duration_ms: i64, now: i64) -> Self {
        let ends_ms = now.saturating_add(duration_ms);
        Self { name, duration_ms, state: TimerState::Running, ends_ms, paused_ms: 0, rang_ms: 0 }
    }

    /// Sets it again, with this length.
    pub(super) fn restart(&mut self, duration_ms: i64, now: i64) {
        *self = Self::new(std::mem::take(&mut self.name), duration_ms, now);
    }

    /// How people call it: `Pizza timer`, or `10 minute timer` without a name.
    pub fn title(&self) -> String {
        let words = if self.name.is_empty() { length(self.duration_ms / 1000) } else { capitalized(&self.name) };
        format!("{words} timer")
    }

    /// The same without the word timer, where that is clear: `Pizza`.
    pub fn short_title(&self) -> String {
        if self.name.is_empty() { self.title() } else { capitalized(&self.name) }
    }

    /// The time that is left; 0 while it rings.
    pub fn left_ms(&self, now: i64) -> i64 {
        match self.state {
            TimerState::Running => self.ends_ms.saturating_sub(now).max(0),
            TimerState::Paused => self.paused_ms,
            TimerState::Ringing => 0,
        }
    }

    /// Lets it run for this long from now.
    pub fn run_for(&mut self, left_ms: i64, now: i64) {
        (self.state, self.ends_ms) = (TimerState::Running, now.saturating_add(left_ms));
    }

    /// Pauses it with the time that is left.
    pub fn pause(&mut self, now: i64) {
        (self.paused_ms, self.state) = (self.left_ms(now), TimerState::Paused);
    }

    /// Whether it rang noticeably after it was due, because Hob was off.
    pub fn is_late(&self) -> bool {
        self.state == TimerState::Ringing && self.rang_ms.saturating_sub(self.ends_ms) > ON_TIME_MS
    }

    /// When it has to ring, or to stop ringing.
    pub(super) fn due(&self) -> Option<i64> {
        match self.state {
            TimerState::Running => Some(self.ends_ms),
            TimerState::Paused => None,
            TimerState::Ringing => Some(self.rang_ms.saturating_add(RINGS_MS)),
        }
    }

    /// Lets it ring.
    pub(super) fn ring(&mut self, now: i64) {
        (self.state, self.rang_ms) = (TimerState::Ringing, now);
    }

    /// Moves its times along with a clock that was set. Returns whether it changed.
    pub(super) fn shift(&mut self, by_ms: i64) -> bool {
        let before = (self.ends_ms, self.rang_ms);
        match self.state {
            TimerState::Running => self.ends_ms = self.ends_ms.saturating_add(by_ms),
            TimerState::Paused => {}
            TimerState::Ringing => {
                self.ends_ms = self.ends_ms.saturating_add(by_ms);
                self.rang_ms = self.rang_ms.saturating_add(by_ms);
            }
        }
        before != (self.ends_ms, self.rang_ms)
    }
}

/// A length before a noun: `1 hour 30 minute`.
fn length(seconds: i64) -> String {
    let units = [(seconds / 3600, "hour"), (seconds / 60 % 60, "minute"), (seconds % 60, "second")];
    let words: Vec<String> = units.iter().filter(|(n, _)| *n != 0).map(|(n, unit)| format!("{n} {unit}")).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paused_timer_keeps_what_was_left() {
        let mut timer = Timer::new("Pizza".into(), 60_000, 1000);
        assert_eq!((timer.title(), timer.short_title()), ("Pizza timer".into(), "Pizza".into()));
        timer.pause(21_000);
        assert_eq!((timer.left_ms(999_000), timer.due()), (40_000, None));
        timer.run_for(timer.left_ms(0), 500_000);
        assert_eq!((timer.due(), timer.duration_ms), (Some(540_000), 60_000));
    }

    #[test]
    fn a_timer_rings_for_ten_minutes_and_knows_whether_it_is_late() {
        let mut timer = Timer::new(String::new(), 60_000, 0);
        assert_eq!((timer.title(), timer.short_title()), ("1 minute timer".into(), "1 minute timer".into()));
        timer.ring(60_100);
        assert_eq!((timer.due(), timer.left_ms(60_100), timer.is_late()), (Some(660_100), 0, false));
        timer.run_for(60_000, 70_000);
        assert_eq!((timer.state, timer.due(), timer.is_late()), (TimerState::Running, Some(130_000), false));
        timer.ring(999_000);
        assert!(timer.is_late());
    }

    #[test]
    fn a_clock_that_was_set_takes_the_times_along() {
        let mut timer = Timer::new(String::new(), 60_000, 0);
        assert!(timer.shift(1000));
        assert_eq!(timer.left_ms(1000), 60_000);
        timer.pause(1000);
        assert!(!timer.shift(1000));
        assert_eq!(timer.left_ms(5000), 60_000);
    }
}
