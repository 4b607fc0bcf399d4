//! Sentences that a few words decide, whatever stands around them: sums in prose, measures, questions about dates, times
//! elsewhere, chance, the device, and what Hob cannot do. Nothing here changes anything.

mod beyond;
mod chance;
mod dates;
mod device;
mod elsewhere;
mod help;
mod measures;
mod pattern;
mod prose;

use crate::{
    classify::{Classification, Stage, unknown},
    sentence::Sentence,
};
use jiff::Zoned;
use serde_json::Value;
use tool::Risk;

/// What a sentence comes to.
#[derive(Debug, Clone, PartialEq)]
enum Reading {
    Say(String),
    Call(&'static str, Value),
}

/// What templates would read wrong.
pub(crate) fn before_templates(s: &Sentence, now: &Zoned) -> Option<Classification> {
    match dates::before_templates(s, now)? {
        Reading::Call("date_add", arguments) => {
            let made = Classification {
                tool: Some("date_add".to_owned()),
                arguments,
                ..unknown(String::new(), "a date that is over")
            };
            Some(Classification { stage: Stage::Words, confidence: 0.95, ..made }.speechless())
        }
        Reading::Call(..) => None,
        Reading::Say(say) => {
            Some(Classification { stage: Stage::Template, confidence: 1.0, ..unknown(say, "read from its words") })
        }
    }
}

/// A question how to use Hob, and the topic that it names.
pub(crate) fn asks_for_help(s: &Sentence) -> Option<Option<String>> {
    help::topic(s)
}

/// What is asked in so many words, of tools that only look.
pub(crate) fn asked(
    s: &Sentence,
    now: &Zoned,
    risk: &(dyn Fn(&str) -> Option<Risk> + Send + Sync),
) -> Option<Classification> {
    let read = || {
        dates::read(s, now)
            .or_else(|| elsewhere::read(s, now))
            .or_else(|| measures::read(s))
            .or_else(|| prose::read(s))
            .or_else(|| chance::read(s))
            .or_else(|| device::read(s))
    };
    placed(read()?, risk)
}

/// The reply to what Hob cannot do.
pub(crate) fn refused(s: &Sentence) -> Option<Classification> {
    // A model may be able to, so this counts as not understood.
    beyond::refusal(s).map(|say| unknown(say.to_owned(), "beyond its reach"))
}

fn placed(reading: Reading, risk: &(dyn Fn(&str) -> Option<Risk> + Send + Sync)) -> Option<Classification> {
    const WHY: &str = "read from its words";
    match reading {
        Reading::Say(say) => Some(Classification { stage: Stage::Template, confidence: 1.0, ..unknown(say, WHY) }),
        Reading::Call(tool, arguments) => (risk(tool) == Some(Risk::Observe)).then(|| {
            let made = Classification { tool: Some(tool.to_owned()), arguments, ..unknown(String::new(), WHY) };
            Classification { stage: Stage::Words, confidence: 0.95, ..made }.speechless()
        }),
    }
}
