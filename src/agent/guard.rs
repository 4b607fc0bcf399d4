//! The guard against a model that goes in circles.

use std::collections::HashMap;

/// How often the same call may give the same result.
const SAME: u32 = 3;

/// Counts calls that repeat with the same arguments and the same result. A change of something begins the count anew: who
/// switches a lamp on, off and on again does not go in circles, and what was looked at before may look otherwise now.
#[derive(Default)]
pub(crate) struct LoopGuard {
    counts: HashMap<Made, u32>,
    /// The last call that changed something.
    changed: Option<Made>,
}

/// Name, arguments and result of a call.
type Made = (String, String, String);

impl LoopGuard {
    /// Takes note of a call, and whether it may have changed something; `true` once it has been made for the third time to the
    /// same end.
    pub fn repeats(&mut self, name: &str, arguments: &str, result: &str, changes: bool) -> bool {
        let made = (name.to_owned(), arguments.to_owned(), result.to_owned());
        if changes && self.changed.replace(made.clone()).is_some_and(|before| before != made) {
            self.counts.clear();
        }
        let count = self.counts.entry(made).or_default();
        *count += 1;
        *count >= SAME
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_told_from_work() {
        // Calls as one letter, upper case where they change something, and at which the guard speaks up.
        for (calls, at) in [
            ("aaa", Some(2)),
            ("abab", None),
            ("ababa", Some(4)),
            ("AAA", Some(2)),
            ("ABABABAB", None),
            ("AaAaA", Some(4)),
            ("aAaBaC", None),
            ("AaBaAaBa", None),
        ] {
            let mut guard = LoopGuard::default();
            let spoke = calls.chars().position(|c| guard.repeats(&c.to_string(), "{}", "done", c.is_uppercase()));
            assert_eq!(spoke, at, "{calls}");
        }
    }
}
