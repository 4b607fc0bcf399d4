//! Timers in words: lengths, and the time that is left.

use scheduler::{Timer, TimerState};
use text_kit::{clock_words, duration_words};
use tool::Clock;

/// From here on, seconds are not worth a word.
const NO_SECONDS: i64 = 600;

/// `1 hour and 30 minutes`.
pub fn spoken(ms: i64) -> String {
    duration_words(ms.saturating_add(999) / 1000)
}

/// The time that is left, without seconds where there is much: `4 minutes and 20 seconds`, `37 minutes`.
pub fn left(timer: &Timer, now: i64) -> String {
    let seconds = timer.left_ms(now).saturating_add(999) / 1000;
    let rounded = if seconds > NO_SECONDS { (seconds + 30) / 60 * 60 } else { seconds };
    spoken(rounded * 1000)
}

/// `Pizza: 4 minutes left`, `Pizza: paused with 4 minutes left`, `Pizza: ringing since 14:40`.
pub fn status(timer: &Timer, clock: &dyn Clock) -> String {
    let (title, left) = (timer.short_title(), left(timer, clock.now().as_millisecond()));
    match timer.state {
        TimerState::Running => format!("{title}: {left} left"),
        TimerState::Paused => format!("{title}: paused with {left} left"),
        TimerState::Ringing => {
            let due = jiff::Timestamp::from_millisecond(timer.ends_ms).unwrap_or_else(|_| clock.now());
            let due = clock_words(due.to_zoned(clock.zone()).time());
            let late = if timer.is_late() { ", while Hob was off" } else { "" };
            format!("{title}: ringing; it was done at {due}{late}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_said_as_people_say_them() {
        assert_eq!(spoken(5_400_000), "1 hour and 30 minutes");
        assert_eq!(spoken(1), "1 second", "what is left is rounded up");
    }
}
