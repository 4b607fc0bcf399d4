//! How a button is pressed: short, long or double, from its edges.

use serde::Serialize;
use std::time::Duration;

/// A way to press a button.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PressKind {
    /// Once, and shortly.
    Short,
    /// Held.
    Long,
    /// Twice.
    Double,
}

/// The times that report presses apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PressTimes {
    /// From when a press is long.
    pub long: Duration,
    /// How soon after a short press another one makes it double; zero: never, and a short press is reported at its release.
    pub double: Duration,
}

impl Default for PressTimes {
    fn default() -> Self {
        Self { long: Duration::from_millis(600), double: Duration::from_millis(300) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Up,
    /// Pressed since.
    Down(Duration),
    /// Released after a short press.
    Waiting(Duration),
    /// Pressed, and reported already: the release is no press.
    Told,
}

/// The state of one button. Times are of any clock that does not go back.
#[derive(Debug, Clone, Copy, Default)]
pub struct Press {
    times: PressTimes,
    state: State,
}

impl Press {
    /// A button that is not pressed.
    pub fn new(times: PressTimes) -> Self {
        Self { times, state: State::Up }
    }

    /// Takes an edge. Call [`Press::due`] afterwards: some presses are reported by time alone.
    pub fn edge(&mut self, pressed: bool, at: Duration) -> Option<PressKind> {
        // A press that came due before this edge comes first; an edge that ends a long press reports nothing else.
        let before = self.tick(at);
        let now = match (self.state, pressed) {
            (State::Up, true) => self.enter(State::Down(at)),
            (State::Waiting(_), true) => {
                self.state = State::Told;
                Some(PressKind::Double)
            }
            (State::Down(_), false) if self.times.double.is_zero() => {
                self.state = State::Up;
                Some(PressKind::Short)
            }
            (State::Down(_), false) => self.enter(State::Waiting(at)),
            (State::Told, false) => self.enter(State::Up),
            // A level that was reported already.
            _ => None,
        };
        before.or(now)
    }

    fn enter(&mut self, state: State) -> Option<PressKind> {
        self.state = state;
        None
    }

    /// Whether it is released, and nothing is due.
    pub fn is_idle(&self) -> bool {
        self.state == State::Up
    }

    /// When something is reported if no edge comes.
    pub fn due(&self) -> Option<Duration> {
        match self.state {
            State::Down(since) => Some(since + self.times.long),
            State::Waiting(since) => Some(since + self.times.double),
            State::Up | State::Told => None,
        }
    }

    /// Returns the press that is due by now.
    pub fn tick(&mut self, now: Duration) -> Option<PressKind> {
        if self.due().is_none_or(|due| now < due) {
            return None;
        }
        match self.state {
            State::Down(_) => {
                self.state = State::Told;
                Some(PressKind::Long)
            }
            _ => {
                self.state = State::Up;
                Some(PressKind::Short)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PressKind::{Double, Long, Short};

    /// Edges (milliseconds, pressed) and the presses with the time they are reported at, to the end at ten seconds.
    fn presses(times: PressTimes, edges: &[(u64, bool)]) -> Vec<(u64, PressKind)> {
        let mut press = Press::new(times);
        let mut reported = vec![];
        let drain = |press: &mut Press, until: Duration, reported: &mut Vec<_>| {
            while let Some(due) = press.due().filter(|due| *due < until) {
                reported.extend(press.tick(due).map(|kind| (due.as_millis() as u64, kind)));
            }
        };
        for (ms, pressed) in edges {
            let at = Duration::from_millis(*ms);
            drain(&mut press, at, &mut reported);
            reported.extend(press.edge(*pressed, at).map(|kind| (*ms, kind)));
        }
        drain(&mut press, Duration::from_secs(10), &mut reported);
        reported
    }

    #[test]
    fn presses_are_told_apart() {
        type Row = (&'static str, &'static [(u64, bool)], &'static [(u64, PressKind)]);
        let table: [Row; 12] = [
            ("nothing", &[], &[]),
            ("short, after the time for a second", &[(0, true), (80, false)], &[(380, Short)]),
            ("long, while it is held", &[(0, true), (2000, false)], &[(600, Long)]),
            ("long to the millisecond", &[(0, true), (600, false)], &[(600, Long)]),
            ("just short", &[(0, true), (599, false)], &[(899, Short)]),
            ("double, at the second press", &[(0, true), (80, false), (200, true), (260, false)], &[(200, Double)]),
            ("two short", &[(0, true), (80, false), (400, true), (480, false)], &[(380, Short), (780, Short)]),
            ("double, the second held", &[(0, true), (80, false), (200, true), (3000, false)], &[(200, Double)]),
            (
                "three: double, then short",
                &[(0, true), (50, false), (100, true), (150, false), (200, true), (250, false)],
                &[(100, Double), (550, Short)],
            ),
            ("long, then short", &[(0, true), (700, false), (800, true), (850, false)], &[(600, Long), (1150, Short)]),
            ("a release alone", &[(0, false), (50, false)], &[]),
            ("the same level twice", &[(0, true), (10, true), (80, false), (90, false)], &[(380, Short)]),
        ];
        for (name, edges, expected) in table {
            assert_eq!(presses(PressTimes::default(), edges), expected, "{name}");
        }
    }

    #[test]
    fn without_double_presses_a_short_one_is_told_at_its_release() {
        let times = PressTimes { double: Duration::ZERO, ..PressTimes::default() };
        let edges = [(0, true), (80, false), (120, true), (160, false), (200, true), (900, false)];
        assert_eq!(presses(times, &edges), [(80, Short), (160, Short), (800, Long)]);
    }

    #[test]
    fn an_edge_that_comes_late_tells_what_was_due() {
        let mut press = Press::new(PressTimes::default());
        assert_eq!(press.edge(true, Duration::ZERO), None);
        assert_eq!(press.edge(false, Duration::from_secs(3)), Some(Long));
        assert_eq!((press.due(), press.edge(true, Duration::from_secs(4))), (None, None));
        assert_eq!(press.edge(false, Duration::from_millis(4100)), None);
        assert_eq!(press.edge(true, Duration::from_secs(6)), Some(Short));
    }
}
