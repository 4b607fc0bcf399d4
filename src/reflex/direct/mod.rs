//! Sentences that a few words decide, whatever stands around them: sums in prose, measures, questions about dates, times
//! elsewhere, chance, the device, money, readings, and what Hob cannot do.

mod beyond;
mod chance;
mod dates;
mod device;
mod elsewhere;
mod goals;
mod help;
mod measures;
mod money;
mod pattern;
mod prose;
mod tables;

use crate::sentence::Sentence;
pub(crate) use beyond::OURS;
use jiff::Zoned;
use serde_json::Value;

/// The meaning of a sentence: a reply, or a call of a tool that only looks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reading {
    Say(String),
    Call(&'static str, Value),
}

/// A change that `undo` takes back.
pub(crate) struct Change {
    pub tool: &'static str,
    pub arguments: Value,
    /// Whether it is plainly said; else it is asked about.
    pub sure: bool,
}

/// Something to note down: a reading, a step that is done, something spent, something that came in.
pub(crate) fn changes(s: &Sentence, now: &Zoned) -> Option<Change> {
    tables::changes(s, now).or_else(|| goals::changes(s)).or_else(|| money::changes(s, now))
}

/// Readings of sentences that templates would read wrong.
pub(crate) fn before_templates(s: &Sentence, now: &Zoned) -> Option<Reading> {
    dates::before_templates(s, now).or_else(|| money::correction(s).map(Reading::Say))
}

/// A question how to use Hob, and the topic that it names.
pub(crate) fn asks_for_help(s: &Sentence) -> Option<Option<String>> {
    help::topic(s)
}

/// The reading of a question.
pub(crate) fn asked(s: &Sentence, now: &Zoned) -> Option<Reading> {
    let date = pattern::any(s, &["what is the date", "what date is it", "what is todays date"]);
    date.then(|| Reading::Call("get_current_datetime", serde_json::json!({})))
        .or_else(|| dates::read(s, now))
        .or_else(|| elsewhere::read(s, now))
        .or_else(|| money::asked(s, now))
        .or_else(|| tables::asked(s, now))
        .or_else(|| goals::asked(s))
        .or_else(|| measures::read(s))
        .or_else(|| prose::read(s))
        .or_else(|| chance::read(s))
        .or_else(|| device::read(s))
}

/// The reply to what Hob cannot do, or cannot read the way it was said. `has` tells whether a tool is there.
pub(crate) fn refused(s: &Sentence, has: &dyn Fn(&str) -> bool) -> Option<&'static str> {
    beyond::refusal(s, has)
}

/// Whether the weather is asked about, whatever stands around it.
pub(crate) fn is_weather(s: &Sentence) -> bool {
    beyond::is_weather(s)
}
