//! What a sentence comes to after those before it: calls, a question with its answers, or a reply.

use crate::classification::{Classification, Stage, fixed_reply, unknown};
use serde_json::Value;
use text_kit::which_one;
use tool::Risk;

/// Begins every question that names its answers.
pub(crate) const WHICH: &str = "Which one: ";

/// Returns the risk of an available tool.
pub(crate) type RiskOf<'r> = &'r (dyn Fn(&str) -> Option<Risk> + Send + Sync);

/// A tool with its arguments.
pub(crate) type Planned = (String, Value);

/// What a sentence comes to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// Calls to be made, in this order.
    Do(Vec<Planned>),
    /// Calls to be made after a yes; with what they do.
    Propose(String, Vec<Planned>),
    /// Several readings, each with the words that tell it from the others.
    Which(Vec<(String, Outcome)>),
    Say(String),
}

impl Outcome {
    /// One call.
    pub fn call(tool: &str, arguments: Value) -> Self {
        Self::Do(vec![(tool.to_owned(), arguments)])
    }

    /// The question, where it is one with answers.
    pub fn question(&self) -> Option<String> {
        let Self::Which(readings) = self else { return None };
        let names: Vec<String> = readings.iter().map(|(name, _)| name.clone()).collect();
        Some(which_one("one", &names))
    }

    /// As a classification; `why` says which rule decided.
    pub fn placed(self, why: &str) -> Classification {
        let why = format!("after the exchange before: {why}");
        let call = |calls: Vec<Planned>| {
            let mut calls = calls.into_iter();
            calls.next().map(|first| (first, calls.collect::<Vec<_>>()))
        };
        if let Some(question) = self.question() {
            return Classification { stage: Stage::Missing, sure: true, ..unknown(question, &why) };
        }
        match self {
            Self::Do(calls) => match call(calls) {
                Some(((tool, arguments), more)) => {
                    Classification { tool: Some(tool), arguments, more, say: None, ..fixed_reply("", &why) }
                }
                None => fixed_reply("There is nothing to do.", &why),
            },
            Self::Propose(what, calls) => match call(calls) {
                Some((first, more)) => Classification {
                    proposes: Some(first),
                    more,
                    stage: Stage::Asked,
                    ..fixed_reply(&format!("Shall I {what}? Say yes or no."), &why)
                },
                None => fixed_reply("There is nothing to do.", &why),
            },
            Self::Say(text) => fixed_reply(&text, &why),
            Self::Which(_) => fixed_reply("Which one?", &why),
        }
    }
}
