//! The guard against a model that goes in circles.

use std::collections::HashMap;

/// How often the same call may give the same result.
const SAME: u32 = 3;

/// Counts calls that repeat with the same arguments and the same result.
#[derive(Default)]
pub(crate) struct LoopGuard(HashMap<(String, String, String), u32>);

impl LoopGuard {
    /// Takes note of a call; `true` once it has been made for the third time to the same end.
    pub fn repeats(&mut self, name: &str, arguments: &str, result: &str) -> bool {
        let count = self.0.entry((name.to_owned(), arguments.to_owned(), result.to_owned())).or_default();
        *count += 1;
        *count >= SAME
    }
}
