//! Talking back: sentences that mean something only after those before them. Corrections of what was done, what leaves out all that
//! was just said, what points at things that were shown, answers to a question, and talk about the exchange itself.
//!
//! It reads the calls of the exchange and their results, not its words, so that every family works alike; where a sentence does not
//! surely belong here, it returns nothing.

mod again;
mod amend;
mod asks;
mod chat;
mod details;
mod ellipsis;
pub(crate) mod exchange;
mod other;
mod outcome;
mod pointer;
pub(crate) mod proposal;
mod questions;
mod sums;
mod things;
mod value;

use crate::classification::Classification;
use exchange::Exchange;
use jiff::Zoned;
use outcome::{Outcome, RiskOf};

/// The classification of a sentence that talks back. `command` tells whether words are a whole command by themselves.
pub(crate) fn classified(
    text: &str,
    exchanges: &[Exchange],
    now: &Zoned,
    risk: RiskOf,
    command: &dyn Fn(&str) -> bool,
) -> Option<Classification> {
    let fresh = |text: &str, exchanges: &[Exchange]| {
        let rules: [(&str, &dyn Fn() -> Option<Outcome>); 6] = [
            ("a correction", &|| amend::corrected(text, exchanges, now, risk)),
            ("a sum goes on", &|| sums::continued(text, exchanges)),
            ("it asks about it", &|| asks::asked(text, exchanges, risk)),
            ("a detail", &|| details::added(text, exchanges, now, risk)),
            ("it goes on", &|| ellipsis::continued(text, exchanges, now, risk, command)),
            ("it points at what was shown", &|| things::pointed(text, exchanges, now, risk)),
        ];
        rules.into_iter().find_map(|(why, rule)| rule().map(|outcome| (outcome, why)))
    };
    if exchanges.is_empty() {
        return None;
    }
    if let Some(outcome) = again::repeated(text, exchanges) {
        return Some(outcome.placed("once more"));
    }
    if let Some(outcome) = chat::about(text, exchanges, risk) {
        return Some(outcome.placed("about the exchange"));
    }
    let before = |text: &str, exchanges: &[Exchange]| fresh(text, exchanges).map(|(outcome, _)| outcome);
    if let Some(outcome) = questions::answered(text, exchanges, before) {
        return Some(outcome.placed("an answer"));
    }
    let (outcome, why) = fresh(text, exchanges)?;
    // A command in its own right says all that is meant.
    let own = !matches!(why, "a sum goes on" | "it points at what was shown") && command(text);
    (!own).then(|| outcome.placed(why))
}
