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

use crate::{classification::Classification, sentence::Sentence, slots::called_off};
use exchange::Exchange;
use jiff::Zoned;
use outcome::{Outcome, RiskOf};
use serde_json::json;
use tool::Risk;

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
    if let Some(outcome) = all_reminders(text, exchanges) {
        return Some(outcome.placed("all reminders"));
    }
    if exchanges.is_empty() {
        return None;
    }
    if let Some(outcome) = called_off(text, exchanges, now, risk) {
        return Some(outcome.placed("it will not take place"));
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
    let instead = text.to_lowercase().contains(" instead of ");
    let own = !instead && !matches!(why, "a sum goes on" | "it points at what was shown") && command(text);
    (!own).then(|| outcome.placed(why))
}

/// "cancel all my reminders": those that were just shown, after a question; else how to do it.
fn all_reminders(text: &str, exchanges: &[Exchange]) -> Option<Outcome> {
    let s = Sentence::read(text);
    let verb = ["cancel", "delete", "remove", "clear", "scrap", "bin", "stop"].contains(&s.word(0))
        || s.has(0, &["get", "rid", "of"]);
    let noun = s.word(s.len().checked_sub(1)?);
    let noun = if noun == "alarms" { "alarms" } else { Some("reminders").filter(|word| *word == noun)? };
    let all = s.mentions(&["all", "every", "both"])
        && s.tokens.iter().all(|token| {
            ["all", "every", "both", "of", "my", "the", "our", "these", "those", "get", "rid"]
                .contains(&token.word.as_str())
                || token.start == s.tokens[0].start
                || token.word == noun
        });
    if !verb || !all {
        return None;
    }
    let shown = exchanges.first().map(Exchange::things).unwrap_or_default();
    let listed =
        exchanges.first().is_some_and(|last| last.calls.iter().any(|call| call.tool == "list_scheduled_tasks"));
    let meant: Vec<_> = shown
        .into_iter()
        .filter(|thing| thing.noun == "reminder" && (noun == "reminders" || thing.name == "Alarm"))
        .collect();
    if !listed || meant.is_empty() {
        return Some(Outcome::Say(
            "I cancel several only when I have shown them: say “show my reminders” and then “delete them all”. I cancelled nothing yet.".to_owned(),
        ));
    }
    let names: Vec<String> = meant.iter().map(|thing| format!("“{}”", text_kit::truncate(&thing.name, 60))).collect();
    let calls = meant.iter().map(|thing| ("delete_scheduled_task".to_owned(), json!({"taskId": thing.key}))).collect();
    Some(Outcome::Propose(format!("delete {}", text_kit::join_and(&names)), calls))
}

/// "no football on Thursday" after football was put into the calendar or shown: that event, after a question.
fn called_off(text: &str, exchanges: &[Exchange], now: &Zoned, risk: RiskOf) -> Option<Outcome> {
    let called_off::CalledOff { title, days } = called_off::read(&Sentence::read(text), now)?;
    (risk("delete_calendar_event") == Some(Risk::Destroy)).then_some(())?;
    let things = exchanges.iter().take(3).flat_map(Exchange::things);
    // Of an event that repeats only the one of that day is meant.
    let that_day = |thing: &exchange::Thing| {
        let day = thing.moment().and_then(value::parse).map(|(day, _)| day);
        days.zip(day).is_some_and(|((first, last), day)| (first..=last).contains(&day))
    };
    let mut same: Vec<_> = things
        .filter(|thing| thing.noun == "event" && thing.name.eq_ignore_ascii_case(&title))
        .filter(that_day)
        .collect();
    same.dedup_by(|one, other| one.key == other.key);
    let [meant] = same.as_slice() else { return None };
    let call = ("delete_calendar_event".to_owned(), json!({"eventId": meant.key}));
    Some(Outcome::Propose(format!("take “{title}” out of the calendar"), vec![call]))
}
