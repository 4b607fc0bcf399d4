//! Detection of models that repeat the same calls.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
};

/// Number of equal calls with equal results before a warning.
const SAME: u32 = 3;
/// Maximum number of calls in a cycle.
const LONGEST: usize = 8;
/// Rounds of a cycle before a warning, and before the run ends. A blinking lamp is a cycle too.
const ROUNDS: usize = 4;
const ROUNDS_MOST: usize = 8;

/// Detects calls that repeat with equal arguments and results: one call, or a cycle of several. The model is warned first. The
/// run ends when the model repeats them in a later turn, after it has read the warning.
///
/// A call that changes something resets the counts of single calls: switching a lamp on, off and on again is no loop, and a
/// later look may have another result.
#[derive(Default)]
pub(crate) struct LoopGuard {
    counts: HashMap<CallKey, u32>,
    /// The last call that changed something.
    changed: Option<CallKey>,
    /// The latest calls: tool, and a hash of the call with its result.
    recent: VecDeque<(String, u64)>,
    /// Hashes of cycles the model was warned of in earlier turns, and in this one.
    warned: HashSet<u64>,
    fresh: HashSet<u64>,
}

/// Name, arguments and result of a call.
type CallKey = (String, String, String);

/// The reaction to a repetition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Circle {
    /// Add this warning to the result.
    Warn(String),
    /// End the run with this message.
    End(String),
}

impl LoopGuard {
    /// Starts the next turn: the model has read the warnings.
    pub fn next_turn(&mut self) {
        self.warned.extend(self.fresh.drain());
    }

    /// Adds a call, and whether it changed something.
    pub fn note(&mut self, name: &str, arguments: &str, result: &str, changed: bool) -> Option<Circle> {
        let made = (name.to_owned(), arguments.to_owned(), result.to_owned());
        if changed && self.changed.replace(made.clone()).is_some_and(|before| before != made) {
            self.counts.clear();
        }
        let hash = hash_of(&made);
        let count = self.counts.entry(made).or_default();
        *count += 1;
        let count = *count;
        self.recent.push_back((name.to_owned(), hash));
        if self.recent.len() > LONGEST * ROUNDS_MOST {
            self.recent.pop_front();
        }
        if count >= SAME {
            return self.judge(
                hash,
                count > SAME,
                || {
                    format!(
                        "you have called `{name}` {count} times with the same arguments and the same result; the next time \
                         ends the run: do something else, or answer with what you have"
                    )
                },
                || format!("the model called `{name}` {count} times with the same arguments and the same result"),
            );
        }
        let (length, rounds) = self.circle()?;
        let tail: Vec<&(String, u64)> = self.recent.iter().skip(self.recent.len() - length).collect();
        // The hash is the same at every position in the cycle.
        let mut hashes: Vec<u64> = tail.iter().map(|(_, hash)| *hash).collect();
        hashes.sort_unstable();
        let mut names: Vec<String> = tail.iter().map(|(name, _)| format!("`{name}`")).collect();
        names.dedup();
        let names = names.join(", ");
        self.judge(
            hash_of(&hashes),
            rounds >= ROUNDS_MOST,
            || {
                format!(
                    "you go in a circle: the same {length} calls ({names}) were made {rounds} times in turn, with the same \
                     results. If the person asked for just that, finish it and answer; else do something else. The run ends \
                     if it goes on"
                )
            },
            || format!("the model made the same {length} calls ({names}) {rounds} times in turn with the same results"),
        )
    }

    fn judge(
        &mut self,
        circle: u64,
        over: bool,
        warning: impl Fn() -> String,
        end: impl Fn() -> String,
    ) -> Option<Circle> {
        if self.warned.contains(&circle) {
            return over.then(|| {
                Circle::End(format!(
                    "{}, also after it was warned, and was stopped: say it differently, or choose another model",
                    end()
                ))
            });
        }
        self.fresh.insert(circle).then(|| Circle::Warn(warning()))
    }

    /// The cycle at the end of the latest calls: number of calls, and of rounds.
    fn circle(&self) -> Option<(usize, usize)> {
        let calls: Vec<u64> = self.recent.iter().rev().map(|(_, hash)| *hash).collect();
        (2..=LONGEST).find_map(|length| {
            let same = calls.iter().zip(calls.iter().skip(length)).take_while(|(one, before)| one == before).count();
            let rounds = (same + length) / length;
            (rounds >= ROUNDS && calls.len() >= length * ROUNDS).then_some((length, rounds))
        })
    }
}

fn hash_of(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls at which the guard warns, and the one at which it ends the run. Calls are one letter, upper case
    /// where they change something; a space ends a turn.
    fn judged(calls: &str) -> (Vec<usize>, Option<usize>) {
        let (mut guard, mut warned, mut at) = (LoopGuard::default(), vec![], 0);
        for call in calls.chars() {
            if call == ' ' {
                guard.next_turn();
                continue;
            }
            match guard.note(&call.to_string(), "{}", "done", call.is_uppercase()) {
                Some(Circle::Warn(text)) => {
                    assert!(text.contains("same"), "{text}");
                    warned.push(at);
                }
                Some(Circle::End(_)) => return (warned, Some(at)),
                None => {}
            }
            at += 1;
        }
        (warned, None)
    }

    fn turns(calls: &str) -> String {
        calls.chars().flat_map(|call| [call, ' ']).collect()
    }

    #[test]
    fn circles_are_told_from_work_and_warned_of_first() {
        for (calls, warned, ended) in [
            ("aa", vec![], None),
            ("aaab", vec![2], None),
            ("aaaa", vec![2], Some(3)),
            ("AAAA", vec![2], Some(3)),
            ("ababa", vec![4], None),
            ("abababa", vec![4, 5], Some(6)),
            ("AaAaA", vec![4], None),
            ("aAaBaC", vec![], None),
            ("AaBaAaBa", vec![], None),
            // A lamp blinks.
            ("ABABAB", vec![], None),
            ("ABABABABABAB", vec![7], None),
            ("ABABABABABABABABAB", vec![7], Some(15)),
            // Four calls in turn, of which some only look.
            ("AaBbAaBbAaBbAaBb", vec![15], None),
            (&"AaBb".repeat(9), vec![15], Some(31)),
            // From one circle into another.
            ("aaabbbcccb", vec![2, 5, 8], Some(9)),
        ] {
            assert_eq!(judged(&turns(calls)), (warned, ended), "{calls}");
        }
    }

    #[test]
    fn who_has_not_read_the_warning_is_not_stopped() {
        assert_eq!(judged("aaaaaaa"), (vec![2], None));
        assert_eq!(judged("aaaaa a"), (vec![2], Some(5)));
        assert_eq!(judged(&"AB".repeat(20)), (vec![7], None));
        assert_eq!(judged(&format!("{} A", "AB".repeat(20))), (vec![7], Some(40)));
    }
}
