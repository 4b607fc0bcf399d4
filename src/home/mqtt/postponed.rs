//! Commands for pins that were switched too fast: the last one of each pin is repeated once the pin may be switched again.

use std::{collections::BTreeMap, time::Duration};
use things::Verb;
use tokio::time::Instant;
use tool::Error;

/// The longest wait for a repetition, and the most attempts: a command that is obeyed long after it was sent surprises people.
const LONGEST: Duration = Duration::from_secs(5);
const ATTEMPTS: u32 = 4;

/// A command that is repeated.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Repeated {
    pub pin: String,
    pub verb: Verb,
    attempts: u32,
}

impl Repeated {
    /// A command that has not been refused yet.
    pub fn first(pin: String, verb: Verb) -> Self {
        Self { pin, verb, attempts: 0 }
    }
}

/// At most one command of each pin.
#[derive(Default)]
pub(super) struct Postponed(BTreeMap<String, (Instant, Repeated)>);

impl Postponed {
    /// Forgets the command that waits for this pin: a newer one has arrived.
    pub fn supersede(&mut self, pin: &str) {
        self.0.remove(pin);
    }

    /// Keeps a refused command, if a repetition makes sense. A toggle is not repeated: the state it referred to may have changed.
    pub fn keep(&mut self, mut refused: Repeated, error: &Error, now: Instant) -> bool {
        let wait = error.retry_after().map(Duration::from_secs).filter(|wait| *wait <= LONGEST);
        refused.attempts += 1;
        match wait {
            Some(wait) if matches!(refused.verb, Verb::TurnOn | Verb::TurnOff) && refused.attempts < ATTEMPTS => {
                self.0.insert(refused.pin.clone(), (now + wait, refused));
                true
            }
            _ => false,
        }
    }

    /// When the next command is due.
    pub fn next_at(&self) -> Option<Instant> {
        self.0.values().map(|(at, _)| *at).min()
    }

    /// Takes a command that is due.
    pub fn due(&mut self, now: Instant) -> Option<Repeated> {
        let pin = self.0.iter().find(|(_, (at, _))| *at <= now)?.0.clone();
        self.0.remove(&pin).map(|(_, repeated)| repeated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn too_fast(seconds: u64) -> Error {
        let pin = board::Pin::try_from(4).unwrap();
        board::Error::TooFast { pin, most: 4, seconds }.into()
    }

    fn on(pin: &str) -> Repeated {
        Repeated::first(pin.into(), Verb::TurnOn)
    }

    #[test]
    fn the_last_refused_command_of_a_pin_is_repeated_when_it_may_be_switched() {
        let (mut postponed, now) = (Postponed::default(), Instant::now());
        let off = Repeated::first("4".into(), Verb::TurnOff);
        assert!(postponed.keep(on("4"), &too_fast(2), now) && postponed.keep(off, &too_fast(1), now));
        assert!(postponed.keep(on("5"), &too_fast(3), now));
        let second = Duration::from_secs(1);
        assert_eq!((postponed.next_at(), postponed.due(now)), (Some(now + second), None));
        assert_eq!(postponed.due(now + second).map(|due| due.verb), Some(Verb::TurnOff));
        postponed.supersede("5");
        assert_eq!((postponed.next_at(), postponed.due(now + 9 * second)), (None, None));
    }

    #[test]
    fn repetitions_are_bounded() {
        let (mut postponed, now) = (Postponed::default(), Instant::now());
        assert!(!postponed.keep(Repeated::first("4".into(), Verb::Toggle), &too_fast(1), now));
        assert!(!postponed.keep(on("4"), &too_fast(60), now));
        assert!(!postponed.keep(on("4"), &Error::denied("an interlock"), now));
        let (mut repeated, mut times) = (on("4"), 0);
        while postponed.keep(repeated.clone(), &too_fast(1), now) {
            repeated = postponed.due(now + LONGEST).unwrap();
            times += 1;
        }
        assert_eq!((times, postponed.next_at()), (ATTEMPTS - 1, None));
    }
}
